//! Written checkpoints: their content, and the content of `_last_checkpoint`.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch};
use futures::TryStreamExt;
use lakebed::checkpoint::CheckpointOutcome;
use lakebed::{Env, ErrorKind, Snapshot};
use lakebed_core::action::{Action, json};
use lakebed_core::log::checkpoint::{columns, file_actions};
use lakebed_core::log::segment::{CheckpointFiles, plan};
use lakebed_io::log::ReadHint;
use lakebed_io::parquet::{Cores, ReadOptions};
use lakebed_io::{checkpoint, log};
use lakebed_tests::action::{VECTOR_FILE, add, metadata, protocol, remove, remove_at, unchanged, vector, with};
use lakebed_tests::error::check_error;
use lakebed_tests::{Fault, Form, TableBuilder};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};

use crate::model::Model;

/// The first time of the seeded clock.
const NOW_MS: i64 = 1_700_000_000_000;
const WEEK_MS: i64 = 7 * 86_400_000;

async fn snapshot(builder: &TableBuilder) -> Snapshot {
    builder.table_with(Env::seeded(7)).snapshot().await.unwrap()
}

async fn write(builder: &TableBuilder) -> CheckpointOutcome {
    snapshot(builder).await.checkpoint().await.unwrap()
}

/// Returns the files of the newest checkpoint.
async fn files(builder: &TableBuilder) -> CheckpointFiles {
    let listed = log::list_log(&builder.store(), None).await.unwrap();
    plan(&listed, None, &Default::default()).unwrap().checkpoint.unwrap()
}

/// Returns the batches of all Parquet files with file actions.
async fn batches(builder: &TableBuilder) -> Vec<RecordBatch> {
    let content = checkpoint::open(&builder.store(), &files(builder).await).await.unwrap();
    let mut found = Vec::new();
    for part in content.parts {
        found.extend(part.read(ReadOptions::default(), &Cores::of(1)).unwrap().try_collect::<Vec<_>>().await.unwrap());
    }
    found
}

/// Returns all actions of the newest checkpoint, in the order of their lines, without the
/// additional actions of V2 checkpoints.
async fn actions(builder: &TableBuilder) -> Vec<String> {
    let files = files(builder).await;
    let mut found = checkpoint::read_other_actions(&builder.store(), &files, columns::OTHERS).await.unwrap();
    found.retain(|action| !matches!(action, Action::CheckpointMetadata(_) | Action::Sidecar(_)));
    for batch in batches(builder).await {
        found.extend(file_actions(&batch, "checkpoint").unwrap());
    }
    let mut lines: Vec<String> = found.iter().map(|action| action.to_line().unwrap()).collect();
    lines.sort();
    lines
}

fn lines(values: impl IntoIterator<Item = Value>) -> Vec<String> {
    let action = |value: Value| json::from_value(value).unwrap().unwrap().to_line().unwrap();
    let mut lines: Vec<String> = values.into_iter().map(action).collect();
    lines.sort();
    lines
}

fn v2_table() -> TableBuilder {
    let features = ["deletionVectors", "v2Checkpoint"];
    let properties = [("delta.checkpointPolicy", "v2")];
    TableBuilder::with(protocol(&features, &features), metadata(&["id long", "name string"], &[], &properties))
}

#[tokio::test]
async fn checkpoint_holds_state_and_writes_hint() {
    let builder = TableBuilder::new();
    builder.commit(&[add("a"), add("b"), json!({"txn": {"appId": "x", "version": 1}})]).await;
    builder.commit(&[remove("a"), add("c"), json!({"txn": {"appId": "x", "version": 2, "lastUpdated": 5}})]).await;
    let outcome = write(&builder).await;
    assert_eq!((outcome.version, outcome.num_actions, outcome.num_files, outcome.num_tombstones), (1, 6, 2, 1));
    assert_eq!(outcome.name, "00000000000000000001.checkpoint.parquet");
    assert!(outcome.is_last);
    let expected = [
        builder.protocol().clone(),
        builder.metadata().clone(),
        json!({"txn": {"appId": "x", "version": 2, "lastUpdated": 5}}),
        unchanged(add("b")),
        unchanged(add("c")),
        unchanged(remove("a")),
    ];
    assert_eq!(actions(&builder).await, lines(expected));
    let ReadHint::Sound(hint) = log::read_hint(&builder.store()).await.unwrap() else { panic!("no hint") };
    assert_eq!((hint.version, hint.size, hint.num_of_add_files, hint.parts), (1, Some(6), Some(2), None));
    assert_eq!(hint.size_in_bytes, Some(i64::try_from(outcome.size_bytes).unwrap()));
}

