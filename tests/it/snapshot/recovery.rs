//! A damaged log. lakebed tolerates the damage, or refuses it with a clear error.

use lakebed::changes::Bound;
use lakebed::vacuum::VacuumOptions;
use lakebed::{Error, ErrorKind, RecordBatchStream, Snapshot};
use lakebed_tests::action::{add, metadata, protocol, remove, text, with};
use lakebed_tests::error::{check_corrupt, check_error};
use lakebed_tests::{Form, TableBuilder};
use serde_json::json;

/// Returns a table with five versions, a checkpoint at 2, and two files at the end.
async fn table() -> TableBuilder {
    let builder = TableBuilder::new();
    builder.commit(&[add("a")]).await;
    builder.commit(&[add("b")]).await;
    builder.commit(&[remove("a")]).await;
    builder.checkpoint(2, &[add("b")]).await;
    builder.hint(2).await;
    builder.commit(&[add("c")]).await;
    builder.commit(&[remove("b"), add("d")]).await;
    builder
}

async fn files(builder: &TableBuilder) -> Vec<String> {
    files_of(&builder.table().snapshot().await.unwrap()).await
}

async fn files_of(snapshot: &Snapshot) -> Vec<String> {
    let batches = snapshot.scan().files().await.unwrap().collect_all().await.unwrap();
    let column = |batch: &arrow_array::RecordBatch| {
        let paths = batch.column(0).as_any().downcast_ref::<arrow_array::StringArray>().unwrap().clone();
        paths.iter().map(|path| path.unwrap().to_owned()).collect::<Vec<_>>()
    };
    batches.iter().flat_map(column).collect()
}

#[tokio::test]
async fn a_sound_table_gives_its_files() {
    assert_eq!(files(&table().await).await, ["c", "d"]);
}

#[tokio::test]
async fn bad_hint_costs_only_a_listing() {
    for hint in [
        "",
        "{",
        "{\"version\":",
        "{\"version\":99,\"size\":1}",
        "{\"version\":1,\"size\":1}",
        "{\"version\":2,\"size\":1,\"parts\":3}",
    ] {
        let builder = table().await;
        builder.put_log("_last_checkpoint", hint.as_bytes().to_vec()).await;
        assert_eq!(files(&builder).await, ["c", "d"], "hint {hint:?}");
    }
    let builder = table().await;
    builder.delete_log("_last_checkpoint").await;
    assert_eq!(files(&builder).await, ["c", "d"]);
}

/// A listing may lag behind and lack existing objects. A table that is created because of such a
/// listing would replace this one.
#[tokio::test]
async fn empty_listing_beside_hint_is_error() {
    let builder = table().await;
    builder.delete_log(&format!("{:020}.checkpoint.parquet", 2)).await;
    for version in 0..5 {
        builder.delete_log(&format!("{version:020}.json")).await;
    }
    let told = |error: Error| assert!(matches!(error.kind(), ErrorKind::Corrupt { .. }), "{error}");
    told(builder.table().snapshot().await.unwrap_err());
    told(builder.table().snapshot_at(1).await.unwrap_err());
    let schema = arrow_schema::Schema::new(vec![arrow_schema::Field::new("id", arrow_schema::DataType::Int64, true)]);
    let nothing = RecordBatchStream::from_batches(schema.into(), vec![]);
    told(builder.table().write(nothing).run().await.unwrap_err());
    // Without the hint, nothing shows that there is a table.
    builder.delete_log("_last_checkpoint").await;
    let error = builder.table().snapshot().await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::TableNotFound, "{error}");
}

#[tokio::test]
async fn commits_replace_broken_checkpoint() {
    let name = format!("{:020}.checkpoint.parquet", 2);
    for bytes in [Vec::new(), b"PAR1".to_vec(), vec![7; 5000]] {
        let builder = table().await;
        builder.put_log(&name, bytes.clone()).await;
        assert_eq!(files(&builder).await, ["c", "d"], "{} bytes", bytes.len());
    }
}

