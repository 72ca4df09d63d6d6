//! Functions that create structs and maps.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, MapArray, StructArray, new_empty_array};
use arrow_buffer::OffsetBuffer;
use arrow_ord::ord::make_comparator;
use arrow_schema::{DataType, Field, Fields, SortOptions};
use arrow_select::interleave::interleave;
use datafusion_common::{Result as DfResult, ScalarValue};

use super::args::{Args, CallResult};
use super::typed::TypedExpr;
use crate::evaluate::kernel::{KernelInput, KernelSpec, fail};
use crate::evaluate::nested::column_path;
use crate::types;

static STRUCT: KernelSpec = KernelSpec::total("struct", make_struct).with_null_args(0);
static MAP: KernelSpec = KernelSpec::total("map", make_map).with_null_args(0).fallible();

pub(crate) fn call(args: &Args<'_>) -> Option<CallResult> {
    Some(match args.name {
        "struct" => {
            of_fields(args.list.iter().enumerate().map(|(place, value)| (name_of(value, place), value.clone())).collect())
        }
        "named_struct" => named(args).map_or_else(Err, of_fields),
        "map" => of_pairs(args),
        _ => return None,
    })
}

/// Returns the name of a field: the name of its column, or else its position.
fn name_of(value: &TypedExpr, place: usize) -> String {
    column_path(&value.expr).and_then(|path| path.last().cloned()).unwrap_or_else(|| format!("col{}", place + 1))
}

fn named(args: &Args<'_>) -> Result<Vec<(String, TypedExpr)>, String> {
    if args.len() % 2 == 1 {
        return Err("named_struct takes pairs of a name and a value".to_owned());
    }
    (0..args.len()).step_by(2).map(|at| Ok((args.literal(at)?.to_owned(), args.get(at + 1)?.clone()))).collect()
}

fn of_fields(fields: Vec<(String, TypedExpr)>) -> CallResult {
    if fields.is_empty() {
        return Err("a struct has at least one field".to_owned());
    }
    let (names, values): (Vec<String>, Vec<TypedExpr>) = fields.into_iter().unzip();
    let types = names.into_iter().zip(&values).map(|(name, value)| Field::new(name, value.data_type.clone(), true));
    let data_type = DataType::Struct(types.collect::<Fields>());
    let values = values.into_iter().map(|value| value.expr).collect();
    Ok(TypedExpr { expr: STRUCT.call(values, data_type.clone()), data_type })
}

fn make_struct(input: &KernelInput<'_>) -> DfResult<ArrayRef> {
    let DataType::Struct(fields) = input.output else { return Err(fail("a struct of another type")) };
    let fields =
        fields.iter().zip(input.arrays).map(|(field, array)| field.as_ref().clone().with_data_type(array.data_type().clone()));
    Ok(Arc::new(StructArray::try_new_with_length(fields.collect(), input.arrays.to_vec(), None, input.rows)?))
}

fn of_pairs(args: &Args<'_>) -> CallResult {
    if args.len() % 2 == 1 {
        return Err("map takes pairs of a key and a value".to_owned());
    }
    let every_other = |first: usize| Args { name: args.name, list: args.list.iter().skip(first).step_by(2).cloned().collect() };
    let ((keys, key), (values, value)) = (every_other(0).in_common(0)?, every_other(1).in_common(0)?);
    if matches!(key, DataType::Map(_, _)) {
        return Err("the keys of a map cannot be maps".to_owned());
    }
    let data_type = types::map_of(key, value);
    if args.len() == 0 {
        let nothing = new_empty_array(&DataType::Null);
        let empty = of_entries([Arc::clone(&nothing), nothing], 1).map_err(|error| error.to_string())?;
        return Ok(TypedExpr::literal(ScalarValue::Map(Arc::new(empty))));
    }
    let pairs = keys.into_iter().zip(values).flat_map(|(key, value)| [key, value]).collect();
    Ok(TypedExpr { expr: MAP.call(pairs, data_type.clone()), data_type })
}

fn make_map(input: &KernelInput<'_>) -> DfResult<ArrayRef> {
    let pairs = input.arrays.len() / 2;
    let places: Vec<(usize, usize)> = (0..input.rows).flat_map(|row| (0..pairs).map(move |pair| (pair, row))).collect();
    let column = |first: usize| {
        let of_pairs: Vec<&dyn Array> = input.arrays.iter().skip(first).step_by(2).map(AsRef::as_ref).collect();
        interleave(&of_pairs, &places)
    };
    let (keys, values) = (column(0)?, column(1)?);
    if keys.logical_null_count() > 0 {
        return Err(fail("a key of a map is null"));
    }
    let compare = make_comparator(&keys, &keys, SortOptions::default())?;
    let is_repeated = |at: usize| (at - at % pairs..at).any(|earlier| compare(earlier, at).is_eq());
    if (0..keys.len()).any(is_repeated) {
        return Err(fail("a key of a map is there twice"));
    }
    Ok(Arc::new(of_entries([keys, values], input.rows)?))
}

/// Maps out of their keys and values, as many for each row.
fn of_entries([keys, values]: [ArrayRef; 2], rows: usize) -> DfResult<MapArray> {
    let data_type = types::map_of(keys.data_type().clone(), values.data_type().clone());
    let DataType::Map(entries, sorted) = data_type else { return Err(fail("a map of another type")) };
    let DataType::Struct(fields) = entries.data_type() else { return Err(fail("a map without entries")) };
    let of_rows = OffsetBuffer::from_lengths(std::iter::repeat_n(keys.len() / rows.max(1), rows));
    let pairs = StructArray::try_new(fields.clone(), vec![keys, values], None)?;
    Ok(MapArray::try_new(entries, of_rows, pairs, None, sorted)?)
}
