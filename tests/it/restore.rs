//! Restore: the files that come back and leave, missing files, and the requests to the store.

use std::collections::BTreeMap;

use lakebed::restore::{RestoreMetrics, RestoreOptions, RestoreOutcome};
use lakebed::{ErrorKind, Result};
use lakebed_core::action::Action;
use lakebed_tests::action::{add, metadata, protocol, remove, unchanged, vector, with, with_vector};
use lakebed_tests::error::check_error;
use lakebed_tests::lake::{MADE, stream};
use lakebed_tests::{Form, Lake, TableBuilder};
use serde_json::{Value, json};

fn to(version: u64) -> RestoreOptions {
    RestoreOptions { version: Some(version), ..RestoreOptions::default() }
}

async fn restore(builder: &TableBuilder, options: RestoreOptions) -> Result<RestoreOutcome> {
    builder.table().restore().options(options).run().await
}

/// Returns the actions of a version without its `commitInfo` and `metaData`, with the fields that
/// identify files.
async fn file_actions(builder: &TableBuilder, version: u64) -> Vec<Value> {
    let bytes = builder.read_log(&format!("{version:020}.json")).await;
    let lines = serde_json::Deserializer::from_slice(&bytes).into_iter::<Value>().map(Result::unwrap);
    let brief = |action: Value| {
        let kind = if action.get("add").is_some() { "add" } else { "remove" };
        let file = action.get(kind)?;
        let vector = file.get("deletionVector").map_or(Value::Null, |vector| vector["pathOrInlineDv"].clone());
        Some(json!([kind, file["path"], vector, file["baseRowId"], file["defaultRowCommitVersion"], file["dataChange"]]))
    };
    lines.filter_map(brief).collect()
}

#[tokio::test]
async fn restore_reads_the_log_alone() {
    let lake = Lake::new(true).await;
    lake.table.delete().filter("id = 3").run().await.unwrap();
    lake.table.write(stream([(30, 0)])).run().await.unwrap();
    lake.counts();
    let outcome = lake.table.restore().options(to(MADE)).run().await.unwrap();
    let (restored_bytes, size_bytes) = (outcome.metrics.restored_bytes, outcome.metrics.size_bytes);
    assert!(0 < restored_bytes && restored_bytes < size_bytes);
    let removed_bytes = outcome.metrics.removed_bytes;
    let expected = RestoreMetrics {
        restored_files: 1,
        restored_bytes,
        removed_files: 2,
        removed_bytes,
        num_files: 2,
        size_bytes,
        ..RestoreMetrics::default()
    };
    assert_eq!((outcome.version, outcome.committed, outcome.restored_version), (MADE + 3, true, MADE));
    assert_eq!(outcome.metrics, expected);
    let counts = lake.counts();
    // The older version is opened, and its commits are read once. The file that comes back is looked
    // for. The commit and its checksum are written.
    assert_eq!((counts.data_files(), counts.lists, counts.gets, counts.heads, counts.puts), (0, 2, 4, 1, 2), "{counts:?}");
    assert_eq!(lake.rows().await, (1..=20).map(|id| (id, 0)).collect());
    assert_eq!(lake.check_files().await, MADE + 3);
    // The checksum of the version agrees with the log.
    let snapshot = lake.process(9).snapshot().await.unwrap();
    let checksum = snapshot.checksum().unwrap();
    assert_eq!((checksum.num_files, checksum.num_deletion_vectors), (2, Some(0)));
    assert_eq!(snapshot.detail().await.unwrap().num_files, 2);
}

#[tokio::test]
async fn restore_without_difference_commits_nothing() {
    let lake = Lake::new(false).await;
    let outcome = lake.table.restore().options(to(MADE)).run().await.unwrap();
    assert_eq!((outcome.version, outcome.committed), (MADE, false));
    let outcome = lake.table.restore().options(RestoreOptions { dry_run: true, ..to(0) }).run().await.unwrap();
    assert_eq!((outcome.version, outcome.committed, outcome.metrics.removed_files), (MADE, false, 1));
    assert_eq!(lake.check_files().await, MADE);
}