/// A writer of a checkpoint replaces the existing one, and cleanups rely on it.
#[tokio::test]
async fn replaced_checkpoint_is_read_anew() {
    let builder = table().await;
    for version in 0..=2 {
        builder.delete_log(&format!("{version:020}.json")).await;
    }
    let table = builder.table();
    let snapshot = table.snapshot().await.unwrap();
    for (group_rows, work) in ["files", "transaction", "vacuum", "checkpoint"].into_iter().enumerate() {
        assert_eq!(files_of(&snapshot).await, ["c", "d"], "{work}");
        // The replacement has the same content in other row groups.
        builder.checkpoint_as(2, Form::Classic, &[remove("a"), add("b")], group_rows + 1).await;
        match work {
            "files" => assert_eq!(files_of(&snapshot).await, ["c", "d"]),
            "transaction" => assert_eq!(snapshot.transaction_version("x").await.unwrap(), None),
            "vacuum" => {
                let options = VacuumOptions { dry_run: true, ..VacuumOptions::default() };
                assert_eq!(table.vacuum().options(options).run().await.unwrap().metrics.found_files, 0);
            }
            _ => assert_eq!(snapshot.checkpoint().await.unwrap().num_files, 2),
        }
    }
}

#[tokio::test]
async fn gap_in_commits_is_error() {
    let builder = table().await;
    builder.delete_log(&format!("{:020}.json", 3)).await;
    let error = builder.table().snapshot().await.unwrap_err();
    check_corrupt(&error, "_delta_log", &["memory://kit/lake/t: ", "version 4 ", "version 3 "]);
}

#[tokio::test]
async fn commits_below_checkpoint_may_be_missing() {
    let builder = table().await;
    for version in 0..2 {
        builder.delete_log(&format!("{version:020}.json")).await;
    }
    assert_eq!(files(&builder).await, ["c", "d"]);
    let error = builder.table().snapshot_at(1).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::VersionNotFound), "{error}");
    let error = builder.table().snapshot_at(5).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::VersionNotFound), "{error}");
}

#[tokio::test]
async fn compactions_are_not_read() {
    let name = format!("{:020}.{:020}.compacted.json", 3, 4);
    // The second compaction lacks the remove of b, like compactions of the Java Kernel after a
    // tombstone has expired.
    for compaction in [text(&[add("c"), remove("b"), add("d")]), text(&[add("c"), add("d")]), b"{\"add\":".to_vec()] {
        let builder = table().await;
        builder.put_log(&name, compaction).await;
        assert_eq!(files(&builder).await, ["c", "d"]);
    }
}

#[tokio::test]
async fn what_is_unknown_is_ignored() {
    let builder = table().await;
    for name in [".tmp", "00000000000000000009.json.tmp", ".00000000000000000001.json.crc", "notes.txt", "_staged_commits/1.json"]
    {
        builder.put_log(name, b"not for us".to_vec()).await;
    }
    builder.commit(&[json!({"teleport": {"to": "mars"}}), with(add("e"), json!({"colour": 7}))]).await;
    assert_eq!(files(&builder).await, ["c", "d", "e"]);
}

