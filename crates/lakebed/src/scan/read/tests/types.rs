use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Decimal256Array, DictionaryArray, Float32Array,
    Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, LargeStringArray, StringArray, StringViewArray,
    TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray, UInt32Array,
};
use arrow_schema::DataType as ArrowType;
use parquet::data_type::{Int32Type as ParquetInt32, Int64Type as ParquetInt64, Int96, Int96Type};

use lakebed_core::schema::{DataType, PrimitiveType, StructField};

use super::super::decoded_type::value_type;
use super::*;

const DECIMAL_9_2: PrimitiveType = PrimitiveType::Decimal { precision: 9, scale: 2 };

/// Compares a column `c` of this type, read from a file with one column `c`.
#[track_caller]
fn check(data_type: PrimitiveType, stored: ArrayRef, expected: &[&str]) {
    check_file(data_type, parquet(vec![("c", stored)]), expected);
}

#[track_caller]
fn check_file(data_type: PrimitiveType, file: Vec<u8>, expected: &[&str]) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let rows = runtime.block_on(async {
        let mut table = Table::of("c", data_type);
        table.add(file).await;
        table.rows().await
    });
    assert_eq!(rows, expected);
}

#[track_caller]
fn check_refused(data_type: PrimitiveType, file: Vec<u8>, expected: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut table = Table::of("c", data_type);
        table.add(file).await;
        table.check_mismatch("memory://test/f0.parquet: column c: ", &[expected]).await;
    });
}

#[test]
fn every_primitive_type_is_read() {
    check(PrimitiveType::Boolean, Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])), &["true", "-", "false"]);
    check(PrimitiveType::Byte, Arc::new(Int8Array::from(vec![i8::MIN, i8::MAX])), &["-128", "127"]);
    check(PrimitiveType::Short, Arc::new(Int16Array::from(vec![i16::MIN, i16::MAX])), &["-32768", "32767"]);
    check(PrimitiveType::Integer, Arc::new(Int32Array::from(vec![i32::MIN, 0])), &["-2147483648", "0"]);
    check(PrimitiveType::Long, Arc::new(Int64Array::from(vec![i64::MAX, -1])), &["9223372036854775807", "-1"]);
    check(PrimitiveType::Float, Arc::new(Float32Array::from(vec![1.5, -0.25])), &["1.5", "-0.25"]);
    check(PrimitiveType::Double, Arc::new(Float64Array::from(vec![1e300, 0.5])), &["1e300", "0.5"]);
    check(PrimitiveType::String, Arc::new(StringArray::from(vec![Some("é"), None, Some("")])), &["é", "-", ""]);
    check(
        PrimitiveType::Char { length: 3 },
        Arc::new(StringArray::from(vec![Some("é"), None, Some(""), Some("abcd")])),
        &["é  ", "-", "   ", "abcd"],
    );
    check(PrimitiveType::Binary, Arc::new(BinaryArray::from(vec![&[0_u8, 255][..]])), &["00ff"]);
    check(
        PrimitiveType::Date,
        Arc::new(Date32Array::from(vec![0, -719_162, 20_778])),
        &["1970-01-01", "0001-01-01", "2026-11-21"],
    );
    check(DECIMAL_9_2, Arc::new(Decimal128Array::from(vec![-12_345]).with_precision_and_scale(9, 2).unwrap()), &["-123.45"]);
    check(PrimitiveType::Void, Arc::new(Int64Array::from(vec![1, 2])), &["-", "-"]);
    check(PrimitiveType::YearMonthInterval, Arc::new(Int32Array::from(vec![14])), &["1 years 2 mons"]);
    check(PrimitiveType::DayTimeInterval, Arc::new(Int64Array::from(vec![1_000_001])), &["PT1.000001S"]);
}

#[test]
fn narrower_types_of_older_files_are_widened() {
    check(PrimitiveType::Long, Arc::new(Int8Array::from(vec![Some(-7), None])), &["-7", "-"]);
    check(PrimitiveType::Integer, Arc::new(Int16Array::from(vec![300])), &["300"]);
    check(PrimitiveType::Double, Arc::new(Float32Array::from(vec![0.1])), &["0.10000000149011612"]);
    check(PrimitiveType::Double, Arc::new(Int32Array::from(vec![3])), &["3.0"]);
    check(PrimitiveType::Decimal { precision: 12, scale: 2 }, Arc::new(Int32Array::from(vec![5])), &["5.00"]);
    let narrow = Decimal128Array::from(vec![12_345]).with_precision_and_scale(5, 2).unwrap();
    check(PrimitiveType::Decimal { precision: 9, scale: 4 }, Arc::new(narrow), &["123.4500"]);
    check(PrimitiveType::TimestampNtz, Arc::new(Date32Array::from(vec![-1])), &["1969-12-31T00:00:00"]);
}

