use lakebed_core::action::DeletionVectorDescriptor;
use lakebed_core::schema::mapping::MappingMode;
use lakebed_core::schema::{PrimitiveType, StructField, StructType};
use proptest::prelude::*;

use super::*;
use crate::kit::action;
use crate::scan::file::FileRows;
use crate::scan::row_column::{ChangeType, FileChange, RowColumn, RowColumnKind};
use crate::scan::row_tracking::{FileRowTracking, MaterializedColumns};

fn schema() -> StructType {
    StructType {
        fields: vec![
            StructField::new("id", PrimitiveType::Long, false),
            StructField::new("s", StructType { fields: vec![StructField::new("x", PrimitiveType::String, true)] }, true),
            StructField::new("day", PrimitiveType::Date, true),
        ],
    }
}

fn vector() -> DeletionVectorDescriptor {
    serde_json::from_value(action::vector("u", action::VECTOR_FILE, 4)).unwrap()
}

fn file(path: &str) -> ScanFile {
    ScanFile {
        path: path.to_owned(),
        size: 1234,
        range: Some(100..600),
        partition_values: [("day".to_owned(), Some("2026-11-21".to_owned()))].into(),
        deletion_vector: Some(FileRows::Stored(vector())),
        only: Some(FileRows::Stored(DeletionVectorDescriptor { offset: None, ..vector() })),
        num_records: Some(100),
        row_tracking: FileRowTracking { base_row_id: Some(7), default_row_commit_version: Some(3) },
        modification_time: 1_700_000_000_000,
        change: Some(FileChange { change_type: ChangeType::InFile, version: 9, timestamp_ms: 1_700_000_000_001 }),
    }
}

fn task() -> ScanTask {
    let spec = ScanSpec {
        table_url: "s3://bucket/table".to_owned(),
        schema: schema(),
        partition_columns: vec!["day".to_owned()],
        mapping_mode: MappingMode::Name,
        columns: Some(vec!["s.x".to_owned(), "id".to_owned()]),
        filter: Some("id > 5 AND day = DATE '2026-11-21'".into()),
        now_ms: 1_700_000_000_123,
        limit: Some(10),
        row_columns: vec![
            RowColumn { kind: RowColumnKind::FilePath, name: "_path".to_owned() },
            RowColumn { kind: RowColumnKind::RowId, name: "_id".to_owned() },
        ],
        materialized: MaterializedColumns {
            row_id: Some("_row-id-col-1".to_owned()),
            row_commit_version: Some("_row-commit-version-col-1".to_owned()),
        },
        clone_sources: vec!["s3://bucket/source".to_owned()],
    };
    let other = ScanFile { path: "s3://other/c.parquet".to_owned(), ..Default::default() };
    ScanTask { spec, files: vec![file("day=2026-11-21/a%20b.parquet"), other] }
}

/// Returns the bytes of a task after `change` modified their JSON.
fn changed(change: impl FnOnce(&mut serde_json::Value)) -> Vec<u8> {
    let mut value: serde_json::Value = serde_json::from_slice(&task().to_bytes().unwrap()).unwrap();
    change(&mut value);
    serde_json::to_vec(&value).unwrap()
}

#[track_caller]
fn check_refused(bytes: &[u8], expected: &str) {
    let error = ScanTask::from_bytes(bytes).unwrap_err().to_string();
    assert!(error.contains(expected), "{error}");
}

#[test]
fn a_task_comes_back_from_its_bytes() {
    let task = task();
    assert_eq!(ScanTask::from_bytes(&task.to_bytes().unwrap()).unwrap(), task);
    let spec = ScanSpec { table_url: "memory://t/".to_owned(), schema: schema(), ..Default::default() };
    let plain = ScanTask { spec, files: Vec::new() };
    assert_eq!(ScanTask::from_bytes(&plain.to_bytes().unwrap()).unwrap(), plain);
}

#[test]
fn output_schema_ends_with_row_columns() {
    let schema = task().spec.output_schema().unwrap();
    let fields: Vec<String> =
        schema.fields().iter().map(|field| format!("{} {} {}", field.name(), field.data_type(), field.is_nullable())).collect();
    assert_eq!(fields, [r#"s Struct("x": Utf8) true"#, "id Int64 false", "_path Utf8 false", "_id Int64 true"]);
}

#[test]
fn bytes_of_something_else_are_refused() {
    check_refused(b"", "damaged, or they are of another kind");
    check_refused(b"PAR1", "damaged, or they are of another kind");
    check_refused(b"{}", "damaged, or they are of another kind");
    check_refused(&changed(|task| task["scan_task"] = 1.into()), "its format is 1, and this version of lakebed reads format 2");
    check_refused(&changed(|task| task["surprise"] = 1.into()), "damaged, or they are of another kind");
    check_refused(&changed(|task| task["schema"] = "{".into()), "schema");
    check_refused(&changed(|task| task["mapping_mode"] = "ids".into()), "mapping mode");
    check_refused(&changed(|task| task["row_columns"][0][0] = "secret".into()), "metadata column secret");
    check_refused(&changed(|task| task["columns"] = serde_json::json!(["nope"])), "no column nope");
    check_refused(&changed(|task| task["partition_columns"] = serde_json::json!(["nope"])), "partition column nope");
    check_refused(&changed(|task| task["row_columns"][0][1] = "id".into()), "the result would have two columns id");
}

#[test]
fn task_with_invalid_files_is_refused() {
    check_refused(&changed(|task| task["files"][0]["path"] = "../secret".into()), "..");
    check_refused(&changed(|task| task["files"][0]["num_records"] = 5.into()), "deletes 6 rows, but the file has 5");
    check_refused(&changed(|task| task["files"][0]["base_row_id"] = (-1).into()), "negative");
    check_refused(&changed(|task| task["files"][0]["size"] = (-1).into()), "damaged");
    check_refused(&changed(|task| task["files"][0]["deletion_vector"]["pathOrInlineDv"] = "x".into()), "x");
    check_refused(&changed(|task| task["files"][0]["only_deleted_by"]["pathOrInlineDv"] = "x".into()), "x");
    check_refused(
        &changed(|task| task["files"][0]["range"] = serde_json::json!([5, 5])),
        "this is not a scan task that can be read: day=2026-11-21/a%20b.parquet: its range contains no bytes",
    );
    check_refused(&changed(|task| task["files"][0]["change"]["type"] = "undone".into()), "no change type undone");
    check_refused(&changed(|task| task["row_columns"][0][0] = "change_type".into()), "c.parquet is not a file of a change");
}

#[test]
fn a_root_with_credentials_never_becomes_bytes() {
    for root in ["https://user:password@host/t", "https://host/t?sig=abc", "not a url"] {
        let mut task = task();
        task.spec.table_url = root.to_owned();
        let error = task.to_bytes().unwrap_err().to_string();
        assert!(!error.contains("password@") && !error.contains("abc"), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0_usize..2000, with in any::<u8>()) {
        let _ = ScanTask::from_bytes(&bytes);
        let mut good = task().to_bytes().unwrap();
        let at = at % good.len();
        good[at] = with;
        let _ = ScanTask::from_bytes(&good);
    }
}
