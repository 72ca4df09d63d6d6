//! Fields of structs, elements of arrays, values of maps.
//!
//! A field of a null struct is null, whatever value the child array holds there. `array[i]` counts
//! from zero and fails outside the array, where `get` returns null. `element_at` counts from one,
//! and from the end for negative indexes. Read [`field`] and [`item`] first.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, ListArray, MapArray, StructArray, UInt64Array, make_array};
use arrow_buffer::NullBuffer;
use arrow_ord::ord::make_comparator;
use arrow_schema::{ArrowError, DataType, Fields, SortOptions};
use arrow_select::take::take;
use datafusion_common::{Result as DfResult, ScalarValue};
use datafusion_expr::{Expr, lit};

use super::kernel::{Kernel, KernelInput, KernelSpec, fail};

static FIELD: KernelSpec = KernelSpec::total("field", field_of).not_strict();
static ITEM: KernelSpec =
    KernelSpec::total("item", |input| element(input, |index, len| place(index, len, false))).not_strict().fallible();
static GET: KernelSpec =
    KernelSpec::total("get", |input| element(input, |index, len| Ok(usize::try_from(index).ok().filter(|i| *i < len))))
        .not_strict();
static ELEMENT_AT: KernelSpec =
    KernelSpec::total("element_at", |input| element(input, |index, len| place(index, len, true))).not_strict().fallible();
static TRY_ELEMENT_AT: KernelSpec =
    KernelSpec::total("try_element_at", |input| element(input, |index, len| Ok(place(index, len, true).unwrap_or(None))))
        .not_strict();
static VALUE: KernelSpec = KernelSpec::total("map_value", value_of_key).not_strict();

/// Returns a field of a struct.
pub(crate) fn field(value: Expr, name: &str, data_type: &DataType) -> Expr {
    FIELD.call(vec![value, lit(name)], data_type.clone())
}

/// The function or operator that accesses an element of an array.
#[derive(Clone, Copy)]
pub(crate) enum ArrayAccess {
    /// `array[i]`.
    Item,
    /// `get(array, i)`.
    Get,
    /// `element_at(array, i)`.
    ElementAt,
    /// `try_element_at(array, i)`.
    TryElementAt,
}

/// Returns an element of an array. The index is an INT.
pub(crate) fn item(array: Expr, index: Expr, access: ArrayAccess, data_type: &DataType) -> Expr {
    let spec = match access {
        ArrayAccess::Item => &ITEM,
        ArrayAccess::Get => &GET,
        ArrayAccess::ElementAt => &ELEMENT_AT,
        ArrayAccess::TryElementAt => &TRY_ELEMENT_AT,
    };
    spec.call(vec![array, index], data_type.clone())
}

/// Returns the value of a key in a map, or null.
pub(crate) fn value(map: Expr, key: Expr, data_type: &DataType) -> Expr {
    VALUE.call(vec![map, key], data_type.clone())
}

/// Returns the key and value types of a map.
pub(crate) fn map_types(data_type: &DataType) -> Option<(&DataType, &DataType)> {
    let DataType::Map(entries, _) = data_type else { return None };
    match entries.data_type() {
        DataType::Struct(fields) => Some((fields.first()?.data_type(), fields.get(1)?.data_type())),
        _ => None,
    }
}

/// Returns the index of a field: the exact match, or the only field that differs by case alone.
pub fn field_index(fields: &Fields, name: &str) -> Option<usize> {
    if let Some(index) = fields.iter().position(|field| field.name() == name) {
        return Some(index);
    }
    let lower = name.to_lowercase();
    let mut same = fields.iter().enumerate().filter(|(_, field)| field.name().to_lowercase() == lower);
    match (same.next(), same.next()) {
        (Some((index, _)), None) => Some(index),
        _ => None,
    }
}

/// Returns the path of a column or nested field, if the expression is one.
pub fn column_path(expr: &Expr) -> Option<Vec<String>> {
    if let Expr::Column(column) = expr {
        return Some(vec![column.name.clone()]);
    }
    match Kernel::of(expr)? {
        (kernel, [below, Expr::Literal(ScalarValue::Utf8(Some(name)), _)]) if std::ptr::eq(kernel.spec, &FIELD) => {
            let mut path = column_path(below)?;
            path.push(name.clone());
            Some(path)
        }
        _ => None,
    }
}

