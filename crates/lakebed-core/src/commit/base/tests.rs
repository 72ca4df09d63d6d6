use serde_json::{Value, json};

use super::*;
use crate::commit::tests::*;

/// Returns the content of a base as values that can be compared.
fn known(base: &Base) -> (Option<u64>, Protocol, Metadata, TableProperties, Option<i64>, i64) {
    let Base { version, protocol, metadata, properties, in_commit_timestamp, row_id_high_water_mark } = base.clone();
    (version, protocol, metadata, properties, in_commit_timestamp, row_id_high_water_mark)
}

fn begun() -> Base {
    let mark = row_ids::domain(9).unwrap();
    Base::of_version(4, protocol_with(&["rowTracking"]), metadata(&[("owner", "me")]), Some(&mark), Some(1_000)).unwrap()
}

fn advanced(mut base: Base, version: u64, actions: &[Value]) -> Base {
    base.advance(&winner(version, actions)).unwrap();
    base
}

fn domain(name: &str, mark: i64) -> Value {
    let configuration = format!("{{\"rowIdHighWaterMark\":{mark}}}");
    json!({"domainMetadata": {"domain": name, "configuration": configuration, "removed": false}})
}

#[test]
fn advance_over_plain_winner_changes_version_only() {
    let expected = Base { version: Some(5), in_commit_timestamp: None, ..begun() };
    assert_eq!(known(&advanced(begun(), 5, &[add_ids("a", "1", 0..=9)])), known(&expected));
    assert_eq!(expected.next_version(), 6);
}

#[test]
fn advance_takes_everything_that_winner_sets() {
    let (new_protocol, new_metadata) =
        (protocol_with(&["rowTracking", "deletionVectors"]), metadata(&[("delta.appendOnly", "true")]));
    let actions = [
        json!({"commitInfo": {"inCommitTimestamp": 2_000}}),
        json!({"protocol": new_protocol}),
        json!({"metaData": new_metadata}),
        domain("another", 70),
        domain("delta.rowTracking", 29),
    ];
    let expected = Base::of_version(5, new_protocol, new_metadata, Some(&row_ids::domain(29).unwrap()), Some(2_000)).unwrap();
    let found = advanced(begun(), 5, &actions);
    assert_eq!(known(&found), known(&expected));
    assert!(found.properties.append_only);
}

#[test]
fn the_mark_of_row_ids_never_falls() {
    let removed = json!({"domainMetadata": {"domain": "delta.rowTracking", "configuration": "{}", "removed": true}});
    assert_eq!(advanced(begun(), 5, &[domain("delta.rowTracking", 3)]).row_id_high_water_mark, 9);
    assert_eq!(advanced(begun(), 5, &[removed]).row_id_high_water_mark, 9);
}

#[test]
fn base_of_nothing_has_only_definition() {
    let base = Base::of_nothing(protocol_with(&["rowTracking"]), metadata(&[])).unwrap();
    let expected =
        (None, protocol_with(&["rowTracking"]), metadata(&[]), TableProperties::parse(&Default::default()).unwrap(), None, -1);
    assert_eq!(known(&base), expected);
    assert_eq!(base.next_version(), 0);
}
