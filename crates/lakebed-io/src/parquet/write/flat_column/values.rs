//! The values of a flat column. They are numbers or strings, in rows, in a dictionary or as bounds.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use ahash::RandomState;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, DictionaryArray, StringViewArray};
use arrow_buffer::{NullBuffer, ScalarBuffer, ToByteSlice};
use arrow_cast::cast;
use arrow_schema::{DataType as ArrowType, TimeUnit};
use lakebed_core::{Error, Result};
use parquet::basic::Type as PhysicalType;
use parquet::data_type::ByteArray;
use parquet::file::statistics::{Statistics, ValueStatistics};

use super::super::bounds::{Bound, Content, bounds};
use crate::parquet::LENGTH_BYTES;

/// The physical form in which a column stores its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Int32,
    Int64,
    Text,
}

/// Values in the form in which they arrive.
pub(super) enum Values {
    Numbers(Vec<i64>),
    Texts(StringViewArray),
}

/// Rows, each with a value of its own or with the key of a value.
pub(super) struct FlatRows {
    values: Values,
    keys: Option<ScalarBuffer<i32>>,
    nulls: Option<NullBuffer>,
}

/// Different values, each with the key by which rows refer to it.
pub(super) struct Dictionary {
    kind: Kind,
    /// The values in `PLAIN` encoding.
    bytes: Vec<u8>,
    numbers: Vec<i64>,
    /// The position of each string.
    texts: Vec<Range<usize>>,
    number_keys: HashMap<i64, u32, RandomState>,
    text_keys: HashMap<Box<[u8]>, u32, RandomState>,
}

/// The least or the greatest value of some rows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Extreme {
    Number(i64),
    Text(Vec<u8>),
}

impl Kind {
    /// Returns the kind of a column, or `None` for columns of other kinds.
    pub(super) fn of(data_type: &ArrowType, column: PhysicalType) -> Option<Self> {
        use ArrowType as T;
        Some(match (column, data_type) {
            (PhysicalType::INT32, T::Int8 | T::Int16 | T::Int32 | T::Date32 | T::Decimal64(..)) => Self::Int32,
            (PhysicalType::INT64, T::Int64 | T::Timestamp(TimeUnit::Microsecond, _) | T::Decimal64(..)) => Self::Int64,
            (PhysicalType::BYTE_ARRAY, T::Utf8 | T::Utf8View) => Self::Text,
            _ => return None,
        })
    }

    /// Appends a number in `PLAIN` encoding.
    fn put(self, number: i64, bytes: &mut Vec<u8>) {
        let width = if self == Self::Int32 { size_of::<i32>() } else { size_of::<i64>() };
        bytes.extend_from_slice(&number.to_le_bytes()[..width]);
    }
}

impl Values {
    /// Reads values of a type that a [`Kind`] has. The value at the position of a null has no
    /// meaning.
    pub(super) fn of(array: &ArrayRef) -> Result<Self> {
        fn numbers<T: ArrowPrimitiveType<Native: Into<i64>>>(array: &ArrayRef) -> Values {
            Values::Numbers(array.as_primitive::<T>().values().iter().map(|value| (*value).into()).collect())
        }
        Ok(match array.data_type() {
            ArrowType::Int8 => numbers::<Int8Type>(array),
            ArrowType::Int16 => numbers::<Int16Type>(array),
            ArrowType::Int32 => numbers::<Int32Type>(array),
            ArrowType::Int64 => numbers::<Int64Type>(array),
            ArrowType::Date32 => numbers::<Date32Type>(array),
            ArrowType::Timestamp(TimeUnit::Microsecond, _) => numbers::<TimestampMicrosecondType>(array),
            ArrowType::Decimal64(..) => numbers::<Decimal64Type>(array),
            ArrowType::Utf8View => Self::Texts(array.as_string_view().clone()),
            ArrowType::Utf8 => Self::Texts(cast(array, &ArrowType::Utf8View)?.as_string_view().clone()),
            other => return Err(Error::internal(format!("a flat column of {other}"))),
        })
    }

