//! Columns that are dictionaries. Each value that occurs in the rows is returned only once for each
//! dictionary.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, BooleanArray, DictionaryArray, Int32Array};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_select::filter::filter;
use arrow_select::take::take;

use crate::Result;

/// The last dictionary of a column, and its values that have been returned.
pub(super) struct Dictionary {
    values: ArrayRef,
    /// For each value, whether it occurred in a row. There is one more element at the end, which
    /// rows with null mark.
    used: Vec<bool>,
    given: BooleanBuffer,
    given_count: usize,
}

/// If a dictionary has more values than this for each row of a batch, one value is returned for
/// each row instead.
const MOST_VALUES_PER_ROW: usize = 8;

impl Dictionary {
    /// Returns the values that occur in the rows. None of them is null. Values of the last
    /// dictionary that were returned before may be missing.
    pub(super) fn give_new(
        last: &mut Option<Self>,
        array: &DictionaryArray<Int32Type>,
        nulls: Option<&NullBuffer>,
    ) -> Result<ArrayRef> {
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        if array.values().len() > array.len().saturating_mul(MOST_VALUES_PER_ROW) {
            return take_rows(array, nulls);
        }
        let known = last.take().filter(|last| is_same(&last.values, array.values()));
        let dictionary = last.insert(known.unwrap_or_else(|| Self::new(array.values())));
        if dictionary.given_count == array.values().len() {
            return Ok(array.values().slice(0, 0));
        }
        mark(&mut dictionary.used, array.keys().values(), nulls);
        dictionary.give_marked()
    }

    fn new(values: &ArrayRef) -> Self {
        let (used, given) = (vec![false; values.len() + 1], BooleanBuffer::new_unset(values.len()));
        Self { values: Arc::clone(values), used, given, given_count: 0 }
    }

    fn give_marked(&mut self) -> Result<ArrayRef> {
        let used = self.used.get(..self.values.len()).unwrap_or_default();
        // Counting the values is much cheaper than finding them.
        let count = used.iter().map(|used| usize::from(*used)).sum();
        if count == self.given_count {
            return Ok(self.values.slice(0, 0));
        }
        let used = BooleanBuffer::from(used);
        // Values that were returned are marked as used too, so the difference is new.
        let new = &used ^ &self.given;
        (self.given, self.given_count) = (used, count);
        Ok(filter(&self.values, &BooleanArray::new(new, None))?)
    }
}

/// Returns whether both arrays use the same memory. Parquet readers make a new array around the
/// same buffers for each batch.
fn is_same(values: &ArrayRef, other: &ArrayRef) -> bool {
    Arc::ptr_eq(values, other) || values.to_data().ptr_eq(&other.to_data())
}

/// Marks the values of the keys, and the last element for null keys. There is no branch that
/// depends on a key or a null.
fn mark(used: &mut [bool], keys: &[i32], nulls: Option<&NullBuffer>) {
    let Some(last) = used.len().checked_sub(1) else { return };
    let mut mark = |place: usize| {
        if let Some(used) = used.get_mut(place) {
            *used = true;
        }
    };
    let Some(nulls) = nulls else {
        return keys.iter().for_each(|key| mark(place_of(*key)));
    };
    for (keys, valid) in keys.chunks(WORD).zip(nulls.inner().bit_chunks().iter_padded()) {
        for (row, key) in keys.iter().enumerate() {
            let is_valid = valid >> row & 1 == 1;
            mark(if is_valid { place_of(*key) } else { last });
        }
    }
}

/// The number of keys that one word of validity covers.
const WORD: usize = 64;

/// Returns the position of a key. The key of a row that is not null is not negative.
fn place_of(key: i32) -> usize {
    key.cast_unsigned() as usize
}

/// Returns the values of the rows that are not null.
fn take_rows(array: &DictionaryArray<Int32Type>, nulls: Option<&NullBuffer>) -> Result<ArrayRef> {
    let Some(nulls) = nulls else { return Ok(take(array.values(), array.keys(), None)?) };
    let keys = filter(&Int32Array::new(array.keys().values().clone(), None), &BooleanArray::new(nulls.inner().clone(), None))?;
    Ok(take(array.values(), &keys, None)?)
}