#[tokio::test]
async fn unknown_features_are_refused_by_name() {
    let builder = table().await;
    let protocol = json!({"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["deletionVectors", "teleport"], "writerFeatures": ["deletionVectors", "teleport"]}});
    builder.commit(&[protocol]).await;
    let error = builder.table().snapshot().await.unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::UnsupportedFeature { features: vec!["teleport".into()] });
    assert_eq!(builder.table().snapshot_at(4).await.unwrap().version(), 4, "older versions can still be read");
}

#[tokio::test]
async fn paths_outside_root_are_refused_before_reading() {
    for path in ["../secret.parquet", "a/../../secret.parquet", "file:///etc/passwd", "/etc/passwd", "%2E%2E/secret.parquet"] {
        let builder = TableBuilder::new();
        builder.commit(&[add(path)]).await;
        let snapshot = builder.table().snapshot().await.unwrap();
        builder.observed().take_counts();
        let outcome = match snapshot.scan().stream().await {
            Ok(stream) => stream.collect_all().await.map(|_| ()),
            Err(error) => Err(error),
        };
        let error = outcome.expect_err(path);
        assert!(!matches!(error.kind(), ErrorKind::Store { .. } | ErrorKind::Internal), "{path}: {error}");
        assert_eq!(builder.observed().take_counts().data_files(), 0, "{path}");
    }
}

/// Deletes all commits except these.
async fn only_commits(builder: &TableBuilder, kept: &[u64]) {
    for version in 0..5 {
        if !kept.contains(&version) {
            builder.delete_log(&format!("{version:020}.json")).await;
        }
    }
}

async fn append_nothing(builder: &TableBuilder) -> u64 {
    let fields = ["id", "name"].map(|name| {
        let data_type = if name == "id" { arrow_schema::DataType::Int64 } else { arrow_schema::DataType::Utf8 };
        arrow_schema::Field::new(name, data_type, true)
    });
    let nothing = RecordBatchStream::from_batches(arrow_schema::Schema::new(fields.to_vec()).into(), vec![]);
    builder.table().write(nothing).run().await.unwrap().version
}

async fn versions_told(builder: &TableBuilder) -> Vec<u64> {
    let history = builder.table().snapshot().await.unwrap().history(None).await.unwrap();
    history.into_iter().map(|entry| entry.version).collect()
}

#[tokio::test]
async fn a_checkpoint_alone_is_a_table() {
    for has_hint in [true, false] {
        let builder = table().await;
        only_commits(&builder, &[]).await;
        if !has_hint {
            builder.delete_log("_last_checkpoint").await;
        }
        let snapshot = builder.table().snapshot().await.unwrap();
        assert_eq!((snapshot.version(), files_of(&snapshot).await), (2, vec!["b".to_owned()]));
        assert_eq!(files_of(&builder.table().snapshot_at(2).await.unwrap()).await, ["b"]);
        for lost in [0, 1, 3] {
            let error = builder.table().snapshot_at(lost).await.unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::VersionNotFound), "{lost}: {error}");
        }
        assert_eq!(versions_told(&builder).await, [] as [u64; 0]);
        let detail = snapshot.detail().await.unwrap();
        assert_eq!((detail.num_files, detail.last_modified_ms), (1, None));
        // The next commit continues this version.
        assert_eq!(append_nothing(&builder).await, 3);
        assert_eq!(files(&builder).await, ["b"]);
        assert_eq!(versions_told(&builder).await, [3]);
    }
}

#[tokio::test]
async fn gap_below_checkpoint_breaks_only_its_versions() {
    let (features, feed) = (["deletionVectors"], [("delta.enableChangeDataFeed", "true")]);
    let protocol = protocol(&features, &["deletionVectors", "changeDataFeed"]);
    let builder = TableBuilder::with(protocol, metadata(&["id long", "name string"], &[], &feed));
    for actions in [vec![add("a")], vec![add("b")], vec![remove("a")], vec![add("c")], vec![remove("b"), add("d")]] {
        builder.commit(&actions).await;
    }
    builder.checkpoint(3, &[add("b"), add("c")]).await;
    only_commits(&builder, &[0, 1, 4]).await;
    for has_hint in [false, true] {
        if has_hint {
            builder.hint(3).await;
        }
        assert_eq!(files(&builder).await, ["c", "d"]);
        let at = async |version: u64| files_of(&builder.table().snapshot_at(version).await.unwrap()).await;
        assert_eq!((at(0).await, at(1).await), (vec!["a".to_owned()], vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(at(3).await, ["b", "c"]);
        let error = builder.table().snapshot_at(2).await.unwrap_err();
        check_error(&error, &ErrorKind::VersionNotFound, &["the commit of version 2 "]);
        assert_eq!(versions_told(&builder).await, [4, 1, 0]);
        // The changes of the missing commits are lost. An error says so, because the loss would be
        // silent otherwise.
        let changes = async |start: u64, end: u64| {
            builder.table().changes_between(Bound::Version(start), Some(Bound::Version(end))).await?.plan().await.map(|_| ())
        };
        for (start, end) in [(0, 4), (1, 3), (2, 2), (3, 4)] {
            let told = changes(start, end).await.unwrap_err().message().to_owned();
            assert!(
                told.contains("version 2") || told.contains("version 3") || told.contains("2.json") || told.contains("3.json"),
                "{told}"
            );
        }
        changes(4, 4).await.unwrap();
    }
    builder.commit(&[add("e")]).await;
    assert_eq!(files(&builder).await, ["c", "d", "e"]);
}