#[test]
fn other_encodings_of_type_are_read() {
    check(PrimitiveType::String, Arc::new(LargeStringArray::from(vec!["a"])), &["a"]);
    check(
        PrimitiveType::String,
        Arc::new(StringViewArray::from(vec!["a longer text than twelve bytes"])),
        &["a longer text than twelve bytes"],
    );
    let dictionary: DictionaryArray<Int32Type> = [Some("x"), None, Some("y"), Some("x")].into_iter().collect();
    check(PrimitiveType::String, Arc::new(dictionary), &["x", "-", "y", "x"]);
    check(PrimitiveType::Binary, Arc::new(StringArray::from(vec!["a"])), &["61"]);
    check(PrimitiveType::Long, Arc::new(UInt32Array::from(vec![u32::MAX])), &["4294967295"]);
    let wide = Decimal256Array::from(vec![arrow_buffer::i256::from(12_345)]).with_precision_and_scale(38, 2).unwrap();
    check(PrimitiveType::Decimal { precision: 38, scale: 2 }, Arc::new(wide), &["123.45"]);
}

#[test]
fn timestamps_of_any_unit_become_microseconds() {
    let expected = ["2001-09-09T01:46:40.123Z", "1969-12-31T23:59:59.999Z"];
    check(
        PrimitiveType::Timestamp,
        Arc::new(TimestampMillisecondArray::from(vec![1_000_000_000_123, -1]).with_timezone("UTC")),
        &expected,
    );
    let nanos = TimestampNanosecondArray::from(vec![1_000_000_000_123_456_789, -1]).with_timezone("UTC");
    // Fractions of a microsecond are cut off towards the past.
    check(PrimitiveType::Timestamp, Arc::new(nanos), &["2001-09-09T01:46:40.123456Z", "1969-12-31T23:59:59.999999Z"]);
    let paris = TimestampMicrosecondArray::from(vec![1]).with_timezone("Europe/Paris");
    check(PrimitiveType::Timestamp, Arc::new(paris), &["1970-01-01T00:00:00.000001Z"]);
    check(PrimitiveType::TimestampNtz, Arc::new(TimestampMicrosecondArray::from(vec![1])), &["1970-01-01T00:00:00.000001"]);
    // Writers disagree on whether a timestamp column is marked as adjusted to UTC. The log decides.
    check(PrimitiveType::Timestamp, Arc::new(TimestampMicrosecondArray::from(vec![1])), &["1970-01-01T00:00:00.000001Z"]);
}

#[test]
fn int96_reads_first_and_last_year() {
    let instant = |day: u32, nanos: u64| {
        let mut value = Int96::new();
        value.set_data((nanos & 0xFFFF_FFFF) as u32, (nanos >> 32) as u32, day);
        value
    };
    // The values are the Julian day numbers of 0001-01-01, 1970-01-01 and 9999-12-31.
    let values = [instant(1_721_426, 0), instant(2_440_588, 1_500), instant(5_373_484, 86_399_999_999_000)];
    let file = leaf_file::<Int96Type>("message m { required int96 c; }", &values, None, None);
    let expected = ["0001-01-01T00:00:00Z", "1970-01-01T00:00:00.000001Z", "9999-12-31T23:59:59.999999Z"];
    check_file(PrimitiveType::Timestamp, file, &expected);
}

#[test]
fn decimals_are_read_from_every_physical_type() {
    let expected = ["-1.00", "123.45"];
    let file = leaf_file::<ParquetInt32>("message m { required int32 c (DECIMAL(9,2)); }", &[-100, 12_345], None, None);
    check_file(DECIMAL_9_2, file, &expected);
    let file = leaf_file::<ParquetInt64>("message m { required int64 c (DECIMAL(9,2)); }", &[-100, 12_345], None, None);
    check_file(DECIMAL_9_2, file, &expected);
    let (minus_one, other): (&[u8], &[u8]) = (&[0xFF, 0xFF, 0xFF, 0x9C], &[0, 0, 0x30, 0x39]);
    let file = fixed_byte_arrays("message m { required fixed_len_byte_array(4) c (DECIMAL(9,2)); }", &[minus_one, other]);
    check_file(DECIMAL_9_2, file, &expected);
    let file = byte_arrays("message m { required binary c (DECIMAL(9,2)); }", &[&[0x9C], &[0x30, 0x39]]);
    check_file(DECIMAL_9_2, file, &expected);
}