#[tokio::test]
async fn checkpoint_alone_is_enough_to_read() {
    for builder in [TableBuilder::new(), v2_table()] {
        builder.commit(&[add("a"), add("b")]).await;
        builder.commit(&[remove("a")]).await;
        write(&builder).await;
        builder.delete_log("00000000000000000000.json").await;
        builder.commit(&[add("c")]).await;
        let detail = snapshot(&builder).await.detail().await.unwrap();
        assert_eq!((detail.version, detail.num_files, detail.size_bytes), (2, 2, 200));
    }
}

#[tokio::test]
async fn v2_checkpoint_puts_files_in_sidecars() {
    let builder = v2_table();
    builder.commit(&[add("a"), remove("b"), json!({"txn": {"appId": "x", "version": 1}})]).await;
    let outcome = write(&builder).await;
    assert!(outcome.name.ends_with(".json"), "{}", outcome.name);
    // The actions are protocol, metaData, txn, checkpointMetadata, one sidecar, and two actions in
    // it.
    assert_eq!((outcome.num_actions, outcome.num_files, outcome.num_tombstones), (7, 1, 1));
    let txn = json!({"txn": {"appId": "x", "version": 1}});
    let expected = [builder.protocol().clone(), builder.metadata().clone(), txn, unchanged(add("a")), unchanged(remove("b"))];
    assert_eq!(actions(&builder).await, lines(expected));
    let ReadHint::Sound(hint) = log::read_hint(&builder.store()).await.unwrap() else { panic!("no hint") };
    let v2 = hint.v2_checkpoint.unwrap();
    assert_eq!((v2.path, v2.sidecar_files.unwrap().len(), v2.non_file_actions.unwrap().len()), (outcome.name, 1, 4));
}

#[tokio::test]
async fn an_empty_table_has_a_checkpoint_too() {
    for builder in [TableBuilder::new(), v2_table()] {
        builder.commit(&[]).await;
        assert_eq!(write(&builder).await.num_files, 0);
        assert_eq!(actions(&builder).await, lines([builder.protocol().clone(), builder.metadata().clone()]));
        builder.commit(&[add("a")]).await;
        assert_eq!(snapshot(&builder).await.detail().await.unwrap().num_files, 1);
    }
}

#[tokio::test]
async fn expired_tombstones_and_removed_domains_are_forgotten() {
    let domain =
        |name: &str, removed: bool| json!({"domainMetadata": {"domain": name, "configuration": "{}", "removed": removed}});
    let builder = TableBuilder::new();
    builder
        .commit(&[
            remove_at("young", NOW_MS - WEEK_MS + 1),
            remove_at("old", NOW_MS - WEEK_MS),
            with(remove("ageless"), json!({"deletionTimestamp": null})),
            domain("kept", false),
            domain("dropped", false),
        ])
        .await;
    builder.commit(&[domain("dropped", true)]).await;
    write(&builder).await;
    let expected = [
        builder.protocol().clone(),
        builder.metadata().clone(),
        unchanged(remove_at("young", NOW_MS - WEEK_MS + 1)),
        domain("kept", false),
    ];
    assert_eq!(actions(&builder).await, lines(expected));
}

#[tokio::test]
async fn checkpoint_drops_transactions_only_when_expired() {
    let txn = |app: &str, updated: Option<i64>| match updated {
        Some(updated) => json!({"txn": {"appId": app, "version": 1, "lastUpdated": updated}}),
        None => json!({"txn": {"appId": app, "version": 1}}),
    };
    let all = [txn("young", Some(NOW_MS - 1000)), txn("old", Some(NOW_MS - 7_200_000)), txn("ageless", None)];
    let builder = TableBuilder::new();
    builder.commit(&all).await;
    write(&builder).await;
    assert_eq!(actions(&builder).await.len(), 5);
    let properties = [("delta.setTransactionRetentionDuration", "interval 1 hour")];
    let builder = TableBuilder::with(protocol(&[], &[]), metadata(&["id long"], &[], &properties));
    builder.commit(&all).await;
    write(&builder).await;
    let expected = [builder.protocol().clone(), builder.metadata().clone(), all[0].clone()];
    assert_eq!(actions(&builder).await, lines(expected));
}

