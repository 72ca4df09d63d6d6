//! Casts arrays to the type of a checkpoint's column. The arrays may have been read with other
//! types and with their fields in another order.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, MapArray, StructArray, new_null_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field, FieldRef, Fields};

use crate::{Error, Result};

/// Returns the array as `rows` values of the column. All values are null if there is no array.
pub(super) fn cast_to_field(found: Option<&ArrayRef>, field: &Field, rows: usize) -> Result<ArrayRef> {
    let Some(array) = found.filter(|array| array.data_type() != &DataType::Null) else {
        return Ok(new_null_array(field.data_type(), rows));
    };
    match field.data_type() {
        wanted if array.data_type() == wanted => Ok(Arc::clone(array)),
        DataType::Struct(fields) => match array.as_struct_opt() {
            Some(structs) => Ok(Arc::new(cast_struct(structs, fields)?)),
            None => Err(cast_error(field, array)),
        },
        DataType::Map(entries, _) => match array.as_map_opt() {
            Some(map) => Ok(Arc::new(cast_map(map, entries)?)),
            None => Err(cast_error(field, array)),
        },
        wanted => {
            let options = CastOptions { safe: false, ..CastOptions::default() };
            cast_with_options(array, wanted, &options).map_err(|error| cast_error(field, array).with_source(error))
        }
    }
}

fn cast_struct(structs: &StructArray, fields: &Fields) -> Result<StructArray> {
    let columns = fields.iter().map(|field| cast_to_field(structs.column_by_name(field.name()), field, structs.len()));
    Ok(StructArray::try_new(fields.clone(), columns.collect::<Result<_>>()?, structs.nulls().cloned())?)
}

fn cast_map(map: &MapArray, entries: &FieldRef) -> Result<MapArray> {
    let DataType::Struct(fields) = entries.data_type() else {
        return Err(Error::internal("the entries of a map array are not a struct array"));
    };
    let [key, value] = fields.as_ref() else { return Err(Error::internal("a map array has no keys or no values")) };
    let columns = vec![
        cast_to_field(Some(map.keys()), key, map.keys().len())?,
        cast_to_field(Some(map.values()), value, map.values().len())?,
    ];
    let pairs = StructArray::try_new(fields.clone(), columns, None)?;
    Ok(MapArray::try_new(Arc::clone(entries), map.offsets().clone(), pairs, map.nulls().cloned(), false)?)
}

fn cast_error(field: &Field, array: &ArrayRef) -> Error {
    Error::corrupt(
        "_delta_log",
        format!("{} cannot be read as {}, its type is {}", field.name(), field.data_type(), array.data_type()),
    )
}
