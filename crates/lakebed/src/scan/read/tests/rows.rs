//! The returned rows: deletion vectors, predicates, limits, and columns about rows.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, BooleanArray, Int64Array, StringArray};
use parquet::file::properties::EnabledStatistics;
use proptest::prelude::*;

use lakebed_core::schema::PrimitiveType;

use super::*;
use crate::scan::balance::balanced;
use crate::scan::read::RowTest;
use crate::scan::{ChangeType, FileChange, FileRowTracking, RowColumn, RowColumnKind};

/// Returns a file with columns `a` (long) and `t` (string), with small pages and row groups of
/// `group` rows.
fn stored(a: Vec<Option<i64>>, t: Vec<String>, group: usize, statistics: EnabledStatistics) -> Vec<u8> {
    let columns: Vec<(&str, ArrayRef)> = vec![("a", Arc::new(Int64Array::from(a))), ("t", Arc::new(StringArray::from(t)))];
    let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true))).unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(group))
        .set_data_page_row_count_limit(10)
        .set_write_batch_size(10)
        .set_statistics_enabled(statistics)
        .build();
    write(&batch, properties)
}

/// Returns a file with the rows 0, 1, 2 …, where `a` is the number of the row and `t` is its text.
fn counted(rows: i64, group: usize) -> Vec<u8> {
    let texts = (0..rows).map(|row| format!("t{row}")).collect();
    stored((0..rows).map(Some).collect(), texts, group, EnabledStatistics::Page)
}

fn table() -> Table {
    Table::new(vec![StructField::new("a", PrimitiveType::Long, true), StructField::new("t", PrimitiveType::String, true)])
}

fn row_column(kind: RowColumnKind, name: &str) -> RowColumn {
    RowColumn::new(kind, name)
}

/// Cuts the one file of a table into this many parts of equal size.
fn cut(table: &mut Table, parts: u64) {
    let file = table.task.files.pop().unwrap();
    let start = |part: u64| file.size * part / parts;
    let part = |part: u64| ScanFile { range: Some(start(part)..start(part + 1)), ..file.clone() };
    table.task.files = (0..parts).map(part).filter(|part| part.range.as_ref().is_some_and(|range| !range.is_empty())).collect();
}

#[tokio::test]
async fn deleted_rows_do_not_come_out() {
    let mut table = table();
    table.add(counted(50, 20)).await.deletion_vector = deleting([0, 19, 20, 49]);
    let mut expected: Vec<String> = (0..50).map(|row| format!("{row}|t{row}")).collect();
    for row in [49, 20, 19, 0] {
        expected.remove(row);
    }
    assert_eq!(table.rows().await, expected);
    assert_eq!(table.filter("a IN (19, 21, 48, 49)").rows().await, ["21|t21", "48|t48"]);
    assert_eq!(table.columns(&["t"]).rows().await, ["t21", "t48"]);
}

#[tokio::test]
async fn file_with_all_rows_deleted_is_empty() {
    let mut table = table();
    table.add(counted(30, 10)).await.deletion_vector = deleting(0..30);
    table.add(counted(1, 10)).await;
    assert_eq!(table.rows().await, ["0|t0"]);
}

#[tokio::test]
async fn file_and_position_are_right_despite_skipping() {
    let mut table = table();
    table.add(counted(100, 30)).await.deletion_vector = deleting([71]);
    table.add(counted(5, 30)).await;
    table.task.spec.row_columns = vec![row_column(RowColumnKind::RowIndex, "_row"), row_column(RowColumnKind::FilePath, "_file")];
    table.columns(&["t"]).filter("a >= 70 AND a <= 72 OR a = 3");
    assert_eq!(table.rows().await, ["t3|3|f0.parquet", "t70|70|f0.parquet", "t72|72|f0.parquet", "t3|3|f1.parquet"]);
    // It also holds without any column of the table.
    table.columns(&[]).task.spec.filter = None;
    table.task.spec.limit = Some(2);
    assert_eq!(table.rows().await, ["0|f0.parquet", "1|f0.parquet"]);
}

