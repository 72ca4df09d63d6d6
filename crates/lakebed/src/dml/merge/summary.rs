//! Computes a filter on a target column that is true for every row that can match a source row.
//! Files, row groups and pages are pruned with it.
//!
//! The filter is true for every row that matches, and for as few other rows as a filter of bounded
//! size allows. Begin with [`Summary::add`], then [`Summary::filter`].

#[cfg(test)]
mod tests;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Schema, TimeUnit};
use datafusion_common::ScalarValue;
use lakebed_expr::{ColumnValues, Filter, decimal_of_digits};

use super::ranges::{Ranges, Value};

/// The most values that a filter lists one by one.
const MOST_VALUES: usize = 1_000;
/// The most ranges in a filter.
const MOST_RANGES: usize = 64;
/// The most ranges that are kept while values are added.
const KEPT_RANGES: usize = 4_096;
/// The number of values that are sorted at a time.
const SORTED_VALUES: usize = 65_536;
/// The most bytes of a text in a filter. Longer texts are cut, so texts with the same beginning
/// count as equal.
const MOST_TEXT_BYTES: usize = 128;
/// The most bytes of a filter's text.
const MOST_CONDITION_BYTES: usize = 64 << 10;
/// The first number that has more digits than a decimal can have.
const DECIMAL_END: i128 = 10_i128.pow(38);

/// The values of a key in a source, added part by part.
#[derive(Debug, Clone)]
pub(crate) struct Summary {
    data_type: DataType,
    has_null: bool,
    /// `None` once a value was added that no literal can express.
    values: Option<Values>,
}

#[derive(Debug, Clone)]
enum Values {
    /// Values of every type that can be converted to numbers.
    Numbers(Ranges<i128>),
    Texts(Ranges<String>),
}

impl Summary {
    /// Creates an empty summary for keys of this type.
    pub(crate) fn new(data_type: &DataType) -> Self {
        let values = match data_type {
            DataType::Utf8 => Values::Texts(Ranges::default()),
            _ => Values::Numbers(Ranges::default()),
        };
        Self { data_type: data_type.clone(), has_null: false, values: Some(values) }
    }

    /// Adds values.
    pub(crate) fn add(&mut self, values: &ArrayRef) {
        self.has_null |= values.logical_null_count() > 0;
        for first in (0..values.len()).step_by(SORTED_VALUES) {
            let part = values.slice(first, SORTED_VALUES.min(values.len() - first));
            self.values = match self.values.take() {
                Some(Values::Numbers(known)) if values.data_type() == &self.data_type => {
                    numbers(&part).map(|part| Values::Numbers(with(known, part)))
                }
                Some(Values::Texts(known)) if values.data_type() == &self.data_type => {
                    Some(Values::Texts(with(known, texts(&part))))
                }
                _ => None,
            };
        }
    }

    /// Returns the filter on the column with this path. A NULL equals a NULL if `null_safe`. `None`
    /// if there is no such filter.
    pub(crate) fn filter(&self, schema: &Schema, path: &[String], null_safe: bool) -> Option<Filter> {
        let or_null = null_safe && self.has_null;
        let filter = |values: &ColumnValues| Filter::of_column(schema, path, values, or_null);
        match self.values.as_ref()? {
            Values::Numbers(ranges) => shortest(ranges, |value| scalar(&self.data_type, *value), filter),
            Values::Texts(ranges) => shortest(ranges, |value| Some(ScalarValue::from(value.as_str())), filter),
        }
    }
}

fn with<T: Value>(mut known: Ranges<T>, part: Ranges<T>) -> Ranges<T> {
    known.add(part);
    known.reduce(KEPT_RANGES);
    known
}

/// Returns the values of an array as numbers in the same order; None if a value has no literal.
fn numbers(array: &ArrayRef) -> Option<Ranges<i128>> {
    match array.data_type() {
        DataType::Null => Some(Ranges::default()),
        DataType::Boolean => bounded(array.as_boolean().iter().flatten().map(|value| Some(i64::from(value)))),
        DataType::Int8 => natives::<Int8Type, i64>(array, |value| Some(value.into())),
        DataType::Int16 => natives::<Int16Type, i64>(array, |value| Some(value.into())),
        DataType::Int32 => natives::<Int32Type, i64>(array, |value| Some(value.into())),
        DataType::Int64 => natives::<Int64Type, i64>(array, Some),
        DataType::Date32 => natives::<Date32Type, i64>(array, |value| Some(value.into())),
        DataType::Timestamp(TimeUnit::Microsecond, _) => natives::<TimestampMicrosecondType, i64>(array, Some),
        DataType::Decimal128(_, scale) if *scale >= 0 => natives::<Decimal128Type, i128>(array, decimal),
        DataType::Decimal256(_, scale) if *scale >= 0 => {
            natives::<Decimal256Type, i128>(array, |value| decimal(value.to_i128()?))
        }
        // Zero has two bit patterns, which comparisons treat as equal.
        DataType::Float32 => natives::<Float32Type, i64>(array, |value| {
            value.is_finite().then(|| ordered((value + 0.0).to_bits().cast_signed().into(), i32::MAX.into()))
        }),
        DataType::Float64 => natives::<Float64Type, i64>(array, |value| {
            value.is_finite().then(|| ordered((value + 0.0).to_bits().cast_signed(), i64::MAX))
        }),
        _ => None,
    }
}