fn field_of(input: &KernelInput<'_>) -> DfResult<ArrayRef> {
    let parent = input.array(0)?.as_struct_opt().ok_or_else(|| fail("a field is taken of what is no struct"))?;
    let name = input.constant_text(1).ok_or_else(|| fail("a field has no name"))?;
    let child = parent.column_by_name(name).ok_or_else(|| fail(format!("the struct has no field {name}")))?;
    Ok(visible(child, parent.nulls())?)
}

/// Returns the fields of structs. A field of a null struct is null.
pub fn struct_fields(of: &StructArray) -> Result<Vec<ArrayRef>, ArrowError> {
    of.columns().iter().map(|child| visible(child, of.nulls())).collect()
}

fn visible(child: &ArrayRef, of_parent: Option<&NullBuffer>) -> Result<ArrayRef, ArrowError> {
    let Some(nulls) = of_parent.filter(|_| *child.data_type() != DataType::Null) else { return Ok(child.clone()) };
    let nulls = NullBuffer::union(Some(nulls), child.logical_nulls().as_ref());
    Ok(make_array(child.to_data().into_builder().nulls(nulls).build()?))
}

/// Returns the position of an element, `None` if the rules make it null, or an error outside the
/// array.
fn place(index: i64, len: usize, from_one: bool) -> DfResult<Option<usize>> {
    let length = len as i64;
    let place = match index {
        0 if from_one => return Err(fail("element_at counts from 1; the index 0 is invalid")),
        _ if from_one && index < 0 => index.checked_add(length),
        _ if from_one => Some(index - 1),
        _ => Some(index),
    };
    match place.filter(|place| (0..length).contains(place)) {
        Some(place) => Ok(Some(place as usize)),
        None => Err(fail(format!("the array has {len} elements, the index is {index}; get or try_element_at would give null"))),
    }
}

fn element(input: &KernelInput<'_>, place: impl Fn(i64, usize) -> DfResult<Option<usize>>) -> DfResult<ArrayRef> {
    let lists: &ListArray = input.array(0)?.as_list_opt().ok_or_else(|| fail("an element is taken of what is no array"))?;
    let indices = input.array(1)?.as_primitive::<Int32Type>();
    let rows = (0..lists.len()).map(|row| {
        if lists.is_null(row) || indices.is_null(row) {
            return Ok(None);
        }
        let start = i64::from(lists.value_offsets()[row]) as u64;
        let found = place(i64::from(indices.value(row)), lists.value_length(row) as usize)?;
        Ok(found.map(|place| start + place as u64))
    });
    let rows: UInt64Array = rows.collect::<DfResult<Vec<_>>>()?.into();
    Ok(take(lists.values(), &rows, None)?)
}

fn value_of_key(input: &KernelInput<'_>) -> DfResult<ArrayRef> {
    let maps: &MapArray = input.array(0)?.as_map_opt().ok_or_else(|| fail("a value is taken of what is no map"))?;
    let keys = input.array(1)?;
    let compare = make_comparator(maps.keys(), keys, SortOptions::default())?;
    let rows: UInt64Array = (0..maps.len())
        .map(|row| {
            if maps.is_null(row) || keys.is_null(row) {
                return None;
            }
            let (start, end) = (maps.value_offsets()[row] as usize, maps.value_offsets()[row + 1] as usize);
            // Spark keeps the last of several equal keys when it builds a map, and finds the first
            // one here.
            (start..end).find(|entry| compare(*entry, row).is_eq()).map(|entry| entry as u64)
        })
        .collect();
    Ok(take(maps.values(), &rows, None)?)
}

static SIZE: KernelSpec = KernelSpec::total("size", size);

/// Returns the number of elements or entries.
pub(crate) fn count(value: Expr) -> Expr {
    SIZE.call(vec![value], DataType::Int32)
}

fn size(input: &KernelInput<'_>) -> DfResult<ArrayRef> {
    let array = input.array(0)?;
    let offsets: &[i32] = match array.data_type() {
        DataType::Map(_, _) => array.as_map().value_offsets(),
        _ => array.as_list::<i32>().value_offsets(),
    };
    let counts: arrow_array::Int32Array = (0..array.len())
        .map(|row| {
            array.is_valid(row).then(|| offsets.get(row + 1).copied().unwrap_or(0) - offsets.get(row).copied().unwrap_or(0))
        })
        .collect();
    Ok(Arc::new(counts))
}