#[tokio::test]
async fn row_ids_are_stored_or_counted() {
    let mut table = table();
    table.task.spec.row_columns =
        vec![row_column(RowColumnKind::RowId, "_id"), row_column(RowColumnKind::RowCommitVersion, "_version")];
    table.task.spec.materialized.row_id = Some("_row-id-col-x".to_owned());
    table.task.spec.materialized.row_commit_version = Some("_row-version-col-x".to_owned());
    let column = |values: Vec<Option<i64>>| Arc::new(Int64Array::from(values)) as ArrayRef;
    let moved = vec![
        ("a", column(vec![Some(1), Some(2), Some(3)])),
        ("_row-id-col-x", column(vec![Some(900), None, Some(901)])),
        ("_row-version-col-x", column(vec![None, Some(4), None])),
    ];
    let file = table.add(parquet(moved)).await;
    file.row_tracking = FileRowTracking { base_row_id: Some(100), default_row_commit_version: Some(7) };
    let file = table.add(counted(2, 10)).await;
    file.row_tracking = FileRowTracking { base_row_id: Some(50), default_row_commit_version: Some(8) };
    table.add(counted(1, 10)).await;
    table.columns(&["a"]);
    assert_eq!(table.rows().await, ["1|900|7", "2|101|4", "3|901|7", "0|50|8", "1|51|8", "0|-|-"]);
    assert_eq!(table.filter("a = 2").rows().await, ["2|101|4"]);
}

#[tokio::test]
async fn limit_counts_filtered_rows_across_files() {
    let mut table = table();
    table.add(counted(10, 4)).await.deletion_vector = deleting([1]);
    table.add(counted(10, 4)).await;
    table.columns(&["a"]).task.spec.limit = Some(3);
    assert_eq!(table.rows().await, ["0", "2", "3"]);
    table.task.spec.limit = Some(11);
    assert_eq!(table.rows().await, ["0", "2", "3", "4", "5", "6", "7", "8", "9", "0", "1"]);
    table.filter("a >= 8");
    assert_eq!(table.rows().await, ["8", "9", "8", "9"]);
    table.task.spec.limit = Some(3);
    assert_eq!(table.rows().await, ["8", "9", "8"]);
    table.task.spec.limit = Some(0);
    assert_eq!(table.rows().await, [""; 0]);
}

#[tokio::test]
async fn scan_without_columns_reads_only_log() {
    let mut table = table();
    table.columns(&[]);
    // This file does not exist. The number of its rows comes from the log alone.
    table.task.files.push(ScanFile {
        path: "gone.parquet".to_owned(),
        num_records: Some(100),
        deletion_vector: deleting([5, 6]),
        ..Default::default()
    });
    let count = |batches: Vec<RecordBatch>| batches.iter().map(RecordBatch::num_rows).sum::<usize>();
    assert_eq!(count(table.batches().await.unwrap()), 98);
    table.task.spec.limit = Some(7);
    assert_eq!(count(table.batches().await.unwrap()), 7);
    table.task.files.clear();
    table.task.spec.limit = None;
    table.add(counted(30, 7)).await.deletion_vector = deleting([29]);
    assert_eq!(count(table.batches().await.unwrap()), 29);
    table.filter("a < 10 OR a > 27");
    assert_eq!(count(table.batches().await.unwrap()), 11);
}

#[tokio::test]
async fn parts_of_file_give_rows_once() {
    let mut table = table();
    let file = table.add(counted(100, 30)).await;
    (file.deletion_vector, file.row_tracking.base_row_id, file.num_records) = (deleting([45]), Some(1000), Some(100));
    table.task.spec.row_columns = vec![row_column(RowColumnKind::RowIndex, "_row"), row_column(RowColumnKind::RowId, "_id")];
    table.columns(&[]);
    let expected: Vec<String> = (0..100).filter(|row| *row != 45).map(|row| format!("{row}|{}", 1000 + row)).collect();
    for parts in [1, 2, 3, 7] {
        let mut table = Table {
            objects: table.objects.clone(),
            store: table.store.clone(),
            task: table.task.clone(),
            options: table.options.clone(),
        };
        cut(&mut table, parts);
        assert_eq!(table.rows().await, expected);
        // The log has the row count of the file, but not of its parts.
        table.task.spec.row_columns.clear();
        assert_eq!(table.rows().await.len(), 99);
    }
    // Row groups beyond a size that is too small belong to the last part.
    let file = table.task.files.first_mut().unwrap();
    file.size /= 2;
    let pieces = balanced([file.clone()], 1);
    table.task.files = pieces.into_iter().flatten().collect();
    cut(&mut table, 2);
    assert_eq!(table.rows().await, expected);
}

