use arrow_select::take::take;
use proptest::prelude::*;

use super::property::any_column;
use super::*;

fn dictionary(keys: impl IntoIterator<Item = Option<i32>>, values: &ArrayRef) -> ArrayRef {
    array(DictionaryArray::<Int32Type>::new(keys.into_iter().collect(), Arc::clone(values)))
}

/// Checks the statistics of a file with one column `c`. The values are those of the first array,
/// and they come in the other arrays.
#[track_caller]
fn check_arrays(plain: &ArrayRef, arrays: Vec<ArrayRef>, low: &str, high: &str, nulls: usize) {
    let rows = arrays.iter().map(|array| array.len()).sum::<usize>();
    let bounds = match (low, high) {
        ("", "") => r#""minValues":{},"maxValues":{}"#.to_owned(),
        _ => format!(r#""minValues":{{"c":{low}}},"maxValues":{{"c":{high}}}"#),
    };
    let expected = format!(r#"{{"numRecords":{rows},{bounds},"nullCount":{{"c":{nulls}}}}}"#);
    let plan = plan(&batch(vec![("c", Arc::clone(plain))]), ("other", ""));
    let batches: Vec<_> = arrays.into_iter().map(|array| batch(vec![("c", array)])).collect();
    assert_eq!(collect(&plan, &batches), expected);
}

/// Returns a dictionary with 1 and 9, which no row has, with 5 twice, and with a null.
fn longs() -> ArrayRef {
    array(Int64Array::from(vec![Some(1), Some(5), Some(9), Some(3), Some(5), None]))
}

#[test]
fn only_values_that_rows_have_count() {
    let longs = longs();
    check_arrays(&longs, vec![dictionary([Some(1), Some(3), Some(4), None, Some(5)], &longs)], "3", "5", 2);
    let texts = array(StringArray::from(vec!["a", "Customer#2", "z", "Customer#1"]));
    let keys = || [Some(1), None, Some(3), Some(1)];
    check_arrays(&texts, vec![dictionary(keys(), &texts)], r#""Customer#1""#, r#""Customer#2""#, 1);
    let views = cast(&texts, &DataType::Utf8View).unwrap();
    check_arrays(&texts, vec![dictionary(keys(), &views)], r#""Customer#1""#, r#""Customer#2""#, 1);
    let money = array(decimals(vec![-100, 250, 75, 900], 10, 2));
    check_arrays(&money, vec![dictionary([Some(2), Some(1)], &money)], "0.75", "2.50", 0);
    let short = cast(&money, &DataType::Decimal64(10, 2)).unwrap();
    check_arrays(&money, vec![dictionary([Some(2), Some(1)], &short)], "0.75", "2.50", 0);
    let doubles = array(Float64Array::from(vec![f64::NAN, -0.0, 1.5, f64::NEG_INFINITY]));
    check_arrays(&doubles, vec![dictionary([Some(1), Some(2)], &doubles)], "-0.0", "1.5", 0);
}

#[test]
fn collect_ignores_values_under_null_keys() {
    let longs = longs();
    for under in [0, 2, -1, 6, i32::MIN, i32::MAX] {
        let keys = Int32Array::new(vec![1, under, 3].into(), Some(vec![true, false, true].into()));
        check_arrays(&longs, vec![array(DictionaryArray::new(keys, Arc::clone(&longs)))], "3", "5", 1);
    }
}

#[test]
fn collect_ignores_sliced_off_rows() {
    let longs = longs();
    let rows =
        dictionary([Some(0), None, Some(2)].into_iter().cycle().take(100).chain([Some(3), None, Some(1), Some(0)]), &longs);
    check_arrays(&longs, vec![rows.slice(100, 3)], "3", "5", 1);
    check_arrays(&longs, vec![rows.slice(101, 1)], "", "", 1);
    check_arrays(&longs, vec![rows.slice(101, 0)], "", "", 0);
    // 32 of the rows are null: the positions 1, 4, .. 94, and 97.
    check_arrays(&longs, vec![rows.slice(0, 99), rows.slice(100, 0)], "1", "9", 33);
}

#[test]
fn collect_empty_dictionary_gives_no_bounds() {
    let longs = longs();
    check_arrays(&longs, vec![dictionary([], &longs), dictionary([None, Some(5), None], &longs)], "", "", 3);
    check_arrays(&longs, vec![dictionary([], &longs.slice(0, 0)), dictionary([None, None], &longs.slice(0, 0))], "", "", 2);
}

#[test]
fn collect_repeated_dictionary_finds_other_values() {
    let longs = longs().slice(0, 5);
    let part = |keys: [i32; 2]| dictionary(keys.map(Some), &longs);
    // A Parquet reader makes another array with the same buffers.
    let again = |keys: [i32; 2]| arrow_array::make_array(part(keys).to_data());
    check_arrays(&longs, vec![part([1, 1]), part([1, 4]), part([3, 1])], "3", "5", 0);
    check_arrays(&longs, vec![again([1, 1]), again([1, 4]), again([3, 1])], "3", "5", 0);
    check_arrays(&longs, vec![part([0, 1]), part([2, 3]), part([4, 4]), part([0, 1])], "1", "9", 0);
}

#[test]
fn dictionaries_and_plain_values_take_turns() {
    let (longs, others) = (longs(), array(Int64Array::from(vec![-7, 4, 8, 6, 20, 30])));
    let ours = || dictionary([Some(1), Some(4)], &longs);
    let theirs = || dictionary([Some(1), None], &others);
    check_arrays(&longs, vec![ours(), theirs()], "4", "5", 1);
    check_arrays(&longs, vec![theirs(), ours(), theirs(), dictionary([Some(3)], &longs)], "3", "5", 2);
    check_arrays(&longs, vec![ours(), array(Int64Array::from(vec![None, Some(2)])), theirs()], "2", "5", 2);
    check_arrays(&longs, vec![array(Int64Array::from(vec![7])), ours()], "5", "7", 0);
}

#[test]
fn collect_few_rows_of_large_dictionary() {
    let longs = array(Int64Array::from_iter((0..1_000).map(|number| (number != 500).then_some(number))));
    check_arrays(&longs, vec![dictionary([Some(700), None, Some(20), Some(500)], &longs)], "20", "700", 2);
    check_arrays(&longs, vec![dictionary([Some(700)], &longs), dictionary([Some(999)], &longs)], "700", "999", 0);
    let under_null = Int32Array::new(vec![3, -1, 5_000].into(), Some(vec![true, false, false].into()));
    check_arrays(&longs, vec![array(DictionaryArray::new(under_null, Arc::clone(&longs)))], "3", "3", 2);
}

#[test]
fn in_a_null_struct_no_value_counts() {
    let st =
        struct_column(vec![("c", dictionary([Some(0), Some(1), None, Some(3)], &longs()))], Some(vec![false, true, true, true]));
    let plain = struct_column(vec![("c", longs())], None);
    let plan = plan(&batch(vec![("st", plain)]), ("other", ""));
    let expected = r#"{"numRecords":4,"minValues":{"st":{"c":3}},"maxValues":{"st":{"c":5}},"nullCount":{"st":{"c":2}}}"#;
    assert_eq!(collect(&plan, &[batch(vec![("st", st)])]), expected);
}

#[test]
fn columns_without_statistics_may_be_dictionaries() {
    let columns = |second: ArrayRef| batch(vec![("c", array(Int64Array::from(vec![1]))), ("d", second)]);
    let plan = plan(&columns(array(Int64Array::from(vec![1]))), ("dataSkippingNumIndexedCols", "1"));
    let expected = r#"{"numRecords":1,"minValues":{"c":1},"maxValues":{"c":1},"nullCount":{"c":0}}"#;
    assert_eq!(collect(&plan, &[columns(dictionary([Some(1)], &longs()))]), expected);
}

#[test]
fn a_dictionary_of_another_type_is_refused() {
    let plan = plan(&batch(vec![("c", longs())]), ("other", ""));
    let refused = |column: ArrayRef, named: &DataType| {
        let mut collector = StatsCollector::new(Arc::clone(&plan));
        let batch = batch(vec![("c", column)]);
        for _ in 0..2 {
            let error = collector.update(&batch).unwrap_err();
            assert_eq!(error.message(), format!("column c: statistics of a column are not collected as {named}"));
        }
    };
    let integers = array(Int32Array::from(vec![1; 100]));
    refused(dictionary([Some(0); 100], &integers), &DataType::Int32);
    refused(dictionary([None; 100], &integers), &DataType::Int32);
    refused(dictionary([Some(0)], &integers), &DataType::Int32);
    refused(dictionary([], &integers.slice(0, 0)), &DataType::Int32);
    let short_keys = DataType::Dictionary(DataType::Int16.into(), DataType::Int64.into());
    refused(cast(&longs(), &short_keys).unwrap(), &short_keys);
}

/// A column of a batch, as a dictionary.
#[derive(Debug, Clone)]
struct TestBatch {
    of_first: bool,
    /// The key of each row, and whether the row is not null.
    keys: Vec<(prop::sample::Index, bool)>,
    from: usize,
    form: Form,
}

#[derive(Debug, Clone, Copy)]
enum Form {
    Plain,
    Dictionary,
    /// The same buffers as before, in another array.
    Repeated,
}

impl TestBatch {
    /// Returns the column, and the same values as a plain array.
    fn arrays(&self, dictionaries: &[ArrayRef; 2]) -> [ArrayRef; 2] {
        let values = &dictionaries[usize::from(self.of_first)];
        // Null rows have arbitrary keys.
        let keys: Vec<i32> = self.keys.iter().map(|(key, _)| key.index(values.len().max(1) + 1) as i32).collect();
        let within = |key: &i32| (*key as usize) < values.len();
        let valid: NullBuffer =
            self.keys.iter().zip(&keys).map(|((_, valid), key)| *valid && within(key)).collect::<Vec<_>>().into();
        let keys = Int32Array::new(keys.into(), Some(valid).filter(|valid| valid.null_count() > 0));
        let from = self.from.min(keys.len());
        let part = |array: ArrayRef| array.slice(from, array.len() - from);
        let plain = part(take(values, &keys, None).unwrap());
        let dictionary = part(array(DictionaryArray::new(keys, Arc::clone(values))));
        let column = match self.form {
            Form::Plain => Arc::clone(&plain),
            Form::Dictionary => dictionary,
            Form::Repeated => arrow_array::make_array(dictionary.to_data()),
        };
        [column, plain]
    }
}

fn any_part() -> impl Strategy<Value = TestBatch> {
    let valid = prop::sample::select(vec![0.05, 0.8, 1.0]).prop_flat_map(|share| {
        let key = (any::<prop::sample::Index>(), prop::bool::weighted(share));
        prop_oneof![prop::collection::vec(key.clone(), 0..8), prop::collection::vec(key, 0..200)]
    });
    let form = prop_oneof![1 => Just(Form::Plain), 3 => Just(Form::Dictionary), 2 => Just(Form::Repeated)];
    (prop::bool::weighted(0.8), valid, prop_oneof![Just(0_usize), 0..70_usize], form)
        .prop_map(|(of_first, keys, from, form)| TestBatch { of_first, keys, from, form })
}

/// Returns two dictionaries of the same type.
fn any_dictionaries() -> impl Strategy<Value = [ArrayRef; 2]> {
    let values = prop_oneof![2 => 0..12_usize, 1 => 60..300_usize].prop_flat_map(any_column);
    (values, any::<prop::sample::Index>(), any::<bool>()).prop_map(|(values, cut, other_form)| {
        let values = if other_form { in_other_forms(&batch(vec![("c", values)])).column(0).clone() } else { values };
        let cut = cut.index(values.len() + 1);
        [values.slice(0, cut), values.slice(cut, values.len() - cut)]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn dictionaries_have_the_statistics_of_their_values(
        dictionaries in any_dictionaries(), parts in prop::collection::vec(any_part(), 0..6), prefix in prop_oneof![0..6_u32, Just(32)],
    ) {
        let plan_of = |values: &ArrayRef| plan(&batch(vec![("c", Arc::clone(values))]), ("dataSkippingStringPrefixLength", &prefix.to_string()));
        let plan = plan_of(&dictionaries[0]);
        let arrays: Vec<_> = parts.iter().map(|part| part.arrays(&dictionaries)).collect();
        let batches = |form: usize| arrays.iter().map(|arrays| batch(vec![("c", Arc::clone(&arrays[form]))])).collect::<Vec<_>>();
        prop_assert_eq!(collect(&plan, &batches(0)), collect(&plan, &batches(1)));
    }
}
