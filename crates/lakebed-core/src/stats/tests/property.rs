use arrow_array::{Date32Array, Float32Array, Float64Array, Int64Array, StructArray};
use arrow_schema::{DataType as ArrowType, Field, Fields};
use proptest::prelude::*;

use super::super::bound::Bound;
use super::super::number::decimal;
use super::*;

/// JSON as any writer may write it, including duplicate names.
#[derive(Debug, Clone)]
enum Json {
    Bare(String),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// The style in which the JSON is written.
#[derive(Debug, Clone, Copy)]
struct Style {
    space: &'static str,
    escape_all: bool,
}

impl Json {
    fn write(&self, style: Style, out: &mut String) {
        match self {
            Self::Bare(text) => out.push_str(text),
            Self::Text(text) => write_text(text, style, out),
            Self::List(items) => write_items(items, style, ('[', ']'), out, |item, out| item.write(style, out)),
            Self::Object(fields) => write_items(fields, style, ('{', '}'), out, |(name, value), out| {
                write_text(name, style, out);
                out.push_str(style.space);
                out.push(':');
                out.push_str(style.space);
                value.write(style, out);
            }),
        }
    }

    /// Returns the value at a path. If names occur twice, the last one counts.
    fn at(&self, path: &[&str]) -> Option<&Self> {
        match (path, self) {
            ([], value) => Some(value),
            ([name, rest @ ..], Self::Object(fields)) => fields.iter().rfind(|(other, _)| other == name)?.1.at(rest),
            _ => None,
        }
    }
}

fn write_items<T>(items: &[T], style: Style, braces: (char, char), out: &mut String, mut write: impl FnMut(&T, &mut String)) {
    out.push(braces.0);
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        out.push_str(style.space);
        write(item, out);
        out.push_str(style.space);
    }
    out.push(braces.1);
}

fn write_text(text: &str, style: Style, out: &mut String) {
    if style.escape_all {
        let units: Vec<String> = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
        out.push_str(&format!("\"{}\"", units.concat()));
    } else {
        out.push_str(&serde_json::to_string(text).unwrap());
    }
}

fn any_name() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(vec!["a", "b", "c"]).prop_map(str::to_owned),
        1 => prop::sample::select(vec!["minValues", "", ",", ":", "}", "{", "\"", "\\", "a\"", "ü", " a", ",:", "\u{1}", "abcdefgh", "col-0123456789"]).prop_map(str::to_owned),
    ]
}

fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        prop::sample::select(vec!["null", "true", "false", "0", "-12", "3.5", "1e9", "12345678901234567890"])
            .prop_map(|bare| Json::Bare(bare.to_owned())),
        any::<i32>().prop_map(|number| Json::Bare(number.to_string())),
        any_name().prop_map(Json::Text),
        // The string has no digits, because a number in quotes is read as a number.
        "[^\\pC\\pN]{0,12}".prop_map(Json::Text),
    ];
    leaf.prop_recursive(3, 40, 6, |inner| {
        prop_oneof![
            3 => prop::collection::vec((any_name(), inner.clone()), 0..6).prop_map(Json::Object),
            1 => prop::collection::vec(inner, 0..4).prop_map(Json::List),
        ]
    })
}

/// Statistics with arbitrary JSON in place of bounds.
fn any_statistics() -> impl Strategy<Value = Json> {
    let part = (prop::sample::select(vec!["minValues", "maxValues", "nullCount", "numRecords", "other"]), any_json());
    prop::collection::vec(part.prop_map(|(name, value)| (name.to_owned(), value)), 0..6).prop_map(Json::Object)
}

