//! A stream of Arrow batches that somebody else makes, over Arrow's C interface.
//!
//! arrow has such a reader, but it panics for a slice of a struct within a struct: there the offset of the outer one counts for all that
//! is below, and arrow applies it twice. So offsets are moved down to the leaves, once, before arrow sees them.

use std::ffi::CStr;
use std::panic::AssertUnwindSafe;
use std::ptr::NonNull;
use std::sync::Arc;

use arrow::alloc::Allocation;
use arrow::array::{ArrayData, RecordBatch, RecordBatchOptions, StructArray};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow::datatypes::{DataType, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi_and_data_type};
use arrow::ffi_stream::FFI_ArrowArrayStream;

use super::of_python::OfPython;

/// Batches until the end, or an error.
pub struct InputStream {
    stream: FFI_ArrowArrayStream,
    schema: SchemaRef,
}

impl InputStream {
    /// Asks for the schema first.
    pub fn new(mut stream: FFI_ArrowArrayStream) -> Result<Self, ArrowError> {
        let mut schema = FFI_ArrowSchema::empty();
        let get = stream.get_schema.filter(|_| stream.release.is_some()).ok_or_else(is_released)?;
        // SAFETY: the stream is not released, so its maker's function may be called with it.
        #[expect(unsafe_code, reason = "Arrow's C interface is made of function pointers")]
        let code = unsafe { get(&mut stream, &mut schema) };
        if code != 0 {
            return Err(failed(&mut stream, code));
        }
        Ok(Self { schema: Schema::try_from(&schema)?.into(), stream })
    }

    pub fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }

    /// The next batch; none at the end.
    pub fn next(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
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
        // SAFETY: the maker of the stream answers for the batch being of its schema.
        #[expect(unsafe_code, reason = "what comes over Arrow's C interface cannot be checked")]
        let data = unsafe { from_ffi_and_data_type(array, DataType::Struct(self.schema.fields().clone()))? };
        let rows = data.len();
        let data = released_as_of_python(data)?;
        let (_, columns, _) = StructArray::from(part(&data, 0, rows)?).into_parts();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(self.schema(), columns, &options).map(Some)
    }
}

/// The same, of which the last buffer to be dropped does what its maker wants to be done then.
fn released_as_of_python(data: ArrayData) -> Result<ArrayData, ArrowError> {
    let owner = OfPython::new(data.clone()).map_err(|error| ArrowError::ExternalError(Box::new(error)))?;
    let owner: Arc<dyn Allocation> = Arc::new(AssertUnwindSafe(owner));
    Ok(holding(&data, &owner))
}

fn holding(data: &ArrayData, owner: &Arc<dyn Allocation>) -> ArrayData {
    let held = |buffer: &Buffer| match NonNull::new(buffer.as_ptr().cast_mut()) {
        // SAFETY: the owner holds the very buffer.
        #[expect(unsafe_code, reason = "whoever owns memory that is not ours is told so")]
        Some(start) => unsafe { Buffer::from_custom_allocation(start, buffer.len(), Arc::clone(owner)) },
        None => Buffer::default(),
    };
    let nulls = data.nulls().map(|nulls| {
        let bits = nulls.inner();
        NullBuffer::new(BooleanBuffer::new(held(bits.inner()), bits.offset(), bits.len()))
    });
    let builder = ArrayData::builder(data.data_type().clone())
        .len(data.len())
        .offset(data.offset())
        .nulls(nulls)
        .buffers(data.buffers().iter().map(held).collect())
        .child_data(data.child_data().iter().map(|child| holding(child, owner)).collect());
    // SAFETY: it is what it was, in the same places.
    #[expect(unsafe_code, reason = "what has not changed is not looked at again")]
    unsafe {
        builder.build_unchecked()
    }
}

/// Some rows of an array, in which no struct has an offset.
fn part(data: &ArrayData, offset: usize, length: usize) -> Result<ArrayData, ArrowError> {
    let below = |child: &ArrayData| part(child, 0, child.len());
    if let DataType::Struct(_) = data.data_type() {
        let start = data.offset() + offset;
        let children = data.child_data().iter().map(|child| part(child, start, length)).collect::<Result<_, _>>()?;
        let nulls = data.nulls().map(|nulls| nulls.slice(offset, length));
        return ArrayData::builder(data.data_type().clone()).len(length).nulls(nulls).child_data(children).build();
    }
    let data = data.slice(offset, length);
    if data.child_data().iter().all(|child| !child.data_type().is_nested()) {
        return Ok(data);
    }
    let children = data.child_data().iter().map(below).collect::<Result<_, _>>()?;
    data.into_builder().child_data(children).build()
}

fn is_released() -> ArrowError {
    ArrowError::CDataInterface("the stream was used up before".to_owned())
}

fn failed(stream: &mut FFI_ArrowArrayStream, code: i32) -> ArrowError {
    let said = stream.get_last_error.and_then(|get| {
        // SAFETY: the text, if there is one, is the stream's and lives until its next call.
        #[expect(unsafe_code, reason = "Arrow's C interface is made of function pointers")]
        unsafe {
            let text = get(stream);
            (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
        }
    });
    ArrowError::CDataInterface(said.unwrap_or_else(|| format!("error {code} without a word")))
}