/// Returns a table of this schema with one file, which has these statistics and partition values.
async fn with_statistics(properties: &[(&str, &str)], stats: &Value, partition: &Value) -> TableBuilder {
    let columns = ["id long", "at timestamp", "price decimal(20,3)", "ratio double", "name string", "flag boolean", "day date"];
    let features = ["deletionVectors"];
    let builder = TableBuilder::with(protocol(&features, &features), metadata(&columns, &["day"], properties));
    builder.commit(&[with(add("a"), json!({"stats": stats.to_string(), "partitionValues": partition}))]).await;
    builder
}

fn statistics() -> Value {
    json!({
        "numRecords": 7,
        "minValues": {"id": 1, "at": "2024-05-06T07:08:09.123Z", "price": 1.250, "ratio": 0.0, "name": "a"},
        "maxValues": {"id": 9, "at": "2024-05-06T07:08:09.123Z", "price": 7.125, "ratio": 1.1, "name": "z"},
        "nullCount": {"id": 0, "at": 0, "price": 1, "ratio": 2, "name": 3, "flag": 4},
    })
}

/// Returns the array at this path for the one row that has an `add`.
fn leaf(batches: &[RecordBatch], way: &[&str]) -> arrow_array::ArrayRef {
    let batch = batches.iter().find(|batch| batch["add"].as_struct().column_by_name("path").is_some()).unwrap();
    let row = (0..batch.num_rows()).find(|row| batch["add"].is_valid(*row)).unwrap();
    let mut at = batch["add"].slice(row, 1);
    for name in way {
        at = at.as_struct().column_by_name(name).unwrap_or_else(|| panic!("{way:?}")).clone();
    }
    at
}

#[tokio::test]
async fn typed_statistics_equal_those_of_text() {
    let builder = with_statistics(&[], &statistics(), &json!({"day": "2024-05-06"})).await;
    write(&builder).await;
    let batches = batches(&builder).await;
    let time = |way: &[&str]| leaf(&batches, way).as_primitive::<TimestampMicrosecondType>().value(0);
    assert_eq!(time(&["stats_parsed", "minValues", "at"]), 1_714_979_289_123_000);
    assert_eq!(time(&["stats_parsed", "maxValues", "at"]), 1_714_979_289_123_000);
    let double = |way: &[&str]| leaf(&batches, way).as_primitive::<arrow_array::types::Float64Type>().value(0);
    assert_eq!(double(&["stats_parsed", "minValues", "ratio"]).to_bits(), 0.0_f64.to_bits());
    assert_eq!(double(&["stats_parsed", "maxValues", "ratio"]), 1.1);
    let decimal = leaf(&batches, &["stats_parsed", "maxValues", "price"]);
    assert_eq!(decimal.as_primitive::<arrow_array::types::Decimal128Type>().value_as_string(0), "7.125");
    let long = |way: &[&str]| leaf(&batches, way).as_primitive::<Int64Type>().value(0);
    assert_eq!((long(&["stats_parsed", "numRecords"]), long(&["stats_parsed", "nullCount", "flag"])), (7, 4));
    assert!(leaf(&batches, &["stats_parsed", "tightBounds"]).is_null(0), "the text says nothing of it");
    let day = leaf(&batches, &["partitionValues_parsed", "day"]);
    assert_eq!(day.as_primitive::<arrow_array::types::Date32Type>().value(0), 19_849);
    assert_eq!(leaf(&batches, &["stats"]).as_string::<i32>().value(0), statistics().to_string());
    let bounds = leaf(&batches, &["stats_parsed", "minValues"]);
    assert_eq!(bounds.as_struct().column_names(), ["id", "at", "price", "ratio", "name"]);
}

#[tokio::test]
async fn properties_choose_form_of_statistics() {
    let has = |batches: &[RecordBatch], name: &str| {
        leaf(batches, &[]).as_struct().column_by_name(name).is_some() && !batches.is_empty()
    };
    for (as_json, as_struct) in [("true", "false"), ("false", "true"), ("false", "false")] {
        let properties = [("delta.checkpoint.writeStatsAsJson", as_json), ("delta.checkpoint.writeStatsAsStruct", as_struct)];
        let builder = with_statistics(&properties, &statistics(), &json!({"day": null})).await;
        write(&builder).await;
        let batches = batches(&builder).await;
        assert_eq!(has(&batches, "stats"), as_json == "true");
        assert_eq!(has(&batches, "stats_parsed"), as_struct == "true");
        assert_eq!(has(&batches, "partitionValues_parsed"), as_struct == "true");
    }
}

