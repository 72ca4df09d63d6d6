//! Tests that read tasks over small Parquet files in memory.

mod errors;
mod legacy;
mod mapping;
mod nested;
mod rows;
mod stream;
mod types;
mod variants;

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{Field, Schema};
use bytes::Bytes;
use futures::TryStreamExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStoreExt, PutPayload};
use parquet::arrow::ArrowWriter;
use parquet::data_type::{ByteArray, ByteArrayType, DataType as ParquetType, FixedLenByteArray, FixedLenByteArrayType};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use lakebed_core::dv::DeletionVector;
use lakebed_core::schema::{DataType, StructField, StructType};
use lakebed_io::store::Store;

use super::{ReadOptions, read_files};
use crate::kit::error::{check_corrupt, check_error};
use crate::scan::{FileRows, ScanFile, ScanSpec, ScanTask};
use crate::{Error, ErrorKind, Result};

/// A table under construction.
struct Table {
    objects: Arc<InMemory>,
    store: Store,
    task: ScanTask,
    options: ReadOptions,
}

impl Table {
    fn new(fields: Vec<StructField>) -> Self {
        let objects = Arc::new(InMemory::new());
        let url = url::Url::parse("memory://test/").unwrap();
        let store = Store::from_object_store(objects.clone(), Path::default(), url);
        let spec = ScanSpec { table_url: "memory://test/".to_owned(), schema: StructType { fields }, ..ScanSpec::default() };
        let task = ScanTask { spec, files: Vec::new() };
        let options = ReadOptions { cores: Some(2), ..ReadOptions::default() };
        Self { objects, store, task, options }
    }

    /// Returns a table with one nullable column.
    fn of(name: &str, data_type: impl Into<DataType>) -> Self {
        Self::new(vec![StructField::new(name, data_type, true)])
    }

    /// Adds a file, which the log lists.
    async fn add(&mut self, bytes: Vec<u8>) -> &mut ScanFile {
        let path = format!("f{}.parquet", self.task.files.len());
        let size = bytes.len() as u64;
        self.objects.put(&Path::from(path.as_str()), PutPayload::from(Bytes::from(bytes))).await.unwrap();
        self.task.files.push(ScanFile { path, size, ..ScanFile::default() });
        self.task.files.last_mut().unwrap()
    }

    fn filter(&mut self, text: &str) -> &mut Self {
        self.task.spec.filter = Some(text.into());
        self
    }

    fn columns(&mut self, columns: &[&str]) -> &mut Self {
        self.task.spec.columns = Some(columns.iter().map(|column| (*column).to_owned()).collect());
        self
    }

    async fn batches(&self) -> Result<Vec<RecordBatch>> {
        self.batches_with(self.options.clone()).await
    }

    async fn batches_with(&self, options: ReadOptions) -> Result<Vec<RecordBatch>> {
        read_files(&self.store, &self.task.spec, self.task.files.clone(), options)?.try_collect().await
    }

    /// Returns the rows as text: values separated by `|`, null as `-`. The batches must have the
    /// schema that the task promises. The rows must be the same in the form for rows that move to
    /// other files.
    async fn rows(&self) -> Vec<String> {
        let batches = self.batches().await.unwrap();
        let schema = self.task.spec.output_schema().unwrap();
        for batch in &batches {
            assert_eq!(batch.schema(), schema);
        }
        let rows = show(&batches);
        let moving = self.batches_with(ReadOptions { is_moving: true, ..self.options.clone() }).await.unwrap();
        assert_eq!(show(&moving), rows);
        rows
    }

    async fn error(&self) -> Error {
        self.batches().await.unwrap_err()
    }

    /// Checks that the table cannot be read because this file is damaged, with these facts in the
    /// message.
    async fn check_corrupt(&self, file: &str, facts: &[&str]) {
        check_corrupt(&self.error().await, file, facts);
    }

    /// Checks that this column of a file does not fit the table, with these facts in the message.
    async fn check_mismatch(&self, place: &str, facts: &[&str]) {
        check_error(&self.error().await, &ErrorKind::SchemaMismatch, &[&[place], facts].concat());
    }
}

/// Returns rows as text.
fn show(batches: &[RecordBatch]) -> Vec<String> {
    let options = FormatOptions::new().with_null("-");
    let mut rows = Vec::new();
    for batch in batches {
        let columns: Vec<_> =
            batch.columns().iter().map(|column| ArrayFormatter::try_new(column.as_ref(), &options).unwrap()).collect();
        for row in 0..batch.num_rows() {
            rows.push(columns.iter().map(|column| column.value(row).to_string()).collect::<Vec<_>>().join("|"));
        }
    }
    rows
}

/// Returns a file with these columns, all of them nullable.
fn parquet(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let fields: Vec<Field> = columns.iter().map(|(name, column)| Field::new(*name, column.data_type().clone(), true)).collect();
    let batch =
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.into_iter().map(|(_, column)| column).collect()).unwrap();
    write(&batch, WriterProperties::builder().build())
}

fn write(batch: &RecordBatch, properties: WriterProperties) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

/// Returns a file with one leaf, given by its Parquet schema, values and levels.
fn leaf_file<T: ParquetType>(message: &str, values: &[T::T], definition: Option<&[i16]>, repetition: Option<&[i16]>) -> Vec<u8> {
    leaf_file_by::<T>(message, values, definition, repetition, &[])
}

/// Returns the same file with metadata about its writer.
fn leaf_file_by<T: ParquetType>(
    message: &str,
    values: &[T::T],
    definition: Option<&[i16]>,
    repetition: Option<&[i16]>,
    words: &[(&str, &str)],
) -> Vec<u8> {
    let words = words.iter().map(|(key, value)| KeyValue::new((*key).to_owned(), (*value).to_owned())).collect();
    let properties = WriterProperties::builder().set_key_value_metadata(Some(words)).build();
    let schema = Arc::new(parse_message_type(message).unwrap());
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<T>().write_batch(values, definition, repetition).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    bytes
}

fn byte_arrays(message: &str, values: &[&[u8]]) -> Vec<u8> {
    let values: Vec<ByteArray> = values.iter().map(|value| ByteArray::from(value.to_vec())).collect();
    leaf_file::<ByteArrayType>(message, &values, None, None)
}

fn fixed_byte_arrays(message: &str, values: &[&[u8]]) -> Vec<u8> {
    let values: Vec<FixedLenByteArray> = values.iter().map(|value| ByteArray::from(value.to_vec()).into()).collect();
    leaf_file::<FixedLenByteArrayType>(message, &values, None, None)
}

fn deleting(rows: impl IntoIterator<Item = u64>) -> Option<FileRows> {
    Some(FileRows::Stored(rows.into_iter().collect::<DeletionVector>().to_inline().unwrap()))
}
