//! Removes values below nulls.
//!
//! In Arrow, a null row of a list or struct may still have elements and fields in memory, and a
//! slice has those of other rows. They belong to no row, so they must not count where a table
//! forbids nulls. Begin with [`without_null_children`].

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, ListArray, MapArray, StructArray};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer, OffsetBuffer};
use arrow_schema::DataType as ArrowType;
use arrow_select::filter::filter;
use arrow_select::nullif::nullif;

use crate::Result;

/// Returns the same values without elements and fields that belong to no value. The values below
/// may be null in every type, as `fit` leaves them.
pub(super) fn without_null_children(array: ArrayRef) -> Result<ArrayRef> {
    Ok(match array.data_type() {
        ArrowType::Struct(fields) => {
            let given = array.as_struct();
            let is_null = given.nulls().map(|nulls| BooleanArray::new(!nulls.inner(), None));
            let part = |part: &ArrayRef| {
                without_null_children(is_null.as_ref().map_or_else(|| Ok(Arc::clone(part)), |is_null| nullif(part, is_null))?)
            };
            let parts = given.columns().iter().map(part).collect::<Result<Vec<_>>>()?;
            Arc::new(StructArray::try_new_with_length(fields.clone(), parts, given.nulls().cloned(), given.len())?)
        }
        ArrowType::List(element) => {
            let list = array.as_list::<i32>();
            let (values, offsets) = held(list.values(), list.offsets(), list.nulls())?;
            Arc::new(ListArray::try_new(Arc::clone(element), offsets, without_null_children(values)?, list.nulls().cloned())?)
        }
        ArrowType::Map(entries, sorted) => {
            let map = array.as_map();
            let (held, offsets) = held(&(Arc::new(map.entries().clone()) as ArrayRef), map.offsets(), map.nulls())?;
            let held = without_null_children(held)?.as_struct().clone();
            Arc::new(MapArray::try_new(Arc::clone(entries), offsets, held, map.nulls().cloned(), *sorted)?)
        }
        _ => array,
    })
}

/// Returns the elements of the lists that are not null, and the offsets of each list among them.
fn held(values: &ArrayRef, offsets: &OffsetBuffer<i32>, nulls: Option<&NullBuffer>) -> Result<(ArrayRef, OffsetBuffer<i32>)> {
    // Offsets are never negative, and they ascend.
    let (first, last) = (offsets.first().map_or(0, |first| *first as usize), offsets.last().map_or(0, |last| *last as usize));
    let lengths = || offsets.lengths().enumerate().map(|(row, length)| (length, nulls.is_none_or(|nulls| nulls.is_valid(row))));
    let between = values.slice(first, last - first);
    let rebased = || OffsetBuffer::from_lengths(lengths().map(|(length, is_valid)| if is_valid { length } else { 0 }));
    if lengths().all(|(length, is_valid)| is_valid || length == 0) {
        return Ok((between, if first == 0 { offsets.clone() } else { rebased() }));
    }
    let mut is_held = BooleanBufferBuilder::new(between.len());
    lengths().for_each(|(length, is_valid)| is_held.append_n(length, is_valid));
    Ok((filter(&between, &BooleanArray::new(is_held.finish(), None))?, rebased()))
}

#[cfg(test)]
mod tests {
    use arrow_array::Int64Array;
    use arrow_schema::Field;

    use super::*;

    fn lists(nulls: [bool; 3]) -> ArrayRef {
        let values = Int64Array::from(vec![Some(1), None, Some(3), None]);
        let element = Arc::new(Field::new("element", ArrowType::Int64, true));
        Arc::new(ListArray::new(element, OffsetBuffer::from_lengths([1, 1, 2]), Arc::new(values), Some(nulls.to_vec().into())))
    }

    #[test]
    fn trimming_unused_elements_keeps_values() {
        for (given, elements) in [
            (lists([true; 3]), 4),
            (lists([true, false, true]), 3),
            (lists([false; 3]), 0),
            (lists([true, false, true]).slice(1, 2), 2),
            (lists([true, true, false]).slice(0, 2), 2),
        ] {
            let found = without_null_children(Arc::clone(&given)).unwrap();
            assert_eq!(&found, &given);
            assert_eq!(found.as_list::<i32>().values().len(), elements);
        }
    }

    #[test]
    fn trimming_drops_field_values_of_null_structs() {
        let field = Field::new("x", lists([true; 3]).data_type().clone(), true);
        let nulls = Some(NullBuffer::from(vec![true, true, false]));
        let given: ArrayRef = Arc::new(StructArray::new(vec![field].into(), vec![lists([true; 3])], nulls));
        let found = without_null_children(Arc::clone(&given)).unwrap();
        assert_eq!(&found, &given);
        assert_eq!(found.as_struct().column(0).as_list::<i32>().values().len(), 2);
    }
}