#[tokio::test]
async fn restore_swaps_deletion_vectors_of_one_file() {
    let builder = TableBuilder::new();
    let (one, two) = (vector("i", "one", 0), vector("i", "two", 0));
    builder.commit(&[add("a.parquet"), with_vector(add("b.parquet"), one.clone()), add("c.parquet")]).await;
    let remove_b = with_vector(remove("b.parquet"), one);
    builder.commit(&[remove("a.parquet"), with_vector(add("a.parquet"), two.clone()), remove_b, add("b.parquet")]).await;
    builder.put_all(&["a.parquet", "b.parquet"]).await;
    let outcome = restore(&builder, to(0)).await.unwrap();
    assert_eq!((outcome.metrics.restored_files, outcome.metrics.removed_files), (2, 2));
    let mut found = file_actions(&builder, 2).await;
    found.sort_by_key(Value::to_string);
    let expected = [
        json!(["add", "a.parquet", null, null, null, true]),
        json!(["add", "b.parquet", "one", null, null, true]),
        json!(["remove", "a.parquet", "two", null, null, true]),
        json!(["remove", "b.parquet", null, null, null, true]),
    ];
    assert_eq!(found, expected);
}

/// The files of a version by path and deletion vector, with their `add`.
type Files = BTreeMap<(String, String), Value>;

fn key(file: &Value) -> (String, String) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (text(&file["path"]), text(&file["deletionVector"]["pathOrInlineDv"]))
}

/// Returns the files of each version of these commits.
fn states(commits: &[Vec<Value>]) -> Vec<Files> {
    let mut files = Files::new();
    let apply = |actions: &Vec<Value>| {
        for action in actions {
            match (action.get("add"), action.get("remove")) {
                (Some(add), _) => drop(files.insert(key(add), add.clone())),
                (_, Some(remove)) => drop(files.remove(&key(remove))),
                _ => unreachable!(),
            }
        }
        files.clone()
    };
    commits.iter().map(apply).collect()
}

