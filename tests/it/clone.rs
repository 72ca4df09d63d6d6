//! Clones over one store: what is committed, and what happens between the copies and the commit.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::TryStreamExt;
use lakebed::check::Level;
use lakebed::clone::{CloneMode, CloneOptions};
use lakebed::file_progress::FileProgress;
use lakebed::{Env, ErrorKind, Table};
use lakebed_core::action::Action;
use lakebed_io::store::{PutOutcome, Store, StoreOptions};
use lakebed_tests::action::{add, metadata, protocol, vector, with, with_vector};
use lakebed_tests::lake::{Rows, rows_of, stream};
use lakebed_tests::{Lake, TableBuilder};
use object_store::ObjectStore;
use object_store::path::Path;
use serde_json::{Value, json};
use url::Url;

/// Returns a table beside that of the lake, in the same store.
fn beside(lake: &Lake, name: &str) -> Table {
    let env = Env::seeded(9);
    let options = StoreOptions { env: env.clone(), ..StoreOptions::default() };
    let url = Url::parse(&format!("memory://kit/{name}")).unwrap();
    let objects = Arc::clone(&lake.observed) as Arc<dyn ObjectStore>;
    let store = Store::from_object_store_with(objects, Path::from(name), url, options);
    Table::at("memory://kit").with_store(store).with_env(env).build().unwrap()
}

async fn rows(table: &Table) -> Rows {
    let batches: Vec<_> = table.snapshot().await.unwrap().scan().stream().await.unwrap().try_collect().await.unwrap();
    rows_of(&batches).into_iter().collect()
}

fn shallow() -> CloneOptions {
    CloneOptions { shallow: true, ..CloneOptions::default() }
}

fn replacing() -> CloneOptions {
    CloneOptions { mode: CloneMode::Replace, ..CloneOptions::default() }
}

#[tokio::test]
async fn clone_has_rows_of_its_version() {
    for options in [CloneOptions::default(), shallow()] {
        let lake = Lake::new(true).await;
        lake.table.delete().filter("id > 15").run().await.unwrap();
        let source = lake.table.snapshot().await.unwrap();
        lake.table.delete().filter("id < 5").run().await.unwrap();
        let target = beside(&lake, "clone");
        let outcome = source.clone_to(&target).options(options).run().await.unwrap();
        assert_eq!((outcome.version, outcome.metrics.source_files), (0, 2));
        let expected: Rows = (1..=15).map(|id| (id, 0)).collect();
        assert_eq!(rows(&beside(&lake, "clone")).await, expected);
    }
}

#[tokio::test]
async fn shallow_clone_reads_and_writes_little() {
    let lake = Lake::new(true).await;
    let source = lake.table.snapshot().await.unwrap();
    lake.counts();
    source.clone_to(&beside(&lake, "clone")).options(shallow()).run().await.unwrap();
    let counts = lake.counts();
    // The commits of the source are read once. The target is looked for, and opened after its
    // commit, when the source confirms its id. The commit and its checksum are written.
    assert_eq!((counts.data_files(), counts.lists, counts.gets, counts.heads, counts.puts), (0, 3, 7, 0, 2), "{counts:?}");
}

#[tokio::test]
async fn deep_clone_is_copied_by_the_store() {
    let lake = Lake::new(true).await;
    lake.table.delete().filter("id = 3").run().await.unwrap();
    let source = lake.table.snapshot().await.unwrap();
    lake.counts();
    let outcome = source.clone_to(&beside(&lake, "clone")).run().await.unwrap();
    assert_eq!((outcome.metrics.copied_files, outcome.metrics.copied_vector_files), (2, 1));
    // No byte of a data file passed this process.
    assert_eq!(lake.counts().data_files(), 0);
}

#[tokio::test]
async fn failed_copy_commits_nothing() {
    let lake = Lake::new(true).await;
    let source = lake.table.snapshot().await.unwrap();
    let target = beside(&lake, "clone");
    lake.observed.fail(".parquet", 100);
    source.clone_to(&target).run().await.unwrap_err();
    let error = target.snapshot().await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::TableNotFound);
}

