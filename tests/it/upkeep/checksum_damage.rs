//! Checksums that contradict the log. lakebed then uses the log.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use bytes::Bytes;
use lakebed::Snapshot;
use lakebed::detail::Detail;
use lakebed::upkeep::NewCommit;
use lakebed_core::action::{Metadata, Protocol};
use lakebed_core::log::checksum::FileChanges;
use lakebed_core::path::checksum_name;
use lakebed_tests::TableBuilder;
use lakebed_tests::action::{add, metadata, protocol, text};
use lakebed_tests::error::check_corrupt;
use lakebed_tests::lake::stream_of;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};

const NEWEST: u64 = 3;

fn domain(configuration: &str) -> Value {
    json!({"domainMetadata": {"domain": "d", "configuration": configuration, "removed": false}})
}

fn txn(version: i64) -> Value {
    json!({"txn": {"appId": "x", "version": version}})
}

/// Returns a table of four versions with their checksums. It may have a checkpoint of version 1.
async fn table(has_checkpoint: bool) -> TableBuilder {
    let metadata = metadata(&["id long", "name string"], &[], &[("delta.appendOnly", "false"), ("team", "blue")]);
    let builder =
        TableBuilder::with(protocol(&["deletionVectors"], &["deletionVectors", "appendOnly", "domainMetadata"]), metadata);
    let commits =
        [vec![add("a"), txn(1)], vec![add("b"), domain("{}")], vec![add("c"), txn(2)], vec![add("d"), domain(r#"{"k":1}"#)]];
    for (version, actions) in commits.into_iter().enumerate() {
        builder.commit(&actions).await;
        let head = [builder.protocol().clone(), builder.metadata().clone()];
        let lines = Bytes::from(if version == 0 { text(&[&head, &actions[..]].concat()) } else { text(&actions) });
        let snapshot = builder.table().snapshot().await.unwrap();
        let commit = NewCommit { lines, changes: FileChanges::Exact, copied: None, previous: None };
        snapshot.put_next_checksum(&commit).await.unwrap().unwrap();
    }
    if has_checkpoint {
        builder.checkpoint(1, &[add("a"), add("b"), txn(1), domain("{}")]).await;
        builder.hint(1).await;
    }
    builder
}

async fn checksum(builder: &TableBuilder, version: u64) -> Value {
    serde_json::from_slice(&builder.read_log(&checksum_name(version)).await).unwrap()
}

/// The state of a version after its files were listed.
#[derive(Debug, PartialEq)]
struct Answers {
    protocol: Protocol,
    metadata: Metadata,
    schema: Vec<String>,
    detail: Detail,
    files: usize,
    explained: u64,
    transaction: Option<i64>,
    domain: Option<String>,
    history: usize,
}

async fn answers(builder: &TableBuilder) -> Answers {
    let table = builder.table();
    let opened = table.snapshot().await.unwrap();
    let detail = opened.detail().await.unwrap();
    let files = opened.scan().files().await.unwrap().collect_all().await.unwrap().iter().map(RecordBatch::num_rows).sum();
    let explained = opened.scan().explain().await.unwrap().files;
    let snapshot = table.snapshot().await.unwrap();
    Answers {
        protocol: snapshot.protocol().clone(),
        metadata: snapshot.metadata().clone(),
        schema: snapshot.arrow_schema().fields().iter().map(|field| field.to_string()).collect(),
        detail,
        files,
        explained,
        transaction: snapshot.transaction_version("x").await.unwrap(),
        domain: snapshot.domain_metadata("d").await.unwrap().map(|domain| domain.configuration),
        history: opened.history(None).await.unwrap().len(),
    }
}

/// Appends a file of two rows to a table that was just opened.
async fn append(builder: &TableBuilder) -> Snapshot {
    let columns: [(&str, ArrayRef); 2] =
        [("id", Arc::new(Int64Array::from(vec![1, 2]))), ("name", Arc::new(StringArray::from(vec!["x", "y"])))];
    let batch = RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap();
    let rows = stream_of(batch);
    builder.table().write(rows).run().await.unwrap().snapshot.unwrap()
}

/// Returns a description of one change to the newest version's checksum, and the changed checksum.
fn damage(sound: &Value, older: &Value, random: &mut SmallRng) -> (String, Vec<u8>) {
    let mut broken = sound.clone();
    let fields: Vec<String> = sound.as_object().unwrap().keys().cloned().collect();
    let field = &fields[random.random_range(0..fields.len())];
    let what = match random.random_range(0..7) {
        0 => {
            broken.as_object_mut().unwrap().remove(field);
            format!("without {field}")
        }
        1 => {
            broken[field] = json!(random.random_range(-5..1_000));
            format!("{field} is a number")
        }
        2 => {
            broken[field] =
                [json!("text"), json!([]), json!({}), json!(null), json!([{"appId": 1}])][random.random_range(0..5)].clone();
            format!("{field} is {}", broken[field])
        }
        3 => {
            let bytes = broken.to_string().into_bytes();
            let cut = random.random_range(0..bytes.len());
            return (format!("cut at {cut}"), bytes[..cut].to_vec());
        }
        4 => {
            broken = older.clone();
            "that of an older version".to_owned()
        }
        5 => {
            let protocols = [
                json!({"minReaderVersion": 9, "minWriterVersion": 7, "readerFeatures": [], "writerFeatures": []}),
                json!({"minReaderVersion": 1, "minWriterVersion": 2}),
                json!({"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["novel"], "writerFeatures": ["novel"]}),
                json!({"minReaderVersion": 3, "minWriterVersion": 7}),
                json!({"minReaderVersion": 1, "minWriterVersion": 9, "writerFeatures": ["novel"]}),
            ];
            broken["protocol"] = protocols[random.random_range(0..protocols.len())].clone();
            format!("protocol is {}", broken["protocol"])
        }
        _ => {
            let other = metadata(&["id string", "other long"], &[], &[])["metaData"]["schemaString"].clone();
            let changes = [
                ("id", json!("another")),
                ("schemaString", json!("{}")),
                ("schemaString", other),
                ("partitionColumns", json!(["id"])),
                ("partitionColumns", json!(["nowhere"])),
                ("configuration", json!({"delta.appendOnly": "true"})),
                ("configuration", json!({"delta.columnMapping.mode": "name"})),
                ("name", json!("another")),
                ("createdTime", json!(7)),
            ];
            let (field, value) = changes[random.random_range(0..changes.len())].clone();
            broken["metadata"][field] = value;
            format!("metadata.{field} is {}", broken["metadata"][field])
        }
    };
    (what, broken.to_string().into_bytes())
}

#[tokio::test]
async fn the_log_answers_whatever_its_checksum_says() {
    for has_checkpoint in [false, true] {
        let builder = table(has_checkpoint).await;
        let expected = answers(&builder).await;
        assert_eq!((expected.files, expected.detail.num_files, expected.detail.size_bytes), (4, 4, 400));
        let (sound, older) = (checksum(&builder, NEWEST).await, checksum(&builder, NEWEST - 1).await);
        for seed in 0..150 {
            let (what, bytes) = damage(&sound, &older, &mut SmallRng::seed_from_u64(seed));
            builder.put_log(&checksum_name(NEWEST), bytes).await;
            assert_eq!(answers(&builder).await, expected, "checkpoint {has_checkpoint}, seed {seed}: {what}");
        }
    }
}

/// A checkpoint lasts, so it holds the state of the log, even if the writer opened the table by its
/// checksum.
#[tokio::test]
async fn wrong_checksum_stays_out_of_checkpoint() {
    for seed in 0..40 {
        let builder = table(seed % 2 == 0).await;
        let expected = answers(&builder).await;
        let (sound, older) = (checksum(&builder, NEWEST).await, checksum(&builder, NEWEST - 1).await);
        let (what, bytes) = damage(&sound, &older, &mut SmallRng::seed_from_u64(seed));
        builder.put_log(&checksum_name(NEWEST), bytes).await;
        let is_partitioned = what.contains("partitionColumns is [\"id\"]");
        if !is_partitioned {
            append(&builder).await;
        }
        builder.table().snapshot().await.unwrap().checkpoint().await.unwrap();
        let newest = if is_partitioned { NEWEST } else { NEWEST + 1 };
        for version in 0..=newest {
            builder.try_delete_log(&checksum_name(version)).await;
        }
        let found = answers(&builder).await;
        let heads = |answers: &Answers| (answers.protocol.clone(), answers.metadata.clone(), answers.domain.clone());
        assert_eq!(heads(&found), heads(&expected), "seed {seed}: {what}");
        assert_eq!(found.files as u64, 4 + newest - NEWEST, "seed {seed}: {what}");
    }
}

#[tokio::test]
async fn checksum_with_unknown_protocol_is_ignored() {
    let builder = table(true).await;
    let expected = answers(&builder).await;
    let mut lying = checksum(&builder, NEWEST).await;
    lying["protocol"] = json!({"minReaderVersion": 9, "minWriterVersion": 7, "readerFeatures": [], "writerFeatures": []});
    builder.put_log(&checksum_name(NEWEST), lying.to_string().into_bytes()).await;
    let snapshot = builder.table().snapshot().await.unwrap();
    assert_eq!((snapshot.protocol(), snapshot.metadata()), (&expected.protocol, &expected.metadata));
    assert_eq!(snapshot.checksum(), None);
}

#[tokio::test]
async fn blank_commit_fails_despite_checksum() {
    for version in [1, NEWEST] {
        for blank in ["", "\n", " \r\n\n", "          \n"] {
            let builder = table(false).await;
            builder.put_log(&format!("{version:020}.json"), blank.as_bytes().to_vec()).await;
            let error = builder.table().snapshot().await.unwrap_err();
            assert!(error.message().contains(&format!("{version:020}.json: it holds no action")), "{blank:?}: {error}");
        }
    }
}

#[tokio::test]
async fn detail_counts_come_from_log() {
    let builder = table(true).await;
    let mut lying = checksum(&builder, NEWEST).await;
    lying["numFiles"] = json!(999);
    builder.put_log(&checksum_name(NEWEST), lying.to_string().into_bytes()).await;
    let snapshot = builder.table().snapshot().await.unwrap();
    let detail = snapshot.detail().await.unwrap();
    assert_eq!((detail.num_files, detail.size_bytes), (4, 400));
    assert_eq!(snapshot.checksum(), None, "it is not carried on, either");
}

#[tokio::test]
async fn metadata_with_unlisted_features_is_refused() {
    let properties = [("delta.enableDeletionVectors", "true")];
    let builder = TableBuilder::with(protocol(&[], &[]), metadata(&["id long"], &[], &properties));
    builder.commit(&[add("a")]).await;
    let error = builder.table().snapshot().await.unwrap_err();
    check_corrupt(&error, "memory://kit/lake/t", &["deletionVectors"]);
}
