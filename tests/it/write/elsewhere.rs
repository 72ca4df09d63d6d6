//! Writes by several processes: the files of one part, the commit of all parts, and commits of
//! other writers in between.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use futures::TryStreamExt;
use lakebed::create::CreateOptions;
use lakebed::dml::Effects;
use lakebed::dml::write::{PlannedWrite, SchemaMode, WriteMode, WriteOptions, WriteTask, write_files};
use lakebed::transaction::Application;
use lakebed::write::PartNumber;
use lakebed::{ErrorKind, Result};
use lakebed_core::schema::{PrimitiveType, StructField, StructType};
use lakebed_tests::TableBuilder;
use lakebed_tests::action::add;
use lakebed_tests::error::check_error;
use lakebed_tests::lake::stream_of;
use object_store::{ObjectStore, ObjectStoreExt};
use serde_json::json;

/// Returns rows of `id` and `name`. All names are the given string.
fn rows(ids: impl IntoIterator<Item = i64>, name: &str) -> RecordBatch {
    let ids = Int64Array::from_iter_values(ids);
    let names: ArrayRef = Arc::new(StringArray::from(vec![name; ids.len()]));
    RecordBatch::try_from_iter_with_nullable([("id", Arc::new(ids) as ArrayRef, true), ("name", names, true)]).unwrap()
}

fn columns(names: &[(&str, PrimitiveType)]) -> StructType {
    StructType { fields: names.iter().map(|(name, data_type)| StructField::new(*name, *data_type, true)).collect() }
}

fn id_and_name() -> StructType {
    columns(&[("id", PrimitiveType::Long), ("name", PrimitiveType::String)])
}

async fn with_rows(ids: &[i64]) -> TableBuilder {
    let builder = TableBuilder::new();
    builder.table().write(stream_of(rows(ids.iter().copied(), "old"))).run().await.unwrap();
    builder
}

async fn plan(builder: &TableBuilder, schema: StructType, options: WriteOptions) -> WriteTask {
    match builder.table().plan_write(schema, options).await.unwrap() {
        PlannedWrite::Task(task) => WriteTask::from_bytes(&task.to_bytes().unwrap()).unwrap(),
        PlannedWrite::Done(outcome) => panic!("nothing to write at version {}", outcome.version),
        PlannedWrite::CountRows => panic!("this is no batch of a stream"),
    }
}

/// Writes a part like a process of its own.
async fn part(builder: &TableBuilder, task: &WriteTask, number: u64, rows: RecordBatch) -> Result<Effects> {
    let part = PartNumber { number, of: 3 };
    let written = write_files(&builder.store(), &builder.new_env(), task, part, stream_of(rows)).await?;
    Effects::from_bytes(&written.to_bytes()?)
}

async fn ids(builder: &TableBuilder) -> Vec<i64> {
    let snapshot = builder.table().snapshot().await.unwrap();
    let batches = snapshot.scan().select(["id"]).stream().await.unwrap().collect_all().await.unwrap();
    let mut ids: Vec<i64> =
        batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec()).collect();
    ids.sort_unstable();
    ids
}

