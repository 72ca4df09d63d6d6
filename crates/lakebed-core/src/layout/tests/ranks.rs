use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::types::*;
use arrow_array::*;
use arrow_buffer::i256;
use arrow_schema::DataType;
use proptest::prelude::*;

use super::Numbers;
use crate::ErrorKind;
use crate::kit::arrow::array;
use crate::layout::{Ranker, is_orderable};

/// Checks the ranks of all values if some of them are the sample. The lesser of two values never
/// has the greater rank, and sampled values have equal ranks only if they are equal.
fn check<T>(values: &[Option<T>], order: impl Fn(&T, &T) -> Ordering, make: impl Fn(&[Option<T>]) -> ArrayRef) {
    check_where(values, order, |_, _| true, make);
}

/// Checks the same for types in which only some sampled values can be distinguished.
fn check_where<T>(
    values: &[Option<T>],
    order: impl Fn(&T, &T) -> Ordering,
    are_told_apart: impl Fn(&T, &T) -> bool,
    make: impl Fn(&[Option<T>]) -> ArrayRef,
) {
    let (sample, _) = values.split_at(values.len() / 2);
    let arrays: Vec<ArrayRef> = sample.chunks(7).map(&make).collect();
    let ranker = Ranker::of_sample(&arrays).unwrap();
    // The values are a slice after other values, so that a wrong offset in the buffers is noticed.
    let ranks = ranker.ranks(&make(values).slice(0, values.len())).unwrap();
    let all = make(values);
    for start in [1, values.len() / 3].into_iter().filter(|start| *start <= values.len()) {
        assert_eq!(ranker.ranks(&all.slice(start, values.len() - start)).unwrap(), &ranks[start..]);
    }
    let is_sampled = |row: usize| row < sample.len();
    for (row, (one, rank)) in values.iter().zip(&ranks).enumerate() {
        assert_eq!(*rank == 0, one.is_none());
        for (other_row, (other, other_rank)) in values.iter().zip(&ranks).enumerate() {
            let (Some(one), Some(other)) = (one, other) else { continue };
            match order(one, other) {
                Ordering::Less => {
                    let are_told_apart = is_sampled(row) && is_sampled(other_row) && are_told_apart(one, other);
                    assert!(rank < other_rank || rank == other_rank && !are_told_apart, "{rank}, {other_rank}");
                }
                Ordering::Equal => assert_eq!(rank, other_rank),
                Ordering::Greater => {}
            }
        }
    }
}

fn check_ints<T: ArrowPrimitiveType>(values: &[Option<T::Native>])
where
    T::Native: Ord,
{
    check(values, Ord::cmp, |values| array(PrimitiveArray::<T>::from_iter(values.iter().copied())));
}

fn some<T: Clone + std::fmt::Debug>(value: impl Strategy<Value = T>) -> impl Strategy<Value = Vec<Option<T>>> {
    prop::collection::vec(prop::option::weighted(0.9, value), 0..60)
}

/// Makes integers that are close together, or any integers.
macro_rules! ints {
    ($type:ty) => {
        some(prop_oneof![any::<$type>(), (0..5_u8).prop_map(|near| near as $type), Just(<$type>::MIN), Just(<$type>::MAX)])
    };
}

fn floats() -> impl Strategy<Value = Vec<Option<f64>>> {
    let special = prop::sample::select(vec![
        0.0,
        -0.0,
        f64::NAN,
        -f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MIN_POSITIVE,
        1.0,
        -1.0,
    ]);
    some(prop_oneof![any::<f64>(), special])
}

/// Compares floats with NaN above all numbers.
fn float_order(one: &f64, other: &f64) -> Ordering {
    one.partial_cmp(other).unwrap_or_else(|| one.is_nan().cmp(&other.is_nan()))
}

/// Returns strings, many of which have a common prefix.
fn texts() -> impl Strategy<Value = Vec<Option<String>>> {
    let word = prop::sample::select(vec!["", "a", "ab", "b", "\0", "é", "😀", "0123456789", "0123456789abcdef"]);
    let text = prop::collection::vec(word, 0..4).prop_map(|words| words.concat());
    (text.clone(), some(text)).prop_map(|(common, texts)| {
        texts
            .into_iter()
            .enumerate()
            .map(|(place, text)| Some(if place % 9 == 8 { text? } else { common.clone() + &text? }))
            .collect()
    })
}

