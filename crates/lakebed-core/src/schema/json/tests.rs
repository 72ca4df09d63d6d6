use proptest::prelude::*;

use super::*;
use crate::ErrorKind;
use crate::kit::schema::{field, schema, struct_of};
use crate::schema::arbitrary::{any_field_metadata, any_struct};

/// Returns the type that a column `c` of this JSON type has.
#[track_caller]
fn type_of(json: &str) -> DataType {
    schema(&[field("c", json)]).fields.remove(0).data_type
}

#[track_caller]
fn check(spelling: &str, expected: PrimitiveType) {
    assert_eq!(type_of(spelling), DataType::Primitive(expected), "{spelling}");
}

#[track_caller]
fn check_error(schema: &str, expected: &str) {
    assert_eq!(parse(schema).unwrap_err().message(), expected, "{schema}");
}

#[test]
fn every_primitive_has_its_spelling() {
    for (spelling, expected) in [
        ("string", PrimitiveType::String),
        ("long", PrimitiveType::Long),
        ("integer", PrimitiveType::Integer),
        ("short", PrimitiveType::Short),
        ("byte", PrimitiveType::Byte),
        ("float", PrimitiveType::Float),
        ("double", PrimitiveType::Double),
        ("boolean", PrimitiveType::Boolean),
        ("binary", PrimitiveType::Binary),
        ("date", PrimitiveType::Date),
        ("timestamp", PrimitiveType::Timestamp),
        ("timestamp_ntz", PrimitiveType::TimestampNtz),
        ("decimal(38,18)", PrimitiveType::Decimal { precision: 38, scale: 18 }),
        ("variant", PrimitiveType::Variant),
        ("void", PrimitiveType::Void),
        ("interval year to month", PrimitiveType::YearMonthInterval),
        ("interval day to second", PrimitiveType::DayTimeInterval),
    ] {
        check(spelling, expected);
        assert_eq!(expected.to_string(), spelling);
    }
}

#[test]
fn older_and_narrower_spellings_are_read() {
    check("decimal", PrimitiveType::Decimal { precision: 10, scale: 0 });
    check("decimal( 5 , 2 )", PrimitiveType::Decimal { precision: 5, scale: 2 });
    check("null", PrimitiveType::Void);
    check("timestamp_ltz", PrimitiveType::Timestamp);
    check("interval month", PrimitiveType::YearMonthInterval);
    check("interval hour to second", PrimitiveType::DayTimeInterval);
}

#[test]
fn parse_varchar_gives_string_and_keeps_length() {
    let schema = parse(r#"{"type":"struct","fields":[{"name":"c","type":"varchar(10)"}]}"#).unwrap();
    assert_eq!(
        schema.to_json(),
        r#"{"type":"struct","fields":[{"name":"c","type":"string","nullable":true,"metadata":{"__CHAR_VARCHAR_TYPE_STRING":"varchar(10)"}}]}"#
    );
    check("char(3)", PrimitiveType::Char { length: 3 });
}

#[test]
fn parse_user_defined_type_gives_stored_type() {
    assert_eq!(type_of(r#"{"type":"udt","class":"x.Y","sqlType":"long"}"#), DataType::Primitive(PrimitiveType::Long));
}

#[test]
fn print_schema_matches_delta_spark() {
    let json = concat!(
        r#"{"type":"struct","fields":["#,
        r#"{"name":"id","type":"long","nullable":false,"metadata":{"comment":"k","x":1.50,"delta.columnMapping.id":9007199254740993}},"#,
        r#"{"name":"a.b","type":{"type":"array","elementType":{"type":"struct","fields":[{"name":"Ü","type":"decimal(5,2)","#,
        r#""nullable":true,"metadata":{}}]},"containsNull":false},"nullable":true,"metadata":{}},"#,
        r#"{"name":"m","type":{"type":"map","keyType":"string","valueType":"timestamp_ntz","valueContainsNull":true},"#,
        r#""nullable":true,"metadata":{}}]}"#
    );
    assert_eq!(parse(json).unwrap().to_json(), json);
}

#[test]
fn an_unknown_type_names_its_column() {
    let schema = r#"{"type":"struct","fields":[{"name":"a","type":{"type":"array","elementType":{"type":"struct","fields":[
        {"name":"g","type":"geometry(4326)","nullable":true,"metadata":{}}]},"containsNull":true},"nullable":true,"metadata":{}}]}"#;
    check_error(schema, r#"schema: column a.element.g: its type "geometry(4326)" is not one that lakebed knows"#);
    let features = vec!["type geometry(4326)".to_owned()];
    assert_eq!(*parse(schema).unwrap_err().kind(), ErrorKind::UnsupportedFeature { features });
}

