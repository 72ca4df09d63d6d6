use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{BooleanArray, DictionaryArray, Float64Array, Int64Array, NullArray, StringArray};
use proptest::prelude::*;

use super::*;
use crate::ErrorKind;
use crate::kit::arrow::{longs, string_array};

/// Returns the pairs and checks that they agree with the rows of `may_match`.
fn pairs(index: &JoinIndex, keys: &[ArrayRef], rows: usize) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    for block in index.pairs(keys, rows) {
        let block = block.unwrap();
        assert_eq!(block.target_rows.len(), block.source_rows.len());
        assert!((1..=BLOCK_PAIRS).contains(&block.target_rows.len()));
        found.extend(block.target_rows.into_iter().zip(block.source_rows));
    }
    let may_match = index.may_match(keys, rows).unwrap();
    assert_eq!(may_match.len(), rows);
    let with_pairs: Vec<bool> = (0..rows).map(|row| found.binary_search_by_key(&row, |pair| pair.0 as usize).is_ok()).collect();
    assert_eq!(may_match.iter().collect::<Vec<_>>(), with_pairs);
    found
}

#[test]
fn rows_with_equal_keys_keep_order() {
    let source = longs(&[Some(7), Some(1), None, Some(7), Some(3)]);
    let index = JoinIndex::new(&[source], &[false], 5).unwrap();
    let target = longs(&[Some(3), Some(8), Some(7), None, Some(7)]);
    assert_eq!(pairs(&index, &[target], 5), [(0, 4), (2, 0), (2, 3), (4, 0), (4, 3)]);
}

#[test]
fn nulls_match_only_in_null_safe_keys() {
    let source = [longs(&[Some(1), None, Some(1)]), string_array(&[None, Some("a"), Some("a")])];
    let target = [longs(&[Some(1), None, Some(1), None]), string_array(&[None, Some("a"), Some("a"), None])];
    let of = |null_safe: &[bool]| pairs(&JoinIndex::new(&source, null_safe, 3).unwrap(), &target, 4);
    assert_eq!(of(&[false, false]), [(2, 2)]);
    assert_eq!(of(&[false, true]), [(0, 0), (2, 2)]);
    assert_eq!(of(&[true, true]), [(0, 0), (1, 1), (2, 2)]);
    let nothing: ArrayRef = Arc::new(NullArray::new(2));
    assert_eq!(pairs(&JoinIndex::new(&[Arc::clone(&nothing)], &[false], 2).unwrap(), &[nothing], 2), []);
}

#[test]
fn without_keys_every_row_meets_every_row() {
    let index = JoinIndex::new(&[], &[], 50_000).unwrap();
    let found = pairs(&index, &[], 3);
    assert_eq!(found.len(), 150_000);
    assert!(found.iter().copied().eq((0..3).flat_map(|target| (0..50_000).map(move |source| (target, source)))));
    assert_eq!(pairs(&JoinIndex::new(&[], &[], 0).unwrap(), &[], 3), []);
    assert_eq!(pairs(&index, &[], 0), []);
}

#[test]
fn block_ends_in_middle_of_row() {
    let index = JoinIndex::new(&[longs(&vec![Some(5); 70_000])], &[false], 70_000).unwrap();
    let blocks: Vec<usize> =
        index.pairs(&[longs(&[Some(5), Some(6), Some(5)])], 3).map(|block| block.unwrap().source_rows.len()).collect();
    assert_eq!(blocks, [BLOCK_PAIRS, BLOCK_PAIRS, 140_000 - 2 * BLOCK_PAIRS]);
    let found = pairs(&index, &[longs(&[Some(5), Some(6), Some(5)])], 3);
    assert!(found.iter().copied().eq([0, 2].into_iter().flat_map(|target| (0..70_000).map(move |source| (target, source)))));
}

#[test]
fn an_empty_source_matches_nothing() {
    let index = JoinIndex::new(&[longs(&[])], &[false], 0).unwrap();
    assert_eq!(pairs(&index, &[longs(&[Some(1), Some(2), None])], 3), []);
    let only_nulls = JoinIndex::new(&[longs(&[None, None])], &[false], 2).unwrap();
    assert_eq!(pairs(&only_nulls, &[longs(&[Some(0), None])], 2), []);
}

#[test]
fn unhashable_key_types_are_refused() {
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![0.0, f64::NAN, 1.5]));
    let booleans: ArrayRef = Arc::new(BooleanArray::from(vec![true, false, true]));
    let words: ArrayRef = Arc::new(["a", "b", "a"].into_iter().collect::<DictionaryArray<Int32Type>>());
    let keys = [floats, booleans, words];
    assert_eq!(pairs(&JoinIndex::new(&keys, &[false; 3], 3).unwrap(), &keys, 3), [(0, 0), (1, 1), (2, 2)]);
    let other = [longs(&[Some(1)])];
    let refused = [
        JoinIndex::new(&keys, &[false; 3], 3).unwrap().may_match(&other, 1).map(|_| ()),
        JoinIndex::new(&keys, &[false; 2], 3).map(|_| ()),
        JoinIndex::new(&keys, &[false; 3], 4).map(|_| ()),
    ];
    for refused in refused {
        let error = refused.unwrap_err();
        let message = "the keys of target rows differ in type or number from those of the source";
        assert_eq!((error.kind(), error.message()), (&ErrorKind::Internal, message));
    }
    let views = arrow_cast::cast(&string_array(&[Some("a")]), &DataType::Utf8View).unwrap();
    assert!(JoinIndex::new(&[views], &[false], 1).is_ok());
}

fn keys() -> impl Strategy<Value = Vec<(Option<i64>, Option<String>)>> {
    let number = prop::option::weighted(0.9, prop_oneof![-3_i64..4, any::<i64>()]);
    let text = prop::option::weighted(0.9, "[ab]{0,2}");
    prop::collection::vec((number, text), 0..60)
}

fn columns(rows: &[(Option<i64>, Option<String>)]) -> [ArrayRef; 2] {
    let numbers: Int64Array = rows.iter().map(|row| row.0).collect();
    let words: StringArray = rows.iter().map(|row| row.1.as_deref()).collect();
    [Arc::new(numbers), Arc::new(words)]
}

proptest! {
    #[test]
    fn every_pair_with_equal_keys_is_found(source in keys(), target in keys(), null_safe in any::<[bool; 2]>()) {
        let index = JoinIndex::new(&columns(&source), &null_safe, source.len()).unwrap();
        let found = pairs(&index, &columns(&target), target.len());
        prop_assert!(found.is_sorted());
        let comparable = |row: &(Option<i64>, Option<String>)| (null_safe[0] || row.0.is_some()) && (null_safe[1] || row.1.is_some());
        for (t, of_target) in target.iter().enumerate() {
            for (s, of_source) in source.iter().enumerate() {
                if of_target == of_source && comparable(of_target) {
                    prop_assert!(found.binary_search(&(t as u32, s as u32)).is_ok());
                }
            }
        }
        for (t, s) in found {
            prop_assert!(comparable(&target[t as usize]) && comparable(&source[s as usize]));
        }
    }
}