#[tokio::test]
async fn moving_rows_have_views_and_short_decimals() {
    let types = async |data_type, file, filter: Option<&str>| {
        let mut table = Table::of("c", data_type);
        table.add(file).await;
        table.options.is_moving = true;
        table.task.spec.filter = filter.map(Into::into);
        let batches = table.batches().await.unwrap();
        batches.iter().map(|batch| value_type(batch.column(0).data_type()).clone()).collect::<Vec<_>>()
    };
    let text = |annotation| byte_arrays(&format!("message m {{ required binary c {annotation}; }}"), &[b"a"]);
    let stored = || leaf_file::<ParquetInt32>("message m { required int32 c (DECIMAL(9,2)); }", &[-100, 12_345], None, None);
    let as_bytes = byte_arrays("message m { required binary c (DECIMAL(9,2)); }", &[&[0x9C], &[0x30, 0x39]]);
    for annotation in ["(UTF8)", "(ENUM)", ""] {
        assert_eq!(types(PrimitiveType::String.into(), text(annotation), None).await, [ArrowType::Utf8View], "{annotation}");
    }
    let padded = PrimitiveType::Char { length: 3 };
    assert_eq!(types(padded.into(), text("(UTF8)"), None).await, [ArrowType::Utf8View]);
    assert_eq!(types(DataType::from(DECIMAL_9_2), stored(), None).await, [ArrowType::Decimal64(9, 2)]);
    assert_eq!(types(DataType::from(DECIMAL_9_2), as_bytes, None).await, [ArrowType::Decimal64(9, 2)]);
    assert_eq!(types(DataType::from(DECIMAL_9_2), stored(), Some("c > 100")).await, [ArrowType::Decimal128(9, 2)]);
}

#[tokio::test]
async fn moving_rows_keep_dictionary_keys() {
    let words: ArrayRef = Arc::new(StringArray::from_iter((0..100).map(|row| (row % 7 > 0).then_some(["a", "b"][row % 2]))));
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values((0..100).map(|row| row % 3)));
    let truths: ArrayRef = Arc::new(BooleanArray::from_iter((0..100).map(|row| Some(row % 2 == 0))));
    let file = parquet(vec![("word", words), ("number", numbers), ("truth", truths)]);
    let fields = [("word", PrimitiveType::String), ("number", PrimitiveType::Long), ("truth", PrimitiveType::Boolean)];
    let fields = fields.map(|(name, data_type)| StructField::new(name, data_type, true));
    let mut table = Table::new(fields.into());
    table.add(file).await;
    table.rows().await;
    let keyed = |values| ArrowType::Dictionary(Box::new(ArrowType::Int32), Box::new(values));
    let types = async |table: &Table| {
        let batches = table.batches().await.unwrap();
        batches[0].columns().iter().map(|column| column.data_type().clone()).collect::<Vec<_>>()
    };
    table.options.is_moving = true;
    assert_eq!(types(&table).await, [keyed(ArrowType::Utf8View), keyed(ArrowType::Int64), ArrowType::Boolean]);
    // Rows that are tested have the usual types.
    table.task.spec.filter = Some("number = 1".into());
    assert_eq!(types(&table).await, [ArrowType::Utf8, ArrowType::Int64, ArrowType::Boolean]);
}

#[test]
fn unannotated_text_is_read_and_checked() {
    check_file(PrimitiveType::String, byte_arrays("message m { required binary c; }", &["é".as_bytes(), b""]), &["é", ""]);
    check_file(PrimitiveType::String, byte_arrays("message m { required binary c (JSON); }", &[b"{}"]), &["{}"]);
    check_file(PrimitiveType::String, byte_arrays("message m { required binary c (ENUM); }", &[b"A"]), &["A"]);
    for annotation in ["", "(JSON)"] {
        let file = byte_arrays(&format!("message m {{ required binary c {annotation}; }}"), &[b"\xC3\x28"]);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut table = Table::of("c", PrimitiveType::String);
            table.add(file).await;
            let error = table.error().await;
            assert!(error.message().starts_with("memory://test/f0.parquet: column c: "), "{error}");
            assert!(error.to_string().contains("non UTF-8 data"), "{error}");
        });
    }
}

#[test]
fn small_integers_without_their_annotation_must_fit() {
    let file = |value| leaf_file::<ParquetInt32>("message m { required int32 c; }", &[value], None, None);
    check_file(PrimitiveType::Byte, file(-128), &["-128"]);
    check_file(PrimitiveType::Short, file(300), &["300"]);
    check_refused(PrimitiveType::Byte, file(128), "does not fit");
}

