//! Reads candidates from an inventory: a list of objects that the caller has, instead of a listing
//! of the store.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray};
use arrow_cast::cast;
use arrow_schema::{DataType, Schema, TimeUnit};
use futures::StreamExt;
use lakebed_core::path::FilePath;
use lakebed_core::schema::arrow::type_name;
use lakebed_io::store::Store;

use super::candidates::{Candidate, CandidateBatch, CandidateStream};
use super::hidden_names::HiddenNames;
use crate::{Error, RecordBatchStream, Result};

/// Returns the objects of an inventory that are below the table and not hidden.
pub(super) fn read(store: &Store, hidden: HiddenNames, objects: RecordBatchStream) -> Result<CandidateStream> {
    let columns = Columns::of(&objects.schema())?;
    let store = store.clone();
    Ok(objects.map(move |batch| columns.read(&batch?, &store, &hidden)).boxed())
}

/// The indexes of the columns.
struct Columns {
    path: usize,
    length: usize,
    is_dir: usize,
    modification_time: usize,
}

impl Columns {
    fn of(schema: &Schema) -> Result<Self> {
        let column = |name: &str, wanted: &str, fits: fn(&DataType) -> bool| {
            let mut found = schema.fields().iter().enumerate().filter(|(_, field)| field.name().eq_ignore_ascii_case(name));
            let found = found.next();
            match found {
                Some((index, field)) if fits(field.data_type()) => Ok(index),
                Some((_, field)) => {
                    Err(refused(format!("its column {name} is {}, but it must be {wanted}", type_name(field.data_type()))))
                }
                None => Err(refused(format!("it has no column {name}"))),
            }
        };
        let is_time = |of: &DataType| of.is_integer() || matches!(of, DataType::Timestamp(..));
        Ok(Self {
            path: column("path", "text", DataType::is_string)?,
            length: column("length", "an integer", DataType::is_integer)?,
            is_dir: column("isDir", "a boolean", |of| *of == DataType::Boolean)?,
            modification_time: column("modificationTime", "a timestamp, or milliseconds as an integer", is_time)?,
        })
    }

    fn read(&self, batch: &RecordBatch, store: &Store, hidden: &HiddenNames) -> Result<CandidateBatch> {
        let paths: StringArray = cast(batch.column(self.path), &DataType::Utf8)?.as_string().clone();
        let (lengths, times) = (longs(batch.column(self.length))?, longs(batch.column(self.modification_time))?);
        let is_dir: &BooleanArray = batch.column(self.is_dir).as_boolean();
        let mut part = CandidateBatch::default();
        for row in 0..batch.num_rows() {
            if is_dir.is_valid(row) && is_dir.value(row) {
                continue;
            }
            if paths.is_null(row) || times.is_null(row) {
                return Err(refused(format!("row {row} of a batch has no path or no modificationTime")));
            }
            let Some(path) = below(store, paths.value(row))? else { continue };
            if !hidden.hides(&path) {
                let size = if lengths.is_null(row) { 0 } else { lengths.value(row) };
                let size_bytes = u64::try_from(size).unwrap_or(0);
                part.files.push(Candidate { path, size_bytes, modified_ms: Some(times.value(row)) });
            }
        }
        Ok(part)
    }
}

/// Returns the path below the table of an object in an inventory; None if the object is elsewhere.
/// Paths in an inventory are not encoded.
fn below(store: &Store, text: &str) -> Result<Option<String>> {
    let path = FilePath::parse(&text.replace('%', "%25")).map_err(|error| refused(error.message()))?;
    Ok(store.name_below_root(&path))
}

/// Returns timestamps as milliseconds since the epoch, and integers as they are.
fn longs(array: &ArrayRef) -> Result<Int64Array> {
    let array = match array.data_type() {
        DataType::Timestamp(_, zone) => cast(array, &DataType::Timestamp(TimeUnit::Millisecond, zone.clone()))?,
        _ => array.clone(),
    };
    Ok(cast(&array, &DataType::Int64)?.as_primitive::<Int64Type>().clone())
}

fn refused(why: impl std::fmt::Display) -> Error {
    Error::invalid_input(format!("this inventory cannot be used: {why}"))
}

#[cfg(test)]
mod tests;