fn any_style() -> impl Strategy<Value = Style> {
    (prop::sample::select(vec!["", " ", "\n\t"]), any::<bool>()).prop_map(|(space, escape_all)| Style { space, escape_all })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn scan_agrees_with_full_json_parse(
        statistics in any_statistics(), style in any_style(), paths in prop::collection::vec(prop::collection::vec(any_name(), 1..3), 1..12)
    ) {
        let mut text = String::new();
        statistics.write(style, &mut text);
        let wanted: Vec<StatColumn> = paths
            .iter()
            .flat_map(|path| {
                let path: Vec<&str> = path.iter().map(String::as_str).collect();
                [column(StatKind::Min, &path, PrimitiveType::String), column(StatKind::Max, &path, PrimitiveType::Long)]
            })
            .collect();
        let found = from_json(&StringArray::from(vec![text.as_str()]), &wanted);
        for (column, array) in wanted.iter().zip(found) {
            let names: Vec<&str> = column.names().collect();
            let expected: ArrayRef = match (column.kind, statistics.at(&names)) {
                (StatKind::Min, Some(Json::Text(said))) => Arc::new(StringArray::from(vec![said.as_str()])),
                (StatKind::Min, _) => Arc::new(StringArray::from(vec![None::<&str>])),
                (_, Some(Json::Bare(number))) => {
                    let whole = number.parse().ok().or((number == "1e9").then_some(1_000_000_000));
                    Arc::new(Int64Array::from(vec![whole]))
                }
                _ => Arc::new(Int64Array::from(vec![None])),
            };
            prop_assert_eq!(&array, &expected, "{:?} in {}", names, text);
        }
    }

    #[test]
    fn damaged_text_never_panics(statistics in any_statistics(), at in any::<prop::sample::Index>(), byte in "[ -~é]", cut in any::<bool>()) {
        let mut text = String::new();
        statistics.write(Style { space: "", escape_all: false }, &mut text);
        let places: Vec<usize> = text.char_indices().map(|(place, _)| place).collect();
        let place = places[at.index(places.len())];
        if cut {
            text.truncate(place);
        } else {
            text.insert_str(place, &byte);
        }
        let wanted = [min("a", PrimitiveType::Long), max("b", PrimitiveType::String), column(StatKind::Min, &["a", "b"], PrimitiveType::Double), rows()];
        for array in from_json(&StringArray::from(vec![text.as_str()]), &wanted) {
            prop_assert_eq!(array.len(), 1);
        }
        let whole = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&text).is_ok();
        let tight = read(&text, tight());
        prop_assert!(!whole || tight.is_valid(0), "{} is an object", text);
    }

    #[test]
    fn struct_to_json_reads_the_same(
        longs in prop::collection::vec(any::<Option<i64>>(), 4), doubles in prop::collection::vec(any::<Option<f64>>(), 4),
        floats in prop::collection::vec(any::<Option<f32>>(), 4), texts in prop::collection::vec(prop::option::of("\\PC{0,8}|[\"\\\\\n\u{0}-\u{1f}]{1,4}"), 4),
        // The years are -9999 to 9999, in milliseconds and in days.
        instants in prop::collection::vec(prop::option::of(-377_705_116_800_000_i64..253_402_300_799_999), 4),
        days in prop::collection::vec(prop::option::of(-4_371_587..2_932_896_i32), 4), flags in prop::collection::vec(any::<Option<bool>>(), 4),
        units in prop::collection::vec(prop::option::of(-99_999_999_999_999_999_999_999_999_999_999_999_999_i128..99_999_999_999_999_999_999_999_999_999_999_999_999), 4),
        valid in prop::collection::vec(any::<bool>(), 4),
    ) {
        let micros: TimestampMicrosecondArray = instants.iter().map(|millis| millis.map(|millis| millis * 1_000)).collect();
        let arrays: Vec<(&str, PrimitiveType, ArrayRef)> = vec![
            ("long", PrimitiveType::Long, Arc::new(Int64Array::from(longs))),
            ("double", PrimitiveType::Double, Arc::new(Float64Array::from(doubles))),
            ("float", PrimitiveType::Float, Arc::new(Float32Array::from(floats))),
            ("te\"xt", PrimitiveType::String, Arc::new(StringArray::from(texts))),
            ("timestamp", PrimitiveType::Timestamp, Arc::new(micros.clone().with_timezone("UTC"))),
            ("clock", PrimitiveType::TimestampNtz, Arc::new(micros)),
            ("day", PrimitiveType::Date, Arc::new(Date32Array::from(days))),
            ("flag", PrimitiveType::Boolean, Arc::new(arrow_array::BooleanArray::from(flags))),
            ("decimal", PrimitiveType::Decimal { precision: 38, scale: 7 }, Arc::new(decimals(units, 38, 7))),
        ];
        let fields: Fields = arrays.iter().map(|(name, _, array)| Field::new(*name, array.data_type().clone(), true)).collect();
        let values: ArrayRef = Arc::new(StructArray::new(fields.clone(), arrays.iter().map(|(_, _, array)| Arc::clone(array)).collect(), None));
        let nested = |name: &str| Field::new(name, ArrowType::Struct(fields.clone()), true);
        let parsed = StructArray::new(
            Fields::from(vec![nested("minValues"), nested("maxValues")]), vec![Arc::clone(&values), values], Some(valid.into()),
        );
        let mut wanted = vec![tight(), rows()];
        for (name, data_type, _) in &arrays {
            wanted.extend([min(name, *data_type), max(name, *data_type)]);
        }
        let from_text = from_json(&struct_to_json(&parsed), &wanted);
        for (column, (text, parsed)) in wanted.iter().zip(from_text.iter().zip(from_struct(&parsed, &wanted))) {
            prop_assert_eq!(text, &parsed, "{:?}", column);
        }
    }

    #[test]
    fn decimal_through_float_stays_a_bound(units in -(10_i128.pow(34))..10_i128.pow(34), shift in 0..34_u32, scale in 0..30_u8) {
        let units = units / 10_i128.pow(shift);
        let float = units as f64 / 10_f64.powi(scale.into());
        let text = serde_json::Value::from(float).to_string();
        let low = decimal(&text, 38, scale, Bound::Lower).unwrap();
        let high = decimal(&text, 38, scale, Bound::Upper).unwrap();
        prop_assert!(low <= units && units <= high, "{} as {}: {} to {}", units, text, low, high);
        let slack = units.abs() / 10_i128.pow(14) + 3;
        prop_assert!(units - low <= slack && high - units <= slack, "{} as {}: {} to {}", units, text, low, high);
    }

    #[test]
    fn decimal_with_all_digits_is_exact(units in any::<i64>(), scale in 1..18_u8) {
        let sign = if units < 0 { "-" } else { "" };
        let digits = format!("{:0width$}", units.unsigned_abs(), width = usize::from(scale) + 1);
        let (whole, fraction) = digits.split_at(digits.len() - usize::from(scale));
        let written = units.unsigned_abs().to_string().len();
        prop_assume!(fraction != "0" && written != 16 && written != 17);
        let text = format!("{sign}{whole}.{fraction}");
        prop_assert_eq!(decimal(&text, 38, scale, Bound::Lower), Some(units.into()));
        prop_assert_eq!(decimal(&text, 38, scale, Bound::Upper), Some(units.into()));
    }
}
