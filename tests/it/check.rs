//! What a check finds, at which level, and what it costs.

use lakebed::check::{CheckOptions, CheckOutcome, FindingKind, Level};
use lakebed::{ErrorKind, Table};
use lakebed_core::action::Action;
use lakebed_core::path::commit_name;
use lakebed_tests::action::{add, metadata, protocol, vector, with, with_vector};
use lakebed_tests::error::check_error;
use lakebed_tests::lake::{Lake, stream};
use lakebed_tests::{Form, TableBuilder};
use serde_json::{Value, json};

const LEVELS: [Level; 6] = [Level::Log, Level::State, Level::Files, Level::Footers, Level::Rows, Level::History];

/// A change of the statistics of a file.
type Change = fn(&mut Value);

async fn check(table: &Table, level: Level) -> CheckOutcome {
    table.check().level(level).run().await.unwrap()
}

/// Asserts that exactly this kind of finding is found, from its level on.
#[track_caller]
fn check_found(outcomes: &[CheckOutcome], kind: FindingKind) {
    for outcome in outcomes {
        let found: Vec<FindingKind> = outcome.counts.keys().copied().collect();
        let expected = if outcome.level >= kind.level() { vec![kind] } else { Vec::new() };
        assert_eq!(found, expected, "{:?}: {:?}", outcome.level, outcome.findings);
    }
}

async fn at_all_levels(table: &Table) -> Vec<CheckOutcome> {
    let mut outcomes = Vec::new();
    for level in LEVELS {
        outcomes.push(check(table, level).await);
    }
    outcomes
}

/// Changes the actions of a commit.
async fn edit(lake: &Lake, version: u64, change: impl Fn(&mut Value)) {
    let mut actions: Vec<Value> = lake.actions(version).await.unwrap().iter().map(|action| action.to_value().unwrap()).collect();
    actions.iter_mut().for_each(change);
    lake.put_commit(version, &actions).await;
    forget_checksums(lake).await;
}

async fn forget_checksums(lake: &Lake) {
    let store = lake.table.store();
    let paths: Vec<_> = (0..10).map(|version| store.log_path(&format!("{version:020}.crc")).unwrap()).collect();
    store.delete(&paths).await.unwrap();
}

/// Changes the statistics of the files that a commit adds.
async fn edit_stats(lake: &Lake, version: u64, change: impl Fn(&mut Value)) {
    edit(lake, version, |action| {
        if let Some(text) = action.pointer_mut("/add/stats") {
            let mut stats: Value = serde_json::from_str(text.as_str().unwrap()).unwrap();
            change(&mut stats);
            *text = stats.to_string().into();
        }
    })
    .await;
}

/// Returns the path of the file that a version added.
async fn file_of(lake: &Lake, version: u64) -> String {
    let added = lake.actions(version).await.unwrap().into_iter().find_map(|action| match action {
        Action::Add(add) => Some(add.path),
        _ => None,
    });
    added.unwrap()
}

#[tokio::test]
async fn sound_table_has_no_findings() {
    for vectors in [true, false] {
        let lake = Lake::new(vectors).await;
        lake.table.delete().filter("id IN (3, 14)").run().await.unwrap();
        lake.table.snapshot().await.unwrap().checkpoint().await.unwrap();
        lake.table.write(stream([(30, 1)])).run().await.unwrap();
        for outcome in at_all_levels(&lake.process(3)).await {
            assert!(outcome.is_ok() && outcome.findings.is_empty(), "{:?}", outcome.findings);
            assert_eq!((outcome.version, outcome.checked_version), (3, Some(3)));
            // Without deletion vectors, the rows that are left of two files are in one new file.
            let files = if vectors { 3 } else { 2 };
            assert_eq!(outcome.files, (outcome.level >= Level::State).then_some(files));
            assert_eq!(outcome.rows, (outcome.level >= Level::Rows).then_some(19));
        }
    }
}

#[tokio::test]
async fn missing_data_file_is_found() {
    let lake = Lake::new(false).await;
    let file = file_of(&lake, 1).await;
    let store = lake.table.store();
    store.delete(&[store.path_of(&file).unwrap()]).await.unwrap();
    let outcomes = at_all_levels(&lake.process(3)).await;
    check_found(&outcomes, FindingKind::DataFileMissing);
    let found = &outcomes[2].findings[0];
    assert_eq!((found.file.as_deref(), found.message.as_str()), (Some(file.as_str()), "the file does not exist"));
}