fn natives<T: ArrowPrimitiveType, N: Value + Into<i128>>(
    array: &ArrayRef,
    number: impl Fn(T::Native) -> Option<N>,
) -> Option<Ranges<i128>> {
    let array = array.as_primitive::<T>();
    match array.null_count() {
        0 => bounded(array.values().iter().map(|value| number(*value))),
        _ => bounded(array.iter().flatten().map(number)),
    }
}

fn bounded<N: Value + Into<i128>>(numbers: impl Iterator<Item = Option<N>>) -> Option<Ranges<i128>> {
    let mut found = Ranges::of(numbers.collect::<Option<_>>()?);
    found.reduce(KEPT_RANGES);
    Some(found.map(|low| low.clone().into(), |high| high.clone().into()))
}

fn decimal(value: i128) -> Option<i128> {
    (-DECIMAL_END < value && value < DECIMAL_END).then_some(value)
}

/// Converts the bits of a float to a number with the order of the floats, and back: for negative
/// floats, all bits but the sign are inverted.
fn ordered(bits: i64, all_but_sign: i64) -> i64 {
    if bits < 0 { bits ^ all_but_sign } else { bits }
}

fn texts(array: &ArrayRef) -> Ranges<String> {
    let mut found = Ranges::of(array.as_string::<i32>().iter().flatten().collect());
    found.reduce(KEPT_RANGES);
    found.map(|low| beginning(low).to_owned(), |high| end(high))
}

/// Returns a lower bound of the text that is not too long.
fn beginning(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MOST_TEXT_BYTES)).unwrap_or(text)
}

/// Returns an upper bound of the text. The bound is not too long, if such a bound exists.
fn end(text: &str) -> String {
    let cut = beginning(text);
    if cut.len() == text.len() {
        return text.to_owned();
    }
    let above = |(place, last): (usize, char)| {
        // There are no characters between U+D7FF and U+E000, the range of UTF-16 surrogates.
        let next = if last == '\u{d7ff}' { Some('\u{e000}') } else { char::from_u32(u32::from(last) + 1) };
        next.map(|next| format!("{}{next}", &cut[..place]))
    };
    cut.char_indices().rev().find_map(above).unwrap_or_else(|| text.to_owned())
}

/// Returns a filter that covers the ranges, with a text that is not too long; `None` if there is
/// none.
fn shortest<T: Value>(
    ranges: &Ranges<T>,
    scalar: impl Fn(&T) -> Option<ScalarValue>,
    filter: impl Fn(&ColumnValues) -> Option<Filter>,
) -> Option<Filter> {
    let is_short = |filter: &Filter| filter.text().len() <= MOST_CONDITION_BYTES;
    if ranges.as_slice().is_empty() {
        return filter(&ColumnValues::None);
    }
    if let Some(values) = ranges.values().filter(|values| values.len() <= MOST_VALUES) {
        let values = values.into_iter().map(&scalar).collect::<Option<Vec<_>>>()?;
        let listed = filter(&ColumnValues::Listed(values))?;
        if is_short(&listed) {
            return Some(listed);
        }
    }
    let mut most = MOST_RANGES;
    while most > 0 {
        let mut ranges = ranges.clone();
        ranges.close(most);
        let range = |(low, high): &(T, T)| Some((scalar(low)?, scalar(high)?));
        let ranges = ranges.as_slice().iter().map(range).collect::<Option<Vec<_>>>()?;
        let filter = filter(&ColumnValues::Ranges(ranges))?;
        if is_short(&filter) {
            return Some(filter);
        }
        most /= 2;
    }
    None
}

/// Returns the value of a number in the type of the key.
fn scalar(data_type: &DataType, value: i128) -> Option<ScalarValue> {
    let long = || i64::try_from(value).ok();
    Some(match data_type {
        DataType::Boolean => ScalarValue::Boolean(Some(value != 0)),
        DataType::Int8 => ScalarValue::Int8(Some(i8::try_from(value).ok()?)),
        DataType::Int16 => ScalarValue::Int16(Some(i16::try_from(value).ok()?)),
        DataType::Int32 => ScalarValue::Int32(Some(i32::try_from(value).ok()?)),
        DataType::Int64 => ScalarValue::Int64(Some(long()?)),
        DataType::Date32 => ScalarValue::Date32(Some(i32::try_from(value).ok()?)),
        DataType::Timestamp(_, zone) => ScalarValue::TimestampMicrosecond(Some(long()?), zone.as_ref().map(|_| "UTC".into())),
        DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => decimal_of_digits(value, *scale)?,
        DataType::Float32 => {
            let bits = i32::try_from(ordered(long()?, i32::MAX.into())).ok()?;
            ScalarValue::Float32(Some(f32::from_bits(bits.cast_unsigned())))
        }
        DataType::Float64 => ScalarValue::Float64(Some(f64::from_bits(ordered(long()?, i64::MAX).cast_unsigned()))),
        _ => return None,
    })
}
