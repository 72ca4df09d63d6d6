//! Exports Arrow data to Python through the C stream and C schema interfaces in PyCapsules.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, RecordBatchReader};
use arrow::compute::cast;
use arrow::datatypes::{DataType, FieldRef, Fields, Int32Type, IntervalUnit, IntervalYearMonthType, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::ffi::FFI_ArrowSchema;
use arrow::ffi_stream::FFI_ArrowArrayStream;
use futures::StreamExt;
use lakebed::RecordBatchStream;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::error::to_py;
use crate::owned::Owned;
use crate::runtime::{enter, runtime};

/// The name of a stream in messages.
const READER: &str = "this reader of record batches";

/// A stream of Arrow record batches, which can be taken once, by the process that opened it.
#[pyclass(module = "lakebed._lakebed", frozen)]
pub struct ArrowStream {
    schema: SchemaRef,
    stream: Owned<std::sync::Mutex<Option<RecordBatchStream>>>,
}

impl ArrowStream {
    /// Wraps a stream that has not been read from.
    pub fn new(stream: RecordBatchStream) -> Self {
        let stream = exportable(stream);
        Self { schema: stream.schema(), stream: Owned::new(std::sync::Mutex::new(Some(stream))) }
    }

    fn take(&self) -> PyResult<RecordBatchStream> {
        let stream = self.stream.get(READER).map_err(to_py)?;
        let taken = stream.lock().ok().and_then(|mut stream| stream.take());
        taken.ok_or_else(|| PyValueError::new_err("this stream of record batches was already read; create a new one"))
    }
}

#[pymethods]
impl ArrowStream {
    /// Returns the schema, as an `arrow_schema` capsule.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.schema)
    }

    /// Returns the batches, as an `arrow_array_stream` capsule.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The Arrow PyCapsule interface lets a producer ignore the requested schema. A consumer
        // casts by itself.
        drop(requested_schema);
        stream_capsule(py, Box::new(BlockingReader { schema: self.schema.clone(), stream: Owned::new(self.take()?) }))
    }

    /// Returns the next batch as a stream of one batch, or None at the end.
    fn next(&self, py: Python<'_>) -> PyResult<Option<Self>> {
        let mut stream = self.take()?;
        let (batch, stream) = enter(py, async move {
            let batch = stream.next().await.transpose()?;
            Ok((batch, stream))
        })?;
        if let Ok(mut slot) = self.stream.look().lock() {
            *slot = Some(stream);
        }
        Ok(batch.map(|batch| Self::new(RecordBatchStream::from_batches(self.schema.clone(), vec![batch]))))
    }

    /// Reads all batches now, so that errors keep their class and Ctrl-C works.
    fn collect(&self, py: Python<'_>) -> PyResult<Self> {
        let mut stream = self.take()?;
        let batches = enter(py, async move {
            let mut batches = Vec::new();
            while let Some(batch) = stream.next().await {
                batches.push(batch?);
            }
            Ok(batches)
        })?;
        Ok(Self::new(RecordBatchStream::from_batches(self.schema.clone(), batches)))
    }
}

/// Returns the stream with types that Python's Arrow libraries have. Intervals of months become
/// numbers of months.
fn exportable(stream: RecordBatchStream) -> RecordBatchStream {
    let schema = exportable_schema(&stream.schema());
    if schema == stream.schema() {
        return stream;
    }
    let to = schema.clone();
    RecordBatchStream::new(
        schema,
        stream.map(move |batch| {
            let batch = batch?;
            let columns = batch.columns().iter().zip(to.fields()).map(|(array, field)| as_exported(array, field.data_type()));
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            Ok(RecordBatch::try_new_with_options(to.clone(), columns.collect::<Result<_, ArrowError>>()?, &options)?)
        }),
    )
}

fn as_exported(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, ArrowError> {
    match array.as_primitive_opt::<IntervalYearMonthType>() {
        Some(months) => Ok(Arc::new(months.reinterpret_cast::<Int32Type>())),
        None if array.data_type() == to => Ok(array.clone()),
        None => cast(array, to),
    }
}

fn exportable_schema(schema: &SchemaRef) -> SchemaRef {
    Arc::new(Schema::new(schema.fields().iter().map(exportable_field).collect::<Fields>()))
}

fn exportable_field(field: &FieldRef) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Interval(IntervalUnit::YearMonth) => DataType::Int32,
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(exportable_field).collect()),
        DataType::List(element) => DataType::List(exportable_field(element)),
        DataType::Map(entries, sorted) => DataType::Map(exportable_field(entries), *sorted),
        other => other.clone(),
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}

/// Returns a schema in a capsule.
pub fn schema_capsule<'py>(py: Python<'py>, schema: &SchemaRef) -> PyResult<Bound<'py, PyCapsule>> {
    let ffi = FFI_ArrowSchema::try_from(exportable_schema(schema).as_ref()).map_err(arrow_error)?;
    PyCapsule::new_with_value(py, ffi, c"arrow_schema")
}

fn stream_capsule<'py>(py: Python<'py>, reader: Box<dyn RecordBatchReader + Send>) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), c"arrow_array_stream")
}

fn arrow_error(error: ArrowError) -> PyErr {
    to_py(error.into())
}

/// Waits for each batch on the caller's thread, which does not hold the interpreter. Panics are not
/// passed on to the consumer.
struct BlockingReader {
    schema: SchemaRef,
    stream: Owned<RecordBatchStream>,
}

impl Iterator for BlockingReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        // In a forked child, no thread makes the batches.
        let next = || self.stream.get_mut(READER).and_then(|stream| Ok(runtime()?.block_on(stream.next())));
        let outcome = catch_unwind(AssertUnwindSafe(next));
        match outcome {
            Ok(Ok(item)) => item.map(|item| item.map_err(|error| ArrowError::ExternalError(Box::new(error)))),
            Ok(Err(error)) => Some(Err(ArrowError::ExternalError(Box::new(error)))),
            Err(_) => Some(Err(ArrowError::ComputeError("lakebed met an internal error while reading; please report it".into()))),
        }
    }
}

impl RecordBatchReader for BlockingReader {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
