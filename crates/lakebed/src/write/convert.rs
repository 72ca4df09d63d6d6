//! Converts data of any Arrow type to values of a table's types.
//!
//! The same value in another form is accepted: large, view or dictionary types, and other units or
//! time zones. A value without an equal value in the column's type is an error that shows the
//! value, unless the caller allows digits to be dropped ([`OnLossy`]). Begin with [`fit`].

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, ListArray, MapArray, RecordBatch, StructArray, new_null_array};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_ord::cmp::distinct;
use arrow_schema::{DataType as ArrowType, Field, TimeUnit};
use lakebed_core::schema::arrow::{nullable_type_to_arrow, type_name};
use lakebed_core::schema::char_varchar::pad_column;
use lakebed_core::schema::{ArrayType, DataType, MapType, PrimitiveType, StructType};
use serde::{Deserialize, Serialize};

use crate::scan::read::decoded_type::{moving_batch, value_type};
use crate::{Error, Result};

/// The handling of digits that a column cannot hold: nanoseconds, decimals, or the last bits of a
/// double.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnLossy {
    /// Refuses the data.
    #[default]
    Error,
    /// Drops the digits.
    Truncate,
}

/// Converts a column to a type. Nulls are allowed everywhere, because they are checked later.
/// `column` is for messages.
pub(crate) fn fit(array: &ArrayRef, to: &DataType, on_lossy: OnLossy, column: &str) -> Result<ArrayRef> {
    let wanted = nullable_type_to_arrow(to)?;
    if array.data_type() == &wanted && !matches!(to, DataType::Primitive(PrimitiveType::Char { .. })) {
        return Ok(Arc::clone(array));
    }
    if array.data_type() == &ArrowType::Null {
        return Ok(new_null_array(&wanted, array.len()));
    }
    match to {
        DataType::Primitive(PrimitiveType::Variant) => fit_variant(array, &wanted, column),
        DataType::Primitive(PrimitiveType::Char { length }) => {
            let texts = fit_primitive(array, &wanted, on_lossy, column)?;
            pad_column(texts.as_string::<i32>(), *length)
        }
        DataType::Primitive(_) => fit_primitive(array, &wanted, on_lossy, column),
        DataType::Struct(fields) => fit_struct(array, fields, on_lossy, column),
        DataType::Array(of) => fit_list(array, of, &wanted, on_lossy, column),
        DataType::Map(of) => fit_map(array, of, &wanted, on_lossy, column),
    }
}

