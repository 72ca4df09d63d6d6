mod dictionary;
mod property;

use arrow_array::types::Int32Type;
use arrow_array::{
    BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float32Array, Float64Array, Int8Array, Int16Array,
    Int32Array, Int64Array, IntervalYearMonthArray, ListArray, NullArray, StringArray, StructArray, TimestampMicrosecondArray,
    new_null_array,
};
use arrow_cast::cast;
use arrow_schema::{DataType, Field};

use super::*;
use crate::kit::arrow::{array, batch, decimals, struct_column, timestamps};
use crate::kit::table::properties;
use crate::schema::arrow::schema_from_arrow;
use crate::schema::mapping::MappingMode;
use crate::schema::{PrimitiveType, StructField, StructType};

/// Returns the plan of a table with the columns of a batch and this one property.
fn plan(batch: &RecordBatch, property: (&str, &str)) -> Arc<StatsPlan> {
    let properties = properties(&[(&format!("delta.{}", property.0), property.1)]);
    let schema = schema_from_arrow(batch.schema_ref()).unwrap();
    Arc::new(StatsPlan::new(&schema, MappingMode::None, &[], &properties, &[]).unwrap())
}

fn collect(plan: &Arc<StatsPlan>, batches: &[RecordBatch]) -> String {
    let mut collector = StatsCollector::new(Arc::clone(plan));
    batches.iter().for_each(|batch| collector.update(batch).unwrap());
    let stats = collector.finish();
    assert_eq!(stats.num_records as usize, batches.iter().map(RecordBatch::num_rows).sum::<usize>());
    stats.json
}

