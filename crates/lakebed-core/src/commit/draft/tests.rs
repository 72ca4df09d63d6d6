use serde_json::{Value, json};

use super::*;
use crate::commit::tests::*;

const NOW: i64 = 1_000;

fn operation() -> Operation {
    Operation::new("WRITE").with("mode", "Append")
}

fn told() -> Provenance {
    Provenance { read_version: Some(3), txn_id: "t-1".to_owned(), is_blind_append: true, ..Provenance::default() }
}

/// Returns the lines of the commit, without its `commitInfo`.
#[track_caller]
fn render(draft: &Draft, base: &Base) -> Vec<Value> {
    let mut actions = render_all(draft, base);
    let info = actions.remove(0);
    assert!(info.get("commitInfo").is_some(), "{info}");
    actions
}

fn render_all(draft: &Draft, base: &Base) -> Vec<Value> {
    let rendered = draft.render(base, &operation(), &told(), NOW).unwrap();
    assert_eq!(rendered.version, base.next_version());
    let text = String::from_utf8(rendered.bytes).unwrap();
    assert!(text.ends_with('\n'));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[track_caller]
fn check(draft: &Draft, base: &Base, expected: &[Value]) {
    assert_eq!(render(draft, base), expected);
}

/// Returns the base with another version, and with other values that depend on the version.
fn at(base: Base, version: u64, in_commit_timestamp: Option<i64>, row_id_high_water_mark: i64) -> Base {
    Base { version: Some(version), in_commit_timestamp, row_id_high_water_mark, ..base }
}

#[test]
fn render_commit_info_in_delta_sparks_order() {
    let mut operation = operation();
    operation.metrics.insert("numFiles".to_owned(), 1);
    let told = Provenance {
        user_metadata: Some("words".to_owned()),
        tags: [("a".to_owned(), "b".to_owned())].into(),
        isolation: IsolationLevel::WriteSerializable,
        ..told()
    };
    let base = base(&["inCommitTimestamp"], &[("delta.enableInCommitTimestamps", "true")]);
    let bytes = Draft::default().render(&base, &operation, &told, NOW).unwrap().bytes;
    let expected = concat!(
        r#"{"commitInfo":{"inCommitTimestamp":1000,"timestamp":1000,"operation":"WRITE","operationParameters":{"mode":"Append"},"#,
        r#""readVersion":3,"isolationLevel":"WriteSerializable","isBlindAppend":true,"operationMetrics":{"numFiles":"1"},"#,
        r#""userMetadata":"words","tags":{"a":"b"},"engineInfo":"lakebed/"#,
        env!("CARGO_PKG_VERSION"),
        r#"","txnId":"t-1"}}"#,
        "\n"
    );
    assert_eq!(String::from_utf8(bytes).unwrap(), expected);
}

#[test]
fn what_is_not_there_is_not_told() {
    let told = Provenance { txn_id: "t-1".to_owned(), ..Provenance::default() };
    let bytes = Draft::default().render(&base(&[], &[]), &Operation::new("CREATE TABLE"), &told, NOW).unwrap().bytes;
    let expected = concat!(
        r#"{"commitInfo":{"timestamp":1000,"operation":"CREATE TABLE","operationParameters":{},"isolationLevel":"Serializable","#,
        r#""isBlindAppend":false,"operationMetrics":{},"engineInfo":"lakebed/"#,
        env!("CARGO_PKG_VERSION"),
        r#"","txnId":"t-1"}}"#,
        "\n"
    );
    assert_eq!(String::from_utf8(bytes).unwrap(), expected);
}

#[test]
fn actions_of_every_kind_come_after_it() {
    let domain = DomainMetadata { domain: "d".to_owned(), configuration: "{}".to_owned(), removed: false };
    let cdc = json!({"path": "_change_data/x", "partitionValues": {"p": "1"}, "size": 5, "dataChange": false});
    let txn = json!({"appId": "app", "version": 2, "lastUpdated": 9});
    let draft = Draft {
        protocol: Some(protocol_with(&["v2Checkpoint"])),
        metadata: Some(metadata(&[("owner", "me")])),
        removes: vec![removal(&[add_ids("old", "1", 0..=9)], true), removal(&[], true)],
        cdc: vec![serde_json::from_value(cdc.clone()).unwrap()],
        transactions: vec![serde_json::from_value(txn.clone()).unwrap()],
        domains: vec![domain.clone()],
        ..adding(&[add_ids("new", "1", 10..=19)])
    };
    let gone = with(remove_of(&add_ids("old", "1", 0..=9)), json!({"deletionTimestamp": NOW}));
    let expected = [
        json!({"protocol": protocol_with(&["v2Checkpoint"])}),
        json!({"metaData": metadata(&[("owner", "me")])}),
        json!({"txn": txn}),
        add_ids("new", "1", 10..=19),
        gone,
        json!({"cdc": cdc}),
        json!({"domainMetadata": domain}),
    ];
    check(&draft, &base(&[], &[]), &expected);
}

#[test]
fn restored_files_change_data_and_keep_row_ids() {
    let with_ids = with(unchanged(add_ids("old", "1", 0..=9)), json!({"baseRowId": 3, "defaultRowCommitVersion": 1}));
    let draft = Draft { restored: vec![files(&[with_ids.clone(), add_ids("plain", "1", 0..=9)])], ..Draft::default() };
    let base = at(base(&["rowTracking", "domainMetadata"], &[]), 6, None, 99);
    let expected = [
        with(with_ids, json!({"dataChange": true})),
        with(add_ids("plain", "1", 0..=9), json!({"baseRowId": 100, "defaultRowCommitVersion": 7})),
        json!({"domainMetadata": row_ids::domain(109).unwrap()}),
    ];
    check(&draft, &base, &expected);
    assert!(
        draft.has_file_actions()
            && !draft.is_empty()
            && !draft.is_blind_append(&{
                let mut reads = Reads::default();
                reads.list_of_files();
                reads
            })
    );
}

#[test]
fn removed_files_stay_known_as_they_were() {
    let kept = json!({
        "partitionValues": {"p": null}, "tags": {"k": "v", "n": null}, "deletionVector": descriptor(&[1]),
        "baseRowId": 20, "defaultRowCommitVersion": 2,
    });
    let was = with(with(add("a%20b"), kept.clone()), json!({"stats": "{}", "clusteringProvider": "liquid"}));
    let gone = with(remove_of(&unchanged(was.clone())), json!({"deletionTimestamp": NOW}));
    let draft = Draft { removes: vec![removal(&[was], false)], ..Draft::default() };
    check(&draft, &base(&["rowTracking", "domainMetadata"], &[]), &[with(gone, kept)]);
}

#[test]
fn render_vector_change_removes_and_adds_file() {
    let was = with(add_ids("a", "1", 0..=9), json!({"tags": {"k": "v"}, "baseRowId": 20, "defaultRowCommitVersion": 2}));
    let draft = Draft { vectors: vec![vector_change(&was, &[1], &[3])], ..Draft::default() };
    let fields = json!({"deletionTimestamp": NOW, "tags": {"k": "v"}, "baseRowId": 20, "defaultRowCommitVersion": 2});
    let gone = with(remove_of(&without(&was, &[1])), fields);
    check(&draft, &base(&["rowTracking", "domainMetadata"], &[]), &[gone, without(&was, &[1, 3])]);
}

/// Checks the row ids and commit versions of files, and the high-water mark after the commit.
#[track_caller]
fn check_row_ids(draft: &Draft, base: &Base, expected: &[(i64, i64)], mark: Option<&str>) {
    let actions = render(draft, base);
    let number = |add: &Value, key: &str| add[key].as_i64().unwrap();
    let adds = actions.iter().filter_map(|action| action.get("add"));
    let ids: Vec<(i64, i64)> = adds.map(|add| (number(add, "baseRowId"), number(add, "defaultRowCommitVersion"))).collect();
    let domains: Vec<&Value> = actions.iter().filter_map(|action| action.get("domainMetadata")).collect();
    let domain = |mark| json!({"domain": "delta.rowTracking", "configuration": mark, "removed": false});
    assert_eq!((ids.as_slice(), domains), (expected, mark.map(domain).as_ref().into_iter().collect()));
}

const TRACKED: [&str; 2] = ["rowTracking", "domainMetadata"];

#[test]
fn render_gives_row_ids_for_each_base() {
    let draft = adding(&[add_ids("a", "1", 0..=9), add_ids("b", "1", 0..=4)]);
    let base = || base(&TRACKED, &[]);
    check_row_ids(&draft, &at(base(), 4, None, -1), &[(0, 5), (10, 5)], Some(r#"{"rowIdHighWaterMark":14}"#));
    check_row_ids(&draft, &at(base(), 8, None, 99), &[(100, 9), (110, 9)], Some(r#"{"rowIdHighWaterMark":114}"#));
}

#[test]
fn render_keeps_row_ids_that_files_have() {
    let moved = with(add_ids("a", "1", 0..=9), json!({"baseRowId": 7, "defaultRowCommitVersion": 2}));
    let base = || at(base(&TRACKED, &[]), 4, None, 99);
    check_row_ids(&adding(&[moved]), &base(), &[(7, 2)], None);
    check_row_ids(&adding(&[with(add_ids("a", "1", 0..=9), json!({"baseRowId": 7}))]), &base(), &[(7, 5)], None);
    let empty = with(add_ids("e", "1", 0..=0), json!({"stats": "{\"numRecords\":0}"}));
    check_row_ids(&adding(&[empty]), &base(), &[(100, 5)], None);
}

#[test]
fn vector_gives_row_ids_to_old_file() {
    let draft = Draft { vectors: vec![vector_change(&add_ids("a", "1", 0..=9), &[], &[3])], ..Draft::default() };
    check_row_ids(&draft, &at(base(&TRACKED, &[]), 4, None, 99), &[(100, 5)], Some(r#"{"rowIdHighWaterMark":109}"#));
}

#[test]
fn render_gives_row_ids_unless_suspended() {
    let draft = Draft { protocol: Some(protocol_with(&TRACKED)), ..adding(&[add_ids("a", "1", 0..=9)]) };
    check_row_ids(&draft, &base(&[], &[]), &[(0, 5)], Some(r#"{"rowIdHighWaterMark":9}"#));
    let suspended = base(&TRACKED, &[("delta.rowTrackingSuspended", "true")]);
    check(&adding(&[add_ids("a", "1", 0..=9)]), &suspended, &[add_ids("a", "1", 0..=9)]);
}

/// Checks the in-commit timestamp of a commit on top of `base`.
#[track_caller]
fn check_timestamp(draft: &Draft, base: &Base, expected: Option<i64>) {
    let info = render_all(draft, base).remove(0);
    assert_eq!(info["commitInfo"]["inCommitTimestamp"].as_i64(), expected);
    assert_eq!(info["commitInfo"]["timestamp"], NOW);
}

const TIMESTAMPS: (&str, &str) = ("delta.enableInCommitTimestamps", "true");

#[test]
fn render_in_commit_timestamps_always_rise() {
    let base = |before| at(base(&["inCommitTimestamp"], &[TIMESTAMPS]), 4, Some(before), -1);
    check_timestamp(&Draft::default(), &base(NOW - 1), Some(NOW));
    check_timestamp(&Draft::default(), &base(NOW), Some(NOW + 1));
    check_timestamp(&Draft::default(), &base(NOW + 50), Some(NOW + 51));
    check_timestamp(&Draft::default(), &base(i64::MAX), Some(i64::MAX));
    check_timestamp(&Draft::default(), &super::super::tests::base(&["inCommitTimestamp"], &[]), None);
}

fn enablement(version: &str, timestamp: &str) -> Vec<Value> {
    let since = [
        ("delta.inCommitTimestampEnablementVersion", version),
        ("delta.inCommitTimestampEnablementTimestamp", timestamp),
        TIMESTAMPS,
    ];
    vec![json!({"metaData": metadata(&since)})]
}

#[test]
fn render_enabled_timestamps_record_enablement() {
    let draft = Draft { metadata: Some(metadata(&[TIMESTAMPS])), ..Draft::default() };
    let base = || base(&["inCommitTimestamp"], &[]);
    check(&draft, &at(base(), 4, None, -1), &enablement("5", "1000"));
    check(&draft, &at(base(), 8, None, -1), &enablement("9", "1000"));
    // The table had in-commit timestamps before. The recorded beginning is out of date, and the new
    // timestamps continue after the old ones.
    let again =
        Draft { metadata: Some(metadata(&[TIMESTAMPS, ("delta.inCommitTimestampEnablementVersion", "2")])), ..Draft::default() };
    check(&again, &at(base(), 8, Some(NOW + 7), -1), &enablement("9", "1008"));
}

#[test]
fn render_existing_timestamps_record_no_enablement() {
    let draft = Draft { metadata: Some(metadata(&[TIMESTAMPS])), ..Draft::default() };
    let made = Base::of_nothing(protocol_with(&["inCommitTimestamp"]), metadata(&[TIMESTAMPS])).unwrap();
    check(&draft, &made, &[json!({"metaData": metadata(&[TIMESTAMPS])})]);
    check_timestamp(&draft, &made, Some(NOW));
    check(&draft, &base(&["inCommitTimestamp"], &[TIMESTAMPS]), &[json!({"metaData": metadata(&[TIMESTAMPS])})]);
}

#[test]
fn render_replaced_metadata_keeps_log_properties() {
    let since = [("delta.inCommitTimestampEnablementVersion", "2"), ("delta.inCommitTimestampEnablementTimestamp", "500")];
    let guard = ("delta.requireCheckpointProtectionBeforeVersion", "3");
    let base = base(&["inCommitTimestamp"], &[since[0], since[1], guard, TIMESTAMPS]);
    let replaced = |configuration: &[_]| Draft { metadata: Some(metadata(configuration)), ..Draft::default() };
    let after = metadata(&[since[0], since[1], guard, TIMESTAMPS]);
    check(&replaced(&[TIMESTAMPS]), &base, &[json!({"metaData": after})]);
    // Without in-commit timestamps, their beginning is not recorded.
    check(&replaced(&[]), &base, &[json!({"metaData": metadata(&[guard])})]);
    check(&replaced(&[guard]), &base, &[json!({"metaData": metadata(&[guard])})]);
}

#[test]
fn render_dropped_protection_ends_its_property() {
    let guard = ("delta.requireCheckpointProtectionBeforeVersion", "3");
    let base = base(&["checkpointProtection", "clustering"], &[guard]);
    let draft = |protocol| Draft { protocol, metadata: Some(metadata(&[])), ..Draft::default() };
    check(&draft(None), &base, &[json!({"metaData": metadata(&[guard])})]);
    let (kept, dropped) = (protocol_with(&["checkpointProtection"]), protocol_with(&["clustering"]));
    check(&draft(Some(kept.clone())), &base, &[json!({"protocol": kept}), json!({"metaData": metadata(&[guard])})]);
    check(&draft(Some(dropped.clone())), &base, &[json!({"protocol": dropped}), json!({"metaData": metadata(&[])})]);
}

#[test]
fn render_tombstones_name_only_the_file() {
    let draft = Draft { tombstones: vec!["a%20b.bin".to_owned()], ..Draft::default() };
    let expected = json!({"remove": {"path": "a%20b.bin", "deletionTimestamp": NOW, "dataChange": false}});
    check(&draft, &base(&[], &[]), &[expected]);
    assert!(!draft.is_empty());
    assert!(!draft.changes_data());
}

#[test]
fn render_restored_file_without_row_tracking_loses_row_ids() {
    let file = with(add_ids("a", "1", 0..=9), json!({"baseRowId": 7, "defaultRowCommitVersion": 2}));
    let draft = Draft { restored: vec![files(&[file])], ..Draft::default() };
    let lines = render(&draft, &base(&[], &[]));
    assert_eq!((lines[0]["add"].get("baseRowId"), lines[0]["add"]["path"].as_str()), (None, Some("a")));
    let lines = render(&draft, &at(base(&["rowTracking"], &[]), 8, None, 16));
    assert_eq!(lines[0]["add"]["baseRowId"], json!(7));
}

#[test]
fn draft_is_empty_without_actions() {
    let none = Draft { removes: vec![removal(&[], true)], ..Draft::default() };
    let flags = |draft: &Draft| (draft.is_empty(), draft.has_file_actions());
    assert_eq!(flags(&none), (true, false));
    assert_eq!(flags(&adding(&[add_ids("a", "1", 0..=9)])), (false, true));
    assert_eq!(flags(&Draft { metadata: Some(metadata(&[])), ..Draft::default() }), (false, false));
    assert_eq!(flags(&Draft { removes: vec![removal(&[add_ids("a", "1", 0..=9)], true)], ..Draft::default() }), (false, true));
}

#[test]
fn draft_that_moves_rows_ignores_additions() {
    use IsolationLevel::{Serializable, SnapshotIsolation, WriteSerializable};
    #[track_caller]
    fn check(draft: &Draft, expected: [IsolationLevel; 2]) {
        assert_eq!([Serializable, WriteSerializable].map(|level| draft.isolation(level)), expected);
    }
    let moving = Draft {
        removes: vec![removal(&[add_ids("a", "1", 0..=9)], false), removal(&[], true)],
        ..adding(&[unchanged(add_ids("b", "1", 0..=9))])
    };
    let (kept, lowered) = ([Serializable, WriteSerializable], [SnapshotIsolation; 2]);
    check(&Draft::default(), lowered);
    check(&moving, lowered);
    check(&Draft { domains: vec![row_ids::domain(5).unwrap()], ..moving.clone() }, lowered);
    check(&Draft { metadata: Some(metadata(&[])), ..moving.clone() }, kept);
    check(&Draft { protocol: Some(protocol_with(&[])), ..moving.clone() }, kept);
    let txn = SetTransaction { app_id: "a".to_owned(), version: 1, last_updated: None };
    check(&Draft { transactions: vec![txn], ..moving.clone() }, kept);
    let domain = DomainMetadata { domain: "d".to_owned(), configuration: String::new(), removed: false };
    check(&Draft { domains: vec![domain], ..moving.clone() }, kept);
    check(&Draft { vectors: vec![vector_change(&add_ids("a", "1", 0..=9), &[], &[3])], ..moving.clone() }, kept);
    check(&Draft { removes: vec![removal(&[add_ids("a", "1", 0..=9)], true)], ..Draft::default() }, kept);
    check(&adding(&[add_ids("a", "1", 0..=9)]), kept);
}

#[test]
fn draft_is_blind_without_reads_and_removes() {
    #[track_caller]
    fn check(draft: &Draft, read: fn(&mut Reads), expected: bool) {
        let mut reads = Reads::default();
        read(&mut reads);
        assert_eq!(draft.is_blind_append(&reads), expected);
    }
    let append = adding(&[add_ids("a", "1", 0..=9)]);
    check(&append, |_| {}, true);
    check(&append, |reads| reads.application("app"), true);
    check(&Draft { metadata: Some(metadata(&[])), ..Draft::default() }, |_| {}, true);
    check(&Draft { removes: vec![removal(&[], true)], ..append.clone() }, |_| {}, true);
    check(&append, Reads::whole_table, false);
    check(&append, Reads::by_predicate, false);
    check(&append, |reads| reads.files(&files(&[add_ids("b", "1", 0..=9)])).unwrap(), false);
    check(&Draft { removes: vec![removal(&[add_ids("b", "1", 0..=9)], true)], ..append.clone() }, |_| {}, false);
    check(&Draft { vectors: vec![vector_change(&add_ids("b", "1", 0..=9), &[], &[3])], ..append.clone() }, |_| {}, false);
}

#[test]
fn render_file_without_row_count_fails() {
    let draft = adding(&[with(add_ids("a", "1", 0..=9), json!({"stats": null}))]);
    let error = draft.render(&base(&TRACKED, &[]), &operation(), &told(), NOW);
    check_error(
        error,
        crate::ErrorKind::Internal,
        "a: a file of a table with row tracking needs the number of its rows in its statistics",
    );
}
