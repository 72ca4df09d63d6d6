//! Properties, features, name and description.

use lakebed::ErrorKind;
use lakebed::alter::AlterChange;
use lakebed_core::action::Action;
use lakebed_core::feature::supported_features;
use lakebed_tests::Lake;
use lakebed_tests::lake::{MADE, stream};
use serde_json::json;

use super::{check_refused, info, lake_with, operation};

fn unset(names: &[&str], if_exists: bool) -> AlterChange {
    AlterChange::UnsetProperties { names: names.iter().map(|name| (*name).to_owned()).collect(), if_exists }
}

#[tokio::test]
async fn properties_bring_their_features() {
    let lake = lake_with(&[("Delta.EnableDeletionVectors", "true"), ("delta.checkpointPolicy", "v2"), ("team", "blue")]).await;
    let snapshot = lake.table.snapshot().await.unwrap();
    let features = supported_features(snapshot.protocol());
    assert_eq!(features, ["appendOnly", "deletionVectors", "invariants", "v2Checkpoint"]);
    let (name, parameters) = operation(&lake, MADE + 1).await;
    assert_eq!(name, "SET TBLPROPERTIES");
    let expected = r#"{"Delta.EnableDeletionVectors":"true","delta.checkpointPolicy":"v2","team":"blue"}"#;
    assert_eq!(parameters, json!({ "properties": expected }));
    lake.table.alter().change(unset(&["DELTA.enabledeletionvectors", "team"], false)).run().await.unwrap();
    let expected = json!({ "properties": r#"["delta.enableDeletionVectors","team"]"#, "ifExists": false });
    assert_eq!(operation(&lake, MADE + 2).await, ("UNSET TBLPROPERTIES".to_owned(), expected));
    let snapshot = lake.table.snapshot().await.unwrap();
    assert_eq!(snapshot.metadata().configuration, [("delta.checkpointPolicy".to_owned(), Some("v2".to_owned()))].into());
    assert_eq!(supported_features(snapshot.protocol()).len(), 4, "features stay");
}

#[tokio::test]
async fn iceberg_property_needs_files_that_iceberg_reads() {
    let (first, second) = (("delta.enableIcebergCompatV1", "true"), ("delta.enableIcebergCompatV2", "true"));
    let mapping = ("delta.columnMapping.mode", "name");
    let invalid = ErrorKind::InvalidInput;
    let lake = Lake::new(false).await;
    let remedy = "write the rows to a new table with this property";
    let expected = format!(
        "property delta.enableIcebergCompatV2: the table has data files that were not written for readers of Iceberg; {remedy}"
    );
    check_refused(&lake, lake.table.alter().set_properties([mapping, second]), invalid.clone(), &expected).await;
    lake.table.alter().set_properties([mapping, first]).run().await.unwrap();
    let snapshot = lake.table.snapshot().await.unwrap();
    assert_eq!(supported_features(snapshot.protocol()), ["appendOnly", "columnMapping", "icebergCompatV1", "invariants"]);
    let switch = [("delta.enableIcebergCompatV1", "false"), second];
    check_refused(&lake, lake.table.alter().set_properties(switch), invalid.clone(), &expected).await;

    let partitioned = Lake::with(&[], Some("v")).await;
    let expected = format!(
        "property delta.enableIcebergCompatV1: the table has data files without its partition columns, which readers of Iceberg \
         need; {remedy}"
    );
    check_refused(&partitioned, partitioned.table.alter().set_properties([mapping, first]), invalid.clone(), &expected).await;

    let vectors = Lake::with(&[("delta.enableDeletionVectors", true)], None).await;
    let off = ("delta.enableDeletionVectors", "false");
    let expected =
        "property delta.enableIcebergCompatV1: the table has the table feature deletionVectors; drop that feature first";
    check_refused(&vectors, vectors.table.alter().set_properties([mapping, first, off]), invalid, expected).await;

    let empty = Lake::new(false).await;
    empty.table.delete().run().await.unwrap();
    empty.table.alter().add_column("l", "array<int>").set_properties([mapping, second]).run().await.unwrap();
    let snapshot = empty.table.snapshot().await.unwrap();
    let ids = &snapshot.schema().field("l").unwrap().metadata["delta.columnMapping.nested.ids"];
    assert_eq!(ids, &json!({"l.element": 4}));
}

#[tokio::test]
async fn properties_that_make_no_sense_are_refused() {
    let lake = Lake::new(false).await;
    let refused = [
        ("delta.nonsense", "1", "there is no property delta.nonsense"),
        ("delta.constraints.c", "id > 0", "property delta.constraints.c: pass constraints as constraints, not as properties"),
        (
            "delta.enableIcebergCompatV2",
            "true",
            "delta.enableIcebergCompatV2: set delta.columnMapping.mode to name or id as well",
        ),
        (
            "delta.columnMapping.mode",
            "id",
            "property delta.columnMapping.mode: only a new table can have the mode id; set it to name",
        ),
        (
            "delta.dataSkippingStatsColumns",
            "id,nope",
            "delta.dataSkippingStatsColumns: there is no column `nope`; there are: id, v",
        ),
    ];
    for (name, value, expected) in refused {
        check_refused(&lake, lake.table.alter().set_properties([(name, value)]), ErrorKind::InvalidInput, expected).await;
    }
    let expected = "the table does not set these properties: a, b";
    check_refused(&lake, lake.table.alter().change(unset(&["a", "b"], false)), ErrorKind::InvalidInput, expected).await;
    assert!(!lake.table.alter().change(unset(&["a", "b"], true)).run().await.unwrap().committed);
}

#[tokio::test]
async fn row_tracking_gives_ids_to_old_files() {
    let lake = Lake::new(false).await;
    let outcome = lake.table.alter().set_properties([("delta.enableRowTracking", "true")]).run().await.unwrap();
    assert_eq!(outcome.version, MADE + 3);
    let mut operations = Vec::new();
    for version in MADE + 1..=MADE + 3 {
        operations.push(operation(&lake, version).await.0);
    }
    assert_eq!(operations, ["UPGRADE PROTOCOL", "ROW TRACKING BACKFILL", "SET TBLPROPERTIES"]);
    let mut ids = Vec::new();
    for action in lake.actions(MADE + 2).await.unwrap() {
        if let Action::Add(add) = action {
            assert!(!add.data_change);
            ids.push((add.base_row_id, add.default_row_commit_version));
        }
    }
    ids.sort();
    let version = i64::try_from(MADE + 2).unwrap();
    assert_eq!(ids, [(Some(0), Some(version)), (Some(10), Some(version))]);
    lake.table.write(stream([(21, 0)])).run().await.unwrap();
    let snapshot = lake.table.snapshot().await.unwrap();
    assert_eq!(snapshot.scan().filter("_metadata.row_id = 20 AND id = 21").count().await.unwrap(), 1);
    assert_eq!(snapshot.scan().filter("_metadata.row_id < 20").count().await.unwrap(), 20);
}

#[tokio::test]
async fn row_tracking_while_suspended_is_refused() {
    let lake = lake_with(&[("delta.rowTrackingSuspended", "true")]).await;
    let expected = "property delta.enableRowTracking: files get no row ids while delta.rowTrackingSuspended is true; unset that \
                    property in a call of its own first";
    let alter = lake.table.alter().set_properties([("delta.enableRowTracking", "true"), ("delta.rowTrackingSuspended", "false")]);
    check_refused(&lake, alter, ErrorKind::InvalidInput, expected).await;
}

#[tokio::test]
async fn timestamps_record_their_beginning() {
    let lake = lake_with(&[("delta.enableInCommitTimestamps", "true")]).await;
    let timestamp = info(&lake, MADE + 1).await.in_commit_timestamp().unwrap();
    let properties = lake.table.snapshot().await.unwrap().properties().clone();
    assert_eq!(properties.in_commit_timestamp_enablement_version, Some(MADE + 1));
    assert_eq!(properties.in_commit_timestamp_enablement_timestamp, Some(timestamp));
    lake.table.alter().change(unset(&["delta.enableInCommitTimestamps"], false)).run().await.unwrap();
    let configuration = lake.table.snapshot().await.unwrap().metadata().configuration.clone();
    assert_eq!(configuration, [("delta.enableDeletionVectors".to_owned(), Some("false".to_owned()))].into());
    assert_eq!(info(&lake, MADE + 2).await.in_commit_timestamp(), None);
}

#[tokio::test]
async fn name_and_description_are_metadata() {
    let lake = Lake::new(false).await;
    let described = AlterChange::SetDescription { description: Some("All of them.".to_owned()) };
    lake.table.alter().change(described).run().await.unwrap();
    let expected = json!({ "properties": r#"{"comment":"All of them."}"# });
    assert_eq!(operation(&lake, MADE + 1).await, ("SET TBLPROPERTIES".to_owned(), expected));
    lake.table.alter().change(AlterChange::SetName { name: Some("rows".to_owned()) }).run().await.unwrap();
    let metadata = lake.table.snapshot().await.unwrap().metadata().clone();
    assert_eq!((metadata.name.as_deref(), metadata.description.as_deref()), (Some("rows"), Some("All of them.")));
}

#[tokio::test]
async fn add_feature_raises_the_protocol() {
    let lake = Lake::new(false).await;
    let add = |name: &str| AlterChange::AddFeature { name: name.to_owned() };
    lake.table.alter().change(add("DELETIONVECTORS")).run().await.unwrap();
    let expected = json!({ "properties": r#"{"delta.feature.deletionVectors":"supported"}"# });
    assert_eq!(operation(&lake, MADE + 1).await, ("SET TBLPROPERTIES".to_owned(), expected));
    assert!(!lake.table.alter().change(add("deletionVectors")).run().await.unwrap().committed);
    let expected = "there is no table feature nope";
    check_refused(&lake, lake.table.alter().change(add("nope")), ErrorKind::InvalidInput, expected).await;
    let expected = "table feature clustering: set the clustering columns instead";
    check_refused(&lake, lake.table.alter().change(add("clustering")), ErrorKind::InvalidInput, expected).await;
    let error = lake.table.alter().change(add("catalogManaged")).run().await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::UnsupportedFeature { features: vec!["catalogManaged".to_owned()] });
}