#[tokio::test]
async fn only_rows_deleted_by_vector_are_read() {
    let mut table = table();
    let file = table.add(counted(10_000, 3000)).await;
    file.only = deleting([0, 5, 2999, 3000, 9999]);
    file.num_records = Some(10_000);
    table.task.spec.row_columns = vec![row_column(RowColumnKind::RowIndex, "_row")];
    table.columns(&["a"]);
    assert_eq!(table.rows().await, ["0|0", "5|5", "2999|2999", "3000|3000", "9999|9999"]);
    table.task.files[0].deletion_vector = deleting([5, 6, 9999]);
    assert_eq!(table.rows().await, ["0|0", "2999|2999", "3000|3000"]);
    assert_eq!(table.filter("a > 2000").rows().await, ["2999|2999", "3000|3000"]);
    table.columns(&[]).task.spec.filter = None;
    table.task.spec.row_columns.clear();
    assert_eq!(table.rows().await.len(), 3);
    table.task.files[0].only = deleting([10_000]);
    table.check_corrupt("f0.parquet", &["row 10000,", "only 10000 rows"]).await;
}

#[tokio::test]
async fn change_rows_have_type_version_and_time() {
    let mut table = table();
    let change = |change_type, version| Some(FileChange { change_type, version, timestamp_ms: version as i64 * 1000 + 1 });
    table.add(counted(2, 10)).await.change = change(ChangeType::Insert, 3);
    let told = vec![
        ("a", Arc::new(Int64Array::from(vec![7, 8])) as ArrayRef),
        ("t", Arc::new(StringArray::from(vec!["x", "y"]))),
        ("_change_type", Arc::new(StringArray::from(vec!["update_preimage", "update_postimage"]))),
    ];
    table.add(parquet(told.clone())).await.change = change(ChangeType::InFile, 4);
    // A change type in a data file is a leftover of its writer.
    table.add(parquet(told)).await.change = change(ChangeType::Delete, 5);
    table.task.spec.row_columns = vec![
        row_column(RowColumnKind::ChangeType, "_change_type"),
        row_column(RowColumnKind::CommitVersion, "_commit_version"),
        row_column(RowColumnKind::CommitTimestamp, "_commit_timestamp"),
    ];
    let expected = [
        "0|insert|3|1970-01-01T00:00:03.001Z",
        "1|insert|3|1970-01-01T00:00:03.001Z",
        "7|update_preimage|4|1970-01-01T00:00:04.001Z",
        "8|update_postimage|4|1970-01-01T00:00:04.001Z",
        "7|delete|5|1970-01-01T00:00:05.001Z",
        "8|delete|5|1970-01-01T00:00:05.001Z",
    ];
    assert_eq!(table.columns(&["a"]).rows().await, expected);
    assert_eq!(table.filter("a = 7").rows().await, [expected[2], expected[4]]);
    table.columns(&[]).task.spec.filter = None;
    assert_eq!(table.rows().await.len(), 6);
    table.task.files[0].change = change(ChangeType::InFile, 3);
    table.check_corrupt("f0.parquet", &["_change_type"]).await;
}

#[tokio::test]
async fn filters_on_partition_columns_decide_whole_files() {
    let mut table =
        Table::new(vec![StructField::new("a", PrimitiveType::Long, true), StructField::new("p", PrimitiveType::Integer, true)]);
    table.task.spec.partition_columns = vec!["p".to_owned()];
    for partition in ["1", "2"] {
        table.add(parquet(vec![("a", Arc::new(Int64Array::from(vec![10, 20])) as ArrayRef)])).await.partition_values =
            [("p".to_owned(), Some(partition.to_owned()))].into();
    }
    // A file of a partition that is not read is not even opened.
    table.task.files.push(ScanFile {
        path: "gone.parquet".to_owned(),
        partition_values: [("p".to_owned(), Some("3".to_owned()))].into(),
        ..Default::default()
    });
    assert_eq!(table.filter("p = 2").rows().await, ["10|2", "20|2"]);
    assert_eq!(table.filter("p < 3 AND a = 10").rows().await, ["10|1", "10|2"]);
    assert_eq!(table.filter("p < 3 AND a = p * 10").rows().await, ["10|1", "20|2"]);
}