fn fit_primitive(array: &ArrayRef, to: &ArrowType, on_lossy: OnLossy, column: &str) -> Result<ArrayRef> {
    let from = array.data_type();
    if from == to {
        return Ok(Arc::clone(array));
    }
    if let ArrowType::Dictionary(_, values) = from {
        return fit_primitive(&plain(array, values, column)?, to, on_lossy, column);
    }
    if let ArrowType::RunEndEncoded(_, values) = from {
        return fit_primitive(&plain(array, values.data_type(), column)?, to, on_lossy, column);
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let fitted = cast_with_options(array, to, &options).or_else(|_| Err(not_held(array, to, column)?))?;
    if on_lossy == OnLossy::Error && may_lose(from, to) {
        let back = cast_with_options(&fitted, from, &CastOptions::default())?;
        if let Some(row) = first_true(&distinct(&back, array)?) {
            let value = shown(array, row)?;
            let message = format!(
                "column {column}: {value} has more digits than its type {} can hold; on_lossy=\"truncate\" drops them",
                type_name(to)
            );
            return Err(Error::schema_mismatch(message));
        }
    }
    Ok(fitted)
}

fn plain(array: &ArrayRef, values: &ArrowType, column: &str) -> Result<ArrayRef> {
    cast_with_options(array, values, &CastOptions::default()).or_else(|_| Err(not_held(array, values, column)?))
}

/// Returns an error with the first value that has no equal value in a type.
fn not_held(array: &ArrayRef, to: &ArrowType, column: &str) -> Result<Error> {
    let (from, wanted) = (type_name(array.data_type()), type_name(to));
    let Ok(fitted) = cast_with_options(array, to, &CastOptions::default()) else {
        return Ok(Error::schema_mismatch(format!("column {column}: values of type {from} cannot be written as {wanted}")));
    };
    let value = match (0..array.len()).find(|row| array.is_valid(*row) && fitted.is_null(*row)) {
        Some(row) => shown(array, row)?,
        None => "a value".to_owned(),
    };
    Ok(Error::schema_mismatch(format!("column {column}: {value} does not fit into its type {wanted}")))
}

/// Returns whether a cast between assignable types can change a value without failing.
fn may_lose(from: &ArrowType, to: &ArrowType) -> bool {
    use ArrowType as T;
    match (from, to) {
        (T::Timestamp(unit, _) | T::Duration(unit), T::Timestamp(TimeUnit::Microsecond, _) | T::Duration(_)) => {
            *unit == TimeUnit::Nanosecond
        }
        (T::Date64, _) | (T::Float64, T::Float32) => true,
        (from, T::Float32 | T::Float64) => !matches!(from, T::Float16 | T::Float32 | T::Int8 | T::Int16 | T::UInt8 | T::UInt16),
        (from, to) => is_decimal(from) && (to.is_integer() || is_decimal(to)),
    }
}

fn is_decimal(data_type: &ArrowType) -> bool {
    matches!(
        data_type,
        ArrowType::Decimal32(..) | ArrowType::Decimal64(..) | ArrowType::Decimal128(..) | ArrowType::Decimal256(..)
    )
}

fn first_true(found: &BooleanArray) -> Option<usize> {
    if found.has_true() { (0..found.len()).find(|row| found.value(*row)) } else { None }
}

fn shown(array: &ArrayRef, row: usize) -> Result<String> {
    if let Ok(text) = ArrayFormatter::try_new(array.as_ref(), &FormatOptions::default())?.value(row).try_to_string() {
        return Ok(text);
    }
    // A timestamp outside the calendar's range is shown as its number.
    let number = cast_with_options(&array.slice(row, 1), &ArrowType::Int64, &CastOptions::default())?;
    Ok(ArrayFormatter::try_new(number.as_ref(), &FormatOptions::default())?.value(0).to_string())
}

/// Converts a struct of two binary fields, in any order and form.
fn fit_variant(array: &ArrayRef, wanted: &ArrowType, column: &str) -> Result<ArrayRef> {
    let not_one =
        || Error::schema_mismatch(format!("column {column}: a variant must be a struct of the binary fields metadata and value"));
    let (Some(given), ArrowType::Struct(fields)) = (array.as_struct_opt(), wanted) else { return Err(not_one()) };
    let part = |field: &Arc<Field>| {
        let part = given.column_by_name(field.name()).ok_or_else(not_one)?;
        fit_primitive(part, field.data_type(), OnLossy::Error, column)
    };
    let parts = fields.iter().map(part).collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), parts, given.nulls().cloned(), given.len())?))
}

fn fit_struct(array: &ArrayRef, to: &StructType, on_lossy: OnLossy, column: &str) -> Result<ArrayRef> {
    let given = array.as_struct_opt().ok_or_else(|| unexpected(array, "a struct", column))?;
    let names: Vec<&str> = given.fields().iter().map(|field| field.name().as_str()).collect();
    let (mut fields, mut parts) = (Vec::with_capacity(to.fields.len()), Vec::with_capacity(to.fields.len()));
    for field in &to.fields {
        let place = format!("{column}.{}", field.name);
        let part = match position(&names, &field.name) {
            Some(index) => fit(given.column(index), &field.data_type, on_lossy, &place)?,
            None => new_null_array(&nullable_type_to_arrow(&field.data_type)?, given.len()),
        };
        fields.push(Field::new(&field.name, part.data_type().clone(), true));
        parts.push(part);
    }
    Ok(Arc::new(StructArray::try_new_with_length(fields.into(), parts, given.nulls().cloned(), given.len())?))
}

fn fit_list(array: &ArrayRef, to: &ArrayType, wanted: &ArrowType, on_lossy: OnLossy, column: &str) -> Result<ArrayRef> {
    let element = match array.data_type() {
        ArrowType::List(element)
        | ArrowType::LargeList(element)
        | ArrowType::ListView(element)
        | ArrowType::LargeListView(element)
        | ArrowType::FixedSizeList(element, _) => Arc::clone(element),
        _ => return Err(unexpected(array, "a list", column)),
    };
    let as_list = plain(array, &ArrowType::List(element), column)?;
    let list = as_list.as_list::<i32>();
    let ArrowType::List(field) = wanted else { return Err(Error::internal("an array is not a list array")) };
    let values = fit(list.values(), &to.element, on_lossy, &format!("{column}.element"))?;
    Ok(Arc::new(ListArray::try_new(Arc::clone(field), list.offsets().clone(), values, list.nulls().cloned())?))
}

