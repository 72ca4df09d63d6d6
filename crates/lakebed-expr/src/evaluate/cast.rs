//! CAST and TRY_CAST with Spark's ANSI rules. Text is read and written as Spark does. A value that
//! does not fit is an error.
//!
//! Arrow's own cast widens numbers, because it cannot fail and DataFusion understands it. The
//! module `scalar_cast` casts columns without nested values. Nested values are cast here; the
//! fields of structs are matched by position, whatever their names. Read [`cast`] first.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, MapArray, StringArray, StructArray, UInt32Array, new_null_array};
use arrow_schema::DataType;
use arrow_select::take::take;
use datafusion_common::Result as DfResult;
use datafusion_expr::Expr;

use super::cast_rules::{allowed, is_increasing, never_fails, widens};
use super::kernel::{KernelInput, KernelSpec, Monotonicity, fail};
use super::nested::struct_fields;
use super::scalar_cast;
use crate::types;

static CAST: KernelSpec = KernelSpec::total("cast", |input| convert(input, false)).with_try(&TRY_CAST);
static TRY_CAST: KernelSpec = KernelSpec::total("try_cast", |input| convert(input, true)).not_strict();
static INCREASING_CAST: KernelSpec = KernelSpec::total("cast", |input| convert(input, false))
    .with_try(&INCREASING_TRY_CAST)
    .monotonic(&[Monotonicity::Increasing]);
static INCREASING_TRY_CAST: KernelSpec =
    KernelSpec::total("try_cast", |input| convert(input, true)).not_strict().monotonic(&[Monotonicity::Increasing]);
static TOTAL_CAST: KernelSpec = KernelSpec::total("cast", |input| convert(input, false)).monotonic(&[Monotonicity::Increasing]);

/// Returns the expression that casts a value from one type to another, or `None` if Spark has no
/// such cast.
pub(crate) fn cast(value: Expr, from: &DataType, to: &DataType, try_: bool) -> Option<Expr> {
    if from == to {
        return Some(value);
    }
    if widens(from, to) {
        return Some(datafusion_expr::cast(value, to.clone()));
    }
    if !allowed(from, to) {
        return None;
    }
    let spec = match (is_increasing(from, to), try_) {
        _ if never_fails(from, to) => &TOTAL_CAST,
        (true, false) => &INCREASING_CAST,
        (true, true) => &INCREASING_TRY_CAST,
        (false, false) => &CAST,
        (false, true) => &TRY_CAST,
    };
    Some(spec.call(vec![value], to.clone()))
}

fn convert(input: &KernelInput<'_>, try_: bool) -> DfResult<ArrayRef> {
    convert_array(input.array(0)?, input.output, try_)
}

/// Casts a column. A value that cannot be cast becomes null with `try_` and is an error otherwise.
pub(crate) fn convert_array(array: &ArrayRef, to: &DataType, try_: bool) -> DfResult<ArrayRef> {
    match (array.data_type(), to) {
        (from, to) if from == to => Ok(array.clone()),
        (DataType::Null, _) => Ok(new_null_array(to, array.len())),
        (from, DataType::Utf8) if from.is_nested() => nested_to_text(array),
        (from, _) if from.is_nested() => convert_nested(array, to, try_),
        _ => scalar_cast::convert(array, to, try_),
    }
}

/// Casts a column of arrays, maps or structs to a type of the same shape.
fn convert_nested(array: &ArrayRef, to: &DataType, try_: bool) -> DfResult<ArrayRef> {
    match (array.data_type(), to) {
        (DataType::Struct(_), DataType::Struct(fields)) => {
            let given = array.as_struct();
            let cast =
                struct_fields(given)?.into_iter().zip(fields).map(|(part, field)| convert_array(&part, field.data_type(), try_));
            let cast = cast.collect::<DfResult<Vec<_>>>()?;
            Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), cast, given.nulls().cloned(), given.len())?))
        }
        (DataType::List(_), DataType::List(element)) => {
            let given = without_hidden(array)?;
            let given = given.as_list::<i32>();
            let values = convert_array(given.values(), element.data_type(), try_)?;
            Ok(Arc::new(ListArray::try_new(Arc::clone(element), given.offsets().clone(), values, given.nulls().cloned())?))
        }
        (DataType::Map(_, _), DataType::Map(entries, sorted)) => {
            let DataType::Struct(fields) = entries.data_type() else { return Err(fail("a map without entries")) };
            let given = without_hidden(array)?;
            let given = given.as_map();
            let columns = given.entries().columns().iter().zip(fields);
            let columns = columns.map(|(part, field)| convert_array(part, field.data_type(), try_)).collect::<DfResult<_>>()?;
            let pairs = StructArray::try_new(fields.clone(), columns, None)?;
            let (offsets, nulls) = (given.offsets().clone(), given.nulls().cloned());
            Ok(Arc::new(MapArray::try_new(Arc::clone(entries), offsets, pairs, nulls, *sorted)?))
        }
        (from, _) => Err(fail(format!("{} has no parts like those of {}", types::name(from), types::name(to)))),
    }
}

/// Removes elements that belong to no list or map of the column, because the cast could fail on
/// them.
fn without_hidden(array: &ArrayRef) -> DfResult<ArrayRef> {
    let rows = UInt32Array::from_iter_values(0..u32::try_from(array.len()).unwrap_or(u32::MAX));
    Ok(take(array, &rows, None)?)
}

/// Casts a column to text: `[1, null]`, `{a -> 1}`, `{1, x}`.
fn nested_to_text(array: &ArrayRef) -> DfResult<ArrayRef> {
    let text = |part: &ArrayRef| Ok::<StringArray, _>(convert_array(part, &DataType::Utf8, false)?.as_string::<i32>().clone());
    match array.data_type() {
        DataType::Struct(_) => {
            let fields = struct_fields(array.as_struct())?.iter().map(text).collect::<DfResult<Vec<_>>>()?;
            Ok(joined(array, ['{', '}'], |row| fields.iter().map(|field| shown(field, row)).collect()))
        }
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let values = text(list.values())?;
            let of_row = |row| range(list.value_offsets(), row).map(|at| shown(&values, at)).collect();
            Ok(joined(array, ['[', ']'], of_row))
        }
        DataType::Map(_, _) => {
            let map = array.as_map();
            let (keys, values) = (text(map.keys())?, text(map.values())?);
            let of_row = |row| {
                let pairs = range(map.value_offsets(), row);
                pairs.map(|at| format!("{} -> {}", shown(&keys, at), shown(&values, at))).collect()
            };
            Ok(joined(array, ['{', '}'], of_row))
        }
        other => Err(fail(format!("{} has no parts", types::name(other)))),
    }
}

fn joined(array: &ArrayRef, [open, close]: [char; 2], parts: impl Fn(usize) -> Vec<String>) -> ArrayRef {
    let text = |row| array.is_valid(row).then(|| format!("{open}{}{close}", parts(row).join(", ")));
    Arc::new((0..array.len()).map(text).collect::<StringArray>())
}

fn shown(texts: &StringArray, row: usize) -> String {
    if texts.is_valid(row) { texts.value(row).to_owned() } else { "null".to_owned() }
}

/// The range of the elements of a row.
fn range(offsets: &[i32], row: usize) -> std::ops::Range<usize> {
    let at = |row: usize| offsets.get(row).map_or(0, |offset| offset.unsigned_abs() as usize);
    at(row)..at(row + 1)
}