#[tokio::test]
async fn restores_agree_for_every_form_of_checkpoint() {
    let file =
        |name: &str| with(add(name), json!({"stats": json!({"numRecords": name.len()}).to_string(), "tags": {"of": name}}));
    let (one, two) = (vector("i", "one", 0), vector("i", "two", 0));
    let marked = |name: &str, vector: &Value| with_vector(file(name), vector.clone());
    let commits = [
        vec![file("a"), marked("b", &one), file("c"), file("d"), file("e"), file("f")],
        vec![remove("a"), file("g")],
        vec![with_vector(remove("b"), one.clone()), marked("b", &two), remove("c"), file("h")],
        vec![remove("d"), file("a"), remove("g"), file("i")],
        vec![file("j"), remove("i"), remove("e")],
    ];
    let states = states(&commits);
    let forms =
        [Form::Classic, Form::MultiPart(3), Form::ClassicV2(0), Form::UuidParquet(2), Form::UuidJson(0), Form::UuidJson(2)];
    let places = (0..5).flat_map(|version| forms.map(|form| vec![(version, form)]));
    let two_checkpoints = vec![(1, Form::Classic), (3, Form::UuidParquet(2))];
    for checkpoints in places.chain([vec![], two_checkpoints]) {
        for target in 0..4 {
            let builder = TableBuilder::new();
            for actions in &commits {
                builder.commit(actions).await;
            }
            for (version, form) in &checkpoints {
                let adds: Vec<Value> = states[*version].values().map(|add| json!({"add": add})).collect();
                builder.checkpoint_as(*version as u64, *form, &adds, 2).await;
            }
            builder.put_all(&["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]).await;
            let outcome = restore(&builder, to(target)).await.unwrap();
            let (now, then) = (&states[4], &states[target as usize]);
            let mut expected: Files =
                then.iter().filter(|(key, _)| !now.contains_key(*key)).map(|(k, v)| (k.clone(), v.clone())).collect();
            let gone = now.keys().filter(|key| !then.contains_key(*key));
            expected.extend(gone.map(|key| (key.clone(), Value::Null)));
            let bytes = builder.read_log(&format!("{:020}.json", 5)).await;
            let lines = serde_json::Deserializer::from_slice(&bytes).into_iter::<Value>().map(Result::unwrap);
            let found: Files = lines
                .filter_map(|line| match (line.get("add"), line.get("remove")) {
                    (Some(add), _) => Some((key(add), add.clone())),
                    (_, Some(remove)) => Some((key(remove), Value::Null)),
                    _ => None,
                })
                .collect();
            assert_eq!(found, expected, "version {target}, checkpoints {checkpoints:?}");
            assert_eq!(outcome.metrics.num_files, then.len() as u64, "version {target}, checkpoints {checkpoints:?}");
        }
    }
}

#[tokio::test]
async fn dry_restore_above_a_checkpoint_reads_it_once() {
    let builder = TableBuilder::new();
    let old: Vec<Value> = (0..100).map(|number| add(&format!("old-{number}"))).collect();
    builder.commit(&old).await;
    builder.checkpoint(0, &old).await;
    for number in 0..3 {
        builder.commit(&[add(&format!("new-{number}"))]).await;
    }
    let table = builder.table();
    table.snapshot_at(1).await.unwrap();
    builder.observed().take_counts();
    let options = RestoreOptions { dry_run: true, ..to(1) };
    let outcome = table.restore().options(options).run().await.unwrap();
    assert_eq!((outcome.metrics.removed_files, outcome.metrics.num_files), (2, 101));
    let counts = builder.observed().take_counts();
    assert_eq!((counts.puts, counts.lists, counts.gets + counts.heads), (0, 2, 9), "{counts:?}");
}

#[tokio::test]
async fn restored_files_keep_row_ids_of_their_path() {
    let features = ["deletionVectors", "rowTracking", "domainMetadata"];
    let builder = TableBuilder::with(protocol(&["deletionVectors"], &features), metadata(&["id long"], &[], &[]));
    let stats = json!({"stats": json!({"numRecords": 10}).to_string()});
    let ids = |base: i64, version: i64| json!({"baseRowId": base, "defaultRowCommitVersion": version});
    // The first version is from before row ids. The next one adds them, and the third one changes a
    // deletion vector.
    let (a, b) = (with(add("a.parquet"), stats.clone()), with(add("b.parquet"), stats));
    builder.commit(&[a.clone(), b.clone()]).await;
    let mark = |mark: i64| json!({"domainMetadata": {"domain": "delta.rowTracking", "configuration": json!({"rowIdHighWaterMark": mark}).to_string(), "removed": false}});
    builder.commit(&[unchanged(with(a.clone(), ids(0, 1))), unchanged(with(b.clone(), ids(10, 1))), mark(19)]).await;
    let marked = with_vector(with(a.clone(), ids(0, 1)), vector("i", "one", 0));
    let remove_b = with(remove("b.parquet"), ids(10, 1));
    builder.commit(&[with(remove("a.parquet"), ids(0, 1)), marked, remove_b]).await;
    builder.put_all(&["a.parquet", "b.parquet"]).await;
    restore(&builder, to(0)).await.unwrap();
    let mut found = file_actions(&builder, 3).await;
    found.sort_by_key(Value::to_string);
    let expected = [
        json!(["add", "a.parquet", null, 0, 1, true]),
        json!(["add", "b.parquet", null, 20, 3, true]),
        json!(["remove", "a.parquet", "one", 0, 1, true]),
    ];
    assert_eq!(found, expected);
}

#[tokio::test]
async fn restore_names_missing_files() {
    for count in [3, 300] {
        let builder = TableBuilder::new();
        let names: Vec<String> = (0..count).map(|number| format!("p={}/{number:03}.parquet", number % 2)).collect();
        let with_file = with_vector(add("v.parquet"), vector("p", "memory://kit/lake/t/v.bin", 1));
        let adds: Vec<Value> = names.iter().map(|name| add(name)).chain([with_file]).collect();
        builder.commit(&adds).await;
        let removes: Vec<Value> = names.iter().map(|name| remove(name)).collect();
        builder.commit(&removes).await;
        builder.commit(&[with_vector(remove("v.parquet"), vector("p", "memory://kit/lake/t/v.bin", 1))]).await;
        let gone = ["p=0/002.parquet"];
        builder.put_all(&names.iter().filter(|name| !gone.contains(&name.as_str())).collect::<Vec<_>>()).await;
        builder.put_all(&["v.parquet"]).await;
        let error = restore(&builder, to(0)).await.unwrap_err();
        let facts = ["version 0", "lake/t/p=0/002.parquet, ", "lake/t/v.bin", "ignore_missing_files"];
        check_error(&error, &ErrorKind::VersionNotFound, &facts);
        assert_eq!(builder.table().snapshot().await.unwrap().version(), 2, "nothing was committed");
        let outcome = restore(&builder, RestoreOptions { ignore_missing_files: true, ..to(0) }).await.unwrap();
        let found = (outcome.metrics.restored_files, outcome.metrics.num_files, outcome.metrics.missing_files);
        assert_eq!(found, (count - 1, count - 1, 2));
        assert_eq!(outcome.metrics.size_bytes, 100 * (count - 1));
    }
}

/// A file that is wanted may be one of very many in its folder.
#[tokio::test]
async fn many_missing_files_are_found_by_listing() {
    let builder = TableBuilder::new();
    let names: Vec<String> = (0..500).map(|number| format!("{number:03}.parquet")).collect();
    builder.commit(&names.iter().map(|name| add(name)).collect::<Vec<_>>()).await;
    builder.commit(&names.iter().map(|name| remove(name)).collect::<Vec<_>>()).await;
    builder.put_all(&names).await;
    let before = builder.observed().take_counts();
    drop(before);
    restore(&builder, to(0)).await.unwrap();
    let counts = builder.observed().take_counts();
    assert!(counts.heads < 10, "{counts:?}");
}

#[tokio::test]
async fn restore_refuses_what_makes_no_sense() {
    let builder =
        TableBuilder::with(protocol(&[], &["appendOnly"]), metadata(&["id long"], &[], &[("delta.appendOnly", "true")]));
    builder.commit(&[add("a.parquet")]).await;
    builder.commit(&[add("b.parquet")]).await;
    let error = restore(&builder, to(0)).await.unwrap_err();
    let message = "memory://kit/lake/t: the table is append-only (delta.appendOnly is true), so the restore may not remove the \
                   files that were added since; unset the property first";
    assert_eq!((error.kind(), error.message()), (&ErrorKind::InvalidInput, message));
    for options in [RestoreOptions::default(), RestoreOptions { timestamp_ms: Some(1), ..to(0) }] {
        let error = restore(&builder, options).await.unwrap_err();
        assert_eq!((error.kind(), error.message()), (&ErrorKind::InvalidInput, "restore: give either version or timestamp"));
    }
    check_error(&restore(&builder, to(7)).await.unwrap_err(), &ErrorKind::VersionNotFound, &["7"]);
}

#[tokio::test]
async fn restored_metadata_keeps_what_only_grows() {
    let timed = [
        ("delta.enableInCommitTimestamps", "true"),
        ("delta.inCommitTimestampEnablementVersion", "1"),
        ("delta.inCommitTimestampEnablementTimestamp", "5"),
        ("delta.columnMapping.hasDroppedOrRenamed", "true"),
        ("mine", "2"),
    ];
    let features = ["inCommitTimestamp", "deletionVectors"];
    let first = metadata(&["id long"], &[], &[("mine", "1"), ("old", "x")]);
    let builder = TableBuilder::with(protocol(&["deletionVectors"], &features), first);
    builder.commit(&[add("a.parquet")]).await;
    let info = json!({"commitInfo": {"inCommitTimestamp": 5}});
    builder.commit(&[info, metadata(&["id long", "more string"], &[], &timed), add("b.parquet")]).await;
    let snapshot = restore(&builder, to(0)).await.unwrap().snapshot.unwrap();
    let mut expected: Vec<(&str, &str)> = timed.into_iter().filter(|(name, _)| *name != "mine").collect();
    expected.extend([("mine", "1"), ("old", "x")]);
    expected.sort_unstable();
    let detail = snapshot.detail().await.unwrap();
    let found: Vec<(&str, &str)> = detail.properties.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    assert_eq!(found, {
        expected.sort_unstable();
        expected
    });
    assert_eq!(snapshot.schema().fields.len(), 1);
    let history = snapshot.history(Some(1)).await.unwrap();
    assert!(history[0].timestamp_ms > 5);
    assert_eq!(history[0].info.text("operation"), Some("RESTORE"));
}

#[tokio::test]
async fn restore_is_undone_by_another_restore() {
    let lake = Lake::new(true).await;
    lake.table.delete().filter("id > 15").run().await.unwrap();
    let before = lake.rows().await;
    lake.table.restore().options(to(0)).run().await.unwrap();
    lake.table.restore().options(to(MADE + 1)).run().await.unwrap();
    assert_eq!(lake.rows().await, before);
    let actions = lake.actions(MADE + 3).await.unwrap();
    let added = actions.iter().filter(|action| matches!(action, Action::Add(_))).count();
    assert_eq!(added, 1);
}
