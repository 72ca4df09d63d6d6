use serde_json::{Value, json};

use super::*;
use crate::ErrorKind;
use crate::action::{DomainMetadata, Metadata, SetTransaction};
use crate::commit::draft::Removal;
use crate::commit::tests::*;

fn removing(removes: Vec<Removal>) -> Draft {
    Draft { removes, ..Draft::default() }
}

fn vectors(files: &[Value]) -> Draft {
    Draft { vectors: files.iter().map(|file| vector_change(file, &[], &[3])).collect(), ..Draft::default() }
}

/// Checks the error for a draft. `None` means that the draft is valid.
#[track_caller]
fn check_on(draft: &Draft, base: &Base, expected: Option<(ErrorKind, &str)>) {
    let found = super::check(draft, base, TABLE).map_err(|error| (error.kind().clone(), error.message().to_owned())).err();
    assert_eq!(found, expected.map(|(kind, message)| (kind, message.to_owned())));
}

#[track_caller]
fn check(draft: &Draft, expected: Option<(ErrorKind, &str)>) {
    check_on(draft, &base(&[], &[]), expected);
}

#[test]
fn what_is_right_passes() {
    check(&Draft::default(), None);
    check(&adding(&[a(), add_ids("b", "2", 0..=9)]), None);
    check(&removing(vec![removal(&[a()], true), removal(&[add_ids("b", "2", 0..=9)], false)]), None);
    check(&vectors(&[a(), add_ids("b", "2", 0..=9)]), None);
}

fn restoring(files: &[Value]) -> Draft {
    Draft { restored: vec![super::super::tests::files(files)], ..Draft::default() }
}

#[test]
fn restored_file_may_replace_a_removed_one() {
    check(&restoring(&[a()]), None);
    check(&Draft { removes: vec![removal(&[a()], true)], ..restoring(&[without(&a(), &[1])]) }, None);
    let twice = || Some((ErrorKind::Internal, "a: added twice in one commit"));
    check(&restoring(&[a(), without(&a(), &[1])]), twice());
    check(&Draft { restored: restoring(&[a()]).restored, ..adding(&[a()]) }, twice());
}

#[test]
fn append_only_table_refuses_removals() {
    let base = base(&["appendOnly"], &[("delta.appendOnly", "true")]);
    let message = "memory://t: the table is append-only (delta.appendOnly is true), so no rows may be removed or changed; unset the property first";
    let refused = || Some((ErrorKind::InvalidInput, message));
    check_on(&adding(&[a()]), &base, None);
    check_on(&removing(vec![removal(&[a()], true)]), &base, refused());
    check_on(&vectors(&[a()]), &base, refused());
    // Rows may be moved.
    check_on(&Draft { removes: vec![removal(&[a()], false)], ..adding(&[unchanged(add_ids("b", "1", 0..=9))]) }, &base, None);
    check_on(&removing(vec![removal(&[], true)]), &base, None);
    // The property may be unset, or set, by the same commit.
    let mut draft = removing(vec![removal(&[a()], true)]);
    draft.metadata = Some(metadata(&[]));
    check_on(&draft, &base, None);
    draft.metadata = Some(metadata(&[("delta.appendOnly", "true")]));
    check_on(&draft, &super::super::tests::base(&["appendOnly"], &[]), refused());
}

#[test]
fn draft_refuses_path_added_twice() {
    let internal = |message| Some((ErrorKind::Internal, message));
    check(&adding(&[a(), a()]), internal("a: added twice in one commit"));
    check(&adding(&[a(), without(&a(), &[1])]), internal("a: added twice in one commit"));
    check(&vectors(&[a(), a()]), internal("a: added twice in one commit"));
    check(&Draft { adds: vec![to_add(&a())], ..vectors(&[a()]) }, internal("a: added twice in one commit"));
    check(&removing(vec![removal(&[a(), a()], true)]), internal("a: removed twice in one commit"));
    check(
        &removing(vec![removal(&[a()], true), removal(&[without(&a(), &[1])], false)]),
        internal("a: removed twice in one commit"),
    );
    check(&Draft { removes: vec![removal(&[a()], true)], ..vectors(&[a()]) }, internal("a: removed twice in one commit"));
    check(&Draft { removes: vec![removal(&[a()], true)], ..adding(&[a()]) }, internal("a: removed and added in one commit"));
    // Two spellings of one place.
    let spelled = |path: &str| add_ids(path, "1", 0..=9);
    check(&adding(&[spelled("file:///x/a"), spelled("/x/a")]), internal("/x/a: added twice in one commit"));
}

