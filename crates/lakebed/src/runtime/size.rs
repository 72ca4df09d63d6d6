//! Computes the memory of rows, without the other content of the buffers of which they are slices.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, OffsetSizeTrait, RecordBatch};
use arrow_schema::DataType as ArrowType;

/// Returns the memory of a batch.
pub(crate) fn batch_bytes(batch: &RecordBatch) -> u64 {
    batch.columns().iter().map(array_bytes).sum()
}

/// Returns the memory of a column. For a sliced list, Arrow counts all elements; for a dictionary,
/// it counts all values, however few keys there are. So these two types are computed here.
pub(crate) fn array_bytes(array: &ArrayRef) -> u64 {
    let nulls = array.nulls().map_or(0, |nulls| nulls.len().div_ceil(8) as u64);
    let rows = array.len() as u64;
    match array.data_type() {
        ArrowType::Struct(_) => nulls + array.as_struct().columns().iter().map(array_bytes).sum::<u64>(),
        ArrowType::List(_) => {
            let list = array.as_list::<i32>();
            nulls + offsets_bytes::<i32>(rows) + array_bytes(&elements(list.values(), list.value_offsets()))
        }
        ArrowType::LargeList(_) => {
            let list = array.as_list::<i64>();
            nulls + offsets_bytes::<i64>(rows) + array_bytes(&elements(list.values(), list.value_offsets()))
        }
        ArrowType::Map(_, _) => {
            let (map, entries) = (array.as_map(), Arc::new(array.as_map().entries().clone()) as ArrayRef);
            nulls + offsets_bytes::<i32>(rows) + array_bytes(&elements(&entries, map.value_offsets()))
        }
        ArrowType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let values = dictionary.values();
            let of_row = array_bytes(values) / (values.len() as u64).max(1);
            array_bytes(&dictionary.keys().slice(0, array.len())) + rows * of_row
        }
        _ => array.to_data().get_slice_memory_size().unwrap_or_else(|_| array.get_array_memory_size()) as u64,
    }
}

fn offsets_bytes<O: OffsetSizeTrait>(rows: u64) -> u64 {
    (rows + 1) * size_of::<O>() as u64
}

/// Returns the elements between the first and the last offset. Offsets are never negative and never
/// decrease.
fn elements<O: OffsetSizeTrait>(values: &ArrayRef, offsets: &[O]) -> ArrayRef {
    let (first, last) =
        (offsets.first().map_or(0, |offset| offset.as_usize()), offsets.last().map_or(0, |offset| offset.as_usize()));
    values.slice(first, last - first)
}

#[cfg(test)]
mod tests {
    use arrow_array::{DictionaryArray, Int64Array, LargeListArray, ListArray, StringArray, types::Int8Type, types::Int64Type};

    use super::*;

    #[test]
    fn a_slice_takes_what_its_rows_take() {
        let lists = || (0..100).map(|row| Some(vec![Some(row); 10]));
        let arrays: [ArrayRef; 4] = [
            Arc::new(Int64Array::from_iter_values(0..100)),
            Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists())),
            Arc::new(LargeListArray::from_iter_primitive::<Int64Type, _, _>(lists())),
            Arc::new(DictionaryArray::<Int8Type>::new(
                (0..100).collect::<Vec<i8>>().into(),
                Arc::new(StringArray::from_iter_values((0..100).map(|row| format!("{row:080}")))),
            )),
        ];
        for array in arrays {
            let (all, some) = (array_bytes(&array), array_bytes(&array.slice(40, 10)));
            assert!((all / 11..=all / 9).contains(&some), "{}: {some} of {all}", array.data_type());
        }
    }
}