#[tokio::test]
async fn replacing_clone_removes_rows_of_others() {
    let lake = Lake::new(true).await;
    let source = lake.table.snapshot().await.unwrap();
    let target = beside(&lake, "clone");
    source.clone_to(&target).run().await.unwrap();
    lake.table.write(stream([(30, 0)])).run().await.unwrap();
    let newer = lake.table.snapshot().await.unwrap();
    beside(&lake, "clone").write(stream([(99, 0)])).run().await.unwrap();
    let outcome = newer.clone_to(&target).options(replacing()).run().await.unwrap();
    assert_eq!((outcome.version, outcome.metrics.kept_files, outcome.metrics.removed_files), (2, 2, 1));
    assert_eq!(rows(&beside(&lake, "clone")).await, (1..=20).chain([30]).map(|id| (id, 0)).collect());
}

#[tokio::test]
async fn commit_adds_each_path_once() {
    let lake = Lake::new(true).await;
    let source = lake.table.snapshot().await.unwrap();
    let target = beside(&lake, "clone");
    source.clone_to(&target).options(shallow()).run().await.unwrap();
    lake.table.delete().filter("id = 1").run().await.unwrap();
    let newer = lake.table.snapshot().await.unwrap();
    let options = CloneOptions { shallow: true, ..replacing() };
    let outcome = newer.clone_to(&target).options(options).run().await.unwrap();
    assert_eq!((outcome.metrics.kept_files, outcome.metrics.removed_files), (1, 1));
    let lines = target.store().get(&Path::from("clone/_delta_log/00000000000000000001.json")).await.unwrap();
    let mut seen = BTreeMap::new();
    for action in lakebed_core::action::json::parse_commit(&lines, "commit").unwrap() {
        let (path, vector, kind) = match action {
            Action::Add(add) => (add.path, add.deletion_vector, "add"),
            Action::Remove(remove) => (remove.path, remove.deletion_vector, "remove"),
            _ => continue,
        };
        assert_eq!(seen.insert((path, vector.map(|vector| vector.unique_id())), kind), None);
    }
    assert_eq!(seen.values().copied().collect::<Vec<_>>().len(), 2);
    assert_eq!(rows(&beside(&lake, "clone")).await, (2..=20).map(|id| (id, 0)).collect());
}

/// More files than are rendered together, and enough for a checkpoint.
const MANY: u64 = 50_001;

/// Returns a table with so many files that the lines of a clone do not stay in memory, and that its
/// checkpoint has several row groups.
async fn table_of_many_files() -> TableBuilder {
    let features = ["deletionVectors", "domainMetadata", "rowTracking"];
    let tracked = metadata(&["id long"], &[], &[("delta.enableRowTracking", "true")]);
    let builder = TableBuilder::with(protocol(&["deletionVectors"], &features), tracked);
    let file = |number: u64| {
        let stats = json!({"numRecords": number % 3 + 1}).to_string();
        let file = with(
            add(&format!("part-{number}")),
            json!({"size": number, "stats": stats, "tags": {"note": "n".repeat(600)}, "baseRowId": 9, "defaultRowCommitVersion": 0}),
        );
        if number % 1000 == 7 { with_vector(file, vector("u", "ab^-aqEH.-t@S}K{vb[*k^", 1)) } else { file }
    };
    let mark = json!({"rowIdHighWaterMark": 9}).to_string();
    let domain = json!({"domainMetadata": {"domain": "delta.rowTracking", "configuration": mark, "removed": false}});
    builder.commit(&(0..MANY).map(file).chain([domain]).collect::<Vec<Value>>()).await;
    builder
}

#[tokio::test]
async fn lost_race_leaves_no_checkpoint_behind() {
    let source = table_of_many_files().await.table().snapshot().await.unwrap();
    let target = Table::at("memory://clones/of_loser").build().unwrap();
    let commit = Path::from("of_loser/_delta_log/00000000000000000000.json");
    let winner = [protocol(&[], &[]), metadata(&["id long"], &[], &[])].map(|action| format!("{action}\n")).concat();
    let (store, path) = (target.store().clone(), commit.clone());
    // The other writer creates the table while this one names its last files.
    let watch = move |progress: FileProgress| {
        if progress.done_files == MANY {
            let taken = futures::executor::block_on(store.put_if_absent(&path, winner.clone().into()));
            assert_eq!(taken.unwrap(), PutOutcome::Done);
        }
    };
    let error = source.clone_to(&target).options(shallow()).watched_by(watch).run().await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::TableExists, "{error}");
    let left = target.store().list_after(&Path::from("of_loser/_delta_log"), "").await.unwrap();
    assert_eq!(left.into_iter().map(|object| object.location).collect::<Vec<_>>(), [commit]);
}

