//! Two or more transactions that begin on the same version.

use std::collections::HashSet;

use futures::future::{BoxFuture, join_all};
use lakebed::transaction::{CommitSettings, Partitions, Transaction};
use lakebed_core::ConflictKind::{self, *};
use lakebed_core::action::{Action, Metadata};
use lakebed_tests::action::{add, protocol, with};
use serde_json::{Value, json};

use lakebed_tests::Lake;

use super::kit::*;

type Deed = fn(&mut Transaction) -> BoxFuture<'_, ()>;

/// The kinds of transactions, by name.
const DEEDS: [(&str, Deed); 13] = [
    ("append", |t| Box::pin(async { t.add([to_add(&file("n", "1", 0))]) })),
    ("append to 2", |t| Box::pin(async { t.add([to_add(&file("n2", "2", 0))]) })),
    ("delete 1", |t| {
        Box::pin(async {
            read(t, "1", &[a()]);
            t.remove(batch(&[a()]), true);
        })
    }),
    ("copy 1", |t| {
        Box::pin(async {
            read(t, "1", &[a()]);
            t.add([to_add(&file("copy", "2", 0))]);
        })
    }),
    ("overwrite", |t| {
        Box::pin(async {
            t.read().all();
            t.remove(batch(&[a(), file("b", "2", 0)]), true);
            t.add([to_add(&file("all", "1", 0))]);
        })
    }),
    ("optimize 1", |t| Box::pin(async { optimize(t, &[a()], "o") })),
    ("optimize 1 too", |t| Box::pin(async { optimize(t, &[a()], "o2") })),
    ("rows 3, 4", |t| Box::pin(delete_rows(t, &[3, 4]))),
    ("rows 4, 5", |t| Box::pin(delete_rows(t, &[4, 5]))),
    ("rows 6 to 9", |t| Box::pin(delete_rows(t, &[6, 7, 8, 9]))),
    ("alter", |t| Box::pin(async { set_property(t, "owner", "me") })),
    ("run of app", |t| {
        Box::pin(async {
            t.read().application("app");
            t.set_application("app", 1);
        })
    }),
    ("nothing", |_| Box::pin(async {})),
];

fn set_property(transaction: &mut Transaction, name: &str, value: &str) {
    let mut metadata: Metadata = transaction.metadata().clone();
    metadata.configuration.insert(name.to_owned(), Some(value.to_owned()));
    transaction.set_metadata(metadata);
}

/// Begins both transactions on version 0 and commits the first one. The second one must end with
/// these files and this number of rows in the table, or with this conflict.
#[track_caller]
fn check(first: &str, second: &str, expected: Result<(&'static [&'static str], u64), ConflictKind>) -> impl Future<Output = ()> {
    let names = [first, second].map(str::to_owned);
    let caller = std::panic::Location::caller();
    async move {
        let lake = two_files().await;
        let mut both = [begin(&lake).await, begin(&lake).await];
        for (transaction, name) in both.iter_mut().zip(&names) {
            let (_, deed) = DEEDS.iter().find(|(known, _)| known == name).unwrap();
            deed(transaction).await;
        }
        let [one, other] = both;
        assert_eq!(commit(one).await.unwrap().version, 1, "{caller}");
        let before = seen(&lake).await;
        match (commit(other).await, expected) {
            (Ok(committed), Ok((files, rows))) => {
                let files = files.iter().map(|path| (*path).to_owned()).collect();
                assert_eq!((committed.version, committed.conflicts), (2, 1), "{caller}");
                assert_eq!(seen(&lake).await, (2, files, rows), "{caller}");
                assert_eq!(paths(&committed.snapshot.unwrap()).await, seen(&lake).await.1, "{caller}");
            }
            (Err(error), Err(kind)) => {
                assert_eq!(conflict(&error), (kind, 1), "{caller}: {error}");
                assert_eq!(seen(&lake).await, before, "{caller}");
            }
            (found, expected) => panic!("{caller}: {found:?} instead of {expected:?}"),
        }
    }
}