#[test]
fn applications_and_domains_are_set_once() {
    let txn = |app_id: &str, version| SetTransaction { app_id: app_id.to_owned(), version, last_updated: None };
    let domain = |name: &str| DomainMetadata { domain: name.to_owned(), configuration: String::new(), removed: false };
    let twice = |message| Some((ErrorKind::InvalidInput, message));
    check(&Draft { transactions: vec![txn("a", 1), txn("b", 1)], ..Draft::default() }, None);
    check(
        &Draft { transactions: vec![txn("a", 1), txn("b", 1), txn("a", 2)], ..Draft::default() },
        twice("application \"a\" is set twice in one commit"),
    );
    check(&Draft { domains: vec![domain("a"), domain("b")], ..Draft::default() }, None);
    check(
        &Draft { domains: vec![domain("a"), domain("a")], ..Draft::default() },
        twice("domain \"a\" is set twice in one commit"),
    );
}

#[test]
fn draft_requires_partition_values_by_physical_name() {
    let with_values = |values: Value| adding(&[with(a(), json!({"partitionValues": values}))]);
    let wrong = |names: &str| format!("a: its partition values are not those of the table's partition columns [{names:?}]");
    let internal = |message: &str| Some((ErrorKind::Internal, message.to_owned()));
    let check = |draft: &Draft, base: &Base, expected: Option<(ErrorKind, String)>| {
        check_on(draft, base, expected.as_ref().map(|(kind, message)| (kind.clone(), message.as_str())));
    };
    let plain = base(&[], &[]);
    check(&with_values(json!({"p": null})), &plain, None);
    check(&with_values(json!({})), &plain, internal(&wrong("p")));
    check(&with_values(json!({"q": "1"})), &plain, internal(&wrong("p")));
    check(&with_values(json!({"p": "1", "q": "1"})), &plain, internal(&wrong("p")));
    let notes = "\"metadata\":{\"delta.columnMapping.id\":1,\"delta.columnMapping.physicalName\":\"col-1\"}";
    let schema_string = schema_string().replacen("\"metadata\":{}", notes, 1);
    assert!(schema_string.contains("col-1"));
    let mapped = Metadata { schema_string, ..metadata(&[("delta.columnMapping.mode", "name")]) };
    let mapped = Base::of_version(4, protocol_with(&["columnMapping"]), mapped, None, None).unwrap();
    check(&with_values(json!({"col-1": "1"})), &mapped, None);
    check(&with_values(json!({"p": "1"})), &mapped, internal(&wrong("col-1")));
    // The partition columns are those of the metadata in the same commit.
    let mut draft = with_values(json!({}));
    draft.metadata = Some(Metadata { partition_columns: Vec::new(), ..metadata(&[]) });
    check(&draft, &plain, None);
    draft.metadata = Some(Metadata { partition_columns: vec!["z".to_owned()], ..metadata(&[]) });
    check(&draft, &plain, internal("partition column \"z\" is not in the schema"));
}

#[test]
fn features_that_lakebed_cannot_write_are_named() {
    let unknown = |kind: &str| {
        format!("memory://t: the table needs {kind} features that lakebed does not support: novelty (not known to this version)")
    };
    let kind = || ErrorKind::UnsupportedFeature { features: vec!["novelty".to_owned()] };
    let of_writers = crate::action::Protocol { reader_features: Some(Vec::new()), ..protocol_with(&["novelty"]) };
    let reader = unknown("reader");
    check_on(&Draft::default(), &base(&["novelty"], &[]), Some((kind(), &reader)));
    let writer = unknown("writer");
    check(&Draft { protocol: Some(of_writers), ..adding(&[a()]) }, Some((kind(), &writer)));
}