    /// Returns how many of these values take about at most this many bytes. The result is at least
    /// one.
    pub(super) fn fitting(&self, indices: impl ExactSizeIterator<Item = usize>, bytes: usize) -> usize {
        let (all, mut left) = (indices.len(), bytes);
        let Self::Texts(texts) = self else { return all };
        for (count, index) in indices.enumerate() {
            // The length of a string is in the low half of its view. The key of a null row has no
            // meaning.
            let length = texts.views().get(index).map_or(0, |view| *view as u32 as usize + LENGTH_BYTES);
            match left.checked_sub(length) {
                Some(rest) => left = rest,
                None => return count.max(1),
            }
        }
        all
    }

    /// Appends these values to a page in `PLAIN` encoding. Returns the least and the greatest of
    /// them.
    fn write(&self, kind: Kind, indices: impl Iterator<Item = usize>, page: &mut Vec<u8>) -> Option<(Extreme, Extreme)> {
        match self {
            Self::Numbers(numbers) => {
                let mut numbers: Vec<i64> = indices.map(|index| numbers[index]).collect();
                let extremes = numbers.iter().min().zip(numbers.iter().max());
                let extremes = extremes.map(|(least, most)| (Extreme::Number(*least), Extreme::Number(*most)));
                match kind {
                    Kind::Int32 => {
                        let narrow: Vec<i32> = numbers.iter().map(|number| (*number as i32).to_le()).collect();
                        page.extend_from_slice(narrow.to_byte_slice());
                    }
                    _ => {
                        numbers.iter_mut().for_each(|number| *number = number.to_le());
                        page.extend_from_slice(numbers.to_byte_slice());
                    }
                }
                extremes
            }
            Self::Texts(texts) => {
                let mut extremes: Option<(&str, &str)> = None;
                for index in indices {
                    let text = texts.value(index);
                    page.extend_from_slice(&(text.len() as u32).to_le_bytes());
                    page.extend_from_slice(text.as_bytes());
                    extremes = Some(match extremes {
                        Some((least, most)) => (least.min(text), most.max(text)),
                        None => (text, text),
                    });
                }
                extremes.map(|(least, most)| (Extreme::Text(least.into()), Extreme::Text(most.into())))
            }
        }
    }
}

impl FlatRows {
    /// Reads values, or keys into values.
    pub(super) fn of(rows: &ArrayRef) -> Result<Self> {
        // If there are more values than rows, most values are not needed.
        let is_handy =
            |keyed: &&DictionaryArray<Int32Type>| keyed.values().null_count() == 0 && keyed.values().len() <= keyed.len();
        if let Some(keyed) = rows.as_dictionary_opt::<Int32Type>().filter(is_handy) {
            let keys = Some(keyed.keys().values().clone());
            return Ok(Self { values: Values::of(keyed.values())?, keys, nulls: keyed.nulls().cloned() });
        }
        let rows = as_values(rows)?;
        Ok(Self { values: Values::of(&rows)?, keys: None, nulls: rows.nulls().cloned() })
    }

    pub(super) fn len(&self) -> usize {
        match (&self.keys, &self.values) {
            (Some(keys), _) => keys.len(),
            (None, Values::Numbers(numbers)) => numbers.len(),
            (None, Values::Texts(texts)) => texts.len(),
        }
    }

    pub(super) fn nulls(&self) -> Option<&NullBuffer> {
        self.nulls.as_ref()
    }

    /// Returns how many of these rows take about at most this many bytes. The result is at least
    /// one.
    pub(super) fn fitting(&self, rows: Range<usize>, bytes: usize) -> usize {
        match &self.keys {
            Some(keys) => self.values.fitting(rows.map(|row| keys[row] as usize), bytes),
            None => self.values.fitting(rows, bytes),
        }
    }

    /// Appends these rows to a page in `PLAIN` encoding. None of them is null. Returns the least
    /// and the greatest value.
    pub(super) fn write(&self, kind: Kind, rows: impl Iterator<Item = usize>, page: &mut Vec<u8>) -> Option<(Extreme, Extreme)> {
        match &self.keys {
            Some(keys) => self.values.write(kind, rows.map(|row| keys[row] as usize), page),
            None => self.values.write(kind, rows, page),
        }
    }
}

