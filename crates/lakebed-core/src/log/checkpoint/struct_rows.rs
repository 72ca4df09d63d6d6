//! The rows of one action's struct column, read field by field. Every Arrow type that the Parquet
//! reader may choose is supported.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, MapArray, RecordBatch, StringArray, StructArray, UInt64Array};
use arrow_buffer::BooleanBuffer;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field};
use arrow_select::filter::filter;

use crate::{Error, Result};

/// The rows that fill the struct of one kind of action.
pub(super) struct StructRows<'a> {
    file: &'a str,
    kind: &'static str,
    structs: StructArray,
}

/// Strings by key.
pub(super) type TextMap = HashMap<String, Option<String>>;

/// The values of one field, row by row.
pub(super) struct FieldValues<T>(std::vec::IntoIter<Option<T>>);

impl<T> FieldValues<T> {
    /// Returns the value of the next row.
    pub(super) fn take(&mut self) -> Option<T> {
        self.0.next().flatten()
    }
}

impl<'a> StructRows<'a> {
    /// Returns the rows of this kind of action. It returns `None` if there is no such column or no
    /// row fills it.
    pub(super) fn of(batch: &RecordBatch, kind: &'static str, file: &'a str) -> Result<Option<Self>> {
        let Some(column) = batch.column_by_name(kind).filter(|column| column.data_type() != &DataType::Null) else {
            return Ok(None);
        };
        let structs = column.as_struct_opt().ok_or_else(|| not_a_struct(file, kind, column.data_type()))?;
        let filled = filled(structs);
        if filled.count_set_bits() == 0 {
            return Ok(None);
        }
        let structs = match filled.count_set_bits() == structs.len() {
            true => structs.clone(),
            false => filter(structs, &BooleanArray::new(filled, None))?.as_struct().clone(),
        };
        Ok(Some(Self { file, kind, structs }))
    }

    pub(super) fn len(&self) -> usize {
        self.structs.len()
    }

    /// Returns a nested struct with the same number of rows.
    pub(super) fn structs(&self, field: &'static str) -> Result<Option<Self>> {
        let Some(column) = self.column(field) else { return Ok(None) };
        let structs = column.as_struct_opt().ok_or_else(|| not_a_struct(self.file, field, column.data_type()))?;
        // The values below a null struct have no meaning.
        let hidden = structs.nulls().cloned();
        let columns: Result<Vec<ArrayRef>> = structs
            .columns()
            .iter()
            .map(|column| match &hidden {
                Some(nulls) => hide(column, nulls.inner()),
                None => Ok(Arc::clone(column)),
            })
            .collect();
        let fields: Vec<Field> = structs.fields().iter().map(|field| field.as_ref().clone().with_nullable(true)).collect();
        let structs = StructArray::try_new_with_length(fields.into(), columns?, None, self.len())?;
        Ok(Some(Self { file: self.file, kind: field, structs }))
    }

    pub(super) fn texts(&self, field: &str) -> Result<FieldValues<String>> {
        let Some(texts) = self.cast(field, &DataType::Utf8)? else { return Ok(self.nothing()) };
        Ok(FieldValues::collect(texts.as_string::<i32>().iter().map(|text| text.map(str::to_owned))))
    }

    pub(super) fn longs(&self, field: &str) -> Result<FieldValues<i64>> {
        let Some(longs) = self.cast(field, &DataType::Int64)? else { return Ok(self.nothing()) };
        Ok(FieldValues::collect(longs.as_primitive::<Int64Type>().iter()))
    }

    pub(super) fn ints(&self, field: &str) -> Result<FieldValues<i32>> {
        let longs = self.longs(field)?.0;
        let ints: Result<Vec<Option<i32>>> = longs
            .map(|long| match long.map(i32::try_from).transpose() {
                Ok(int) => Ok(int),
                Err(_) => Err(self.corrupt(format!("{field} does not fit in 32 bits"))),
            })
            .collect();
        Ok(FieldValues(ints?.into_iter()))
    }

    pub(super) fn flags(&self, field: &str) -> Result<FieldValues<bool>> {
        let Some(flags) = self.cast(field, &DataType::Boolean)? else { return Ok(self.nothing()) };
        Ok(FieldValues::collect(flags.as_boolean().iter()))
    }

    pub(super) fn lists(&self, field: &str) -> Result<FieldValues<Vec<String>>> {
        let wanted = DataType::List(Arc::new(Field::new("element", DataType::Utf8, true)));
        let Some(lists) = self.cast(field, &wanted)? else { return Ok(self.nothing()) };
        let lists: Result<Vec<Option<Vec<String>>>> = lists
            .as_list::<i32>()
            .iter()
            .map(|list| list.map(|list| self.elements(field, list.as_string())).transpose())
            .collect();
        Ok(FieldValues(lists?.into_iter()))
    }