#[tokio::test]
async fn typed_statistics_alone_become_text() {
    let stats = json!({"numRecords": 10, "minValues": {"id": 3}, "maxValues": {"id": 8}, "nullCount": {"id": 1}});
    let mut file = add("a");
    file["add"]["stats_parsed"] = stats.clone();
    for form in [Form::Classic, Form::MultiPart(2), Form::UuidParquet(1)] {
        let builder = TableBuilder::new();
        builder.commit(&[file.clone()]).await;
        builder.checkpoint_as(0, form, std::slice::from_ref(&file), 100).await;
        builder.commit(&[add("b")]).await;
        write(&builder).await;
        let mut expected = add("a");
        expected["add"]["stats"] = json!(stats.to_string());
        let expected = [builder.protocol().clone(), builder.metadata().clone(), unchanged(expected), unchanged(add("b"))];
        assert_eq!(actions(&builder).await, lines(expected), "{form:?}");
    }
}

#[tokio::test]
async fn a_hint_only_moves_forward() {
    let builder = TableBuilder::new();
    for file in ["a", "b", "c"] {
        builder.commit(&[add(file)]).await;
    }
    assert!(write(&builder).await.is_last);
    let older = builder.table_with(Env::seeded(7)).snapshot_at(1).await.unwrap().checkpoint().await.unwrap();
    assert!(!older.is_last);
    let ReadHint::Sound(hint) = log::read_hint(&builder.store()).await.unwrap() else { panic!("no hint") };
    assert_eq!(hint.version, 2);
}

/// Checks the error of a checkpoint if a request that reads its file back meets a fault. `spared`
/// requests for such names succeed before.
async fn check_read_back(builder: TableBuilder, (file, spared): (&str, usize), fault: Fault, may_pass: bool) {
    builder.commit(&[add("a")]).await;
    let snapshot = snapshot(&builder).await;
    builder.observed().fail_after(file, fault, spared);
    let error = snapshot.checkpoint().await.unwrap_err();
    assert!(error.to_string().contains("was written, but it cannot be read"), "{error}");
    let ErrorKind::Store { retryable, .. } = error.kind() else { panic!("{error:?}") };
    assert_eq!(*retryable, may_pass, "{error}");
    assert_eq!(log::read_hint(&builder.store()).await.unwrap(), ReadHint::Missing);
}

#[tokio::test]
async fn unreadable_checkpoint_gets_no_hint() {
    for (fault, may_pass) in [(Fault::NotFound, true), (Fault::Unavailable, true), (Fault::Denied, false)] {
        // Each file is put with one request.
        check_read_back(TableBuilder::new(), (".parquet", 1), fault.clone(), may_pass).await;
        check_read_back(v2_table(), (".parquet", 1), fault.clone(), may_pass).await;
        check_read_back(v2_table(), (".json", 1), fault.clone(), may_pass).await;
    }
}

#[tokio::test]
async fn broken_older_checkpoint_does_not_hinder() {
    let builder = TableBuilder::new();
    builder.commit(&[add("a")]).await;
    builder.commit(&[add("b")]).await;
    builder.put_log("00000000000000000000.checkpoint.parquet", b"PAR1 no more".to_vec()).await;
    write(&builder).await;
    let expected = [builder.protocol().clone(), builder.metadata().clone(), unchanged(add("a")), unchanged(add("b"))];
    assert_eq!(actions(&builder).await, lines(expected));
}

#[tokio::test]
async fn invalid_property_is_named_in_error() {
    let properties = [("delta.dataSkippingStatsColumns", "a,,b")];
    let builder = TableBuilder::with(protocol(&[], &[]), metadata(&["id long"], &[], &properties));
    builder.commit(&[add("a")]).await;
    let error = snapshot(&builder).await.checkpoint().await.unwrap_err();
    check_error(&error, &ErrorKind::InvalidInput, &["delta.dataSkippingStatsColumns", "a,,b"]);
}

#[tokio::test]
async fn unknown_writer_features_are_refused() {
    let builder = TableBuilder::with(protocol(&[], &["fromTheFuture"]), metadata(&["id long"], &[], &[]));
    builder.commit(&[add("a")]).await;
    let error = snapshot(&builder).await.checkpoint().await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::UnsupportedFeature { features: vec!["fromTheFuture".to_owned()] });
}