proptest! {
    #[test]
    fn integers_keep_their_order(
        bytes in ints!(i8), shorts in ints!(i16), ints in ints!(i32), longs in ints!(i64), u8s in ints!(u8), u16s in ints!(u16), u32s in ints!(u32), u64s in ints!(u64),
    ) {
        check_ints::<Int8Type>(&bytes);
        check_ints::<Int16Type>(&shorts);
        check_ints::<Int32Type>(&ints);
        check_ints::<Int64Type>(&longs);
        check_ints::<UInt8Type>(&u8s);
        check_ints::<UInt16Type>(&u16s);
        check_ints::<UInt32Type>(&u32s);
        check_ints::<UInt64Type>(&u64s);
    }

    #[test]
    fn times_and_decimals_keep_their_order(ints in ints!(i32), longs in ints!(i64), wide in ints!(i128)) {
        check_ints::<Date32Type>(&ints);
        check_ints::<Time32SecondType>(&ints);
        check_ints::<Decimal32Type>(&ints);
        check_ints::<Date64Type>(&longs);
        check_ints::<Time64MicrosecondType>(&longs);
        check_ints::<TimestampMicrosecondType>(&longs);
        check_ints::<TimestampNanosecondType>(&longs);
        check_ints::<DurationSecondType>(&longs);
        check_ints::<Decimal64Type>(&longs);
        check_ints::<Decimal128Type>(&wide);
        let wider: Vec<Option<i256>> = wide.iter().enumerate().map(|(row, value)| Some(i256::from_parts(row as u128 % 3, (*value)?))).collect();
        check_ints::<Decimal256Type>(&wider);
    }

    #[test]
    fn floats_keep_their_order(values in floats()) {
        check(&values, float_order, |values| array(Float64Array::from(values.to_vec())));
        let singles: Vec<Option<f64>> = values.iter().map(|value| Some(f64::from((*value)? as f32))).collect();
        check(&singles, float_order, |values| array(Float32Array::from_iter(values.iter().map(|value| Some((*value)? as f32)))));
    }

    #[test]
    fn texts_and_binaries_keep_their_order(texts in texts()) {
        let order = |one: &String, other: &String| one.as_bytes().cmp(other.as_bytes());
        // Only the first 64 bytes are compared.
        let are_told_apart = |one: &String, other: &String| one.bytes().take(64).ne(other.bytes().take(64));
        let check_texts = |make: &dyn Fn(&[Option<String>]) -> ArrayRef| check_where(&texts, order, are_told_apart, make);
        let bytes = |texts: &[Option<String>]| texts.iter().map(|text| Some(text.clone()?.into_bytes())).collect::<Vec<_>>();
        check_texts(&|texts| array(StringArray::from_iter(texts)));
        check_texts(&|texts| array(LargeStringArray::from_iter(texts)));
        check_texts(&|texts| array(StringViewArray::from_iter(texts)));
        check_texts(&|texts| array(BinaryArray::from_iter(bytes(texts))));
        check_texts(&|texts| array(LargeBinaryArray::from_iter(bytes(texts))));
        check_texts(&|texts| array(BinaryViewArray::from_iter(bytes(texts))));
        check_texts(&|texts| array(texts.iter().map(Option::as_deref).collect::<DictionaryArray<Int32Type>>()));
        let fixed = |text: &String| [text.as_bytes(), &[0; 64]].concat()[..64].to_vec();
        check(&texts, |one, other| fixed(one).cmp(&fixed(other)), |texts| {
            let values = texts.iter().map(|text| text.as_ref().map(fixed));
            array(FixedSizeBinaryArray::try_from_sparse_iter_with_size(values, 64).unwrap())
        });
    }

    #[test]
    fn booleans_keep_their_order(values in some(any::<bool>())) {
        check(&values, Ord::cmp, |values| array(BooleanArray::from(values.to_vec())));
    }
}

#[test]
fn rank_many_values_bounds_heavy_values() {
    let mut numbers = Numbers(7);
    let values: Vec<i64> =
        (0..400_000).map(|_| if numbers.below(10) == 0 { 500_000 } else { numbers.below(1_000_000) as i64 }).collect();
    let values = array(Int64Array::from(values));
    let ranks = Ranker::of_sample(&[Arc::clone(&values)]).unwrap().ranks(&values).unwrap();
    let mut rows = vec![0; 65_536];
    ranks.iter().for_each(|rank| rows[usize::from(*rank)] += 1);
    assert_eq!(rows[0], 0);
    let mut heaviest = rows.clone();
    heaviest.sort_unstable();
    assert!(heaviest[65_535] >= 40_000 - 500);
    // Seven rows are between two bounds, plus the rows of the last of these values.
    assert!(heaviest[65_534] < 20);
}

#[test]
fn rank_long_strings_by_statistics_prefix() {
    let text = |middle: &str, end: &str| format!("{}{middle}{}{end}", "c".repeat(40), "x".repeat(100));
    let texts = array(StringArray::from(vec![text("a", "1"), text("a", "2"), text("b", "0")]));
    let ranks = Ranker::of_sample(&[Arc::clone(&texts)]).unwrap().ranks(&texts).unwrap();
    assert_eq!(ranks, [2, 2, 3]);
}

#[test]
fn without_a_sample_only_nulls_differ() {
    let values = array(Int32Array::from(vec![Some(1), None, Some(-1)]));
    let nulls = array(Int32Array::from(vec![None, None]));
    for sample in [vec![], vec![values.slice(0, 0)], vec![nulls]] {
        assert_eq!(Ranker::of_sample(&sample).unwrap().ranks(&values).unwrap(), [1, 0, 1]);
    }
    let empty: DictionaryArray<Int8Type> = vec![None::<&str>, None].into_iter().collect();
    assert_eq!(Ranker::of_sample(&[array(empty.clone())]).unwrap().ranks(&empty).unwrap(), [0, 0]);
}

#[test]
fn values_of_another_type_are_refused() {
    let ranker = Ranker::of_sample(&[array(Int32Array::from(vec![1]))]).unwrap();
    let error = ranker.ranks(&Int64Array::from(vec![1])).unwrap_err();
    assert_eq!(error.message(), "values of type Int64 cannot be ordered with those of type Int32");
    let lists = array(new_null_list());
    assert!(!is_orderable(lists.data_type()));
    let refused = Ranker::of_sample(&[lists]).map(|_| ()).map_err(|error| error.kind().clone());
    assert_eq!(refused, Err(ErrorKind::Internal));
    let texts = Ranker::of_sample(&[array(StringArray::from(vec!["a", "b"]))]).unwrap();
    assert_eq!(texts.ranks(&StringViewArray::from(vec!["b"])).unwrap(), [3]);
    assert!(is_orderable(&DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8))));
}

fn new_null_list() -> ListArray {
    ListArray::from_iter_primitive::<Int32Type, _, _>([None::<Vec<Option<i32>>>])
}