#[tokio::test]
async fn each_wrong_statistic_is_found_in_footers() {
    let changes: [(FindingKind, Change); 4] = [
        (FindingKind::RowCountWrong, |stats| stats["numRecords"] = 9.into()),
        (FindingKind::BoundsWrong, |stats| stats["minValues"]["id"] = 12.into()),
        (FindingKind::BoundsWrong, |stats| stats["maxValues"]["v"] = (-1).into()),
        (FindingKind::NullCountWrong, |stats| stats["nullCount"]["id"] = 1.into()),
    ];
    for (kind, change) in changes {
        let lake = Lake::new(false).await;
        edit_stats(&lake, 1, change).await;
        check_found(&at_all_levels(&lake.process(3)).await, kind);
    }
}

#[tokio::test]
async fn wider_bounds_are_no_finding() {
    let lake = Lake::new(false).await;
    edit_stats(&lake, 1, |stats| {
        stats["minValues"]["id"] = (-5).into();
        stats["maxValues"]["id"] = 500.into();
    })
    .await;
    assert!(check(&lake.process(3), Level::Rows).await.is_ok());
}

#[tokio::test]
async fn violated_constraint_is_found_in_rows() {
    let lake = Lake::new(false).await;
    edit(&lake, 0, |action| {
        if action.get("metaData").is_some() {
            action["metaData"]["configuration"]["delta.constraints.few"] = "id < 15".into();
        }
        if action.get("protocol").is_some() {
            *action = json!({"protocol": {"minReaderVersion": 1, "minWriterVersion": 3}});
        }
    })
    .await;
    let outcomes = at_all_levels(&lake.process(3)).await;
    check_found(&outcomes, FindingKind::ConstraintViolated);
    let message = "CHECK constraint few (id < 15) is not met by a row with id = 15";
    assert_eq!(outcomes[4].findings[0].message, message);
}

#[tokio::test]
async fn wrong_generated_column_is_found_in_rows() {
    for (expression, expected) in [("id - id", vec![]), ("id", vec![FindingKind::GeneratedColumnWrong])] {
        let lake = Lake::new(false).await;
        edit(&lake, 0, |action| {
            if let Some(text) = action.pointer_mut("/metaData/schemaString") {
                let mut schema: Value = serde_json::from_str(text.as_str().unwrap()).unwrap();
                schema["fields"][1]["metadata"]["delta.generationExpression"] = expression.into();
                *text = schema.to_string().into();
            }
            if action.get("protocol").is_some() {
                *action = json!({"protocol": {"minReaderVersion": 1, "minWriterVersion": 4}});
            }
        })
        .await;
        let found: Vec<FindingKind> = check(&lake.process(3), Level::Rows).await.counts.into_keys().collect();
        assert_eq!(found, expected, "{expression}");
    }
}

#[tokio::test]
async fn repeated_row_ids_are_found_in_rows() {
    let lake = Lake::with(&[("delta.enableRowTracking", true)], None).await;
    assert!(check(&lake.process(2), Level::History).await.is_ok());
    edit(&lake, 1, |action| {
        if action.get("add").is_some() {
            action["add"]["baseRowId"] = 5.into();
        }
    })
    .await;
    check_found(&at_all_levels(&lake.process(3)).await, FindingKind::RowIdsRepeated);
}

