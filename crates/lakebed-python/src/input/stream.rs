//! Reads a stream of Arrow batches from another library, over Arrow's C interface.

use std::ffi::CStr;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow::ffi_stream::FFI_ArrowArrayStream;
use lakebed::{Error, Result};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use super::import::batch_of;
use super::schema::no_columns;
use crate::error::to_py;

/// Reads batches until the end or an error.
pub struct InputStream {
    stream: FFI_ArrowArrayStream,
    schema: SchemaRef,
    /// The number of batches so far.
    number: u64,
}

impl InputStream {
    /// Opens the stream of an object with `__arrow_c_stream__`.
    pub fn of(data: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::of_capsule(data.call_method0("__arrow_c_stream__")?.cast()?)
    }

    /// Opens the stream in a capsule.
    pub fn of_capsule(capsule: &Bound<'_, PyCapsule>) -> PyResult<Self> {
        let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<FFI_ArrowArrayStream>();
        // SAFETY: a capsule of this name holds a stream. The stream is moved out, and the one that
        // stays is marked as released.
        #[expect(unsafe_code, reason = "the Arrow PyCapsule interface hands pointers over")]
        let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) };
        Self::new(stream).map_err(to_py)
    }

    /// Reads the schema first.
    fn new(mut stream: FFI_ArrowArrayStream) -> Result<Self> {
        let mut schema = FFI_ArrowSchema::empty();
        let get = stream.get_schema.filter(|_| stream.release.is_some()).ok_or_else(is_released)?;
        // SAFETY: the stream is not released, so its producer's function may be called with it.
        #[expect(unsafe_code, reason = "Arrow's C interface is made of function pointers")]
        let code = unsafe { get(&mut stream, &mut schema) };
        if code != 0 {
            return Err(failed(&mut stream, code));
        }
        let schema = Schema::try_from(&schema).map_err(|error| no_columns(&error))?.into();
        Ok(Self { stream, schema, number: 0 })
    }

    pub fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }

    /// Returns the next batch and its number, counted from one, or `None` at the end.
    pub fn next(&mut self) -> Result<Option<(u64, RecordBatch)>> {
        let mut array = FFI_ArrowArray::empty();
        let get = self.stream.get_next.ok_or_else(is_released)?;
        // SAFETY: as above.
        #[expect(unsafe_code, reason = "Arrow's C interface is made of function pointers")]
        let code = unsafe { get(&mut self.stream, &mut array) };
        if code != 0 {
            return Err(failed(&mut self.stream, code));
        }
        if array.is_released() {
            return Ok(None);
        }
        self.number += 1;
        let batch = batch_of(array, self.schema()).map_err(|error| error.within(format!("batch {}", self.number)))?;
        Ok(Some((self.number, batch)))
    }
}

fn is_released() -> Error {
    Error::invalid_input("the data could not be read: it was read before, and it can be read only once")
}

fn failed(stream: &mut FFI_ArrowArrayStream, code: i32) -> Error {
    let said = stream.get_last_error.and_then(|get| {
        // SAFETY: the string, if there is one, belongs to the stream and lives until its next call.
        #[expect(unsafe_code, reason = "Arrow's C interface is made of function pointers")]
        unsafe {
            let text = get(stream);
            (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
        }
    });
    let said = said.unwrap_or_else(|| std::io::Error::from_raw_os_error(code).to_string());
    Error::invalid_input(format!("the data could not be read: {said}"))
}