#[test]
fn impossible_decimals_are_refused() {
    for name in ["decimal(0,0)", "decimal(39,0)", "decimal(5,6)", "decimal(5,-1)", "decimal(5)", "decimal(,)", "decimal(300,1)"] {
        let schema = format!(r#"{{"type":"struct","fields":[{{"name":"c","type":"{name}"}}]}}"#);
        check_error(&schema, &format!("schema: column c: its type {name:?} is not one that lakebed knows"));
    }
}

#[test]
fn parse_refuses_names_differing_only_by_case() {
    let twice = r#"{"type":"struct","fields":[{"name":"É","type":"long"},{"name":"é","type":"long"}]}"#;
    let message = "appears more than once (names that differ only in case are the same)";
    check_error(twice, &format!("schema: column é: {message}"));
    let nested = format!(r#"{{"type":"struct","fields":[{{"name":"s","type":{twice}}}]}}"#);
    check_error(&nested, &format!("schema: column s.é: {message}"));
}

#[test]
fn what_is_no_schema_is_refused() {
    check_error(r#""long""#, "schema: is not a struct");
    check_error("7", "schema: 7 is not a type");
    check_error("{", "schema: is not the JSON of a schema");
    check_error(r#"{"type":"struct"}"#, r#"schema: "fields" is missing"#);
    check_error(r#"{"type":"struct","fields":{}}"#, "schema: the fields of a struct are not a list");
    check_error(r#"{"type":"struct","fields":[1]}"#, "schema: a field of a struct is not an object");
    check_error(r#"{"type":"struct","fields":[{"name":1}]}"#, r#"schema: "name" is not a string"#);
    check_error(r#"{"type":"struct","fields":[{"name":"c"}]}"#, r#"schema: column c: "type" is missing"#);
    check_error(
        r#"{"type":"struct","fields":[{"name":"c","type":"long","nullable":"no"}]}"#,
        r#"schema: column c: "nullable" is neither true nor false"#,
    );
    check_error(
        r#"{"type":"struct","fields":[{"name":"c","type":"long","metadata":[]}]}"#,
        "schema: column c: its metadata is not an object",
    );
}

#[test]
fn types_nested_without_end_are_refused() {
    let deep = format!("{}\"long\"{}", r#"{"type":"array","elementType":"#.repeat(100_000), "}".repeat(100_000));
    assert!(matches!(parse(&deep).unwrap_err().kind(), ErrorKind::UnsupportedFeature { .. }));
    let deepest = format!("{}\"long\"{}", r#"{"type":"array","elementType":"#.repeat(100), "}".repeat(100));
    assert_eq!(type_of(&deepest).to_json_value().to_string().matches("elementType").count(), 100);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_printed_schema_parses_to_itself(schema in any_struct()) {
        prop_assert_eq!(parse(&schema.to_json()).unwrap(), schema);
    }

    #[test]
    fn unknown_metadata_survives(metadata in any_field_metadata()) {
        let mut field = StructField::new("c", PrimitiveType::Long, true);
        field.metadata = metadata.clone();
        let schema = parse(&StructType { fields: vec![field] }.to_json()).unwrap();
        prop_assert_eq!(&schema.fields[0].metadata, &metadata);
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,60}|[\\[\\]{}:,\"a-z0-9 ]{0,60}") {
        let _ = parse(&text);
    }
}

/// Returns the schema of a long below this number of structs, including the struct of the table.
fn nested(structs: usize) -> String {
    (0..structs).fold("long".to_owned(), |inside, _| struct_of(&[field("s", &inside)]))
}

#[test]
fn parse_deeply_nested_type_names_the_limit() {
    assert_eq!(parse(&nested(42)).unwrap().to_json(), nested(42));
    let error = parse(&nested(43)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::UnsupportedFeature { .. }), "{error}");
    let said = "its types are nested deeper than lakebed reads (42 structs in one another)";
    assert!(error.message().starts_with("schema: at character ") && error.message().ends_with(said), "{error}");
}