    fn elements(&self, field: &str, list: &StringArray) -> Result<Vec<String>> {
        let texts: Option<Vec<String>> = list.iter().map(|text| text.map(str::to_owned)).collect();
        texts.ok_or_else(|| self.corrupt(format!("a null in {field}")))
    }

    pub(super) fn maps(&self, field: &str) -> Result<FieldValues<TextMap>> {
        let Some(column) = self.column(field) else { return Ok(self.nothing()) };
        let maps = column.as_map_opt().ok_or_else(|| self.corrupt(format!("{field} is not a map but {}", column.data_type())))?;
        let (keys, values) =
            (self.cast_array(field, maps.keys(), &DataType::Utf8)?, self.cast_array(field, maps.values(), &DataType::Utf8)?);
        let (keys, values) = (keys.as_string::<i32>(), values.as_string::<i32>());
        let cells: Result<Vec<Option<TextMap>>> = (0..maps.len())
            .map(|row| maps.is_valid(row).then(|| self.entries(field, maps, row, (keys, values))).transpose())
            .collect();
        Ok(FieldValues(cells?.into_iter()))
    }

    fn entries(&self, field: &str, maps: &MapArray, row: usize, (keys, values): (&StringArray, &StringArray)) -> Result<TextMap> {
        let offsets = maps.value_offsets();
        let bound = |row: usize| offsets.get(row).and_then(|&offset| usize::try_from(offset).ok()).unwrap_or(0);
        (bound(row)..bound(row + 1))
            .map(|entry| match keys.is_valid(entry) {
                true => Ok((keys.value(entry).to_owned(), values.is_valid(entry).then(|| values.value(entry).to_owned()))),
                false => Err(self.corrupt(format!("a null key in {field}"))),
            })
            .collect()
    }

    /// Returns the value, or an error that names the field.
    pub(super) fn required<T>(&self, field: &str, value: Option<T>) -> Result<T> {
        value.ok_or_else(|| self.corrupt(format!("{} without {field}", self.kind)))
    }

    pub(super) fn corrupt(&self, message: impl fmt::Display) -> Error {
        Error::corrupt(self.file, message)
    }

    fn column(&self, field: &str) -> Option<&ArrayRef> {
        self.structs.column_by_name(field).filter(|column| column.data_type() != &DataType::Null)
    }

    fn cast(&self, field: &str, wanted: &DataType) -> Result<Option<ArrayRef>> {
        self.column(field).map(|column| self.cast_array(field, column, wanted)).transpose()
    }

    fn cast_array(&self, field: &str, array: &ArrayRef, wanted: &DataType) -> Result<ArrayRef> {
        if array.data_type() == wanted {
            return Ok(Arc::clone(array));
        }
        let options = CastOptions { safe: false, ..CastOptions::default() };
        cast_with_options(array, wanted, &options)
            .map_err(|error| self.corrupt(format!("{field} of {} cannot be read as {wanted}", self.kind)).with_source(error))
    }

    fn nothing<T>(&self) -> FieldValues<T> {
        FieldValues::collect((0..self.len()).map(|_| None))
    }
}

impl<T> FieldValues<T> {
    fn collect(values: impl Iterator<Item = Option<T>>) -> Self {
        Self(values.collect::<Vec<_>>().into_iter())
    }
}

fn not_a_struct(file: &str, kind: &str, found: &DataType) -> Error {
    Error::corrupt(file, format!("column {kind} is not a struct but {found}"))
}

/// Returns the rows that fill the struct. Some writers leave the struct valid and set its fields to
/// null, and its lists and maps to empty. Such a row does not fill the struct either.
fn filled(structs: &StructArray) -> BooleanBuffer {
    let mut any = BooleanBuffer::new_unset(structs.len());
    for column in structs.columns().iter().filter(|column| !column.data_type().is_nested()) {
        any = match column.logical_nulls() {
            Some(nulls) => &any | nulls.inner(),
            None => BooleanBuffer::new_set(structs.len()),
        };
    }
    match structs.nulls() {
        Some(nulls) => &any & nulls.inner(),
        None => any,
    }
}

/// Returns the column with nulls in the rows where `visible` is false.
fn hide(column: &ArrayRef, visible: &BooleanBuffer) -> Result<ArrayRef> {
    let rows: UInt64Array = visible.iter().zip(0_u64..).map(|(visible, row)| visible.then_some(row)).collect();
    Ok(arrow_select::take::take(column, &rows, None)?)
}
