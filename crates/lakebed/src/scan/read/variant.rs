//! Variants in the form of the table: every row has metadata and a value, whatever parts of the
//! value a file stores separately.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, StructArray, new_null_array};
use arrow_schema::DataType as ArrowType;

use lakebed_core::schema::PrimitiveType;
use lakebed_core::schema::arrow::primitive_to_arrow;
use lakebed_core::schema::widen::cast_up;
use lakebed_core::variant::{NO_NAMES, NULL_VALUE, unshred};

use crate::{Error, Result};

/// Returns a variant column of a file, shredded or not, in the plain form.
pub(super) fn plain(array: &ArrayRef) -> Result<ArrayRef> {
    let stored = array.as_struct_opt().ok_or_else(|| Error::internal("a variant was not decoded as a struct"))?;
    if stored.column_by_name("metadata").is_none() {
        return Err(Error::schema_mismatch("a variant has no metadata"));
    }
    let columns: Vec<ArrayRef> = if stored.column_by_name("typed_value").is_some() {
        let (metadata, value) = unshred(stored)?;
        vec![Arc::new(metadata), Arc::new(value)]
    } else {
        vec![part(stored, "metadata", NO_NAMES)?, part(stored, "value", NULL_VALUE)?]
    };
    let ArrowType::Struct(fields) = primitive_to_arrow(PrimitiveType::Variant)? else {
        return Err(Error::internal("a variant is not a struct"));
    };
    Ok(Arc::new(StructArray::try_new(fields, columns, stored.nulls().cloned())?))
}

fn part(stored: &StructArray, name: &str, missing: &[u8]) -> Result<ArrayRef> {
    let bytes = match stored.column_by_name(name) {
        Some(column) => cast_up(column, &ArrowType::Binary)?,
        None => new_null_array(&ArrowType::Binary, stored.len()),
    };
    Ok(without_nulls(bytes.as_binary::<i32>(), missing))
}

fn without_nulls(bytes: &BinaryArray, missing: &[u8]) -> ArrayRef {
    if bytes.null_count() == 0 {
        return Arc::new(bytes.clone());
    }
    Arc::new(BinaryArray::from_iter_values(bytes.iter().map(|value| value.unwrap_or(missing))))
}
