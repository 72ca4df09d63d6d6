use serde_json::{Value, json};

use super::*;
use crate::commit::tests::*;

/// Checks the paths of the files with new rows, and the keys of the files in which rows were
/// removed or changed.
#[track_caller]
fn check(actions: &[Value], added: &[&str], changed: &[&str]) {
    let winner = winner(5, actions);
    let found: Vec<String> = winner
        .added
        .iter()
        .flat_map(|files| files.paths().unwrap().iter().flatten().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let mut keys: Vec<FileKey> = winner.keys_of_changed_rows().copied().collect();
    let mut expected: Vec<FileKey> = changed.iter().map(|path| path_key(path)).collect();
    keys.sort();
    expected.sort();
    assert_eq!((found, keys), (added.iter().map(|path| (*path).to_owned()).collect(), expected));
}

#[test]
fn winner_adds_and_removes_change_rows() {
    check(&[], &[], &[]);
    check(&[a(), b()], &["a", "b"], &[]);
    check(&[remove_of(&a()), remove_of(&b())], &[], &["a", "b"]);
    check(&[remove_of(&a()), b()], &["b"], &["a"]);
}

#[test]
fn winner_rearranged_files_change_no_rows() {
    check(&[remove_of(&unchanged(a())), unchanged(b())], &[], &[]);
    check(&[unchanged(a())], &[], &[]);
    // As soon as any row changes, nothing is sure of the others.
    check(&[remove_of(&unchanged(a())), remove_of(&b())], &[], &["a", "b"]);
    check(&[remove_of(&unchanged(a())), b()], &["b"], &["a"]);
}

#[test]
fn winner_vector_adds_only_restored_rows() {
    check(&[remove_of(&a()), without(&a(), &[1])], &[], &["a"]);
    check(&[remove_of(&without(&a(), &[1])), without(&a(), &[1, 2])], &[], &["a"]);
    check(&[remove_of(&without(&a(), &[1, 2])), without(&a(), &[1])], &["a"], &["a"]);
    check(&[remove_of(&without(&a(), &[1])), a()], &["a"], &["a"]);
}

#[test]
fn winner_changed_file_keeps_both_vectors() {
    let two = without(&a(), &[1, 2]);
    let winner = winner(5, &[remove_of(&without(&a(), &[1])), two.clone(), remove_of(&b())]);
    assert_eq!(winner.changed("a"), Some(&to_add(&two)));
    assert_eq!(winner.removed_vector("a"), Some(&descriptor(&[1])));
    assert_eq!((winner.changed("b"), winner.removed_vector("b"), winner.removes("b")), (None, None, true));
    assert_eq!((winner.changed("c"), winner.removed_vector("c"), winner.removes("c")), (None, None, false));
}

#[test]
fn everything_else_is_kept_as_it_stands() {
    let (txn, domain) = (json!({"appId": "a", "version": 1}), json!({"domain": "d", "configuration": "{}", "removed": false}));
    let info = json!({"operation": "WRITE", "isBlindAppend": false});
    let actions = [
        json!({"commitInfo": info}),
        json!({"protocol": protocol_with(&["v2Checkpoint"])}),
        json!({"metaData": metadata(&[("owner", "me")])}),
        json!({"txn": txn}),
        json!({"domainMetadata": domain}),
        json!({"cdc": {"path": "_change_data/x", "partitionValues": {}, "size": 5, "dataChange": false}}),
        json!({"unheardOf": {}}),
    ];
    let winner = winner(5, &actions);
    assert_eq!(winner.version, 5);
    assert_eq!(winner.protocol, Some(protocol_with(&["v2Checkpoint"])));
    assert_eq!(winner.metadata, Some(metadata(&[("owner", "me")])));
    assert_eq!(winner.transactions, [serde_json::from_value(txn).unwrap()]);
    assert_eq!(winner.domains, [serde_json::from_value(domain).unwrap()]);
    assert_eq!(winner.info, Some(serde_json::from_value(info).unwrap()));
}

#[test]
fn winner_is_blind_if_commit_info_says() {
    let said = |info: Value| winner(5, &[json!({"commitInfo": info})]).is_blind_append();
    assert!(said(json!({"isBlindAppend": true})));
    assert!(said(json!({"isBlindAppend": "true"})));
    assert!(!said(json!({"isBlindAppend": false})));
    assert!(!said(json!({"isBlindAppend": "yes"})));
    assert!(!said(json!({})));
    assert!(!winner(5, &[]).is_blind_append());
}

#[test]
fn winner_read_in_parts_equals_whole() {
    let text = text(&[remove_of(&a()), without(&a(), &[1]), b(), add_ids("c", "2", 0..=9)]);
    let whole = Winner::read(5, [CommitLines::whole(&text, "x")]).unwrap();
    for bytes in [1, 200, 400] {
        let pieces = CommitLines::whole(&text, "x").pieces(bytes);
        assert!(pieces.len() > 1);
        let winner = Winner::read(5, pieces).unwrap();
        assert_eq!(
            winner.added.iter().map(|files| files.batch()).collect::<Vec<_>>(),
            whole.added.iter().map(|files| files.batch()).collect::<Vec<_>>()
        );
        assert_eq!(winner.changed("a"), whole.changed("a"));
    }
}

#[test]
fn a_broken_line_is_named() {
    let broken = Winner::read(5, [CommitLines::whole(b"{\"add\":{}}\n", "00000000000000000005.json")]).unwrap_err();
    assert!(broken.is_corrupt());
    assert!(broken.message().starts_with("00000000000000000005.json: line 1: "), "{broken}");
}
