//! Imports a batch from Arrow's C interface.
//!
//! Everything that can be checked is checked. `shape` compares the parts of the array with the
//! schema before any part is read. This file validates every value before it is used: offsets
//! ascend and stay in range, keys are in their dictionary, and strings are UTF-8. The interface
//! does not give the sizes of the buffers of numbers and offsets, so for these the producer must be
//! trusted.
//!
//! arrow panics for a slice of a struct within a struct. The offset of the outer struct applies to
//! all levels below it, and arrow applies it twice. So offsets are moved down to the leaves once,
//! before arrow sees them.

use std::panic::AssertUnwindSafe;
use std::ptr::NonNull;
use std::sync::Arc;

use arrow::alloc::Allocation;
use arrow::array::{ArrayData, RecordBatch, RecordBatchOptions, make_array};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow::datatypes::{DataType, SchemaRef};
use arrow::error::ArrowError;
use arrow::ffi::{FFI_ArrowArray, from_ffi_and_data_type};
use lakebed::{Error, Result};
use lakebed_core::schema::arrow::type_name;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use super::of_python::OfPython;
use super::schema::{schema_in, text_of};
use super::shape;
use crate::error::to_py;

/// Returns the batch in the two capsules of `__arrow_c_array__`.
pub fn batch_of_capsules(schema: &Bound<'_, PyCapsule>, array: &Bound<'_, PyCapsule>) -> PyResult<RecordBatch> {
    let schema = schema_in(schema)?;
    let pointer = array.pointer_checked(Some(c"arrow_array"))?.cast::<FFI_ArrowArray>();
    // SAFETY: a capsule of this name holds an array. The array is moved out, and the one that stays
    // is marked as released.
    #[expect(unsafe_code, reason = "the Arrow PyCapsule interface hands pointers over")]
    let array = unsafe { FFI_ArrowArray::from_raw(pointer.as_ptr()) };
    batch_of(array, schema).map_err(to_py)
}

/// Imports an array as a batch with this schema.
pub fn batch_of(array: FFI_ArrowArray, schema: SchemaRef) -> Result<RecordBatch> {
    let rows = DataType::Struct(schema.fields().clone());
    shape::check(&array, &rows).map_err(|why| broken(&why))?;
    // SAFETY: the array has the parts that its type requires. Its producer guarantees the sizes of
    // these parts.
    #[expect(unsafe_code, reason = "Arrow's C interface does not tell the sizes of buffers")]
    let data = unsafe { from_ffi_and_data_type(array, rows) }.map_err(|error| broken(&text_of(&error)))?;
    let rows = data.len();
    if data.nulls().is_some_and(|nulls| nulls.inner().count_set_bits() < rows) {
        return Err(Error::invalid_input(
            "some rows of the data are null as a whole, but a row of a table cannot be null: leave these rows out",
        ));
    }
    let data = released_as_of_python(data)?;
    let columns = data.child_data().iter().zip(schema.fields()).map(|(column, field)| {
        let column = part(column, data.offset(), rows).and_then(|column| validate(&column).map(|()| column));
        column.map(make_array).map_err(|fault| broken(&format!("column {}{fault}", field.name())))
    });
    let columns = columns.collect::<Result<_>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema, columns, &options).map_err(|error| broken(&text_of(&error)))
}

/// Returns the same data. When its last buffer is dropped, the release callback of the producer
/// runs.
fn released_as_of_python(data: ArrayData) -> Result<ArrayData> {
    let owner = OfPython::new(data.clone())?;
    let owner: Arc<dyn Allocation> = Arc::new(AssertUnwindSafe(owner));
    Ok(holding(&data, &owner))
}

fn holding(data: &ArrayData, owner: &Arc<dyn Allocation>) -> ArrayData {
    let held = |buffer: &Buffer| match NonNull::new(buffer.as_ptr().cast_mut()) {
        // SAFETY: the owner holds this buffer.
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
    // SAFETY: the data is unchanged and at the same addresses.
    #[expect(unsafe_code, reason = "what has not changed is not looked at again")]
    unsafe {
        builder.build_unchecked()
    }
}

/// Returns some rows of an array without offsets in structs and in lists of a fixed size. arrow
/// would apply such an offset twice to a struct's fields, and would not apply it to the nulls of
/// such a list when it compares them with those of the elements.
fn part(data: &ArrayData, offset: usize, length: usize) -> Result<ArrayData, String> {
    if length == 0 {
        // arrow refuses an empty slice of strings, because the slice's first offset points beyond
        // its empty data.
        return Ok(ArrayData::new_empty(data.data_type()));
    }
    let per_row = match data.data_type() {
        DataType::Struct(_) => 1,
        DataType::FixedSizeList(_, size) => usize::try_from(*size).unwrap_or(0),
        _ => {
            let data = data.slice(offset, length);
            let is_plain = |child: &ArrayData| !child.data_type().is_nested() && !child.is_empty();
            return match data.child_data().iter().all(is_plain) {
                true => Ok(data),
                false => {
                    let children = parts(&data, |child| part(child, 0, child.len()))?;
                    data.clone().into_builder().child_data(children).build().map_err(|error| told(&data, &error))
                }
            };
        }
    };
    let start = data.offset() + offset;
    let children = parts(data, |child| part(child, start * per_row, length * per_row))?;
    let nulls = data.nulls().map(|nulls| nulls.slice(offset, length));
    let builder = ArrayData::builder(data.data_type().clone()).len(length).nulls(nulls).child_data(children);
    builder.build().map_err(|error| told(data, &error))
}

/// Validates every value, inner arrays first.
fn validate(data: &ArrayData) -> Result<(), String> {
    parts(data, validate)?;
    data.validate_data().map_err(|error| told(data, &error))
}

/// Applies `of` to all parts of an array. The message of an error begins with the path of the part.
fn parts<T>(data: &ArrayData, of: impl Fn(&ArrayData) -> Result<T, String>) -> Result<Vec<T>, String> {
    let parts = data.child_data().iter().zip(shape::parts(data.data_type()));
    parts.map(|(child, name)| of(child).map_err(|fault| format!(".{name}{fault}"))).collect()
}

/// Returns the message of an error of arrow, with Delta's names of types.
fn told(data: &ArrayData, error: &ArrowError) -> String {
    let text = text_of(error).replace("Offset invariant failure: ", "").replace("buffers[", "buffer [");
    format!(": {}", with_type_names(data, text))
}

fn with_type_names(data: &ArrayData, text: String) -> String {
    let text = text.replace(&data.data_type().to_string(), &type_name(data.data_type()));
    data.child_data().iter().fold(text, |text, child| with_type_names(child, text))
}

fn broken(why: &str) -> Error {
    Error::invalid_input(format!(
        "the data does not match its schema: {why}. The library that created the data is at fault: create the data again, or \
         report this to the library's authors; with pyarrow, pa.table(data).validate(full=True) checks the data, too"
    ))
}