fn fit_map(array: &ArrayRef, to: &MapType, wanted: &ArrowType, on_lossy: OnLossy, column: &str) -> Result<ArrayRef> {
    let map = array.as_map_opt().ok_or_else(|| unexpected(array, "a map", column))?;
    let ArrowType::Map(field, sorted) = wanted else { return Err(Error::internal("a map is not a map array")) };
    let ArrowType::Struct(fields) = field.data_type() else { return Err(Error::internal("a map array has no entries")) };
    let keys = fit(map.keys(), &to.key, on_lossy, &format!("{column}.key"))?;
    let values = fit(map.values(), &to.value, on_lossy, &format!("{column}.value"))?;
    let entries = StructArray::try_new(fields.clone(), vec![keys, values], None)?;
    Ok(Arc::new(MapArray::try_new(Arc::clone(field), map.offsets().clone(), entries, map.nulls().cloned(), *sorted)?))
}

fn unexpected(array: &ArrayRef, wanted: &str, column: &str) -> Error {
    Error::schema_mismatch(format!("column {column}: it must be {wanted}, but the data has {}", type_name(array.data_type())))
}

/// Returns the index of a name: of an exact match, else of the only name that differs by case
/// alone.
pub(super) fn position(names: &[&str], name: &str) -> Option<usize> {
    if let Some(index) = names.iter().position(|given| *given == name) {
        return Some(index);
    }
    let lower = name.to_lowercase();
    let mut same = names.iter().enumerate().filter(|(_, given)| given.to_lowercase() == lower);
    match (same.next(), same.next()) {
        (Some((index, _)), None) => Some(index),
        _ => None,
    }
}

/// Returns the same values, or keys into them, with the names, ids and nullability of data files.
/// Intervals become numbers.
pub(super) fn stored(array: &ArrayRef, to: &ArrowType) -> Result<ArrayRef> {
    if value_type(array.data_type()) == to {
        return Ok(Arc::clone(array));
    }
    Ok(match to {
        ArrowType::Struct(fields) => {
            let given = array.as_struct();
            // Files have no column for fields of type void, which contain only nulls.
            let kept = given.columns().iter().filter(|part| part.data_type() != &ArrowType::Null);
            let parts = kept.zip(fields).map(|(part, field)| stored(part, field.data_type()));
            let parts = parts.collect::<Result<Vec<_>>>()?;
            Arc::new(StructArray::try_new_with_length(fields.clone(), parts, given.nulls().cloned(), given.len())?)
        }
        ArrowType::List(field) => {
            let given = array.as_list::<i32>();
            let values = stored(given.values(), field.data_type())?;
            Arc::new(ListArray::try_new(Arc::clone(field), given.offsets().clone(), values, given.nulls().cloned())?)
        }
        ArrowType::Map(field, sorted) => {
            let given = array.as_map();
            let entries: ArrayRef = Arc::new(given.entries().clone());
            let entries = stored(&entries, field.data_type())?.as_struct().clone();
            Arc::new(MapArray::try_new(Arc::clone(field), given.offsets().clone(), entries, given.nulls().cloned(), *sorted)?)
        }
        ArrowType::Int32 | ArrowType::Int64 => {
            // In memory, intervals are numbers of months or microseconds already.
            let data = array.to_data().into_builder().data_type(to.clone());
            arrow_array::make_array(data.build()?)
        }
        _ => return Err(Error::internal(format!("a column of type {} cannot be stored as {to}", array.data_type()))),
    })
}

/// Converts a batch with the columns of the table to a batch with the columns of a file.
pub(crate) fn stored_batch(batch: &RecordBatch, layout: &super::rules::FileLayout) -> Result<RecordBatch> {
    let columns = layout.columns.iter().zip(layout.schema.fields());
    let columns = columns.map(|(index, field)| stored(batch.column(*index), field.data_type())).collect::<Result<Vec<_>>>()?;
    moving_batch(&layout.schema, columns, batch.num_rows())
}