#[tokio::test]
async fn parts_become_one_version() {
    let builder = with_rows(&[1]).await;
    let task = plan(&builder, id_and_name(), WriteOptions::default()).await;
    let mut written = Vec::new();
    for (number, ids) in [(0, [2, 3]), (2, [4, 5])] {
        written.push(part(&builder, &task, number, rows(ids, "new")).await.unwrap());
    }
    assert_eq!(ids(&builder).await, [1], "nothing is seen before the commit");
    let outcome = builder.table().commit_write(task, written).await.unwrap();
    assert_eq!((outcome.version, outcome.metrics.added_files, outcome.metrics.output_rows), (1, 2, 4));
    assert_eq!(ids(&builder).await, [1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn planned_write_makes_table_or_appends() {
    let builder = TableBuilder::new();
    let task = plan(&builder, id_and_name(), WriteOptions::default()).await;
    let written = part(&builder, &task, 0, rows([7], "mine")).await.unwrap();
    builder.table().write(stream_of(rows([1], "theirs"))).run().await.unwrap();
    assert_eq!(builder.table().commit_write(task, vec![written]).await.unwrap().version, 1);
    assert_eq!(ids(&builder).await, [1, 7]);
}

#[tokio::test]
async fn planned_overwrite_conflicts_with_append_it_covers() {
    let builder = with_rows(&[1, 2, 30]).await;
    let options = WriteOptions { mode: WriteMode::Overwrite, replace_where: Some("id < 10".to_owned()), ..Default::default() };
    let task = plan(&builder, id_and_name(), options).await;
    let written = part(&builder, &task, 0, rows([3], "new")).await.unwrap();
    builder.table().write(stream_of(rows([40], "theirs"))).run().await.unwrap();
    builder.table().commit_write(task, vec![written]).await.unwrap();
    assert_eq!(ids(&builder).await, [3, 30, 40]);

    let task = plan(&builder, id_and_name(), WriteOptions { mode: WriteMode::Overwrite, ..Default::default() }).await;
    let written = part(&builder, &task, 0, rows([5], "new")).await.unwrap();
    let before = builder.objects().await.len();
    builder.table().write(stream_of(rows([41], "theirs"))).run().await.unwrap();
    let refused = builder.table().commit_write(task, vec![written]).await.unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::CommitConflict { .. }), "{refused}");
    assert_eq!((ids(&builder).await, builder.objects().await.len()), (vec![3, 30, 40, 41], before));
}

#[tokio::test]
async fn planned_replace_repeats_search_not_files() {
    let builder = with_rows(&[1, 30]).await;
    let options = WriteOptions { mode: WriteMode::Overwrite, replace_where: Some("id < 10".to_owned()), ..Default::default() };
    let task = plan(&builder, id_and_name(), options).await;
    let written = vec![part(&builder, &task, 0, rows([3], "new")).await.unwrap()];
    builder.table().write(stream_of(rows([2], "theirs"))).run().await.unwrap();
    let (one, other) =
        tokio::join!(async { builder.table().commit_write(task.clone(), written.clone()).await.unwrap() }, async {
            builder.table().commit_write(task.clone(), written.clone()).await.unwrap()
        },);
    assert_eq!((one.version, other.version), (2, 2));
    assert_eq!(ids(&builder).await, [3, 30]);
}

#[tokio::test]
async fn current_time_of_plan_holds_until_commit() {
    let builder = with_rows(&[1, 6, 9]).await;
    let where_ = "id < cast(current_timestamp() AS BIGINT)".to_owned();
    let options = WriteOptions { mode: WriteMode::Overwrite, replace_where: Some(where_), ..Default::default() };
    let task = plan(&builder, id_and_name(), options).await;
    let mut json: serde_json::Value = serde_json::from_slice(&task.to_bytes().unwrap()).unwrap();
    // This simulates that the write was planned five seconds after the epoch.
    json["now_ms"] = 5_000.into();
    let task = WriteTask::from_bytes(&serde_json::to_vec(&json).unwrap()).unwrap();
    let refused = part(&builder, &task, 0, rows([7], "new")).await.unwrap_err();
    assert_eq!(*refused.kind(), ErrorKind::ConstraintViolation, "{refused}");
    let written = part(&builder, &task, 0, rows([3], "new")).await.unwrap();
    builder.table().commit_write(task, vec![written]).await.unwrap();
    assert_eq!(ids(&builder).await, [3, 6, 9]);
}

#[tokio::test]
async fn written_files_against_stricter_table_are_refused() {
    let builder = with_rows(&[1]).await;
    let task = plan(&builder, id_and_name(), WriteOptions::default()).await;
    let written = part(&builder, &task, 0, rows([-5], "new")).await.unwrap();
    let mut metadata = serde_json::to_value(builder.table().snapshot().await.unwrap().metadata()).unwrap();
    metadata["configuration"]["delta.constraints.positive"] = json!("id > 0");
    builder.put_log(&format!("{:020}.json", 1), json!({"metaData": metadata}).to_string().into_bytes()).await;
    let refused = builder.table().commit_write(task, vec![written]).await.unwrap_err();
    assert!(refused.message().contains("another writer changed the table's schema or rules"), "{refused}");
    assert_eq!((ids(&builder).await, builder.objects().await.len()), (vec![1], 1));
}

#[tokio::test]
async fn written_files_commit_once() {
    let overwrite =
        |where_: &str| WriteOptions { mode: WriteMode::Overwrite, replace_where: Some(where_.to_owned()), ..Default::default() };
    let once = WriteOptions { txn: Some(Application::new("app", 1)), ..Default::default() };
    for options in [WriteOptions::default(), once, overwrite("id < 100")] {
        let builder = with_rows(&[1]).await;
        let task = plan(&builder, id_and_name(), options.clone()).await;
        let written = vec![part(&builder, &task, 0, rows([2, 3], "new")).await.unwrap()];
        let first = builder.table().commit_write(task.clone(), written.clone()).await.unwrap();
        builder.table().write(stream_of(rows([200], "theirs"))).run().await.unwrap();
        let again = builder.table().commit_write(task, written).await.unwrap();
        assert_eq!((again.version, again.committed, again.metrics.output_rows), (first.version, true, 2), "{options:?}");
        let kept = if options.replace_where.is_some() { vec![2, 3, 200] } else { vec![1, 2, 3, 200] };
        assert_eq!(ids(&builder).await, kept, "{options:?}");
    }
    // The first commit creates the table.
    let builder = TableBuilder::new();
    let task = plan(&builder, id_and_name(), WriteOptions { mode: WriteMode::Error, ..Default::default() }).await;
    let written = vec![part(&builder, &task, 0, rows([2], "new")).await.unwrap()];
    builder.table().commit_write(task.clone(), written.clone()).await.unwrap();
    assert_eq!(builder.table().commit_write(task, written).await.unwrap().version, 0);
    assert_eq!(ids(&builder).await, [2]);
}

#[tokio::test]
async fn written_files_for_recreated_table_are_refused() {
    let builder = with_rows(&[1]).await;
    let task = plan(&builder, id_and_name(), WriteOptions::default()).await;
    let written = part(&builder, &task, 0, rows([2], "new")).await.unwrap();
    let metadata = serde_json::to_value(builder.table().snapshot().await.unwrap().metadata()).unwrap();
    for object in builder.observed().list(None).try_collect::<Vec<_>>().await.unwrap() {
        builder.observed().delete(&object.location).await.unwrap();
    }
    let mut anew = metadata;
    anew["id"] = json!("another");
    let protocol = json!({"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}});
    builder.put_log(&format!("{:020}.json", 0), format!("{protocol}\n{}", json!({"metaData": anew})).into_bytes()).await;
    let refused = builder.table().commit_write(task, vec![written]).await.unwrap_err();
    assert!(refused.message().contains("deleted and created again"), "{refused}");
    assert_eq!(ids(&builder).await, [] as [i64; 0]);
}

#[tokio::test]
async fn a_part_that_is_refused_leaves_nothing() {
    let builder = with_rows(&[1]).await;
    let options = WriteOptions { mode: WriteMode::Overwrite, replace_where: Some("id > 0".to_owned()), ..Default::default() };
    let task = plan(&builder, id_and_name(), options).await;
    let refused = part(&builder, &task, 0, rows([2, -1], "new")).await.unwrap_err();
    assert_eq!(*refused.kind(), ErrorKind::ConstraintViolation);
    let written = part(&builder, &task, 1, rows([3], "new")).await.unwrap();
    assert_eq!(builder.objects().await.len(), 2);
    builder.table().abort_write(vec![written]).await;
    assert_eq!((ids(&builder).await, builder.objects().await.len()), (vec![1], 1));
}

#[tokio::test]
async fn known_application_write_deletes_its_files() {
    let builder = with_rows(&[1]).await;
    for (batch, expected) in [(4, Some(1)), (4, None), (3, None), (5, Some(2))] {
        let task = plan(&builder, id_and_name(), WriteOptions::default()).await;
        let written = part(&builder, &task, 0, rows([batch], "new")).await.unwrap();
        let outcome =
            builder.table().commit_write(task.with_txn(Application::new("stream", batch)), vec![written]).await.unwrap();
        assert_eq!(outcome.committed.then_some(outcome.version), expected);
    }
    assert_eq!((ids(&builder).await, builder.objects().await.len()), (vec![1, 4, 5], 3));
    let known = WriteOptions { txn: Some(Application::new("stream", 5)), ..Default::default() };
    let planned = builder.table().plan_write(id_and_name(), known).await.unwrap();
    assert!(matches!(planned, PlannedWrite::Done(outcome) if outcome.version == 2));
}

#[tokio::test]
async fn identity_values_of_parts_are_distinct() {
    let builder = TableBuilder::new();
    let mut number = StructField::new("id", PrimitiveType::Long, true);
    for (key, value) in [("start", json!(100)), ("step", json!(10)), ("allowExplicitInsert", json!(false))] {
        number.metadata.insert(format!("delta.identity.{key}"), value);
    }
    let schema = StructType { fields: vec![number, StructField::new("name", PrimitiveType::String, true)] };
    builder.table().create(schema).run().await.unwrap();
    let mut all = Vec::new();
    for _ in 0..2 {
        let task = plan(&builder, columns(&[("name", PrimitiveType::String)]), WriteOptions::default()).await;
        assert!(task.numbers_rows().unwrap());
        let mut written = Vec::new();
        for (number, count) in [(0, 1), (1, 3), (2, 2)] {
            written.push(part(&builder, &task, number, rows(0..count, "x").project(&[1]).unwrap()).await.unwrap());
        }
        builder.table().commit_write(task, written).await.unwrap();
        all.push(ids(&builder).await);
    }
    // PartNumber p of three gives its rows the numbers p, p + 3, p + 6, ... The second write continues
    // after the greatest number.
    let first = [100, 110, 120, 140, 150, 170];
    let second = first.map(|number| number + 80);
    assert_eq!(all, [first.to_vec(), [first, second].concat()]);
}

#[tokio::test]
async fn new_columns_keep_planned_physical_names() {
    let builder = TableBuilder::new();
    let properties: HashMap<String, String> = [("delta.columnMapping.mode".to_owned(), "name".to_owned())].into();
    builder
        .table()
        .create(columns(&[("id", PrimitiveType::Long)]))
        .options(CreateOptions { properties, ..CreateOptions::default() })
        .run()
        .await
        .unwrap();
    let task = plan(&builder, id_and_name(), WriteOptions { schema_mode: SchemaMode::Merge, ..Default::default() }).await;
    let written = part(&builder, &task, 1, rows([1], "told")).await.unwrap();
    // An append of another writer in between does not change the physical names.
    builder.table().write(stream_of(rows([2], "x").project(&[0]).unwrap())).run().await.unwrap();
    builder.table().commit_write(task, vec![written]).await.unwrap();
    let snapshot = builder.table().snapshot().await.unwrap();
    let found = snapshot.scan().filter("name = 'told' AND id = 1").count().await.unwrap();
    assert_eq!((ids(&builder).await, found), (vec![1, 2], 1));
}

#[test]
fn written_files_outside_table_are_refused() {
    let bytes = |path: &str| {
        json!({
            "effects": 1, "added": [add(path)["add"]], "changes": [], "deleted": [],
            "new_rows": 1, "copied_rows": 0, "keeps_row_ids": false, "marks": [],
        })
        .to_string()
        .into_bytes()
    };
    assert_eq!(Effects::from_bytes(&bytes("a/b.parquet")).unwrap().new_rows(), 1);
    for (outside, kind) in [
        ("/etc/passwd", ErrorKind::InvalidInput),
        ("s3://other/x.parquet", ErrorKind::InvalidInput),
        ("../x.parquet", ErrorKind::Corrupt { path: "path \"../x.parquet\"".to_owned() }),
        ("_delta_log/00000000000000000000.json", ErrorKind::InvalidInput),
    ] {
        check_error(&Effects::from_bytes(&bytes(outside)).unwrap_err(), &kind, &[outside]);
    }
    let refused = WriteTask::from_bytes(br#"{"write_task": 9}"#).unwrap_err();
    assert!(refused.message().contains("its format is 9, and this version of lakebed reads format 5"), "{refused}");
}

/// Returns the files of a part with a change in their bytes.
fn told_otherwise(written: &Effects, change: impl Fn(&mut serde_json::Value)) -> Effects {
    let mut told: serde_json::Value = serde_json::from_slice(&written.to_bytes().unwrap()).unwrap();
    change(&mut told);
    Effects::from_bytes(&serde_json::to_vec(&told).unwrap()).unwrap()
}

#[tokio::test]
async fn written_rows_must_add_up() {
    let builder = with_rows(&[1]).await;
    let task = plan(&builder, id_and_name(), WriteOptions { mode: WriteMode::Overwrite, ..Default::default() }).await;
    let written = part(&builder, &task, 0, rows([2, 3], "new")).await.unwrap();
    let other = part(&builder, &task, 1, rows([4], "new")).await.unwrap();
    let cases = [
        (told_otherwise(&written, |told| told["new_rows"] = json!(3)), "3 rows were given, but the new file has 2"),
        (told_otherwise(&written, |told| told["added"] = json!([])), "2 rows were given, but the 0 new files have 0"),
        (
            told_otherwise(&written, |told| told["added"][0]["stats"] = json!(r#"{"numRecords":1}"#)),
            "2 rows were given, but the new file has 1",
        ),
        (
            told_otherwise(&written, |told| told["added"][0]["stats"] = json!(null)),
            "2 rows were given, but the statistics of the new file have no row count",
        ),
    ];
    for (wrong, counts) in cases {
        let error = builder.table().commit_write(task.clone(), vec![other.clone(), wrong]).await.unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Internal);
        assert!(
            error.message().contains(&format!(
                ": row counts differ: {counts}. Nothing was committed. This is a bug in lakebed: please report it."
            )),
            "{error}"
        );
        assert_eq!((ids(&builder).await, builder.table().snapshot().await.unwrap().version()), (vec![1], 0));
    }
    assert_eq!(builder.table().commit_write(task, vec![other, written]).await.unwrap().version, 1);
    assert_eq!(ids(&builder).await, [2, 3, 4]);
}

#[tokio::test]
async fn effects_of_changes_are_no_write() {
    let builder = with_rows(&[1]).await;
    let task = plan(&builder, id_and_name(), WriteOptions::default()).await;
    let written = part(&builder, &task, 0, rows([2, 3], "new")).await.unwrap();
    let file = json!({"path": "a.parquet", "vector": null, "rows": "all"});
    let changes = json!({"path": "_change_data/c", "partitionValues": {}, "size": 1, "dataChange": false});
    let cases = [
        told_otherwise(&written, |told| told["deleted"] = json!([file])),
        told_otherwise(&written, |told| told["changes"] = json!([changes])),
        told_otherwise(&written, |told| told["copied_rows"] = json!(1)),
        told_otherwise(&written, |told| told["keeps_row_ids"] = json!(true)),
    ];
    for wrong in cases {
        let refused = builder.table().commit_write(task.clone(), vec![wrong]).await.unwrap_err();
        assert_eq!(*refused.kind(), ErrorKind::InvalidInput);
        assert!(refused.message().contains("commits only the effects of parts that add rows"), "{refused}");
    }
    assert_eq!(builder.table().commit_write(task, vec![written]).await.unwrap().version, 1);
    assert_eq!(ids(&builder).await, [1, 2, 3]);
}