#[tokio::test]
async fn torn_newest_commit_leaves_version_before() {
    let lake = Lake::new(false).await;
    let store = lake.table.store();
    store.put(&store.log_path(&commit_name(1)).unwrap(), r#"{"add":{"pa"#.into()).await.unwrap();
    let outcomes = at_all_levels(&lake.process(3)).await;
    check_found(&outcomes[..5], FindingKind::CommitUnreadable);
    for outcome in &outcomes {
        assert_eq!((outcome.version, outcome.checked_version), (1, Some(0)));
    }
    assert_eq!(outcomes[4].rows, Some(10));
    let history: Vec<FindingKind> = outcomes[5].counts.keys().copied().collect();
    assert_eq!(history, [FindingKind::CommitUnreadable, FindingKind::VersionUnreadable]);
}

#[tokio::test]
async fn wrong_checkpoint_is_found_by_its_commits() {
    let files: Vec<Value> = (0..3).map(|number| with(add(&format!("f{number}.parquet")), json!({"size": 1}))).collect();
    for form in [Form::Classic, Form::MultiPart(2), Form::UuidJson(0)] {
        for left_out in [false, true] {
            let builder = TableBuilder::new();
            for file in &files {
                builder.commit(std::slice::from_ref(file)).await;
            }
            builder.checkpoint_as(2, form, &files[usize::from(left_out)..], 10).await;
            builder.put_all(&["f0.parquet", "f1.parquet", "f2.parquet"]).await;
            let outcome = check(&builder.table(), Level::Files).await;
            let found: Vec<FindingKind> = outcome.counts.keys().copied().collect();
            let expected = if left_out { vec![FindingKind::CheckpointWrong] } else { Vec::new() };
            assert_eq!((found, outcome.files), (expected, Some(3)), "{form:?} {:?}", outcome.findings);
        }
    }
}

#[tokio::test]
async fn file_listed_twice_is_found() {
    let builder = TableBuilder::with(protocol(&["deletionVectors"], &["deletionVectors"]), metadata(&["id long"], &[], &[]));
    let file = with(add("a.parquet"), json!({"size": 1}));
    let inline = vector("i", "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", 0);
    builder.commit(&[file.clone(), with_vector(file, inline)]).await;
    builder.put_all(&["a.parquet"]).await;
    let outcome = check(&builder.table(), Level::Files).await;
    assert_eq!(outcome.counts.into_iter().collect::<Vec<_>>(), [(FindingKind::FileListedTwice, 1)]);
}

#[tokio::test]
async fn findings_are_limited_by_kind() {
    let builder = TableBuilder::new();
    let files: Vec<Value> = (0..50).map(|number| add(&format!("f{number}.parquet"))).collect();
    builder.commit(&files).await;
    let outcome = builder.table().check().options(CheckOptions { level: Level::Files, limit: 3 }).run().await.unwrap();
    assert_eq!(outcome.findings.len(), 3);
    assert_eq!(outcome.counts.into_iter().collect::<Vec<_>>(), [(FindingKind::DataFileMissing, 50)]);
}

#[tokio::test]
async fn check_without_table_is_refused() {
    let builder = TableBuilder::new();
    let error = builder.table().check().run().await.unwrap_err();
    check_error(&error, &ErrorKind::TableNotFound, &["there is no Delta table here"]);
}

#[tokio::test]
async fn files_are_listed_if_that_is_cheaper() {
    for (files, lists, heads) in [(20, 0, 20), (2_500, 3, 0)] {
        let builder = TableBuilder::new();
        let names: Vec<String> = (0..files).map(|number| format!("f{number}.parquet")).collect();
        let adds: Vec<Value> = names.iter().map(|name| with(add(name), json!({"size": 1}))).collect();
        builder.commit(&adds).await;
        builder.put_all(&names).await;
        builder.observed().take_counts();
        assert!(check(&builder.table(), Level::State).await.is_ok());
        let state = builder.observed().take_counts();
        assert!(check(&builder.table(), Level::Files).await.is_ok());
        let counts = builder.observed().take_counts();
        assert_eq!((counts.lists - state.lists, counts.heads - state.heads), (lists, heads), "{files}");
    }
}

/// Returns a table with a checkpoint of version 3 and one commit above it. Its requests are counted
/// from now on.
async fn with_checkpoint() -> TableBuilder {
    let builder = TableBuilder::new();
    let files: Vec<Value> = (0..4).map(|number| add(&format!("f{number}.parquet"))).collect();
    for file in &files {
        builder.commit(std::slice::from_ref(file)).await;
    }
    builder.checkpoint(3, &files).await;
    builder.hint(3).await;
    builder.commit(&[add("late.parquet")]).await;
    builder.observed().take_counts();
    builder
}

#[tokio::test]
async fn log_reads_each_needed_commit() {
    let builder = with_checkpoint().await;
    assert!(check(&builder.table(), Level::Log).await.is_ok());
    let counts = builder.observed().take_counts();
    // The hint and the commit are read to be checked, and once more with the checkpoint's protocol
    // to open the version.
    assert_eq!((counts.lists, counts.gets, counts.heads), (2, 5, 0), "{counts:?}");
    assert_eq!((counts.puts, counts.deletes), (0, 0), "{counts:?}");
    assert!((0..4).all(|version| !counts.objects.keys().any(|name| name.ends_with(&commit_name(version)))));
}

#[tokio::test]
async fn state_reads_commits_below_the_checkpoint() {
    let builder = with_checkpoint().await;
    assert!(check(&builder.table(), Level::Log).await.is_ok());
    let log = builder.observed().take_counts();
    assert!(check(&builder.table(), Level::State).await.is_ok());
    let counts = builder.observed().take_counts();
    // The four commits up to the checkpoint are read to be compared with it. Three versions are
    // opened for that.
    let reads = (counts.lists - log.lists, counts.gets - log.gets, counts.heads - log.heads);
    assert_eq!(reads, (3, 13, 0), "{counts:?}");
    assert_eq!(counts.reads_and_writes(), (0, 0, 0), "{counts:?}");
}

#[tokio::test]
async fn progress_counts_every_level() {
    let lake = Lake::new(false).await;
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let told = std::sync::Arc::clone(&seen);
    let check = lake.table.check().level(Level::Rows).watched_by(move |progress| told.lock().unwrap().push(progress));
    check.run().await.unwrap();
    let last = |level| seen.lock().unwrap().iter().filter(|progress| progress.level == level).map(|progress| progress.done).max();
    assert_eq!([Level::Log, Level::State, Level::Files, Level::Footers, Level::Rows].map(last), [Some(2); 5]);
    assert_eq!(last(Level::History), None);
}