#[tokio::test]
async fn appends_come_after_anything_but_other_metadata() {
    check("append", "append to 2", Ok((&["a", "b", "n", "n2"], 40))).await;
    check("delete 1", "append", Ok((&["b", "n"], 20))).await;
    check("overwrite", "append", Ok((&["all", "n"], 20))).await;
    check("optimize 1", "append", Ok((&["b", "n", "o"], 30))).await;
    check("alter", "append", Err(MetadataChanged)).await;
    check("nothing", "append", Ok((&["a", "b", "n"], 30))).await;
}

#[tokio::test]
async fn delete_commits_after_change_of_other_files() {
    check("append", "delete 1", Err(ConcurrentAppend)).await;
    check("append to 2", "delete 1", Ok((&["b", "n2"], 20))).await;
    check("delete 1", "delete 1", Err(ConcurrentDeleteRead)).await;
    check("rows 3, 4", "delete 1", Err(ConcurrentDeleteRead)).await;
    check("optimize 1", "delete 1", Err(ConcurrentDeleteDelete)).await;
    check("overwrite", "delete 1", Err(ConcurrentAppend)).await;
    check("nothing", "delete 1", Ok((&["b"], 10))).await;
}

#[tokio::test]
async fn overwrite_after_unseen_change_conflicts() {
    check("append to 2", "overwrite", Err(ConcurrentAppend)).await;
    check("delete 1", "overwrite", Err(ConcurrentDeleteRead)).await;
    check("optimize 1", "overwrite", Err(ConcurrentDeleteDelete)).await;
    check("run of app", "overwrite", Ok((&["all"], 10))).await;
}

#[tokio::test]
async fn rearranging_commits_unless_its_files_changed() {
    check("append", "optimize 1", Ok((&["b", "n", "o"], 30))).await;
    check("delete 1", "optimize 1", Err(ConcurrentDeleteRead)).await;
    check("rows 3, 4", "optimize 1", Err(ConcurrentDeleteRead)).await;
    check("optimize 1", "optimize 1 too", Err(ConcurrentDeleteDelete)).await;
    check("optimize 1", "copy 1", Ok((&["b", "copy", "o"], 30))).await;
}

#[tokio::test]
async fn deletes_of_same_row_conflict() {
    check("rows 3, 4", "rows 6 to 9", Ok((&["a", "b"], 14))).await;
    check("rows 3, 4", "rows 4, 5", Err(ConcurrentDeleteDelete)).await;
    check("optimize 1", "rows 3, 4", Err(ConcurrentDeleteDelete)).await;
    check("delete 1", "rows 3, 4", Err(ConcurrentDeleteRead)).await;
    check("append", "rows 3, 4", Ok((&["a", "b", "n"], 28))).await;
}

#[tokio::test]
async fn second_run_or_metadata_change_conflicts() {
    check("run of app", "run of app", Err(ConcurrentTransaction)).await;
    check("alter", "alter", Err(MetadataChanged)).await;
    check("append", "alter", Ok((&["a", "b", "n"], 30))).await;
    check("alter", "nothing", Err(MetadataChanged)).await;
}

#[tokio::test]
async fn delete_of_last_rows_removes_file() {
    let lake = two_files().await;
    let (mut one, mut other) = (begin(&lake).await, begin(&lake).await);
    delete_rows(&mut one, &[0, 1, 2, 3, 4]).await;
    delete_rows(&mut other, &[5, 6, 7, 8, 9]).await;
    commit(one).await.unwrap();
    commit(other).await.unwrap();
    assert_eq!(seen(&lake).await, (2, ["b".to_owned()].into(), 10));
    // Three transactions change one file. The last one is committed on top of both others.
    let lake = two_files().await;
    let mut all = [begin(&lake).await, begin(&lake).await, begin(&lake).await];
    for (transaction, position) in all.iter_mut().zip([1, 5, 8]) {
        delete_rows(transaction, &[position]).await;
    }
    for outcome in join_all(all.map(commit)).await {
        outcome.unwrap();
    }
    assert_eq!(seen(&lake).await, (3, ["a".to_owned(), "b".to_owned()].into(), 17));
}

