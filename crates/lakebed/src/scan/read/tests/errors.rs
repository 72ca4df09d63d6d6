use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use bytes::Bytes;
use parquet::file::metadata::{FileMetaData, ParquetMetaDataBuilder, ParquetMetaDataReader, ParquetMetaDataWriter};

use lakebed_core::schema::PrimitiveType;

use super::*;

fn numbers(rows: i64) -> Vec<u8> {
    parquet(vec![("a", Arc::new(Int64Array::from_iter_values(0..rows)) as ArrayRef)])
}

fn table() -> Table {
    Table::of("a", PrimitiveType::Long)
}

#[tokio::test]
async fn missing_file_error_names_table_and_cause() {
    let mut table = table();
    table.add(numbers(3)).await;
    table.task.files.push(ScanFile { path: "p=1/gone%20away.parquet".to_owned(), size: 100, ..Default::default() });
    let object = "memory://test/p=1/gone away.parquet";
    let kind = ErrorKind::Store { object: object.to_owned(), retryable: false, not_found: true };
    check_error(&table.error().await, &kind, &[object, "VACUUM"]);
}

#[tokio::test]
async fn a_damaged_file_is_corrupt_by_name() {
    let mut table = table();
    table.add(b"PAR1 is not enough to be a Parquet file PAR1".to_vec()).await;
    table.check_corrupt("memory://test/f0.parquet", &[]).await;
}

#[tokio::test]
async fn path_out_of_table_is_refused() {
    let mut table = table();
    table.task.files.push(ScanFile { path: "../other/f.parquet".to_owned(), ..Default::default() });
    table.check_corrupt("path \"../other/f.parquet\"", &[]).await;
}

#[tokio::test]
async fn deletion_vector_of_other_file_is_refused() {
    let mut table = table();
    table.add(numbers(3)).await.deletion_vector = deleting([1, 3]);
    table.check_corrupt("f0.parquet", &["row 3,", "only 3 rows"]).await;
}

/// Returns a file that claims this number of rows in its metadata.
fn claiming(rows: i64) -> Vec<u8> {
    let bytes = Bytes::from(numbers(3));
    let found = ParquetMetaDataReader::new().parse_and_finish(&bytes).unwrap();
    let mut claimed = found.into_builder();
    let group = claimed.take_row_groups().remove(0).into_builder().set_num_rows(rows).build().unwrap();
    let file = FileMetaData::new(1, rows, None, None, group.schema_descr_ptr(), None);
    let metadata = ParquetMetaDataBuilder::new(file).add_row_group(group).build();
    let mut changed = bytes.to_vec();
    ParquetMetaDataWriter::new(&mut changed, &metadata).finish().unwrap();
    changed
}

#[tokio::test]
async fn excessive_row_count_is_refused_before_reading() {
    let mut table = table();
    table.add(claiming(1 << 60)).await.only = deleting([1]);
    table.check_corrupt("f0.parquet", &["1152921504606846976 rows"]).await;
    table.task.files.clear();
    table.add(claiming(3)).await.only = deleting([1]);
    assert_eq!(table.rows().await, ["1"]);
}

#[tokio::test]
async fn absent_or_invalid_partition_value_is_corrupt() {
    let mut table =
        Table::new(vec![StructField::new("a", PrimitiveType::Long, true), StructField::new("p", PrimitiveType::Integer, true)]);
    table.task.spec.partition_columns = vec!["p".to_owned()];
    table.add(numbers(1)).await;
    table.check_corrupt("f0.parquet", &["partition column p"]).await;
    table.task.files[0].partition_values = [("p".to_owned(), Some("seven".to_owned()))].into();
    let kind = ErrorKind::Corrupt { path: "partition value \"seven\"".to_owned() };
    check_error(&table.error().await, &kind, &["f0.parquet: partition column p", "is not of type integer"]);
}

#[tokio::test]
async fn invalid_column_or_filter_is_invalid_input() {
    let mut table = table();
    table.add(numbers(1)).await;
    table.columns(&["b"]);
    let read = |table: &Table| {
        read_files(&table.store, &table.task.spec, table.task.files.clone(), table.options.clone())
            .err()
            .map(|error| error.kind().clone())
    };
    assert_eq!(read(&table), Some(ErrorKind::InvalidInput));
    table.columns(&["a"]).filter("b = 1");
    assert_eq!(read(&table), Some(ErrorKind::Predicate));
}

#[tokio::test]
async fn filter_failing_on_row_fails_scan() {
    let mut table = table();
    table.add(numbers(3)).await;
    table.filter("10 / a > 1");
    let error = table.error().await;
    assert_eq!(*error.kind(), ErrorKind::Predicate, "{error}");
    assert_eq!(table.filter("a <> 0 AND 10 / a > 5").rows().await, ["1"]);
}

#[tokio::test]
async fn filter_failing_on_partition_value_fails_scan() {
    let mut table =
        Table::new(vec![StructField::new("a", PrimitiveType::Long, true), StructField::new("p", PrimitiveType::String, true)]);
    table.task.spec.partition_columns = vec!["p".to_owned()];
    for value in ["x", "7"] {
        table.add(numbers(1)).await.partition_values = [("p".to_owned(), Some(value.to_owned()))].into();
    }
    let error = table.filter("p > 5").error().await;
    check_error(&error, &ErrorKind::Predicate, &["`p > 5`"]);
    assert_eq!(table.filter("p <> 'x' AND p > 5").rows().await, ["0|7"]);
}
