//! Arrow that comes in: streams and schemas in PyCapsules. `stream` reads the batches, `of_python` looks after what may need the
//! interpreter.

pub mod of_python;
mod stream;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::ffi::FFI_ArrowSchema;
use arrow::ffi_stream::FFI_ArrowArrayStream;
use lakebed::{Error, RecordBatchStream, Result};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use tokio::sync::mpsc::channel;

use self::of_python::OfPython;
use self::stream::InputStream;
use crate::error::to_py;

/// Batches that are read before they are wanted.
const AHEAD: usize = 2;

/// What the reading thread says: a batch, the end, or an error. If it says nothing any more it is dead.
type Said = Result<Option<RecordBatch>>;

/// The stream of an object with `__arrow_c_stream__`. It is read on a thread of its own: what stands behind it may wait, or need the
/// interpreter.
pub fn stream_of(data: &Bound<'_, PyAny>) -> PyResult<RecordBatchStream> {
    let capsule = data.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
    let input = take_stream(&capsule)?;
    let (schema, mut input) = (input.schema(), OfPython::new(input).map_err(to_py)?);
    let (sender, receiver) = channel::<Said>(AHEAD);
    let read = move || {
        loop {
            let said = input.with(|input| input.next().map_err(not_read));
            let is_last = !matches!(said, Ok(Some(_)));
            // If the write failed nobody listens.
            if sender.blocking_send(said).is_err() || is_last {
                return;
            }
        }
    };
    std::thread::Builder::new().name("lakebed-input".to_owned()).spawn(read)?;
    let batches = futures::stream::unfold(Some(receiver), |receiver| async move {
        let mut receiver = receiver?;
        match receiver.recv().await.unwrap_or_else(|| Err(died())) {
            Ok(batch) => Some((Ok(batch?), Some(receiver))),
            Err(error) => Some((Err(error), None)),
        }
    });
    Ok(RecordBatchStream::new(schema, batches))
}

/// The schema of an object with `__arrow_c_schema__`.
pub fn schema_of(schema: &Bound<'_, PyAny>) -> PyResult<SchemaRef> {
    let capsule = schema.call_method0("__arrow_c_schema__")?.cast_into::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(c"arrow_schema"))?.cast::<FFI_ArrowSchema>();
    // SAFETY: a capsule of this name holds a schema, and lives until this function ends.
    #[expect(unsafe_code, reason = "the Arrow PyCapsule interface hands pointers over")]
    let schema = Schema::try_from(unsafe { pointer.as_ref() }).map_err(arrow_error)?;
    Ok(schema.into())
}

fn take_stream(capsule: &Bound<'_, PyCapsule>) -> PyResult<InputStream> {
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name holds a stream, which is taken out of it: what stays is marked as released.
    #[expect(unsafe_code, reason = "the Arrow PyCapsule interface hands pointers over")]
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) };
    InputStream::new(stream).map_err(|error| PyTypeError::new_err(format!("this stream of Arrow data cannot be taken: {error}")))
}

fn died() -> Error {
    Error::internal("the thread that reads the data died; what it printed last tells why, and nothing was committed")
}

fn not_read(error: ArrowError) -> Error {
    Error::invalid_input(format!("the data could not be read: {error}"))
}

fn arrow_error(error: ArrowError) -> PyErr {
    to_py(error.into())
}
