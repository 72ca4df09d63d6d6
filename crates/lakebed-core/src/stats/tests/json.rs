use arrow_array::{
    Array, BooleanArray, Date32Array, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, NullArray,
    StringArray, TimestampMicrosecondArray,
};
use arrow_schema::DataType as ArrowType;

use super::*;
use PrimitiveType::{Boolean, Byte, Date, Double, Float, Integer, Long, Short, String as Text, Timestamp, TimestampNtz};

/// Statistics as Delta Spark writes them.
const SPARK: &str = r#"{"numRecords":3,"minValues":{"id":-7,"name":"a, {b}","at":"2024-02-29T12:34:56.789Z","day":"2024-02-29","price":12345678901234567.89,"place":{"x":1.5,"y":{"z":"in"}}},"maxValues":{"id":9007199254740993,"name":"z\"}","at":"2024-02-29T13:34:56.789+01:00","day":"9999-12-31","price":99999999999999999.99,"place":{"x":1.0E10,"y":{"z":"out"}}},"nullCount":{"id":0,"name":1,"at":0,"day":0,"price":2,"place":{"x":0,"y":{"z":3}}},"tightBounds":false}"#;

#[test]
fn read_delta_spark_stats_finds_every_kind() {
    let price = PrimitiveType::Decimal { precision: 19, scale: 2 };
    check(SPARK, rows(), Int64Array::from(vec![3]));
    check(SPARK, tight(), BooleanArray::from(vec![false]));
    check(SPARK, nulls("price"), Int64Array::from(vec![2]));
    check(SPARK, column(StatKind::NullCount, &["place", "y", "z"], Text), Int64Array::from(vec![3]));
    check(SPARK, min("id", Long), Int64Array::from(vec![-7]));
    check(SPARK, max("id", Long), Int64Array::from(vec![9_007_199_254_740_993]));
    check(SPARK, min("name", Text), StringArray::from(vec!["a, {b}"]));
    check(SPARK, max("name", Text), StringArray::from(vec!["z\"}"]));
    check(SPARK, min("at", Timestamp), timestamps(vec![1_709_210_096_789_000]));
    check(SPARK, min("day", Date), Date32Array::from(vec![19_782]));
    check(SPARK, max("day", Date), Date32Array::from(vec![2_932_896]));
    check(SPARK, min("price", price), decimals(vec![Some(1_234_567_890_123_456_789)], 19, 2));
    check(SPARK, max("price", price), decimals(vec![Some(9_999_999_999_999_999_999)], 19, 2));
    check(SPARK, column(StatKind::Min, &["place", "x"], Double), Float64Array::from(vec![1.5]));
    check(SPARK, column(StatKind::Max, &["place", "x"], Double), Float64Array::from(vec![1e10]));
    check(SPARK, column(StatKind::Max, &["place", "y", "z"], Text), StringArray::from(vec!["out"]));
}

