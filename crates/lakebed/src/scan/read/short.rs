//! Decimals of few digits, which stay in the 64 bits of the file until it is known which rows come out.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal64Type, Decimal128Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType as ArrowType, FieldRef, Fields, Schema, SchemaRef};
use parquet::basic::Type as PhysicalType;
use parquet::schema::types::SchemaDescriptor;

use super::fit::leaf_count;
use crate::Result;
use crate::expr::{saturated, short_type};

/// The schema with columns in 64 bits that are stored as integers; None if there are none.
pub(super) fn decimals_as_stored(schema: &SchemaRef, descriptor: &SchemaDescriptor) -> Option<SchemaRef> {
    let (mut leaf, mut any) = (0, false);
    let field = |field: &FieldRef| {
        let physical = descriptor.columns().get(leaf).map(|column| column.physical_type());
        leaf += leaf_count(field.data_type());
        match (short_type(field.data_type()), physical) {
            (Some(short), Some(PhysicalType::INT32 | PhysicalType::INT64)) => {
                any = true;
                Arc::new(field.as_ref().clone().with_data_type(short))
            }
            _ => Arc::clone(field),
        }
    };
    let fields: Fields = schema.fields().iter().map(field).collect();
    any.then(|| Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())))
}

/// Whether these are the same decimals, first in 64 bits and then in full.
pub(super) fn is_short_of(short: &ArrowType, full: &ArrowType) -> bool {
    short_type(full).as_ref() == Some(short)
}

/// The same values in the column's own type, if they are short.
pub(super) fn in_full(field: &FieldRef, array: &ArrayRef) -> Result<(FieldRef, ArrayRef)> {
    let ArrowType::Decimal64(precision, scale) = array.data_type() else { return Ok((Arc::clone(field), Arc::clone(array))) };
    let full = array.as_primitive::<Decimal64Type>().unary::<_, Decimal128Type>(i128::from);
    let full = full.with_precision_and_scale(*precision, *scale)?;
    Ok((Arc::new(field.as_ref().clone().with_data_type(full.data_type().clone())), Arc::new(full)))
}

/// The same values in the type that is wanted of them: short, or in full.
pub(super) fn as_wanted(field: &FieldRef, array: &ArrayRef, wanted: &ArrowType) -> Result<(FieldRef, ArrayRef)> {
    let ArrowType::Decimal64(precision, scale) = wanted else { return in_full(field, array) };
    if array.data_type() == wanted {
        return Ok((Arc::clone(field), Arc::clone(array)));
    }
    let short = array.as_primitive::<Decimal128Type>().unary::<_, Decimal64Type>(saturated);
    let short = short.with_precision_and_scale(*precision, *scale)?;
    Ok((Arc::new(field.as_ref().clone().with_data_type(wanted.clone())), Arc::new(short)))
}
