//! CAST of arrays, maps and structs: to those of the same shape part by part, and to text as Spark writes them.
//!
//! The fields of structs are taken in their order, whatever their names. Read [`convert`] first.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, MapArray, StringArray, StructArray, UInt32Array};
use arrow_schema::DataType;
use arrow_select::take::take;
use datafusion_common::Result as DfResult;

use super::cast::{castable, convert_array, never_fails, widens};
use super::kernel::fail;
use super::nested::{map_types, parts};
use super::types;

/// Whether Spark knows a cast from an array, map or struct to another type.
pub(super) fn allowed(from: &DataType, to: &DataType) -> bool {
    use DataType::{List, Map, Struct, Utf8};
    match (from, to) {
        (_, Utf8) => !may_be_variant(from) && part_types(from).into_iter().all(|part| castable(part, &Utf8)),
        (Struct(fields), Struct(wanted)) => {
            fields.len() == wanted.len()
                && fields.iter().zip(wanted).all(|(field, wanted)| castable(field.data_type(), wanted.data_type()))
        }
        (List(element), List(wanted)) => castable(element.data_type(), wanted.data_type()),
        (Map(_, _), Map(_, _)) => match (map_types(from), map_types(to)) {
            // A key that cannot be cast could not be null instead. To text everything can be cast that can be cast at all.
            (Some((key, value)), Some((to_key, to_value))) => {
                let is_safe = key == to_key || widens(key, to_key) || never_fails(key, to_key) || *to_key == Utf8;
                is_safe && castable(key, to_key) && castable(value, to_value)
            }
            _ => false,
        },
        _ => false,
    }
}

/// Whether it is a variant, which comes as the struct of its two binaries; its text is not made of them. A struct of two such fields is taken
/// for one.
pub(crate) fn may_be_variant(data_type: &DataType) -> bool {
    let DataType::Struct(fields) = data_type else { return false };
    let mut names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
    names.sort_unstable();
    names == ["metadata", "value"] && fields.iter().all(|field| *field.data_type() == DataType::Binary)
}

/// The types of fields, of elements, or of keys and values.
fn part_types(data_type: &DataType) -> Vec<&DataType> {
    match data_type {
        DataType::Struct(fields) => fields.iter().map(|field| field.data_type()).collect(),
        DataType::List(element) => vec![element.data_type()],
        _ => map_types(data_type).map_or_else(Vec::new, |(key, value)| vec![key, value]),
    }
}

/// A column with its parts cast, each for itself.
pub(super) fn convert(array: &ArrayRef, to: &DataType, try_: bool) -> DfResult<ArrayRef> {
    match (array.data_type(), to) {
        (DataType::Struct(_), DataType::Struct(fields)) => {
            let given = array.as_struct();
            let cast = parts(given)?.into_iter().zip(fields).map(|(part, field)| convert_array(&part, field.data_type(), try_));
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

/// The same lists or maps without elements that belong to none of them: those could make a cast fail.
fn without_hidden(array: &ArrayRef) -> DfResult<ArrayRef> {
    let rows = UInt32Array::from_iter_values(0..u32::try_from(array.len()).unwrap_or(u32::MAX));
    Ok(take(array, &rows, None)?)
}

/// A column as text: `[1, null]`, `{a -> 1}`, `{1, x}`.
pub(super) fn to_text(array: &ArrayRef) -> DfResult<ArrayRef> {
    let text = |part: &ArrayRef| Ok::<StringArray, _>(convert_array(part, &DataType::Utf8, false)?.as_string::<i32>().clone());
    match array.data_type() {
        DataType::Struct(_) => {
            let fields = parts(array.as_struct())?.iter().map(text).collect::<DfResult<Vec<_>>>()?;
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

/// Where the elements of a row are.
fn range(offsets: &[i32], row: usize) -> std::ops::Range<usize> {
    let at = |row: usize| offsets.get(row).map_or(0, |offset| offset.unsigned_abs() as usize);
    at(row)..at(row + 1)
}