#[tokio::test]
async fn float_statistics_hiding_nan_skip_nothing() {
    let values = Arc::new(arrow_array::Float64Array::from(vec![1.0, f64::NAN])) as ArrayRef;
    let mut table = Table::of("x", PrimitiveType::Double);
    table.add(parquet(vec![("x", values)])).await;
    // Spark orders NaN above all numbers. The statistics of the file leave NaN out.
    assert_eq!(table.filter("x > 5").rows().await, ["NaN"]);
    let zeros = Arc::new(arrow_array::Float64Array::from(vec![0.0, -0.0])) as ArrayRef;
    let mut table = Table::of("x", PrimitiveType::Double);
    table.add(parquet(vec![("x", zeros)])).await;
    assert_eq!(table.filter("x = -0.0").rows().await.len(), 2);
}

/// A random file, its deleted rows, a random predicate, and how to read.
#[derive(Debug, Clone)]
struct Case {
    a: Vec<Option<i64>>,
    group: usize,
    statistics: bool,
    deleted: BTreeSet<u64>,
    low: i64,
    high: i64,
    batch: usize,
    columns: Vec<&'static str>,
    /// If set, only these rows are read.
    only: Option<BTreeSet<u64>>,
    parts: u64,
}

fn cases() -> impl Strategy<Value = Case> {
    let sorted = any::<bool>();
    let values = prop::collection::vec(prop::option::weighted(0.9, -50_i64..50), 1..400);
    let others = (1_usize..150, any::<bool>(), prop::collection::btree_set(0_u64..400, 0..60), -60_i64..60, 0_i64..40);
    let columns = prop::sample::select(vec![vec!["a", "t"], vec!["t"], vec!["a"], vec!["t", "a"], vec![]]);
    let some = (prop::option::of(prop::collection::btree_set(0_u64..400, 1..200)), 1_u64..5);
    (sorted, values, others, 1_usize..100, columns, some).prop_map(
        |(sorted, mut a, (group, statistics, deleted, low, width), batch, columns, (only, parts))| {
            if sorted {
                a.sort();
            }
            let in_file = |rows: BTreeSet<u64>| rows.into_iter().filter(|row| *row < a.len() as u64).collect();
            let (deleted, only) = (in_file(deleted), only.map(in_file));
            Case { a, group, statistics, deleted, low, high: low + width, batch, columns, only, parts }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn filtered_scan_equals_plain_loop(case in cases()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let texts: Vec<String> = (0..case.a.len()).map(|row| format!("t{row}")).collect();
        let mut expected = Vec::new();
        for (row, value) in case.a.iter().enumerate() {
            let matches = value.is_some_and(|value| value >= case.low && value < case.high);
            let is_meant = case.only.as_ref().is_none_or(|only| only.contains(&(row as u64)));
            if matches && is_meant && !case.deleted.contains(&(row as u64)) {
                let mut columns: Vec<String> = case.columns.iter().map(|name| match *name {
                    "a" => value.unwrap().to_string(),
                    _ => texts[row].clone(),
                }).collect();
                columns.push(row.to_string());
                expected.push(columns.join("|"));
            }
        }
        let rows = runtime.block_on(async {
            let statistics = if case.statistics { EnabledStatistics::Page } else { EnabledStatistics::None };
            let mut table = table();
            let file = table.add(stored(case.a.clone(), texts, case.group, statistics)).await;
            file.deletion_vector = if case.deleted.is_empty() { None } else { deleting(case.deleted.iter().copied()) };
            file.only = case.only.as_ref().and_then(|only| deleting(only.iter().copied()));
            cut(&mut table, case.parts);
            table.task.spec.row_columns = vec![row_column(RowColumnKind::RowIndex, "_row")];
            table.options.batch_rows = Some(case.batch);
            table.columns(&case.columns).filter(&format!("a >= {} AND a < {}", case.low, case.high));
            table.rows().await
        });
        prop_assert_eq!(rows, expected);
    }
}

/// Reads the table. The second value is the number of rows that were decoded after the footers had
/// skipped row groups and pages.
async fn tested(table: &Table) -> (Vec<String>, u64) {
    let counter = Arc::new(Counting::default());
    let options = ReadOptions { test: Some(counter.clone()), ..table.options.clone() };
    let rows = super::show(&table.batches_with(options).await.unwrap());
    (rows, counter.0.load(std::sync::atomic::Ordering::Relaxed))
}

/// A test that every row passes and that counts the rows.
#[derive(Debug, Default)]
struct Counting(std::sync::atomic::AtomicU64);

impl RowTest for Counting {
    fn columns(&self) -> Vec<Vec<String>> {
        Vec::new()
    }

    fn test(&self, rows: &RecordBatch) -> Result<arrow_buffer::BooleanBuffer> {
        self.0.fetch_add(rows.num_rows() as u64, std::sync::atomic::Ordering::Relaxed);
        Ok(arrow_buffer::BooleanBuffer::new_set(rows.num_rows()))
    }
}

#[tokio::test]
async fn row_condition_reads_one_group_per_file() {
    let mut table = table();
    for base in [0, 100, 200] {
        let file = table.add(counted(100, 10)).await;
        file.row_tracking = FileRowTracking { base_row_id: Some(base), default_row_commit_version: Some(base / 100) };
    }
    table.columns(&["t"]);
    let check = async |table: &mut Table, filter: &str, expected: &[&str], looked_at: u64| {
        let (rows, tested) = tested(table.filter(filter)).await;
        assert_eq!((rows.iter().map(String::as_str).collect::<Vec<_>>(), tested), (expected.to_vec(), looked_at), "{filter}");
        assert_eq!(table.rows().await, expected, "{filter}");
    };
    check(&mut table, "_metadata.row_id = 123", &["t23"], 10).await;
    check(&mut table, "_METADATA.Row_Id = 300", &[], 0).await;
    check(&mut table, "_metadata.row_id IN (5, 205) OR _metadata.row_id = 207", &["t5", "t5", "t7"], 20).await;
    check(&mut table, "_metadata.row_id > 288 AND a < 97", &["t89", "t90", "t91", "t92", "t93", "t94", "t95", "t96"], 20).await;
    check(&mut table, "_metadata.row_commit_version = 1 AND a = 3", &["t3"], 10).await;
    check(&mut table, "_metadata.row_commit_version > 2", &[], 0).await;
    check(&mut table, "_metadata.row_index = 99", &["t99"; 3], 30).await;
    check(&mut table, "_metadata.file_path = 'f1.parquet' AND _metadata.row_index < 2", &["t0", "t1"], 10).await;
    check(&mut table, "_metadata.file_size < 5", &[], 0).await;
    check(&mut table, "NOT _metadata.row_id >= 2", &["t0", "t1"], 10).await;
    check(&mut table, "_metadata.row_id % 100 = 7", &["t7"; 3], 30).await;
    table.task.files[0].row_tracking.base_row_id = None;
    check(&mut table, "_metadata.row_id IS NULL AND a = 5", &["t5"], 30).await;
    check(&mut table, "_metadata.row_id < 3", &[], 100).await;
}

#[tokio::test]
async fn footer_rules_out_booleans_and_bytes() {
    let mut table =
        Table::new(vec![StructField::new("f", PrimitiveType::Boolean, true), StructField::new("b", PrimitiveType::Binary, true)]);
    // There are row groups of true, of false, and of both. The bytes rise through 0x80, where
    // signed bytes would not rise.
    let f: ArrayRef = Arc::new((0..30).map(|row| Some(!(10..=25).contains(&row))).collect::<BooleanArray>());
    let b: ArrayRef = Arc::new(BinaryArray::from_iter_values((0..30_u8).map(|row| vec![row * 8; 100])));
    let batch = RecordBatch::try_from_iter_with_nullable([("f", f, true), ("b", b, true)]).unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(10))
        .set_data_page_row_count_limit(5)
        .set_write_batch_size(5)
        .build();
    table.add(write(&batch, properties)).await;
    table.columns(&["f"]);
    for (filter, matching, looked_at) in [
        ("f", 14, 15),
        ("NOT f", 16, 20),
        ("f = true AND b > X'70'", 4, 5),
        ("b < X'80'", 16, 20),
        ("b >= X'80'", 14, 15),
        ("b = X'80'", 0, 5),
        ("b > X'F0'", 0, 0),
        ("b IS NULL", 0, 0),
    ] {
        let (rows, tested) = tested(table.filter(filter)).await;
        assert_eq!((rows.len(), tested), (matching, looked_at), "{filter}");
    }
}

#[tokio::test]
async fn unknown_row_column_in_condition_is_refused() {
    let mut table = table();
    table.add(counted(1, 1)).await;
    let error = table.filter("_metadata.row_ids = 1").error().await;
    check_error(&error, &ErrorKind::Predicate, &["`row_ids`"]);
    let error = table.filter("_metadata IS NULL").error().await;
    assert_eq!(error.message(), "_metadata has no value of its own; name one of its fields, such as _metadata.row_id");
}

#[tokio::test]
async fn table_column_wins_over_row_column() {
    let inner = StructType { fields: vec![StructField::new("row_id", PrimitiveType::Long, true)] };
    let mut table = Table::of("_Metadata", inner);
    let field = Arc::new(Field::new("row_id", arrow_schema::DataType::Int64, true));
    let values = Arc::new(Int64Array::from(vec![7, 8])) as ArrayRef;
    let own = Arc::new(arrow_array::StructArray::from(vec![(field, values)])) as ArrayRef;
    table.add(parquet(vec![("_Metadata", own)])).await.row_tracking.base_row_id = Some(0);
    assert_eq!(table.filter("_metadata.row_id = 8").rows().await, ["{row_id: 8}"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn condition_on_moved_rows_equals_plain_loop(
        moved in prop::collection::vec(prop::option::weighted(0.5, 0_i64..100), 1..200),
        keeps in 0..3,
        sorted in any::<bool>(),
        group in 1_usize..80,
        statistics in any::<bool>(),
        base in prop::option::weighted(0.9, 100_i64..150),
        operator in prop::sample::select(vec!["=", "<", ">=", "<>", "IS DISTINCT FROM"]),
        value in 0_i64..250,
        selects in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut moved = moved;
        match keeps {
            0 => moved.fill(None),
            1 => moved.iter_mut().for_each(|id| *id = Some(id.unwrap_or(3))),
            _ => {}
        }
        if sorted {
            moved.sort();
        }
        let ids: Vec<Option<i64>> = moved.iter().enumerate().map(|(row, id)| id.or(base.map(|base| base + row as i64))).collect();
        let matches = |id: &Option<i64>| match (operator, id) {
            ("IS DISTINCT FROM", id) => *id != Some(value),
            (_, None) => false,
            ("=", Some(id)) => *id == value,
            ("<", Some(id)) => *id < value,
            (">=", Some(id)) => *id >= value,
            (_, Some(id)) => *id != value,
        };
        let text = |id: &Option<i64>| id.map_or("-".to_owned(), |id| id.to_string());
        let expected = ids.iter().enumerate().filter(|(_, id)| matches(id));
        let expected: Vec<String> = expected.map(|(row, id)| if selects { format!("{row}|{}", text(id)) } else { row.to_string() }).collect();
        let rows = runtime.block_on(async {
            let mut table = table();
            let a: ArrayRef = Arc::new((0..moved.len() as i64).collect::<Int64Array>());
            let ids: ArrayRef = Arc::new(Int64Array::from(moved.clone()));
            let mut columns = vec![("a", a)];
            if keeps > 0 {
                columns.push(("_row-id-x", ids));
            }
            let statistics = if statistics { EnabledStatistics::Page } else { EnabledStatistics::None };
            let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, values)| (name, values, true))).unwrap();
            let properties = WriterProperties::builder()
                .set_max_row_group_row_count(Some(group))
                .set_data_page_row_count_limit(7)
                .set_write_batch_size(7)
                .set_statistics_enabled(statistics)
                .build();
            table.add(write(&batch, properties)).await.row_tracking.base_row_id = base;
            table.task.spec.materialized.row_id = Some("_row-id-x".to_owned());
            table.columns(if selects { &["a", "_metadata.row_id"] } else { &["a"] });
            table.filter(&format!("_metadata.row_id {operator} {value}"));
            table.rows().await
        });
        if keeps > 0 || moved.iter().all(Option::is_none) {
            prop_assert_eq!(rows, expected);
        }
    }
}
