//! Conflicts about protocols, transaction identifiers and domains.

use super::*;
use crate::action::Protocol;

/// Returns a protocol of old versions.
fn old(reader: i32, writer: i32) -> Protocol {
    Protocol { min_reader_version: reader, min_writer_version: writer, reader_features: None, writer_features: None }
}

/// Checks the outcome of an append on top of one protocol if a winner sets another: `ok`, or the
/// conflict.
#[track_caller]
fn check_protocol(before: &Protocol, after: &Protocol, expected: &str) {
    let base = Base::of_version(4, before.clone(), metadata(&[]), None, None).unwrap();
    let wish = Wish::default().adds(&[add_ids("new", "1", 0..=9)]);
    let found = match wish.check(&base, &[said("ALTER"), json!({"protocol": after})]) {
        Ok(_) => "ok".to_owned(),
        Err(error) => {
            let kind = ConflictKind::ProtocolChanged;
            assert_eq!(*error.kind(), ErrorKind::CommitConflict { kind, winner_version: 5, retryable: true });
            let text = error.to_string();
            text.strip_prefix("memory://t: ALTER was committed first, as version 5: ").unwrap().to_owned()
        }
    };
    assert_eq!(found, expected);
}

#[test]
fn features_may_come_and_may_not_go() {
    let again = "run the operation again on top of it";
    check_protocol(&protocol_with(&["deletionVectors"]), &protocol_with(&["deletionVectors", "v2Checkpoint"]), "ok");
    check_protocol(&protocol_with(&["deletionVectors"]), &protocol_with(&["deletionVectors"]), "ok");
    let dropped = |name: &str| format!("it dropped the table feature {name}; {again}");
    check_protocol(
        &protocol_with(&["deletionVectors", "v2Checkpoint"]),
        &protocol_with(&["v2Checkpoint"]),
        &dropped("deletionVectors"),
    );
    // Old versions have the same meaning as lists of all features that they imply.
    check_protocol(&old(1, 2), &protocol_with(&["appendOnly", "invariants"]), "ok");
    check_protocol(&old(1, 2), &old(1, 4), "ok");
    check_protocol(&old(1, 3), &protocol_with(&["appendOnly", "invariants"]), &dropped("checkConstraints"));
}

#[test]
fn winner_with_unknown_feature_is_named() {
    let expected = "it changed the protocol to one that lakebed cannot write; run the operation again on top of it: memory://t: the table needs reader features that lakebed does not support: novelty (not known to this version)";
    check_protocol(&protocol_with(&[]), &protocol_with(&["novelty"]), expected);
}

#[test]
fn change_protocol_twice_always_conflicts() {
    let mut wish = Wish::default();
    wish.draft.protocol = Some(protocol_with(&["v2Checkpoint"]));
    let base = base(&[], &[]);
    assert_eq!(wish.outcome(&base, &[json!({"protocol": protocol_with(&["deletionVectors"])})]), "Protocol");
    assert_eq!(wish.outcome(&base, &[blind(), add_ids("n", "1", 0..=9)]), "ok");
}

fn txn(app_id: &str) -> Value {
    json!({"txn": {"appId": app_id, "version": 7}})
}

#[test]
fn advance_of_read_application_conflicts() {
    let base = base(&[], &[]);
    let mut wish = Wish::default();
    wish.draft.transactions.push(serde_json::from_value(txn("mine")["txn"].clone()).unwrap());
    assert_eq!(wish.outcome(&base, &[txn("mine")]), "ok", "written without a look");
    wish.reads.application("mine");
    assert_eq!(wish.outcome(&base, &[txn("another")]), "ok");
    assert_eq!(wish.outcome(&base, &[txn("another"), txn("mine")]), "Transaction");
    let error = wish.check(&base, &[said("WRITE"), txn("mine")]).unwrap_err();
    let expected = "memory://t: WRITE was committed first, as version 5: it set the transaction identifier of application \"mine\" to version 7; run the operation again on top of it";
    assert_eq!(error.message(), expected);
}

#[test]
fn set_domain_twice_conflicts_unless_recomputed() {
    let base = base(&[], &[]);
    let domain = |name: &str| json!({"domainMetadata": {"domain": name, "configuration": "{}", "removed": false}});
    let sets = |name: &str| {
        let mut wish = Wish::default();
        wish.draft.domains.push(serde_json::from_value(domain(name)["domainMetadata"].clone()).unwrap());
        wish
    };
    assert_eq!(sets("mine").outcome(&base, &[domain("another")]), "ok");
    assert_eq!(sets("mine").outcome(&base, &[domain("another"), domain("mine")]), "Transaction");
    assert_eq!(sets("delta.rowTracking").outcome(&base, &[domain("delta.rowTracking")]), "ok");
}

#[test]
fn conflict_check_reports_metadata_before_rows() {
    // Metadata before applications, these before rows.
    let mut wish = Wish::default().reads_all().adds(&[add_ids("new", "1", 0..=9)]);
    wish.reads.application("mine");
    let base = base(&[], &[]);
    let rows = vec![remove_of(&a()), add_ids("n", "1", 0..=9)];
    assert_eq!(wish.outcome(&base, &rows), "Append");
    let with_txn = [rows, vec![txn("mine")]].concat();
    assert_eq!(wish.outcome(&base, &with_txn), "Transaction");
    let with_metadata = [with_txn, vec![json!({"metaData": metadata(&[("owner", "me")])})]].concat();
    assert_eq!(wish.outcome(&base, &with_metadata), "Metadata");
    let with_protocol = [with_metadata, vec![json!({"protocol": protocol_with(&["novelty"])})]].concat();
    assert_eq!(wish.outcome(&base, &with_protocol), "Protocol");
}

#[test]
fn list_of_files_conflicts_with_any_change_of_files() {
    let mut wish = Wish::default();
    wish.reads.list_of_files();
    wish.draft.metadata = Some(metadata(&[]));
    let base = base(&["deletionVectors"], &[]);
    let new = add_ids("new", "1", 50..=59);
    let rearranged = [said("OPTIMIZE"), unchanged(remove_of(&a())), unchanged(add_ids("a2", "1", 0..=9))];
    for actions in [vec![blind(), new], vec![said("DELETE"), remove_of(&a())], rearranged.to_vec(), vec![unchanged(a())]] {
        assert_eq!(wish.outcome(&base, &actions), "DeleteRead", "{actions:?}");
    }
    assert_eq!(wish.outcome(&base, &[said("STREAMING UPDATE"), json!({"txn": {"appId": "x", "version": 1}})]), "ok");
}