/// Returns rows as values, whether they arrive as values or as keys.
pub(in crate::parquet::write) fn as_values(rows: &ArrayRef) -> Result<ArrayRef> {
    match rows.data_type() {
        ArrowType::Dictionary(_, values) => Ok(cast(rows, values)?),
        _ => Ok(Arc::clone(rows)),
    }
}

impl Dictionary {
    pub(super) fn new(kind: Kind) -> Self {
        let (number_keys, text_keys) = (HashMap::default(), HashMap::default());
        Self { kind, bytes: Vec::new(), numbers: Vec::new(), texts: Vec::new(), number_keys, text_keys }
    }

    pub(super) fn len(&self) -> usize {
        self.numbers.len() + self.texts.len()
    }

    /// Returns the values as they are in the file.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns how much memory the values take.
    pub(super) fn memory_bytes(&self) -> usize {
        // The values are in memory once in their order and once in the lookup table.
        self.bytes.capacity() + 2 * (self.bytes.len() + size_of::<(i64, u32)>() * self.len())
    }

    /// Returns the key of a value. A new value gets a new key. Returns `None` for a value of
    /// another kind.
    pub(super) fn key(&mut self, of: &Values, index: usize) -> Option<u32> {
        let next = self.len() as u32;
        match of {
            Values::Numbers(numbers) if self.kind != Kind::Text => {
                let number = *numbers.get(index)?;
                if let Some(key) = self.number_keys.get(&number) {
                    return Some(*key);
                }
                self.kind.put(number, &mut self.bytes);
                self.numbers.push(number);
                self.number_keys.insert(number, next);
            }
            Values::Texts(texts) if self.kind == Kind::Text => {
                let text = texts.value(index).as_bytes();
                if let Some(key) = self.text_keys.get(text) {
                    return Some(*key);
                }
                self.bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
                let start = self.bytes.len();
                self.bytes.extend_from_slice(text);
                self.texts.push(start..self.bytes.len());
                self.text_keys.insert(text.into(), next);
            }
            _ => return None,
        }
        Some(next)
    }

    /// Returns the number of bytes of the strings with these keys. The result is 0 for numbers.
    pub(super) fn text_bytes(&self, keys: &[u32]) -> usize {
        match self.kind {
            Kind::Text => keys.iter().map(|key| self.texts[*key as usize].len()).sum(),
            _ => 0,
        }
    }

    /// Returns the least and the greatest of the marked values.
    pub(super) fn extremes(&self, marks: &[bool]) -> Option<(Extreme, Extreme)> {
        fn among<T: Ord + Copy>(values: impl Iterator<Item = T> + Clone) -> Option<(T, T)> {
            values.clone().min().zip(values.max())
        }
        match self.kind {
            Kind::Text => {
                let texts = self.texts.iter().zip(marks).filter(|(_, mark)| **mark).map(|(text, _)| &self.bytes[text.clone()]);
                among(texts).map(|(least, most)| (Extreme::Text(least.to_vec()), Extreme::Text(most.to_vec())))
            }
            _ => {
                let numbers = self.numbers.iter().zip(marks).filter(|(_, mark)| **mark).map(|(number, _)| *number);
                among(numbers).map(|(least, most)| (Extreme::Number(least), Extreme::Number(most)))
            }
        }
    }
}

/// Returns the bounds that contain the values of both.
pub(super) fn union(one: Option<(Extreme, Extreme)>, other: Option<(Extreme, Extreme)>) -> Option<(Extreme, Extreme)> {
    match (one, other) {
        (Some(one), Some(other)) => Some((one.0.min(other.0), one.1.max(other.1))),
        (one, other) => one.or(other),
    }
}

/// Returns a lower and an upper bound in the form of a page index.
pub(super) fn page_bounds(kind: Kind, (least, most): &(Extreme, Extreme)) -> (Vec<u8>, Vec<u8>) {
    if let (Extreme::Text(least), Extreme::Text(most)) = (least, most) {
        let (below, above) = bounds(least, most, Content::Text);
        return (below.bytes, above.bytes);
    }
    let bytes = |extreme: &Extreme| {
        let mut bytes = Vec::new();
        if let Extreme::Number(number) = extreme {
            kind.put(*number, &mut bytes);
        }
        bytes
    };
    (bytes(least), bytes(most))
}