#[test]
fn unsupported_type_change_is_refused() {
    let text = || parquet(vec![("c", Arc::new(StringArray::from(vec!["1"])) as ArrayRef)]);
    check_refused(PrimitiveType::Long, text(), "string cannot be read as long");
    let double = parquet(vec![("c", Arc::new(Float64Array::from(vec![1.0])) as ArrayRef)]);
    check_refused(PrimitiveType::Float, double, "double cannot be read as float");
    let timestamp = parquet(vec![("c", Arc::new(TimestampMicrosecondArray::from(vec![1])) as ArrayRef)]);
    check_refused(PrimitiveType::Date, timestamp, "timestamp_ntz cannot be read as date");
}

#[tokio::test]
async fn zeros_and_nans_keep_their_bits() {
    let values = [0.0, -0.0, f64::NAN, f64::from_bits(0x7FF8_0000_0000_0001), f64::INFINITY];
    let mut table = Table::of("c", PrimitiveType::Double);
    table.add(parquet(vec![("c", Arc::new(Float64Array::from(values.to_vec())))])).await;
    let batches = table.batches().await.unwrap();
    let bits: Vec<u64> =
        batches[0].column(0).as_primitive::<Float64Type>().values().iter().map(|value| value.to_bits()).collect();
    assert_eq!(bits, values.map(f64::to_bits));
}

#[tokio::test]
async fn missing_columns_are_null_others_ignored() {
    let fields = vec![
        StructField::new("new", PrimitiveType::String, true),
        StructField::new("kept", PrimitiveType::Long, true),
        StructField::new("void", PrimitiveType::Void, true),
    ];
    let mut table = Table::new(fields);
    let column = |values: Vec<i64>| Arc::new(Int64Array::from(values)) as ArrayRef;
    table
        .add(parquet(vec![("dropped", column(vec![9, 9])), ("kept", column(vec![1, 2])), ("_change_type", column(vec![8, 8]))]))
        .await;
    table.add(parquet(vec![("dropped", column(vec![7]))])).await;
    assert_eq!(table.rows().await, ["-|1|-", "-|2|-", "-|-|-"]);
    assert_eq!(table.columns(&["new"]).rows().await, ["-", "-", "-"]);
}

#[tokio::test]
async fn null_in_required_column_is_refused() {
    let mut table = Table::new(vec![StructField::new("c", PrimitiveType::Long, false)]);
    table.add(parquet(vec![("c", Arc::new(Int64Array::from(vec![Some(1), None])))])).await;
    table.add(parquet(vec![("c", Arc::new(Int64Array::from(vec![2])))])).await;
    let batches = table.batches().await.unwrap();
    assert_eq!(show(&batches), ["1", "-", "2"]);
    let nullable: Vec<bool> = batches.iter().map(|batch| batch.schema().field(0).is_nullable()).collect();
    assert_eq!(nullable, [true, false]);
    assert!(!table.task.spec.output_schema().unwrap().field(0).is_nullable());
}

#[tokio::test]
async fn partition_values_come_from_the_log() {
    let partition = |name: &str, data_type: PrimitiveType| StructField::new(name, DataType::from(data_type), true);
    let mut table = Table::new(vec![
        partition("day", PrimitiveType::Date),
        StructField::new("c", PrimitiveType::Long, true),
        partition("n", PrimitiveType::Integer),
        partition("at", PrimitiveType::Timestamp),
    ]);
    table.task.spec.partition_columns = vec!["day".into(), "n".into(), "at".into()];
    // The file has its own type for `n`, which is ignored.
    let column = |values: Vec<i64>| Arc::new(Int64Array::from(values)) as ArrayRef;
    let file = table.add(parquet(vec![("c", column(vec![1, 2])), ("n", column(vec![77, 77]))])).await;
    let value = |text: &str| Some(text.to_owned());
    file.partition_values = [
        ("day".to_owned(), value("2026-11-21")),
        ("n".to_owned(), value("-5")),
        ("at".to_owned(), value("2026-11-21 01:02:03.5")),
    ]
    .into();
    let file = table.add(parquet(vec![("c", column(vec![3]))])).await;
    file.partition_values = [("day".to_owned(), None), ("n".to_owned(), value("")), ("at".to_owned(), None)].into();
    let first = "2026-11-21|1|-5|2026-11-21T01:02:03.500Z";
    assert_eq!(table.rows().await, [first, &first.replace("|1|", "|2|"), "-|3|-|-"]);
    assert_eq!(table.columns(&["n"]).rows().await, ["-5", "-5", "-"]);
}
