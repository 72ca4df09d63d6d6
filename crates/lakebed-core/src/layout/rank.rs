//! Replaces values by small numbers of the same order.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, make_array};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;

use super::bounds::{bounds_of, sorted};
pub use super::key::is_orderable;
use super::key::{Keys, is_same_order, keys, plain};
use super::search::counts;
use super::string_bounds::StringBounds;
use crate::{Error, Result};

/// The number of bounds that ranks of 16 bits can distinguish, besides the ranks of nulls and of
/// values below all bounds.
const MOST_BOUNDS: usize = 65_534;

/// Ranks the values of one column. The bounds are the distinct values of a sample. If there are too
/// many, the bounds are some of these values, with the same number of rows between them.
///
/// The order is that of Delta's statistics: NaN is greater than all numbers, both zeros are equal,
/// and strings and binaries are compared by their bytes. Strings that differ only far after the
/// common prefix of the whole sample have the same rank. Statistics do not distinguish them either.
#[derive(Debug, Clone)]
pub struct Ranker {
    bounds: Bounds,
    /// The type of the values, or `None` without a sample.
    data_type: Option<DataType>,
}

#[derive(Debug, Clone)]
enum Bounds {
    /// The bounds of a sample without values.
    None,
    Words(Vec<u64>),
    Wide(Vec<u128>),
    Strings(StringBounds),
}

impl Ranker {
    /// Creates a ranker from arrays of one type, for which [`is_orderable`] is true.
    pub fn of_sample(sample: &[ArrayRef]) -> Result<Self> {
        let data_type = sample.first().map(|array| array.data_type().clone());
        let arrays = sample.iter().map(plain).collect::<Result<Vec<_>>>()?;
        let (mut words, mut wide, mut texts) = (Vec::new(), Vec::new(), Vec::new());
        for (array, given) in arrays.iter().zip(sample) {
            check_type(data_type.as_ref(), given.data_type())?;
            match keys(array)? {
                Keys::Words(keys) => words.extend(valid(array, keys)),
                Keys::Wide(keys) => wide.extend(valid(array, keys)),
                Keys::Strings(keys) => texts.extend(valid(array, keys)),
            }
        }
        let bounds = match (words.is_empty(), wide.is_empty(), texts.is_empty()) {
            (false, ..) => Bounds::Words(bounds_of(sorted(words), MOST_BOUNDS)),
            (_, false, _) => Bounds::Wide(bounds_of(sorted(wide), MOST_BOUNDS)),
            (.., false) => Bounds::Strings(StringBounds::of_sample(&texts, MOST_BOUNDS)),
            _ => Bounds::None,
        };
        Ok(Self { bounds, data_type })
    }

    /// Returns the rank of each value. The rank of null is 0. The rank of another value is 1 plus
    /// the number of bounds that are not above it. So the lesser of two values never has the
    /// greater rank.
    pub fn ranks(&self, values: &dyn Array) -> Result<Vec<u16>> {
        check_type(self.data_type.as_ref(), values.data_type())?;
        if let Some(dictionary) = values.as_any_dictionary_opt() {
            if dictionary.values().is_empty() {
                return Ok(vec![0; values.len()]);
            }
            let ranks = self.ranks(dictionary.values())?;
            let mut ranks: Vec<u16> =
                dictionary.normalized_keys().iter().map(|key| ranks.get(*key).copied().unwrap_or(0)).collect();
            clear_nulls(&mut ranks, values.nulls());
            return Ok(ranks);
        }
        let array = plain(&make_array(values.to_data()))?;
        let counts = match (&self.bounds, keys(&array)?) {
            (Bounds::Words(bounds), Keys::Words(keys)) => counts(bounds, &keys),
            (Bounds::Wide(bounds), Keys::Wide(keys)) => counts(bounds, &keys),
            (Bounds::Strings(bounds), Keys::Strings(keys)) => bounds.counts(&keys),
            (Bounds::None, _) => vec![0; array.len()],
            _ => return Err(Error::internal(format!("bounds of another type than {}", array.data_type()))),
        };
        let mut ranks: Vec<u16> = counts.iter().map(|count| 1 + *count as u16).collect();
        clear_nulls(&mut ranks, values.nulls());
        Ok(ranks)
    }
}

fn check_type(known: Option<&DataType>, other: &DataType) -> Result<()> {
    match known {
        Some(known) if !is_same_order(known, other) => {
            Err(Error::internal(format!("values of type {other} cannot be ordered with those of type {known}")))
        }
        _ => Ok(()),
    }
}

fn valid<K>(array: &dyn Array, keys: Vec<K>) -> impl Iterator<Item = K> {
    keys.into_iter().enumerate().filter(|(row, _)| array.is_valid(*row)).map(|(_, key)| key)
}

fn clear_nulls(ranks: &mut [u16], nulls: Option<&NullBuffer>) {
    if let Some(nulls) = nulls.filter(|nulls| nulls.null_count() > 0) {
        for (rank, is_valid) in ranks.iter_mut().zip(nulls) {
            *rank *= u16::from(is_valid);
        }
    }
}