#[test]
fn collect_common_prefix_gives_longer_bounds() {
    let start = "https://example.com/articles/2024/";
    let texts = || {
        vec![("a", array(StringArray::from(vec![format!("{start}{}", "a".repeat(40)), format!("{start}{}", "b".repeat(40))])))]
    };
    let bounds = |low: &str, high: &str| {
        format!(r#"{{"numRecords":2,"minValues":{{"a":"{low}"}},"maxValues":{{"a":"{high}"}},"nullCount":{{"a":0}}}}"#)
    };
    let (low, high) = (format!("{start}{}", "a".repeat(32)), format!("{start}{}\u{7f}", "b".repeat(32)));
    check_with(("dataSkippingNumIndexedCols", "32"), texts(), &bounds(&low, &high));
    // A property with a shorter prefix is respected.
    check_with(("dataSkippingStringPrefixLength", "8"), texts(), &bounds("https://", "https://\u{7f}"));
}

#[track_caller]
fn check_with(property: (&str, &str), columns: Vec<(&str, ArrayRef)>, expected: &str) {
    let batch = batch(columns);
    let plan = plan(&batch, property);
    assert_eq!(collect(&plan, std::slice::from_ref(&batch)), expected);
    let rows: Vec<_> = (0..batch.num_rows()).map(|row| batch.slice(row, 1)).collect();
    assert_eq!(collect(&plan, &rows), expected, "row by row");
    assert_eq!(collect(&plan, &[in_other_forms(&batch)]), expected, "texts as views, decimals in 64 bits");
    assert_eq!(collect(&plan, &[in_dictionaries(&batch)]), expected, "as dictionaries");
    assert_eq!(collect(&plan, &[in_dictionaries(&in_other_forms(&batch))]), expected, "as dictionaries of other forms");
}

/// Converts each column that is not a struct to a dictionary. The values keep their order.
fn in_dictionaries(batch: &RecordBatch) -> RecordBatch {
    let names = batch.schema_ref().fields().iter().map(|field| field.name().as_str());
    let keys = Int32Array::from_iter_values(0..batch.num_rows() as i32);
    let other = |column: &ArrayRef| match column.data_type() {
        DataType::Struct(_) => Arc::clone(column),
        _ => array(DictionaryArray::new(keys.clone(), Arc::clone(column))),
    };
    self::batch(names.zip(batch.columns().iter().map(other)).collect())
}

/// Converts the columns to the forms that rows have when they are moved from file to file.
fn in_other_forms(batch: &RecordBatch) -> RecordBatch {
    let names = batch.schema_ref().fields().iter().map(|field| field.name().as_str());
    let other = |column: &ArrayRef| match column.data_type() {
        DataType::Utf8 => cast(column, &DataType::Utf8View).unwrap(),
        DataType::Decimal128(precision @ ..=18, scale) => cast(column, &DataType::Decimal64(*precision, *scale)).unwrap(),
        _ => Arc::clone(column),
    };
    self::batch(names.zip(batch.columns().iter().map(other)).collect())
}

#[track_caller]
fn check(columns: Vec<(&str, ArrayRef)>, expected: &str) {
    check_with(("other", ""), columns, expected);
}

/// Checks the bounds and nulls of one column `c`. An empty string stands for a bound that is left
/// out.
#[track_caller]
fn check_column(column: impl Array + 'static, low: &str, high: &str, nulls: usize) {
    let rows = column.len();
    let bound = |text: &str| if text.is_empty() { String::new() } else { format!("\"c\":{text}") };
    let bounds = format!("\"minValues\":{{{}}},\"maxValues\":{{{}}}", bound(low), bound(high));
    check(vec![("c", array(column))], &format!("{{\"numRecords\":{rows},{bounds},\"nullCount\":{{\"c\":{nulls}}}}}"));
}

// Unless a comment says otherwise, the expected texts are those that Delta Spark 4.4.0 wrote for
// the same rows.
#[test]
fn collect_every_type_counts_nulls() {
    let inner = struct_column(
        vec![
            ("z", array(StringArray::from(vec!["q"]))),
            ("w", array(ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1)])]))),
        ],
        None,
    );
    check(
        vec![
            ("b", array(BooleanArray::from(vec![true]))),
            ("i8", array(Int8Array::from(vec![-128]))),
            ("i16", array(Int16Array::from(vec![-3]))),
            ("i32", array(Int32Array::from(vec![5]))),
            ("i64", array(Int64Array::from(vec![i64::MAX]))),
            ("f", array(Float32Array::from(vec![1.1]))),
            ("d", array(Float64Array::from(vec![1.1]))),
            ("dc", array(decimals(vec![150], 5, 2))),
            ("dc0", array(decimals(vec![12_345_678_901_234_567_890_123_456_789_012_345_678], 38, 0))),
            ("s", array(StringArray::from(vec!["a"]))),
            ("bi", array(BinaryArray::from(vec![&b"\0"[..]]))),
            ("dt", array(Date32Array::from(vec![19_723]))),
            ("ts", array(timestamps(vec![1_704_112_496_123_999]))),
            ("tn", array(TimestampMicrosecondArray::from(vec![1_704_112_496_123_999]))),
            ("a", array(ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1)])]))),
            ("st", struct_column(vec![("x", array(Int32Array::from(vec![1]))), ("y", inner)], None)),
        ],
        concat!(
            r#"{"numRecords":1,"minValues":{"i8":-128,"i16":-3,"i32":5,"i64":9223372036854775807,"f":1.1,"d":1.1,"dc":1.50,"#,
            r#""dc0":12345678901234567890123456789012345678,"s":"a","dt":"2024-01-01","ts":"2024-01-01T12:34:56.123Z","#,
            r#""tn":"2024-01-01T12:34:56.123","st":{"x":1,"y":{"z":"q"}}},"maxValues":{"i8":-128,"i16":-3,"i32":5,"#,
            r#""i64":9223372036854775807,"f":1.1,"d":1.1,"dc":1.50,"dc0":12345678901234567890123456789012345678,"s":"a","#,
            r#""dt":"2024-01-01","ts":"2024-01-01T12:34:56.123Z","tn":"2024-01-01T12:34:56.123","st":{"x":1,"y":{"z":"q"}}},"#,
            r#""nullCount":{"b":0,"i8":0,"i16":0,"i32":0,"i64":0,"f":0,"d":0,"dc":0,"dc0":0,"s":0,"bi":0,"dt":0,"ts":0,"tn":0,"#,
            r#""a":0,"st":{"x":0,"y":{"z":0,"w":0}}}}"#
        ),
    );
}