#[test]
fn read_keeps_order_of_columns_and_rows() {
    let texts = StringArray::from(vec![
        Some(r#"{"numRecords":1,"minValues":{"a":1,"b":"x"},"nullCount":{"a":5}}"#),
        None,
        Some(r#"{"minValues":{"b":"y"},"numRecords":2}"#),
        Some(r#"{"numRecords":3,"minValues":{"a":3"#),
        Some(r#"{"nullCount":{"a":7},"minValues":{"a":4,"b":null}}"#),
    ]);
    let wanted = [min("b", Text), rows(), nulls("a"), min("a", Long), tight(), min("a", Integer), max("a", Long)];
    let expected: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from(vec![Some("x"), None, Some("y"), None, None])),
        Arc::new(Int64Array::from(vec![Some(1), None, Some(2), None, None])),
        Arc::new(Int64Array::from(vec![Some(5), None, None, None, Some(7)])),
        Arc::new(Int64Array::from(vec![Some(1), None, None, None, Some(4)])),
        Arc::new(BooleanArray::from(vec![Some(true), None, Some(true), None, Some(true)])),
        Arc::new(Int32Array::from(vec![Some(1), None, None, None, Some(4)])),
        Arc::new(Int64Array::from(vec![None::<i64>; 5])),
    ];
    assert_eq!(from_json(&texts, &wanted), expected);
}

#[test]
fn what_is_not_one_object_says_nothing() {
    for text in [
        "",
        " ",
        "null",
        "[]",
        "1",
        "\"numRecords\"",
        "{",
        r#"{"numRecords":1"#,
        r#"{"numRecords":1,"#,
        r#"{"numRecords":1}}"#,
        r#"{"numRecords":1} {"#,
        r#"{"numRecords":1,"a":{"b":"}"#,
        r#"{"numRecords":1,"a":"x}"#,
        r#"{"numRecords":1,"a":[1}"#,
        r#"{"numRecords":1,"a"}"#,
        r#"{"numRecords":1 "a":2}"#,
        r#"{"numRecords":1,"a":}"#,
        r#"{numRecords:1}"#,
        r#"{"numRecords":1,"a":"\"}"#,
    ] {
        check(text, rows(), Int64Array::from(vec![None]));
        check(text, tight(), BooleanArray::from(vec![None]));
    }
}

#[test]
fn values_of_other_kinds_are_null() {
    for value in
        ["null", "\"x\"", "true", "{\"b\":1}", "[1]", "1.5", "1e400", "-", "0x10", "99999999999999999999", "\"\"", "[{\"a\":1}]"]
    {
        check(&format!(r#"{{"minValues":{{"a":{value},"c":2}}}}"#), min("a", Long), Int64Array::from(vec![None]));
        check(&format!(r#"{{"minValues":{{"a":{value},"c":2}}}}"#), min("c", Long), Int64Array::from(vec![2]));
    }
    check(r#"{"minValues":{"a":1}}"#, min("a", Text), StringArray::from(vec![None::<&str>]));
    check(r#"{"minValues":[{"a":1}]}"#, min("a", Long), Int64Array::from(vec![None]));
    check(r#"{"minValues":null,"numRecords":null}"#, min("a", Long), Int64Array::from(vec![None]));
    check(r#"{"nullCount":{"a":-1}}"#, nulls("a"), Int64Array::from(vec![None]));
    check(r#"{"numRecords":-1}"#, rows(), Int64Array::from(vec![None]));
}

#[test]
fn integers_are_exact_and_within_their_type() {
    let text = r#"{"minValues":{"max":9223372036854775807,"min":-9223372036854775808,"point":1.0,"power":12e3,"byte":128,"quoted":"42"}}"#;
    check(text, min("max", Long), Int64Array::from(vec![i64::MAX]));
    check(text, min("min", Long), Int64Array::from(vec![i64::MIN]));
    check(text, min("point", Integer), Int32Array::from(vec![1]));
    check(text, min("power", Long), Int64Array::from(vec![12_000]));
    check(text, min("power", Short), Int16Array::from(vec![12_000]));
    check(text, min("byte", Short), Int16Array::from(vec![128]));
    check(text, min("byte", Byte), Int8Array::from(vec![None]));
    check(text, min("max", Integer), Int32Array::from(vec![None]));
    check(text, min("quoted", Long), Int64Array::from(vec![42]));
    check(r#"{"numRecords":5.0}"#, rows(), Int64Array::from(vec![5]));
}

#[test]
fn decimals_are_exact() {
    let wide = PrimitiveType::Decimal { precision: 38, scale: 18 };
    let text = r#"{"minValues":{"spark":-12345678901234567890.123456789012345678,"whole":7,"small":"0.5","power":1.25E2}}"#;
    check(text, min("spark", wide), decimals(vec![Some(-12_345_678_901_234_567_890_123_456_789_012_345_678)], 38, 18));
    check(text, min("whole", wide), decimals(vec![Some(7_000_000_000_000_000_000)], 38, 18));
    let narrow = PrimitiveType::Decimal { precision: 5, scale: 2 };
    check(text, min("whole", narrow), decimals(vec![Some(700)], 5, 2));
    check(text, min("small", narrow), decimals(vec![Some(50)], 5, 2));
    check(text, min("power", narrow), decimals(vec![Some(12_500)], 5, 2));
    check(text, min("spark", narrow), decimals(vec![None], 5, 2));
}

#[test]
fn read_decimals_through_float_moves_bounds_outwards() {
    // delta-rs writes the float nearest to 0.123456789012345678, which is greater.
    let wide = PrimitiveType::Decimal { precision: 20, scale: 18 };
    let text = r#"{"minValues":{"a":0.12345678901234568},"maxValues":{"a":0.12345678901234568}}"#;
    let read = |wanted| read(text, wanted).as_any().downcast_ref::<Decimal128Array>().unwrap().value(0);
    let (low, high) = (read(min("a", wide)), read(max("a", wide)));
    assert!(low <= 123_456_789_012_345_678 && high >= 123_456_789_012_345_678, "{low} {high}");
    assert!(high - low < 1_000, "{low} {high}");
}

#[test]
fn read_floats_in_order_of_table() {
    let text = r#"{"minValues":{"a":"-Infinity","b":"NaN","c":0.0,"d":3.4028235E38,"e":1},"maxValues":{"a":"Infinity","b":"NaN","c":-0.0,"d":NaN,"e":0.1}}"#;
    check(text, min("a", Double), Float64Array::from(vec![f64::NEG_INFINITY]));
    check(text, max("a", Double), Float64Array::from(vec![f64::INFINITY]));
    check(text, min("b", Double), Float64Array::from(vec![None]));
    check(text, min("b", Float), Float32Array::from(vec![None]));
    assert!(read(text, max("b", Double)).as_any().downcast_ref::<Float64Array>().unwrap().value(0).is_nan());
    assert!(read(text, max("d", Float)).as_any().downcast_ref::<Float32Array>().unwrap().value(0).is_nan());
    check(text, min("d", Float), Float32Array::from(vec![f32::MAX]));
    check(text, min("e", Double), Float64Array::from(vec![1.0]));
    check(text, max("e", Float), Float32Array::from(vec![0.1]));
    let sign = |wanted| read(text, wanted).as_any().downcast_ref::<Float64Array>().unwrap().value(0).is_sign_negative();
    assert!(sign(min("c", Double)));
    assert!(!sign(max("c", Double)));
}

#[test]
fn read_double_bounds_hold_for_floats() {
    // The float 1.1 is greater than the double 1.1, and the float 1.3 is less than the double 1.3.
    let text = r#"{"minValues":{"a":1.3,"b":1.1,"c":1e300,"d":-1e-300},"maxValues":{"a":1.1,"b":1.3,"c":-1e300,"d":1e-300}}"#;
    check(text, min("a", Double), Float64Array::from(vec![1.299_999_952_316_284_2]));
    check(text, max("a", Double), Float64Array::from(vec![1.100_000_023_841_858]));
    check(text, min("b", Double), Float64Array::from(vec![1.1]));
    check(text, max("b", Double), Float64Array::from(vec![1.3]));
    check(text, min("c", Double), Float64Array::from(vec![1e300]));
    check(text, max("c", Double), Float64Array::from(vec![-1e300]));
    check(text, min("d", Double), Float64Array::from(vec![-1e-300]));
    check(text, max("d", Double), Float64Array::from(vec![1e-300]));
}

#[test]
fn timestamps_come_in_many_spellings() {
    let cases = [
        ("2024-02-29T12:34:56.789Z", 1_709_210_096_789_000),
        ("2024-02-29T12:34:56.789+00:00", 1_709_210_096_789_000),
        ("2024-02-29T13:34:56.789+01:00", 1_709_210_096_789_000),
        ("2024-02-29 12:34:56.789", 1_709_210_096_789_000),
        ("2024-02-29T12:34:56.789123Z", 1_709_210_096_789_123),
        ("2024-02-29T12:34:56.789123999Z", 1_709_210_096_789_123),
        ("2024-02-29", 1_709_164_800_000_000),
        ("1969-12-31T23:59:59.999Z", -1_000),
        ("+10000-01-01T00:00:00.000Z", 253_402_300_800_000_000),
    ];
    for (text, micros) in cases {
        let text = format!(r#"{{"minValues":{{"a":"{text}"}},"maxValues":{{"a":"{text}"}}}}"#);
        check(&text, min("a", Timestamp), timestamps(vec![micros]));
        check(&text, max("a", Timestamp), timestamps(vec![micros + 999]));
    }
    for text in [
        "2024-02-30T00:00:00Z",
        "2023-02-29",
        "2024-13-01",
        "2024-02-29T24:00:00Z",
        "2024-02-29T12:60:00Z",
        "noon",
        "2024-02-29x",
    ] {
        check(&format!(r#"{{"minValues":{{"a":"{text}"}}}}"#), min("a", Timestamp), timestamps(vec![None]));
    }
}

#[test]
fn read_timestamp_ntz_ignores_zone() {
    let text =
        r#"{"minValues":{"a":"2024-02-29T12:34:56.789+01:00","b":"2024-02-29"},"maxValues":{"a":"2024-02-29 12:34:56.789Z"}}"#;
    check(text, min("a", TimestampNtz), TimestampMicrosecondArray::from(vec![1_709_210_096_789_000]));
    check(text, max("a", TimestampNtz), TimestampMicrosecondArray::from(vec![1_709_210_096_789_999]));
    // The column was widened from a date.
    check(text, min("b", TimestampNtz), TimestampMicrosecondArray::from(vec![1_709_164_800_000_000]));
}

#[test]
fn offsets_without_their_seconds_widen_a_timestamp() {
    // Noon of 1883-11-18 in Los Angeles, at -07:52:58, is -2717640422000000 µs. The offset's
    // seconds are not written.
    let text = r#"{"minValues":{"a":"1883-11-18T12:00:00.000-07:52"},"maxValues":{"a":"1883-11-18T12:00:00.000-07:52"}}"#;
    check(text, min("a", Timestamp), timestamps(vec![-2_717_640_480_000_000 - 59_000_000]));
    check(text, max("a", Timestamp), timestamps(vec![-2_717_640_480_000_000 + 59_000_000 + 999]));
}

#[test]
fn days_may_lie_outside_four_digits() {
    let text = r#"{"minValues":{"a":"-0001-12-31","b":"0001-01-01","c":"2024-02-30","d":19782},"maxValues":{"a":"+10000-01-01","b":"2024-02-29T23:00:00.000Z"}}"#;
    check(text, min("a", Date), Date32Array::from(vec![-719_529]));
    check(text, min("b", Date), Date32Array::from(vec![-719_162]));
    check(text, max("a", Date), Date32Array::from(vec![2_932_897]));
    check(text, max("b", Date), Date32Array::from(vec![19_782]));
    check(text, min("c", Date), Date32Array::from(vec![None]));
    check(text, min("d", Date), Date32Array::from(vec![None]));
}

#[test]
fn a_max_of_timestamps_saturates() {
    let last = i64::MAX / 1_000_000;
    let text =
        r#"{"maxValues":{"a":"+294247-01-10T04:00:54.775Z","b":"+294247-01-10T04:00:54.774Z","c":"+294248-01-01T00:00:00Z"}}"#;
    check(text, max("a", Timestamp), timestamps(vec![i64::MAX]));
    check(text, max("b", Timestamp), timestamps(vec![last * 1_000_000 + 774_999]));
    check(text, max("c", Timestamp), timestamps(vec![None]));
}

#[test]
fn booleans_and_types_without_bounds() {
    let text = r#"{"minValues":{"a":false,"b":"x"},"maxValues":{"a":true,"b":1}}"#;
    check(text, min("a", Boolean), BooleanArray::from(vec![false]));
    check(text, max("a", Boolean), BooleanArray::from(vec![true]));
    check(text, max("b", Boolean), BooleanArray::from(vec![None]));
    check(text, min("b", PrimitiveType::Void), NullArray::new(1));
    for data_type in
        [PrimitiveType::Binary, PrimitiveType::Variant, PrimitiveType::YearMonthInterval, PrimitiveType::DayTimeInterval]
    {
        let wanted = min("b", data_type);
        let array = read(text, wanted.clone());
        assert_eq!((array.data_type(), array.null_count()), (&wanted.arrow_type(), 1));
    }
    assert_eq!(min("b", PrimitiveType::Decimal { precision: 77, scale: 0 }).arrow_type(), ArrowType::Null);
}

#[test]
fn read_tight_bounds_defaults_to_true() {
    for (text, expected) in [
        ("{}", Some(true)),
        (r#"{"tightBounds":null}"#, Some(true)),
        (r#"{"tightBounds":true}"#, Some(true)),
        (r#"{"tightBounds":false}"#, Some(false)),
        (r#"{"tightBounds":"perhaps"}"#, None),
        ("", None),
    ] {
        check(text, tight(), BooleanArray::from(vec![expected]));
    }
}

#[test]
fn the_last_of_equal_names_counts() {
    check(r#"{"minValues":{"a":1,"a":2},"x":0}"#, min("a", Long), Int64Array::from(vec![2]));
    check(r#"{"minValues":{"a":1,"b":{},"a":2}}"#, min("a", Long), Int64Array::from(vec![2]));
    check(r#"{"minValues":{"a":1,"a":null}}"#, min("a", Long), Int64Array::from(vec![None]));
    check(r#"{"minValues":{"a":1},"minValues":{"b":2}}"#, min("a", Long), Int64Array::from(vec![None]));
    check(r#"{"minValues":{"a":1},"minValues":null}"#, min("a", Long), Int64Array::from(vec![None]));
    check(r#"{"minValues":{"a":1},"maxValues":{"a":9},"minValues":{"a":2}}"#, min("a", Long), Int64Array::from(vec![2]));
    check(r#"{"numRecords":1,"numRecords":2}"#, rows(), Int64Array::from(vec![2]));
}

#[test]
fn read_name_as_column_and_as_struct() {
    let text = r#"{"minValues":{"a":{"b":1,"a":2},"b":3}}"#;
    check(text, column(StatKind::Min, &["a", "b"], Long), Int64Array::from(vec![1]));
    check(text, column(StatKind::Min, &["a", "a"], Long), Int64Array::from(vec![2]));
    check(text, min("b", Long), Int64Array::from(vec![3]));
    let both = from_json(&StringArray::from(vec![text]), &[min("a", Long), column(StatKind::Min, &["a", "b"], Long)]);
    let expected: [ArrayRef; 2] = [Arc::new(Int64Array::from(vec![None])), Arc::new(Int64Array::from(vec![1]))];
    assert_eq!(both, expected);
}

#[test]
fn names_and_strings_may_need_escapes() {
    let text = r#"{"minValues":{"a\"b":1,"\u00fc":2,"c\\":"\ud83d\ude00\n\/\u0041","\t":"\ud83d","e":"\x","f":"\u12"}}"#;
    check(text, min("a\"b", Long), Int64Array::from(vec![1]));
    check(text, min("ü", Long), Int64Array::from(vec![2]));
    check(text, min("c\\", Text), StringArray::from(vec!["😀\n/A"]));
    for broken in ["\t", "e", "f"] {
        check(text, min(broken, Text), StringArray::from(vec![None::<&str>]));
    }
    check(r#"{"minValues":{"ü":2,"a.b":3}}"#, min("ü", Long), Int64Array::from(vec![2]));
    check(r#"{"minValues":{"ü":2,"a.b":3}}"#, min("a.b", Long), Int64Array::from(vec![3]));
    check(r#"{"minValues":{"ü":2,"a.b":3}}"#, min("A.b", Long), Int64Array::from(vec![None]));
}

#[test]
fn read_ignores_names_between_two_strings() {
    let text = r#"{"minValues":{"x":"y",":5,":"z","":"w"}}"#;
    check(text, min(",", Long), Int64Array::from(vec![None]));
    check(text, min(":5,", Text), StringArray::from(vec!["z"]));
    check(text, min("", Text), StringArray::from(vec!["w"]));
    check(text, min("y", Text), StringArray::from(vec![None::<&str>]));
    check(text, min("x", Text), StringArray::from(vec!["y"]));
}

#[test]
fn space_may_stand_anywhere_between() {
    let text =
        "\n { \"numRecords\" : 3 ,\t\"minValues\" : { \"a\" :\r\n 1 , \"b\" : [ 1 , { } ] } , \"maxValues\":{ \"a\" : 2 } } ";
    check(text, rows(), Int64Array::from(vec![3]));
    check(text, min("a", Long), Int64Array::from(vec![1]));
    check(text, max("a", Long), Int64Array::from(vec![2]));
}

#[test]
fn read_finds_many_names_at_once() {
    let names: Vec<String> = (0..40).map(|number| format!("c{number}")).collect();
    let values: Vec<String> = names.iter().enumerate().map(|(value, name)| format!("\"{name}\":{value}")).collect();
    let text = StringArray::from(vec![format!("{{\"maxValues\":{{{}}}}}", values.join(","))]);
    let wanted: Vec<StatColumn> = names.iter().map(|name| max(name, Long)).collect();
    for (value, array) in from_json(&text, &wanted).iter().enumerate() {
        let expected: ArrayRef = Arc::new(Int64Array::from(vec![value as i64]));
        assert_eq!(array, &expected);
    }
}

#[test]
fn nothing_wanted_gives_nothing() {
    assert_eq!(from_json(&StringArray::from(vec!["{}"]), &[]), Vec::<ArrayRef>::new());
    assert_eq!(from_json(&StringArray::from(Vec::<&str>::new()), &[rows()])[0].len(), 0);
}
