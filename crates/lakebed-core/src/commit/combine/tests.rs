use serde_json::Value;

use super::*;
use crate::commit::info::{Operation, Provenance};
use crate::commit::tests::*;

fn deleting(files: &[Value]) -> Draft {
    Draft { removes: vec![removal(files, true)], ..Draft::default() }
}

fn changing(changes: Vec<VectorChange>) -> Draft {
    Draft { vectors: changes, ..Draft::default() }
}

/// Combines drafts, and checks the file actions of the commit and the new files that vanished.
#[track_caller]
fn check(drafts: Vec<Draft>, expected: &[Value], vanished: &[&str]) {
    let (mut whole, mut gone) = (Draft::default(), Vec::new());
    for draft in drafts {
        gone.extend(whole.then(draft).unwrap().into_iter().map(|add| add.path));
    }
    let rendered = whole.render(&base(&[], &[]), &Operation::default(), &Provenance::default(), 0).unwrap();
    let lines = String::from_utf8(rendered.bytes).unwrap();
    let mut actions: Vec<Value> = lines.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
    actions.iter_mut().filter_map(|action| action.get_mut("remove")?.as_object_mut()).for_each(|remove| {
        remove.retain(|key, _| ["path", "deletionVector"].contains(&key.as_str()));
    });
    assert_eq!((actions.as_slice(), gone), (expected, vanished.iter().map(|path| (*path).to_owned()).collect()));
}

/// The `remove` of a file that had these deleted rows.
fn gone(path: &str, positions: &[u64]) -> Value {
    match positions {
        [] => serde_json::json!({"remove": {"path": path}}),
        _ => serde_json::json!({"remove": {"path": path, "deletionVector": descriptor(positions)}}),
    }
}

#[test]
fn new_file_that_is_removed_vanishes() {
    check(vec![adding(&[a(), b()]), deleting(&[a()])], &[b()], &["a"]);
    check(vec![adding(&[b()]), deleting(&[a()])], &[b(), gone("a", &[])], &[]);
    check(vec![adding(&[b()]), deleting(&[a(), b()])], &[gone("a", &[])], &["b"]);
}

#[test]
fn new_file_keeps_only_its_last_vector() {
    let first = changing(vec![vector_change(&a(), &[], &[1])]);
    let second = changing(vec![vector_change(&a(), &[1], &[3])]);
    check(vec![adding(&[a()]), first.clone(), second], &[without(&a(), &[1, 3])], &[]);
    check(vec![adding(&[a()]), first, deleting(&[without(&a(), &[1])])], &[], &["a"]);
}

#[test]
fn old_file_changes_from_first_to_last_vector() {
    let first = changing(vec![vector_change(&a(), &[0], &[1])]);
    let second = changing(vec![vector_change(&a(), &[0, 1], &[3])]);
    check(vec![first.clone(), second.clone()], &[gone("a", &[0]), without(&a(), &[0, 1, 3])], &[]);
    check(vec![first.clone(), deleting(&[without(&a(), &[0, 1])])], &[gone("a", &[0])], &[]);
    let mut whole = first;
    whole.then(second).unwrap();
    assert_eq!(whole.vectors[0].deleted, rows(&[1, 3]));
}

#[test]
fn last_definition_and_identifier_win() {
    use crate::action::{DomainMetadata, SetTransaction};
    let txn = |app_id: &str, version| SetTransaction { app_id: app_id.to_owned(), version, last_updated: None };
    let domain =
        |name: &str, text: &str| DomainMetadata { domain: name.to_owned(), configuration: text.to_owned(), removed: false };
    let mut whole = Draft {
        metadata: Some(metadata(&[("k", "1")])),
        transactions: vec![txn("a", 1), txn("b", 1)],
        domains: vec![domain("x", "1"), domain("y", "1")],
        ..Draft::default()
    };
    whole.then(Draft { metadata: Some(metadata(&[("k", "2")])), ..Draft::default() }).unwrap();
    whole.then(Draft { transactions: vec![txn("a", 2)], domains: vec![domain("x", "2")], ..Draft::default() }).unwrap();
    assert_eq!(whole.metadata, Some(metadata(&[("k", "2")])));
    assert_eq!(whole.transactions, [txn("b", 1), txn("a", 2)]);
    assert_eq!(whole.domains, [domain("y", "1"), domain("x", "2")]);
}

#[test]
fn entry_that_is_written_again_is_refused() {
    let noted = Draft { adds: vec![Add { data_change: false, ..to_add(&a()) }], ..Draft::default() };
    let expected = "a: the operation writes the log's entry of this file again, and such an operation needs a commit of its own: run it outside of the transaction";
    check_error(Draft::default().then(noted), crate::ErrorKind::InvalidInput, expected);
    check_error(adding(&[a()]).then(adding(&[a()])), crate::ErrorKind::InvalidInput, expected);
}
