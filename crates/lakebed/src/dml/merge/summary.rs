//! What a column of the target must hold for a row to match any row of a source: a condition in SQL by which files, row groups and pages
//! are left out.
//!
//! It is true for every row that matches, and for as few others as a text of bounded length can say. Read [`Summary::add`], then
//! [`Summary::condition`].

#[cfg(test)]
mod tests;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use lakebed_expr::{date_text, decimal_text, timestamp_text};

use super::ranges::{Ranges, Value};

/// The most values that are named one by one.
const MOST_VALUES: usize = 1_000;
/// The most ranges in a condition.
const MOST_RANGES: usize = 64;
/// The most ranges that are kept while values come.
const KEPT_RANGES: usize = 4_096;
/// So many values are sorted at a time.
const SORTED_VALUES: usize = 65_536;
/// Longer texts are cut: what begins with the same bytes counts as the same.
const MOST_TEXT_BYTES: usize = 128;
/// How long a condition may be.
const MOST_CONDITION_BYTES: usize = 64 << 10;
/// The first number that has more digits than a decimal can.
const DECIMAL_END: i128 = 10_i128.pow(38);

/// The values of a key in a source, added part by part.
#[derive(Debug, Clone)]
pub(crate) struct Summary {
    data_type: DataType,
    has_null: bool,
    /// `None` once a value came that no literal spells.
    values: Option<Values>,
}

#[derive(Debug, Clone)]
enum Values {
    /// Of every type whose values are numbers in the end.
    Numbers(Ranges<i128>),
    Texts(Ranges<String>),
}

impl Summary {
    /// Nothing yet, of the type in which the key is compared.
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

    /// The condition on the column with this path, where a NULL equals a NULL if `null_safe`. `None` if nothing can be said.
    pub(crate) fn condition(&self, path: &[String], null_safe: bool) -> Option<String> {
        let column = quoted(path);
        let condition = match self.values.as_ref()? {
            Values::Numbers(ranges) => conditions(&column, ranges, |value| number_text(&self.data_type, *value))?,
            Values::Texts(ranges) => conditions(&column, ranges, |value| Some(text_literal(value)))?,
        };
        Some(match (condition, null_safe && self.has_null) {
            (Some(condition), true) => format!("({condition} OR {column} IS NULL)"),
            (Some(condition), false) => condition,
            (None, true) => format!("{column} IS NULL"),
            (None, false) => "FALSE".into(),
        })
    }
}

fn with<T: Value>(mut known: Ranges<T>, part: Ranges<T>) -> Ranges<T> {
    known.add(part);
    known.reduce(KEPT_RANGES);
    known
}

/// The values of an array as numbers in the same order, unless there is one that has no literal.
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
        // Zero has two forms, of which comparisons know one.
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

/// The bits of a float as a number in the order of the floats, and back: of negative ones all but the sign are turned round.
fn ordered(bits: i64, all_but_sign: i64) -> i64 {
    if bits < 0 { bits ^ all_but_sign } else { bits }
}

fn texts(array: &ArrayRef) -> Ranges<String> {
    let mut found = Ranges::of(array.as_string::<i32>().iter().flatten().collect());
    found.reduce(KEPT_RANGES);
    found.map(|low| beginning(low).to_owned(), |high| end(high))
}

/// A text that is not above this one, and not too long.
fn beginning(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MOST_TEXT_BYTES)).unwrap_or(text)
}

/// A text that is not below this one, and not too long if there is any such.
fn end(text: &str) -> String {
    let cut = beginning(text);
    if cut.len() == text.len() {
        return text.to_owned();
    }
    let above = |(place, last): (usize, char)| {
        // Between the halves of a character in UTF-16 there is none.
        let next = if last == '\u{d7ff}' { Some('\u{e000}') } else { char::from_u32(u32::from(last) + 1) };
        next.map(|next| format!("{}{next}", &cut[..place]))
    };
    cut.char_indices().rev().find_map(above).unwrap_or_else(|| text.to_owned())
}

/// What covers the ranges; `Some(None)` if there are none, `None` if it cannot be said shortly.
fn conditions<T: Value>(column: &str, ranges: &Ranges<T>, literal: impl Fn(&T) -> Option<String>) -> Option<Option<String>> {
    if ranges.as_slice().is_empty() {
        return Some(None);
    }
    if let Some(values) = ranges.values().filter(|values| values.len() <= MOST_VALUES) {
        let values = values.into_iter().map(&literal).collect::<Option<Vec<_>>>()?;
        let condition = format!("{column} IN ({})", values.join(", "));
        if condition.len() <= MOST_CONDITION_BYTES {
            return Some(Some(condition));
        }
    }
    let mut most = MOST_RANGES;
    while most > 0 {
        let mut ranges = ranges.clone();
        ranges.close(most);
        let range = |(low, high): &(T, T)| {
            let low = literal(low)?;
            let high = literal(high)?;
            Some(if low == high { format!("{column} = {low}") } else { format!("{column} BETWEEN {low} AND {high}") })
        };
        let each = ranges.as_slice().iter().map(range).collect::<Option<Vec<_>>>()?;
        let condition = if each.len() == 1 { each.concat() } else { format!("({})", each.join(" OR ")) };
        if condition.len() <= MOST_CONDITION_BYTES {
            return Some(Some(condition));
        }
        most /= 2;
    }
    None
}

/// The literal of a value, in Spark's SQL.
fn number_text(data_type: &DataType, value: i128) -> Option<String> {
    Some(match data_type {
        DataType::Boolean => (if value == 0 { "FALSE" } else { "TRUE" }).into(),
        DataType::Int8 => format!("{value}Y"),
        DataType::Int16 => format!("{value}S"),
        DataType::Int32 => value.to_string(),
        DataType::Int64 => format!("{value}L"),
        DataType::Date32 => format!("DATE '{}'", date_text(i64::try_from(value).ok()?)),
        DataType::Timestamp(_, Some(_)) => format!("TIMESTAMP '{}Z'", timestamp_text(i64::try_from(value).ok()?)),
        DataType::Timestamp(_, None) => format!("TIMESTAMP_NTZ '{}'", timestamp_text(i64::try_from(value).ok()?)),
        DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => format!("{}BD", decimal_text(value, *scale)),
        DataType::Float32 => {
            let bits = i32::try_from(ordered(i64::try_from(value).ok()?, i32::MAX.into())).ok()?;
            format!("{:e}F", f32::from_bits(bits.cast_unsigned()))
        }
        DataType::Float64 => {
            let bits = ordered(i64::try_from(value).ok()?, i64::MAX);
            format!("{:e}D", f64::from_bits(bits.cast_unsigned()))
        }
        _ => return None,
    })
}

fn text_literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

fn quoted(path: &[String]) -> String {
    let names: Vec<String> = path.iter().map(|name| format!("`{}`", name.replace('`', "``"))).collect();
    names.join(".")
}