#[tokio::test]
async fn delete_of_moved_rows_conflicts_with_reader() {
    let lake = two_files().await;
    let mut late = begin(&lake).await;
    read(&mut late, "1", &[a()]);
    late.add([to_add(&file("copy", "2", 0))]);
    let mut moving = begin(&lake).await;
    optimize(&mut moving, &[a()], "o");
    commit(moving).await.unwrap();
    let mut deleting = begin(&lake).await;
    deleting.remove(batch(&[file("o", "1", 0)]), true);
    commit(deleting).await.unwrap();
    let error = commit(late).await.unwrap_err();
    assert_eq!(conflict(&error), (ConcurrentDeleteRead, 2));
}

#[tokio::test]
async fn many_winners_are_checked_at_once() {
    let lake = two_files().await;
    let late = begin(&lake).await;
    for number in 1..=40 {
        let mut other = begin(&lake).await;
        other.add([to_add(&file(&format!("o{number}"), "2", 0))]);
        assert_eq!(commit(other).await.unwrap().version, number);
    }
    let mut late = late;
    read(&mut late, "1", &[a()]);
    late.remove(batch(&[a()]), true);
    let committed = commit(late).await.unwrap();
    assert_eq!((committed.version, committed.conflicts), (41, 1));
    assert_eq!(seen(&lake).await.2, 410);
}

#[tokio::test]
async fn appends_with_own_metadata_all_commit() {
    let lake = two_files().await;
    let mut all = Vec::new();
    for number in 0..20 {
        let settings = CommitSettings { user_metadata: Some("my own".to_owned()), ..CommitSettings::default() };
        let mut one = Transaction::begin(&lake.table.snapshot().await.unwrap(), settings).await.unwrap();
        one.add([to_add(&file(&format!("n{number}"), "1", 0))]);
        all.push(one);
    }
    let mut versions: Vec<u64> =
        join_all(all.into_iter().map(commit)).await.into_iter().map(|done| done.unwrap().version).collect();
    versions.sort_unstable();
    assert_eq!(versions, (1..=20).collect::<Vec<u64>>());
    assert_eq!(seen(&lake).await.2, 220);
}

#[tokio::test]
async fn commit_out_of_time_commits_nothing() {
    let lake = two_files().await;
    let snapshot = lake.table.snapshot().await.unwrap();
    let mut late = Transaction::begin(&snapshot, impatient()).await.unwrap();
    late.add([to_add(&file("n", "1", 0))]);
    lake.put_commit(1, &[json!({"commitInfo": {}})]).await;
    // The answers to the put and to the read of the version are both lost, so time passes.
    lake.observed.fail("00000000000000000001.json", 2);
    let error = commit(late).await.unwrap_err();
    assert_eq!(conflict(&error), (ConcurrentWrite, 1));
    let expected = "memory://kit/t: other writers committed first each time: for 0 s no version could be committed, and the last attempt was version 1; nothing was committed, try again";
    assert_eq!(error.message(), expected);
    assert_eq!(lake.actions(2).await, None);
}

#[tokio::test]
async fn rebase_recomputes_what_depends_on_version() {
    let properties = [("delta.enableInCommitTimestamps", "true"), ("delta.enableDeletionVectors", "true")];
    let lake = two_files_with(protocol(&["deletionVectors"], &FEATURES), &properties).await;
    let mut late = begin(&lake).await;
    late.add([to_add(&file("late", "1", 0))]);
    // From a clock that is ahead.
    let ahead = 1_800_000_000_000_i64;
    let theirs = with(file("first", "1", 0), json!({"baseRowId": 20, "defaultRowCommitVersion": 1}));
    let mark = json!({"domain": "delta.rowTracking", "configuration": "{\"rowIdHighWaterMark\":29}", "removed": false});
    let info = json!({"commitInfo": {"inCommitTimestamp": ahead}});
    lake.put_commit(1, &[info, theirs, json!({"domainMetadata": mark})]).await;
    assert_eq!(commit(late).await.unwrap().version, 2);
    let mut told = Vec::new();
    for action in lake.actions(2).await.unwrap() {
        match action {
            Action::CommitInfo(info) => told.push(json!([info.in_commit_timestamp(), info.long("readVersion")])),
            Action::Add(add) => told.push(json!([add.path, add.base_row_id, add.default_row_commit_version])),
            Action::DomainMetadata(domain) => told.push(json!([domain.domain, domain.configuration])),
            other => panic!("{other:?}"),
        }
    }
    let expected: [Value; 3] =
        [json!([ahead + 1, 0]), json!(["late", 30, 2]), json!(["delta.rowTracking", "{\"rowIdHighWaterMark\":39}"])];
    assert_eq!(told, expected);
}