/// Returns statistics of rows within these bounds. `is_signed` is true if old readers understand
/// them.
pub(super) fn statistics(kind: Kind, extremes: Option<(Extreme, Extreme)>, nulls: u64, is_signed: bool) -> Statistics {
    let (least, most) = extremes.unzip();
    let number = |extreme: &Option<Extreme>| match extreme {
        Some(Extreme::Number(number)) => Some(*number),
        _ => None,
    };
    match kind {
        Kind::Int32 => {
            let narrow = |extreme| number(extreme).map(|number| number as i32);
            let known = ValueStatistics::new(narrow(&least), narrow(&most), None, Some(nulls), false);
            known.with_backwards_compatible_min_max(is_signed).into()
        }
        Kind::Int64 => {
            let known = ValueStatistics::new(number(&least), number(&most), None, Some(nulls), false);
            known.with_backwards_compatible_min_max(is_signed).into()
        }
        Kind::Text => {
            let known = match (&least, &most) {
                (Some(Extreme::Text(least)), Some(Extreme::Text(most))) => Some(bounds(least, most, Content::Text)),
                _ => None,
            };
            let (below, above) = known.unzip();
            let is_exact = |bound: &Option<Bound>| bound.as_ref().is_some_and(|bound| bound.is_exact);
            let is_exact = (is_exact(&below), is_exact(&above));
            let bytes = |bound: Option<Bound>| bound.map(|bound| ByteArray::from(bound.bytes));
            let known = ValueStatistics::new(bytes(below), bytes(above), None, Some(nulls), false)
                .with_min_is_exact(is_exact.0)
                .with_max_is_exact(is_exact.1);
            known.with_backwards_compatible_min_max(is_signed).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::PrimitiveArray;

    use super::*;

    #[test]
    fn texts_are_counted_by_their_bytes() {
        let texts = Values::Texts(StringViewArray::from(vec!["", "12345678", "a text that is longer than a view", "x"]));
        assert_eq!(texts.fitting(0..4, 3), 1);
        assert_eq!(texts.fitting(0..4, 4 + 12), 2);
        assert_eq!(texts.fitting(0..4, 4 + 12 + 36), 2);
        assert_eq!(texts.fitting(0..4, 4 + 12 + 37 + 5), 4);
        assert_eq!(texts.fitting(2..4, 1), 1);
    }

    #[test]
    fn keys_of_what_is_null_mean_nothing() {
        let keys = PrimitiveArray::new(vec![1, 99, 0, -1, 1].into(), Some(vec![true, false, true, false, true].into()));
        let texts: ArrayRef = Arc::new(StringViewArray::from(vec!["b", "aa"]));
        let rows: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::try_new(keys, texts).unwrap());
        let rows = FlatRows::of(&rows).unwrap();
        assert!(rows.keys.is_some());
        assert_eq!((rows.len(), rows.fitting(0..5, 11), rows.fitting(0..5, 17)), (5, 4, 5));
        let mut page = Vec::new();
        let extremes = rows.write(Kind::Text, rows.nulls().unwrap().valid_indices(), &mut page);
        assert_eq!(page, b"\x02\0\0\0aa\x01\0\0\0b\x02\0\0\0aa");
        assert_eq!(extremes, Some((Extreme::Text(b"aa".to_vec()), Extreme::Text(b"b".to_vec()))));
    }

    #[test]
    fn unused_dictionary_values_are_not_read() {
        let texts: ArrayRef = Arc::new(StringViewArray::from(vec!["a", "b", "c"]));
        let rows: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::try_new(vec![2, 0].into(), texts).unwrap());
        let rows = FlatRows::of(&rows).unwrap();
        let Values::Texts(texts) = &rows.values else { panic!("no texts") };
        assert_eq!((rows.len(), rows.keys.is_some(), texts.iter().collect::<Vec<_>>()), (2, false, vec![Some("c"), Some("a")]));
    }
}
