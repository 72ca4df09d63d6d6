//! A stream of Arrow batches that somebody else makes, over Arrow's C interface.
//!
//! arrow has such a reader, but it panics for a slice of a struct within a struct: there the offset of the outer one counts for all that
//! is below, and arrow applies it twice. So offsets are moved down to the leaves, once, before arrow sees them.

use std::ffi::CStr;

use arrow::array::{ArrayData, RecordBatch, RecordBatchOptions, StructArray};
use arrow::datatypes::{DataType, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi_and_data_type};
use arrow::ffi_stream::FFI_ArrowArrayStream;

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
        let (_, columns, _) = StructArray::from(part(&data, 0, rows)?).into_parts();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(self.schema(), columns, &options).map(Some)
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatchIterator};
    use arrow::buffer::NullBuffer;
    use arrow::datatypes::{Field, Fields, Int64Type};

    use super::*;

    fn field(name: &str, data_type: &DataType) -> Arc<Field> {
        Arc::new(Field::new(name, data_type.clone(), true))
    }

    fn within(name: &str, values: &ArrayRef, nulls: Option<Vec<bool>>) -> ArrayRef {
        let fields = Fields::from(vec![field(name, values.data_type())]);
        Arc::new(StructArray::new(fields, vec![Arc::clone(values)], nulls.map(NullBuffer::from)))
    }

    /// As another library would hand the slice over: the offset is that of the outermost struct alone.
    fn sliced(array: &ArrayRef, offset: usize, length: usize) -> ArrayData {
        let builder = array.to_data().into_builder().offset(offset).len(length);
        let nulls = array.nulls().map(|nulls| nulls.slice(offset, length));
        builder.nulls(nulls).build().unwrap()
    }

    #[test]
    fn slices_of_structs_within_structs_are_their_rows() {
        let numbers: ArrayRef = Arc::new(Int64Array::from((0..10).collect::<Vec<i64>>()));
        let inner = within("y", &numbers, Some((0..10).map(|row| row != 6).collect()));
        let outer = within("in", &inner, None);
        for (offset, length) in [(0, 10), (0, 4), (5, 5), (3, 4), (9, 1), (4, 0)] {
            let part = part(&sliced(&outer, offset, length), 0, length).unwrap();
            let found = StructArray::from(part);
            let inner = found.column(0).as_struct();
            let values = inner.column(0).as_primitive::<Int64Type>();
            let expected: Vec<i64> = (offset..offset + length).map(|row| row as i64).collect();
            assert_eq!(values.values(), expected.as_slice(), "{offset} {length}");
            let is_null: Vec<bool> = (0..length).map(|row| inner.is_null(row)).collect();
            assert_eq!(is_null, (offset..offset + length).map(|row| row == 6).collect::<Vec<_>>(), "{offset} {length}");
        }
    }

    #[test]
    fn a_stream_gives_its_batches_and_ends() {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
        let schema: SchemaRef = Arc::new(Schema::new(vec![field("a", &DataType::Int64)]));
        let batch = RecordBatch::try_new(Arc::clone(&schema), vec![numbers]).unwrap();
        let batches = vec![Ok(batch.clone()), Err(ArrowError::ComputeError("broken".to_owned()))];
        let reader = RecordBatchIterator::new(batches, Arc::clone(&schema));
        let mut stream = InputStream::new(FFI_ArrowArrayStream::new(Box::new(reader))).unwrap();
        assert_eq!(stream.schema(), schema);
        assert_eq!(stream.next().unwrap(), Some(batch));
        assert!(stream.next().unwrap_err().to_string().contains("broken"));
        let empty = RecordBatchIterator::new(Vec::new(), schema);
        let mut stream = InputStream::new(FFI_ArrowArrayStream::new(Box::new(empty))).unwrap();
        assert_eq!(stream.next().unwrap(), None);
        assert!(InputStream::new(FFI_ArrowArrayStream::empty()).is_err());
    }
}
