use super::*;
use crate::kit::schema::{array_of, field_with, map_of, struct_of};
use crate::kit::table::{configuration, properties};
use crate::kit::{self, strings};

/// Returns a schema with `a`, `s` with `x`, `y` (with `z`, `arr` and `w`) and `v`, `m`, `d.t`, `B`.
/// Physical names have the prefix `p-`.
fn schema() -> StructType {
    let field =
        |name: &str, data_type: &str| field_with(name, data_type, &format!(r#""delta.columnMapping.physicalName":"p-{name}""#));
    let y = struct_of(&[field("z", "string"), field("arr", &array_of("integer")), field("w", "integer")]);
    let s = struct_of(&[field("x", "integer"), field("y", &y), field("v", "boolean")]);
    let fields = [
        field("a", "integer"),
        field("s", &s),
        field("m", &map_of("string", "integer")),
        field("d.t", "integer"),
        field("B", "integer"),
    ];
    kit::schema::schema(&fields)
}

fn plan(schema: &StructType, property: (&str, &str), partition_columns: &[&str], clustering: &[&[&str]]) -> Result<StatsPlan> {
    let properties = TableProperties::parse(&configuration(&[(&format!("delta.{}", property.0), property.1)]))?;
    let clustering: Vec<_> = clustering.iter().map(|path| strings(path)).collect();
    StatsPlan::new(schema, MappingMode::None, &strings(partition_columns), &properties, &clustering)
}

/// Returns the leaves with statistics. Leaves without bounds are in brackets.
fn leaves(columns: &[IndexedColumn]) -> Vec<String> {
    let mut found = Vec::new();
    for column in columns {
        match &column.kind {
            IndexedKind::Leaf(Some(_)) => found.push(column.name.clone()),
            IndexedKind::Leaf(None) => found.push(format!("({})", column.name)),
            IndexedKind::Struct(fields) => found.extend(leaves(fields).iter().map(|leaf| format!("{}.{leaf}", column.name))),
        }
    }
    found
}

#[track_caller]
fn check(property: (&str, &str), expected: &str) {
    let plan = plan(&schema(), property, &[], &[]).unwrap();
    assert_eq!(leaves(plan.columns()).join(" "), expected, "{property:?}");
}

// The expected results of these two tests are those of Delta Spark 4.4.0.
#[test]
fn the_number_counts_leaves_of_every_type() {
    let all = ["a", "s.x", "s.y.z", "s.y.(arr)", "s.y.w", "s.(v)", "(m)", "d.t", "B"];
    for count in 0..=9 {
        check(("dataSkippingNumIndexedCols", &count.to_string()), &all[..count].join(" "));
    }
    for count in ["-1", "32", "1000"] {
        check(("dataSkippingNumIndexedCols", count), &all.join(" "));
    }
    check(("other", "x"), &all.join(" "));
}

#[test]
fn names_choose_columns_and_all_below_them() {
    let named = |list: &str, expected| check(("dataSkippingStatsColumns", list), expected);
    named("a", "a");
    named("A, b", "a B");
    named("s", "s.x s.y.z s.y.(arr) s.y.w s.(v)");
    named("s.x", "s.x");
    named("S.Y.Z", "s.y.z");
    named("s.y", "s.y.z s.y.(arr) s.y.w");
    named("s.y.w, s.x", "s.x s.y.w");
    named("`d.t`", "d.t");
    named("`S`.`y`.`w`", "s.y.w");
    named("a , s . x", "a s.x");
    named("a\n,B", "a B");
    named("m", "(m)");
    named("s.v, s.y.arr", "s.y.(arr) s.(v)");
    for of_no_column in ["", "  ", "nope", "d.t", "s.nope", "m.key", "s.y.z.k", "a.a", "s-x"] {
        named(of_no_column, "");
    }
    named("a,nope", "a");
    named("a,a", "a");
}

#[test]
fn names_win_over_the_number() {
    let properties = TableProperties {
        data_skipping_num_indexed_cols: Some(1),
        data_skipping_stats_columns: Some("B".to_owned()),
        ..properties(&[])
    };
    let plan = StatsPlan::new(&schema(), MappingMode::None, &[], &properties, &[]).unwrap();
    assert_eq!(leaves(plan.columns()), ["B"]);
}

#[test]
fn plan_with_malformed_column_names_is_refused() {
    for list in ["a,", ",a", "a,,B", "`a", "a`", "``", "a.", ".a", "a b", "`a`b", "a..b"] {
        let error = plan(&schema(), ("dataSkippingStatsColumns", list), &[], &[]).unwrap_err();
        assert_eq!(
            error.message(),
            format!(
                "property delta.dataSkippingStatsColumns: its value {list:?} must be column names separated by commas; write unusual names, and each part of a path, in backticks"
            )
        );
    }
    assert_eq!(parse_names("`a``b,c.D`. e"), Some(vec![vec!["a`b,c.D".to_owned(), "e".to_owned()]]));
}

#[test]
fn partition_columns_neither_count_nor_have_statistics() {
    let number =
        |count: &str| leaves(plan(&schema(), ("dataSkippingNumIndexedCols", count), &["A", "m"], &[]).unwrap().columns());
    assert_eq!(number("2"), ["s.x", "s.y.z"]);
    assert_eq!(number("-1").len(), 7);
    let named = plan(&schema(), ("dataSkippingStatsColumns", "a,b"), &["a"], &[]).unwrap();
    assert_eq!(leaves(named.columns()), ["B"]);
}

#[test]
fn plan_always_includes_clustering_columns() {
    for property in [("dataSkippingNumIndexedCols", "1"), ("dataSkippingStatsColumns", "a")] {
        let plan = plan(&schema(), property, &[], &[&["B"], &["s", "y", "w"], &["nope"], &["s", "y"]]).unwrap();
        assert_eq!(leaves(plan.columns()), ["a", "s.y.w", "B"]);
    }
}

#[test]
fn plan_uses_physical_names() {
    let properties = TableProperties { data_skipping_stats_columns: Some("s.x,B".to_owned()), ..properties(&[]) };
    let clustering = [vec!["p-s".to_owned(), "p-y".to_owned(), "p-w".to_owned()]];
    for mode in [MappingMode::Name, MappingMode::Id] {
        let plan = StatsPlan::new(&schema(), mode, &["a".to_owned()], &properties, &clustering).unwrap();
        assert_eq!(leaves(plan.columns()), ["p-s.p-x", "p-s.p-y.p-w", "p-B"]);
    }
}

#[test]
fn the_types_with_bounds_are_sparks() {
    use PrimitiveType::*;
    let decimal = Decimal { precision: 10, scale: 2 };
    for primitive in [String, Long, Integer, Short, Byte, Float, Double, Date, Timestamp, TimestampNtz, decimal] {
        assert_eq!(bounded(&primitive.into()), Some(primitive));
    }
    assert_eq!(bounded(&Char { length: 5 }.into()), Some(String));
    for primitive in [Boolean, Binary, Variant, Void, YearMonthInterval, DayTimeInterval] {
        assert_eq!(bounded(&primitive.into()), None);
    }
}