#[test]
fn collect_all_null_columns_gives_no_bounds() {
    let list = new_null_array(ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1)])]).data_type(), 1);
    let inner = struct_column(vec![("z", array(StringArray::from(vec!["q"]))), ("w", list)], None);
    check(
        vec![
            ("b", array(BooleanArray::from(vec![None]))),
            ("i8", array(Int8Array::from(vec![None]))),
            ("s", array(StringArray::from(vec![None::<&str>]))),
            ("st", struct_column(vec![("x", array(Int32Array::from(vec![1]))), ("y", inner)], Some(vec![false]))),
        ],
        concat!(
            r#"{"numRecords":1,"minValues":{"st":{"y":{}}},"maxValues":{"st":{"y":{}}},"#,
            r#""nullCount":{"b":1,"i8":1,"s":1,"st":{"x":1,"y":{"z":1,"w":1}}}}"#
        ),
    );
}

#[test]
fn collect_without_bounded_columns_omits_bounds() {
    let flag = || array(BooleanArray::from(vec![true]));
    check(
        vec![("b", flag()), ("st", struct_column(vec![("b", flag())], None))],
        r#"{"numRecords":1,"nullCount":{"b":0,"st":{"b":0}}}"#,
    );
    check_with(("dataSkippingNumIndexedCols", "0"), vec![("b", flag())], r#"{"numRecords":1}"#);
}

#[test]
fn collect_counts_fields_of_null_structs() {
    let y = struct_column(vec![("z", array(StringArray::from(vec!["no", "no", "q"])))], Some(vec![true, false, true]));
    let st = struct_column(
        vec![("x", array(Int32Array::from(vec![Some(0), Some(1), None]))), ("y", y)],
        Some(vec![false, true, true]),
    );
    let a = ListArray::from_iter_primitive::<Int32Type, _, _>([None, Some([Some(1)]), None]);
    check(
        vec![("st", st), ("a", array(a))],
        concat!(
            r#"{"numRecords":3,"minValues":{"st":{"x":1,"y":{"z":"q"}}},"maxValues":{"st":{"x":1,"y":{"z":"q"}}},"#,
            r#""nullCount":{"st":{"x":2,"y":{"z":2}},"a":2}}"#
        ),
    );
}

#[test]
fn collect_writes_tight_bounds_on_request() {
    let batch = batch(vec![("i", array(Int32Array::from(vec![1])))]);
    let plan = Arc::new(StatsPlan::clone(&plan(&batch, ("other", ""))).with_tight_bounds(true));
    let expected = r#"{"numRecords":1,"minValues":{"i":1},"maxValues":{"i":1},"nullCount":{"i":0},"tightBounds":true}"#;
    assert_eq!(collect(&plan, &[batch]), expected);
}

#[test]
fn collect_missing_or_void_column_counts_nulls() {
    let whole = [("i", PrimitiveType::Integer), ("v", PrimitiveType::Void), ("j", PrimitiveType::Integer)];
    let mut schema = StructType { fields: whole.map(|(name, data_type)| StructField::new(name, data_type, true)).into() };
    let inner = StructType {
        fields: vec![StructField::new("x", PrimitiveType::Integer, true), StructField::new("y", PrimitiveType::Integer, true)],
    };
    schema.fields.push(StructField::new("st", inner, true));
    let properties = properties(&[]);
    let plan = Arc::new(StatsPlan::new(&schema, MappingMode::None, &[], &properties, &[]).unwrap());
    let i = || array(Int32Array::from(vec![1]));
    let expected = r#"{"numRecords":1,"minValues":{"i":1,"st":{}},"maxValues":{"i":1,"st":{}},"nullCount":{"i":0,"v":1,"j":1,"st":{"x":1,"y":1}}}"#;
    assert_eq!(collect(&plan, &[batch(vec![("i", i())])]), expected);
    assert_eq!(collect(&plan, &[batch(vec![("v", array(NullArray::new(1))), ("other", i()), ("i", i())])]), expected);
    let later = batch(vec![("st", struct_column(vec![("y", i())], None)), ("i", i())]);
    let expected = r#"{"numRecords":2,"minValues":{"i":1,"st":{"y":1}},"maxValues":{"i":1,"st":{"y":1}},"nullCount":{"i":0,"v":2,"j":2,"st":{"x":2,"y":1}}}"#;
    assert_eq!(collect(&plan, &[batch(vec![("i", i())]), later]), expected);
}

#[test]
fn collect_empty_file_gives_only_counts() {
    let empty =
        batch(vec![("i", array(Int32Array::from(Vec::<i32>::new()))), ("s", array(StringArray::from(Vec::<&str>::new())))]);
    let expected = r#"{"numRecords":0,"minValues":{},"maxValues":{},"nullCount":{"i":0,"s":0}}"#;
    assert_eq!(collect(&plan(&empty, ("other", "")), std::slice::from_ref(&empty)), expected);
    assert_eq!(collect(&plan(&empty, ("other", "")), &[]), expected);
}

#[test]
fn collect_strings_compares_bytes_and_cuts() {
    check_column(StringArray::from(vec![Some("\u{ffff}"), Some("😀"), None]), "\"\u{ffff}\"", "\"😀\"", 1);
    check_column(StringArray::from(vec!["b", ""]), r#""""#, r#""b""#, 0);
    let long = "abcdefghijklmnopqrstuvwxyz0123456789";
    check_column(StringArray::from(vec![long]), &format!("\"{}\"", &long[..32]), &format!("\"{}\u{7f}\"", &long[..32]), 0);
    check_column(StringArray::from(vec!["\u{10ffff}".repeat(33)]), &format!("\"{}\"", "\u{10ffff}".repeat(32)), "", 0);
    check_column(StringArray::from(vec!["a\"\\b/\n\u{1}<>'"]), r#""a\"\\b/\n\u0001<>'""#, r#""a\"\\b/\n\u0001<>'""#, 0);
    let texts = || vec![("c", array(StringArray::from(vec!["ab😀d", "abc"])))];
    let expected =
        format!(r#"{{"numRecords":2,"minValues":{{"c":"abc"}},"maxValues":{{"c":"ab😀{}"}},"nullCount":{{"c":0}}}}"#, '\u{7f}');
    check_with(("dataSkippingStringPrefixLength", "3"), texts(), &expected);
    check_with(
        ("dataSkippingStringPrefixLength", "0"),
        texts(),
        r#"{"numRecords":2,"minValues":{"c":""},"maxValues":{},"nullCount":{"c":0}}"#,
    );
}

#[test]
fn decimals_have_all_digits_of_their_scale() {
    check_column(decimals(vec![10_000, -10], 10, 2), "-0.10", "100.00", 0);
    check_column(decimals(vec![10_i128.pow(38) - 1, 0], 38, 0), "0", &"9".repeat(38), 0);
    // Spark writes 1E-18, which is the same number.
    check_column(decimals(vec![1, -1_100_000_000_000_000_000], 38, 18), "-1.100000000000000000", "0.000000000000000001", 0);
}

#[test]
fn floats_are_spelled_as_java_spells_them() {
    check_column(Float32Array::from(vec![2e10, 1.1]), "1.1", "2.0E10", 0);
    check_column(Float64Array::from(vec![1e-7, 1.7976931348623157E308]), "1.0E-7", "1.7976931348623157E308", 0);
    check_column(Float64Array::from(vec![f64::NEG_INFINITY, f64::INFINITY]), r#""-Infinity""#, r#""Infinity""#, 0);
    check_column(Float32Array::from(vec![f32::INFINITY]), r#""Infinity""#, r#""Infinity""#, 0);
}

#[test]
fn collect_omits_nan_bounds() {
    // Spark writes "NaN".
    check_column(Float64Array::from(vec![Some(1.0), Some(f64::NAN), None]), "1.0", "", 1);
    check_column(Float32Array::from(vec![-f32::NAN, 1.0]), "1.0", "", 0);
    check_column(Float64Array::from(vec![f64::NAN]), "", "", 0);
}

#[test]
fn collect_zero_bounds_cover_both_signs() {
    // With zeros of both signs, Spark writes the first one for both bounds.
    check_column(Float64Array::from(vec![-0.0, 0.0]), "-0.0", "0.0", 0);
    check_column(Float32Array::from(vec![0.0, -0.0]), "-0.0", "0.0", 0);
    check_column(Float64Array::from(vec![-0.0]), "-0.0", "0.0", 0);
    check_column(Float64Array::from(vec![0.0]), "0.0", "0.0", 0);
}

#[test]
fn timestamps_are_cut_off_at_milliseconds() {
    check_column(
        timestamps(vec![-100, 1_704_112_496_123_999]),
        r#""1969-12-31T23:59:59.999Z""#,
        r#""2024-01-01T12:34:56.123Z""#,
        0,
    );
    check_column(
        TimestampMicrosecondArray::from(vec![-62_135_596_800_000_000]),
        r#""0001-01-01T00:00:00.000""#,
        r#""0001-01-01T00:00:00.000""#,
        0,
    );
    check_column(timestamps(vec![253_402_300_799_999_999]), r#""9999-12-31T23:59:59.999Z""#, r#""9999-12-31T23:59:59.999Z""#, 0);
    check_column(Date32Array::from(vec![-719_162, 2_932_896]), r#""0001-01-01""#, r#""9999-12-31""#, 0);
}

#[test]
fn collect_omits_years_outside_four_digits() {
    // Spark writes these years with a sign.
    check_column(timestamps(vec![0, 253_402_300_800_000_000]), r#""1970-01-01T00:00:00.000Z""#, "", 0);
    check_column(timestamps(vec![i64::MIN, 0]), "", r#""1970-01-01T00:00:00.000Z""#, 0);
    check_column(TimestampMicrosecondArray::from(vec![-62_135_596_800_000_001, i64::MAX]), "", "", 0);
    check_column(Date32Array::from(vec![-719_163, 0]), "", r#""1970-01-01""#, 0);
    check_column(Date32Array::from(vec![i32::MIN, i32::MAX]), "", "", 0);
}

#[test]
fn intervals_have_no_bounds() {
    let months = || vec![("c", array(IntervalYearMonthArray::from(vec![Some(1), None])))];
    check(months(), r#"{"numRecords":2,"nullCount":{"c":1}}"#);
}

#[test]
fn names_are_escaped() {
    check(vec![("a\"b.ü", array(BooleanArray::from(vec![true])))], r#"{"numRecords":1,"nullCount":{"a\"b.ü":0}}"#);
}

#[test]
fn a_column_of_another_type_is_refused() {
    let plan = plan(&batch(vec![("c", array(Int64Array::from(vec![1]))), ("d", array(decimals(vec![1], 5, 2)))]), ("other", ""));
    for (name, column) in
        [("c", array(Int32Array::from(vec![1]))), ("d", array(decimals(vec![1], 5, 1))), ("d", array(Int64Array::from(vec![1])))]
    {
        let error = StatsCollector::new(Arc::clone(&plan)).update(&batch(vec![(name, Arc::clone(&column))])).unwrap_err();
        assert_eq!(error.message(), format!("column {name}: statistics of a column are not collected as {}", column.data_type()));
    }
}
