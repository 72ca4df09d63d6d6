//! Checks bounds of strings and bytes in footers and page indexes.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field, Schema};
use object_store::path::Path;
use parquet::basic::BoundaryOrder;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::page_index::column_index::{ByteArrayColumnIndex, ColumnIndexMetaData};
use parquet::file::statistics::Statistics;

use super::Fixture;
use crate::parquet::write::{ParquetWriter, WriteOptions};
use crate::parquet::{Cores, PageIndex, ParquetFile};

const ROWS: usize = 45_000;

/// Returns a file of three row groups. Its values have this length and differ only in their last
/// five bytes. The columns hold them as strings without a dictionary, as strings with one, as
/// bytes, and as bytes in a struct.
async fn written(length: usize) -> ParquetFile {
    let texts: Vec<String> = (0..ROWS).map(|row| format!("{}{row:05}", "x".repeat(length - 5))).collect();
    let text: ArrayRef = Arc::new(StringArray::from(texts.clone()));
    let keyed: ArrayRef = Arc::new(StringArray::from(texts.clone()));
    let bytes: ArrayRef = Arc::new(BinaryArray::from_iter_values(texts.iter().map(String::as_bytes)));
    let field = |name: &str, data_type| Arc::new(Field::new(name, data_type, true));
    let within: ArrayRef = Arc::new(StructArray::from(vec![(field("b", DataType::Binary), Arc::clone(&bytes))]));
    let columns = [("text", text), ("keyed", keyed), ("bytes", bytes), ("within", within)];
    let fields: Vec<Arc<Field>> = columns.iter().map(|(name, column)| field(name, column.data_type().clone())).collect();
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns.into_iter().map(|(_, column)| column).collect()).unwrap();
    let options =
        WriteOptions { row_group_rows: ROWS / 3, plain_columns: vec![vec!["text".to_owned()]], ..WriteOptions::default() };
    let fixture = Fixture::with("other", "").await;
    let (path, cores) = (Path::from("f.parquet"), Cores::of(2));
    let mut writer = ParquetWriter::create(&fixture.store, &path, schema, options).await.unwrap();
    writer.write(vec![batch], &cores).await.unwrap();
    writer.finish(&cores).await.unwrap();
    fixture.open(None, PageIndex::Read).await.unwrap()
}

fn of_chunk(chunk: &ColumnChunkMetaData) -> ((Vec<u8>, bool), (Vec<u8>, bool)) {
    match chunk.statistics() {
        Some(Statistics::ByteArray(known)) => (
            (known.min_opt().unwrap().data().to_vec(), known.min_is_exact()),
            (known.max_opt().unwrap().data().to_vec(), known.max_is_exact()),
        ),
        other => panic!("{other:?}"),
    }
}

fn of_pages(file: &ParquetFile, group: usize, leaf: usize) -> (&ByteArrayColumnIndex, Option<BoundaryOrder>) {
    let index = &file.metadata().column_index().unwrap()[group][leaf];
    match index {
        ColumnIndexMetaData::BYTE_ARRAY(pages) => (pages, index.get_boundary_order()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn values_that_begin_alike_have_longer_bounds() {
    for length in [60, 300, 1024] {
        let (file, value) = (written(length).await, |row: usize| format!("{}{row:05}", "x".repeat(length - 5)).into_bytes());
        for (number, group) in file.metadata().row_groups().iter().enumerate() {
            let (first, last) = (number * ROWS / 3, (number + 1) * ROWS / 3 - 1);
            for (leaf, chunk) in group.columns().iter().enumerate() {
                assert_eq!(of_chunk(chunk), ((value(first), true), (value(last), true)), "{length} {leaf}");
                let (index, order) = of_pages(&file, number, leaf);
                assert_eq!(order, Some(BoundaryOrder::ASCENDING));
                assert_eq!(index.min_value(0), Some(&*value(first)));
                assert_eq!(index.max_value(index.num_pages() as usize - 1), Some(&*value(last)));
                assert!((0..index.num_pages() as usize).all(|page| index.null_count(page) == Some(0)));
            }
        }
    }
}

#[tokio::test]
async fn bounds_have_a_greatest_length() {
    let file = written(2000).await;
    for group in file.metadata().row_groups() {
        for chunk in group.columns() {
            let all_but_last = [b"x".repeat(1023), b"y".to_vec()].concat();
            assert_eq!(of_chunk(chunk), ((b"x".repeat(1024), false), (all_but_last, false)));
        }
    }
}