#[tokio::test]
async fn shallow_clone_of_many_files_is_whole() {
    let source = table_of_many_files().await.table().snapshot().await.unwrap();
    let target = Table::at("memory://clones/of_many").build().unwrap();
    let outcome = source.clone_to(&target).options(shallow()).run().await.unwrap();
    assert_eq!((outcome.metrics.source_files, outcome.metrics.source_bytes), (MANY, MANY * (MANY - 1) / 2));
    // The rows are numbered in the order of the files, which is that of the source.
    let lines = target.store().get(&Path::from("of_many/_delta_log/00000000000000000000.json")).await.unwrap();
    let (mut number, mut next_row) = (0, 0);
    for action in lakebed_core::action::json::parse_commit(&lines, "commit").unwrap() {
        let Action::Add(add) = action else { continue };
        assert_eq!((add.path.as_str(), add.size), (format!("memory://kit/lake/t/part-{number}").as_str(), number));
        assert_eq!((add.base_row_id, add.default_row_commit_version), (Some(next_row), Some(0)));
        assert_eq!(add.deletion_vector.is_some(), number % 1000 == 7);
        (number, next_row) = (number + 1, next_row + number % 3 + 1);
    }
    assert_eq!(number, i64::try_from(MANY).unwrap());
    // The checksum was computed without these lines, the checkpoint with them.
    let snapshot = target.snapshot().await.unwrap();
    let checksum = snapshot.checksum().unwrap();
    assert_eq!((checksum.num_files, checksum.num_deletion_vectors, checksum.num_deleted_records), (number, Some(50), Some(300)));
    assert_eq!(u64::try_from(checksum.table_size_bytes).unwrap(), outcome.metrics.source_bytes);
    let checkpoint = snapshot.segment().checkpoint.clone().unwrap();
    let content = lakebed_io::checkpoint::open(target.store(), &checkpoint).await.unwrap();
    // It was written beside the commit: the definition of the table comes after the files.
    let [part] = content.parts.as_slice() else { panic!("a classic checkpoint is one file") };
    assert_eq!((part.row_groups_with("add").first(), part.row_groups_with("protocol").as_slice()), (Some(&0), [1].as_slice()));
    let checked = target.check().level(Level::State).run().await.unwrap();
    assert_eq!(checked.findings, []);
}

/// Returns the statistics of the added files.
fn statistics(actions: &[Action]) -> Vec<Value> {
    let added = actions.iter().filter_map(|action| match action {
        Action::Add(add) => Some(serde_json::from_str(add.stats.as_deref().unwrap_or("null")).unwrap()),
        _ => None,
    });
    let mut all: Vec<Value> = added.collect();
    all.sort_by_key(|stats| stats["minValues"]["id"].as_i64());
    all
}

#[tokio::test]
async fn statistics_in_checkpoint_structs_stay() {
    let properties = [
        ("delta.enableDeletionVectors", true),
        ("delta.checkpoint.writeStatsAsJson", false),
        ("delta.checkpoint.writeStatsAsStruct", true),
    ];
    let lake = Lake::with(&properties, None).await;
    let written = [lake.actions(0).await.unwrap(), lake.actions(1).await.unwrap()].concat();
    lake.table.snapshot().await.unwrap().checkpoint().await.unwrap();
    let other = lake.process(7);
    let source = other.snapshot().await.unwrap();
    for (name, options) in [("shallow", shallow()), ("deep", CloneOptions::default())] {
        let target = beside(&lake, name);
        source.clone_to(&target).options(options).run().await.unwrap();
        let lines = target.store().get(&Path::from(format!("{name}/_delta_log/00000000000000000000.json"))).await.unwrap();
        let cloned = lakebed_core::action::json::parse_commit(&lines, "commit").unwrap();
        assert_eq!(statistics(&cloned), statistics(&written), "{name}");
    }
    other.delete().filter("id = 3").run().await.unwrap();
    let mut expected = statistics(&written).remove(0);
    expected["tightBounds"] = json!(false);
    assert_eq!(statistics(&lake.actions(2).await.unwrap()), [expected]);
}