#[tokio::test]
async fn checkpoints_of_random_logs_hold_state() {
    const FORMS: [Form; 5] = [Form::Classic, Form::MultiPart(3), Form::UuidParquet(2), Form::UuidJson(0), Form::ClassicV2(0)];
    for seed in 0..60 {
        let mut random = SmallRng::seed_from_u64(seed);
        let is_v2 = random.random_bool(0.5);
        let builder = if is_v2 { v2_table() } else { TableBuilder::new() };
        let mut model = Model::new(NOW_MS - WEEK_MS);
        let mut version = 0;
        for round in 0..random.random_range(1..4) {
            for _ in 0..random.random_range(1..8) {
                let actions = model.commit(&mut random);
                builder.commit(&actions).await;
                version += 1;
            }
            // The next checkpoint is based on this one, whether lakebed or the test writes it.
            if random.random_bool(0.5) {
                let form = if is_v2 { FORMS[2 + random.random_range(0..3)] } else { FORMS[random.random_range(0..2)] };
                builder.checkpoint_as(version - 1, form, &model.checkpoint(), 7).await;
            } else {
                write(&builder).await;
                let head = [builder.protocol().clone(), builder.metadata().clone()];
                let expected = lines(head.into_iter().chain(model.checkpoint()));
                assert_eq!(actions(&builder).await, expected, "seed {seed}, round {round}");
            }
        }
    }
}

#[tokio::test]
async fn a_refreshed_snapshot_writes_the_same_checkpoint() {
    let mut random = SmallRng::seed_from_u64(99);
    let builder = TableBuilder::new();
    let mut model = Model::new(NOW_MS - WEEK_MS);
    builder.commit(&model.commit(&mut random)).await;
    let table = builder.table_with(Env::seeded(7));
    for _ in 0..20 {
        // With this call, each commit becomes a layer of its own.
        table.snapshot().await.unwrap().detail().await.unwrap();
        builder.commit(&model.commit(&mut random)).await;
    }
    table.snapshot().await.unwrap().checkpoint().await.unwrap();
    let head = [builder.protocol().clone(), builder.metadata().clone()];
    assert_eq!(actions(&builder).await, lines(head.into_iter().chain(model.checkpoint())));
}

#[tokio::test]
async fn all_columns_of_a_file_are_kept() {
    let vector = vector("u", VECTOR_FILE, 4);
    let fields = json!({
        "tags": {"ZCUBE_ID": "x", "nothing": null}, "deletionVector": vector, "baseRowId": 11, "defaultRowCommitVersion": 3,
        "clusteringProvider": "liquid",
    });
    let file = with(add("a b%20c"), fields);
    let fields = json!({
        "extendedFileMetadata": true, "partitionValues": {}, "size": 5, "deletionVector": vector, "baseRowId": 1,
        "defaultRowCommitVersion": 2,
    });
    let gone = with(remove("gone"), fields);
    let builder = TableBuilder::new();
    builder.commit(&[file.clone(), gone.clone()]).await;
    let expected = lines([builder.protocol().clone(), builder.metadata().clone(), unchanged(file), unchanged(gone)]);
    write(&builder).await;
    assert_eq!(actions(&builder).await, expected);
    // The next checkpoint is written from the last checkpoint.
    builder.commit(&[]).await;
    write(&builder).await;
    assert_eq!(actions(&builder).await, expected);
}

#[tokio::test]
async fn checkpoint_yields_checksum_of_its_state() {
    let builder = TableBuilder::new();
    builder.commit(&[add("a"), add("b"), json!({"txn": {"appId": "x", "version": 1}})]).await;
    builder.commit(&[remove("a")]).await;
    let checksum = write(&builder).await.checksum.unwrap();
    assert_eq!((checksum.num_files, checksum.table_size_bytes), (1, 100));
    assert_eq!(checksum.set_transactions.unwrap().len(), 1);
    assert_eq!((checksum.num_deletion_vectors, checksum.num_deleted_records), (Some(0), Some(0)));
    let histogram = checksum.file_size_histogram.unwrap();
    let counts: BTreeMap<i64, i64> =
        histogram.sorted_bin_boundaries.iter().copied().zip(histogram.file_counts).filter(|(_, count)| *count > 0).collect();
    assert_eq!(counts, BTreeMap::from([(0, 1)]));
}
