use super::*;
use crate::schema::parse;

/// Returns a schema of columns such as `id long`, `id long not null`, `s {x long, y string}`, `l
/// [integer]`, `m <string, long>`. A column `b=a long` has the physical name `a`.
fn schema(text: &str) -> StructType {
    parse(&struct_json(text)).unwrap()
}

fn struct_json(columns: &str) -> String {
    let fields: Vec<String> = split(columns).iter().map(|column| field_json(column)).collect();
    format!(r#"{{"type":"struct","fields":[{}]}}"#, fields.join(","))
}

fn field_json(column: &str) -> String {
    let (name, of) = column.split_once(' ').unwrap();
    let (of, nullable) = of.strip_suffix(" not null").map_or((of, true), |of| (of, false));
    let (name, physical) = name.split_once('=').unwrap_or((name, name));
    let metadata = format!(r#"{{"delta.columnMapping.physicalName":"{physical}","delta.columnMapping.id":1}}"#);
    format!(r#"{{"name":"{name}","type":{},"nullable":{nullable},"metadata":{metadata}}}"#, type_json(of))
}

fn type_json(of: &str) -> String {
    let inside = |open, close| of.strip_prefix(open).and_then(|rest: &str| rest.strip_suffix(close));
    if let Some(fields) = inside('{', '}') {
        struct_json(fields)
    } else if let Some(element) = inside('[', ']') {
        format!(r#"{{"type":"array","elementType":{},"containsNull":true}}"#, type_json(element))
    } else if let Some((key, value)) = inside('<', '>').and_then(|of: &str| of.split_once(", ")) {
        format!(r#"{{"type":"map","keyType":{},"valueType":{},"valueContainsNull":true}}"#, type_json(key), type_json(value))
    } else {
        format!("{of:?}")
    }
}

/// Splits at the commas that are outside of all brackets.
fn split(columns: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, letter) in columns.char_indices() {
        match letter {
            '{' | '<' | '[' => depth += 1,
            '}' | '>' | ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&columns[start..at]);
                start = at + 2;
            }
            _ => {}
        }
    }
    parts.push(&columns[start..]);
    parts
}

#[track_caller]
fn check_obstacle(rows: &str, wanted: &str, widen: bool, expected: Option<&str>) {
    assert_eq!(first_obstacle(&schema(rows), &schema(wanted), widen).as_deref(), expected, "{rows} as {wanted}");
}

#[track_caller]
fn check_changes(old: &str, new: &str, expected: &str) {
    let changes = column_changes((&schema(old), MappingMode::Name), (&schema(new), MappingMode::Name));
    assert_eq!(changes.to_string(), expected, "{old} to {new}");
    assert_eq!(changes.is_empty(), expected.is_empty());
}

#[test]
fn compare_allows_missing_columns_but_no_more() {
    check_obstacle("id long", "id long, name string", false, None);
    check_obstacle("id long, name string", "id long", false, Some("column name is missing"));
    check_obstacle("s {x long}", "s {x long, y long}", false, None);
    check_obstacle("l [{x long, y long}]", "l [{x long}]", false, Some("column l.element.y is missing"));
    check_obstacle("Id long", "id long", false, Some("column id is spelled Id"));
}

#[test]
fn compare_allows_wider_types_on_request() {
    check_obstacle("id integer", "id long", false, Some("column id has the type integer instead of long"));
    check_obstacle("id integer", "id long", true, None);
    check_obstacle("id long", "id integer", true, Some("column id has the type long instead of integer"));
    check_obstacle("m <string, integer>", "m <string, long>", true, None);
    check_obstacle("m <string, integer>", "m [integer]", true, Some("column m has the type map instead of array"));
}

#[test]
fn compare_refuses_nulls_for_required_columns() {
    check_obstacle("id long", "id long not null", false, Some("column id may be null"));
    check_obstacle("id long not null", "id long", false, None);
}

#[test]
fn columns_are_followed_by_their_physical_names() {
    check_changes("id long, a string", "id long, b=a string, c string", "column a renamed to b");
    check_changes("id long, a string", "id long", "column a dropped");
    // The column was dropped, and another one was added under its name.
    check_changes("a string", "a=x string", "column a dropped");
    check_changes("s {x long, y long}", "t=s {z=x long}", "column s.x renamed to t.z, column s renamed to t, column s.y dropped");
    check_changes("s {x long}", "id long", "column s dropped");
    check_changes("l [{x long}]", "l [{y=x long}]", "column l.element.x renamed to l.element.y");
}

#[test]
fn types_are_followed_down_to_elements() {
    check_changes(
        "id integer, m <integer, [short]>",
        "id long, m <long, [integer]>",
        &[
            "column id widened from integer to long",
            "column m.key widened from integer to long",
            "column m.value.element widened from short to integer",
        ]
        .join(", "),
    );
    check_changes("id long", "id string", "the type of column id changed");
}

#[test]
fn an_upgrade_to_column_mapping_changes_nothing() {
    let (old, new) = (schema("id=other long"), schema("id long"));
    assert!(column_changes((&old, MappingMode::None), (&new, MappingMode::Name)).is_empty());
}