#[tokio::test]
async fn enabling_timestamps_begins_after_previous_commit() {
    let lake = two_files().await;
    // The store's clock is far ahead of ours.
    let path = object_store::path::Path::from("t/_delta_log/00000000000000000000.json");
    let written = lake.table.store().head(&path).await.unwrap().last_modified.timestamp_millis();
    assert!(written > lake.table.env().now_ms());
    let mut transaction = begin(&lake).await;
    set_property(&mut transaction, "delta.enableInCommitTimestamps", "true");
    commit(transaction).await.unwrap();
    let Action::CommitInfo(info) = lake.actions(1).await.unwrap().swap_remove(0) else { panic!("no commitInfo") };
    assert_eq!(info.in_commit_timestamp(), Some(written + 1));
}

#[tokio::test]
async fn partitions_conflict_however_values_are_spelled() {
    let lake = Lake::empty();
    let metadata = lakebed_tests::action::metadata(&["id long", "t timestamp", "d decimal(9,2)"], &["t", "d"], &[]);
    lake.put_commit(0, &[protocol(&[], &[]), metadata]).await;
    let read = |own: [&str; 2], theirs: [&str; 2]| {
        let own = own.map(|text| Some(text.to_owned()).filter(|text| !text.is_empty()));
        let theirs = json!({"t": theirs[0], "d": theirs[1]});
        (own.to_vec(), theirs)
    };
    let cases = [
        (read(["2024-01-01 00:00:00", "1.50"], ["2024-01-01T00:00:00.000000Z", "1.5"]), true),
        (read(["2024-01-01 00:00:00", "1.50"], ["2024-01-01T00:00:00.000000Z", "1.51"]), false),
        (read(["2024-01-01 00:00:00", ""], ["2024-01-01 00:00:00", ""]), true),
        (read(["2024-01-01 00:00:00", ""], ["2024-01-01 00:00:00", "1.50"]), false),
        (read(["2024-01-01 00:00:00", "1.50"], ["no time", "1.50"]), true),
    ];
    for (number, ((own, theirs), is_same)) in cases.into_iter().enumerate() {
        let mut late = begin(&lake).await;
        let version = late.snapshot().unwrap().version() + 1;
        let partitions = Partitions::new(late.snapshot(), vec!["t".to_owned(), "d".to_owned()], HashSet::from([own.clone()]));
        late.read().partitions(partitions);
        let added = with(add(&format!("n{number}")), json!({"partitionValues": theirs}));
        lake.put_commit(version, &[added]).await;
        late.set_application("app", 1);
        let found = commit(late).await.map_err(|error| conflict(&error).0).map(|_| ());
        assert_eq!(found, if is_same { Err(ConcurrentAppend) } else { Ok(()) }, "{own:?} {theirs}");
    }
}

#[tokio::test]
async fn create_by_two_writers_succeeds_once() {
    let lake = Lake::empty();
    let create = || create(&lake, &[], &[]);
    let (one, other) = (create(), create());
    assert_eq!(commit(one).await.unwrap().version, 0);
    let error = commit(other).await.unwrap_err();
    assert_eq!(conflict(&error), (ConcurrentWrite, 0));
    assert_eq!(error.message(), "memory://kit/t: another writer created the table first");
    assert_eq!(seen(&lake).await, (0, [].into(), 0));
}
