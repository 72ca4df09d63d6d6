//! The types in which decoding is fastest: decimals with few digits as 64-bit values as in the
//! file, and strings as views of its pages.
//!
//! Decimals keep this form until it is known which rows are returned. Rows that are written to
//! files again keep it throughout. If a file stores them as keys into a dictionary, they keep these
//! keys.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal64Type, Decimal128Type};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType as ArrowType, FieldRef, Fields, Schema, SchemaRef};
use lakebed_expr::{saturated_to_i64, short_decimal_type};
use parquet::basic::{ConvertedType, Type as PhysicalType};
use parquet::schema::types::SchemaDescriptor;

use crate::Result;

/// Returns the type in which values of this type move from file to file, if it is another type.
pub(crate) fn moving_type(data_type: &ArrowType) -> Option<ArrowType> {
    match data_type {
        ArrowType::Utf8 => Some(ArrowType::Utf8View),
        other => short_decimal_type(other),
    }
}

/// Returns the type of the values of rows, which may be stored as dictionary keys.
pub(crate) fn value_type(data_type: &ArrowType) -> &ArrowType {
    match data_type {
        ArrowType::Dictionary(_, values) => values,
        other => other,
    }
}

/// Returns a batch of these columns. Some columns may be dictionary keys into values of the types
/// that the schema has.
pub(crate) fn moving_batch(schema: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let is_keyed = |column: &ArrayRef| matches!(column.data_type(), ArrowType::Dictionary(..));
    if !columns.iter().any(is_keyed) {
        return Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?);
    }
    let field = |(field, column): (&FieldRef, &ArrayRef)| {
        if is_keyed(column) && value_type(column.data_type()) == field.data_type() {
            return Arc::new(field.as_ref().clone().with_data_type(column.data_type().clone()));
        }
        Arc::clone(field)
    };
    let fields: Fields = schema.fields().iter().zip(&columns).map(field).collect();
    let schema = Schema::new_with_metadata(fields, schema.metadata().clone());
    Ok(RecordBatch::try_new_with_options(Arc::new(schema), columns, &options)?)
}

/// Returns the schema of a file with such types for the columns that are stored so; None if there
/// are none.
pub(super) fn as_decoded(schema: &SchemaRef, descriptor: &SchemaDescriptor, with_texts: bool) -> Option<SchemaRef> {
    let (mut leaf, mut any) = (0, false);
    let field = |field: &FieldRef| {
        let column = descriptor.columns().get(leaf);
        leaf += leaf_count(field.data_type());
        let is_stored_so = match (field.data_type(), column.map(|column| (column.physical_type(), column.converted_type()))) {
            // The decoder checks only columns that are marked as UTF-8.
            (ArrowType::Utf8, Some((_, ConvertedType::UTF8))) => with_texts,
            (ArrowType::Decimal128(..), Some((PhysicalType::INT32 | PhysicalType::INT64, _))) => true,
            _ => false,
        };
        match moving_type(field.data_type()).filter(|_| is_stored_so) {
            Some(moving) => {
                any = true;
                Arc::new(field.as_ref().clone().with_data_type(moving))
            }
            None => Arc::clone(field),
        }
    };
    let fields: Fields = schema.fields().iter().map(field).collect();
    any.then(|| Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())))
}

/// Returns whether `decoded` is the fast form of the type `usual`.
pub(super) fn is_moving_form(decoded: &ArrowType, usual: &ArrowType) -> bool {
    moving_type(usual).as_ref() == Some(decoded)
}

/// Returns the same values in the requested type, if it is another form of their type.
pub(crate) fn in_form(array: &ArrayRef, wanted: &ArrowType) -> Result<ArrayRef> {
    use ArrowType as T;
    Ok(match (array.data_type(), wanted) {
        (T::Decimal128(..), T::Decimal64(precision, scale)) => {
            let short = array.as_primitive::<Decimal128Type>().unary::<_, Decimal64Type>(saturated_to_i64);
            Arc::new(short.with_precision_and_scale(*precision, *scale)?)
        }
        (T::Decimal64(..), T::Decimal128(precision, scale)) => {
            let full = array.as_primitive::<Decimal64Type>().unary::<_, Decimal128Type>(i128::from);
            Arc::new(full.with_precision_and_scale(*precision, *scale)?)
        }
        (T::Utf8, T::Utf8View) | (T::Utf8View, T::Utf8) => arrow_cast::cast(array, wanted)?,
        _ => Arc::clone(array),
    })
}

/// Returns the same values in the requested type, with their field.
pub(super) fn as_wanted(field: &FieldRef, array: &ArrayRef, wanted: &ArrowType) -> Result<(FieldRef, ArrayRef)> {
    let array = in_form(array, wanted)?;
    let field = match array.data_type() == field.data_type() {
        true => Arc::clone(field),
        false => Arc::new(field.as_ref().clone().with_data_type(array.data_type().clone())),
    };
    Ok((field, array))
}

/// Returns how many leaves a type has.
pub(super) fn leaf_count(arrow: &ArrowType) -> usize {
    match arrow {
        ArrowType::Struct(fields) => fields.iter().map(|field| leaf_count(field.data_type())).sum(),
        ArrowType::List(field) | ArrowType::Map(field, _) => leaf_count(field.data_type()),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, Decimal128Array, StringArray};
    use arrow_schema::Field;
    use parquet::arrow::ArrowSchemaConverter;

    use super::*;

    #[test]
    fn both_forms_give_same_columns() {
        let decimals =
            (1..=38_u8).flat_map(|precision| [0, precision / 2, precision].map(|scale| (precision, scale.cast_signed())));
        let decimals = decimals.map(|(precision, scale)| ArrowType::Decimal128(precision, scale));
        for usual in decimals.chain([ArrowType::Utf8]) {
            let column = |data_type: &ArrowType| {
                let schema = Schema::new(vec![Field::new("a", data_type.clone(), true)]);
                ArrowSchemaConverter::new().convert(&schema).unwrap().root_schema_ptr()
            };
            let Some(moving) = moving_type(&usual) else {
                assert!(matches!(usual, ArrowType::Decimal128(19.., _)), "{usual}");
                continue;
            };
            assert_ne!(moving, usual);
            assert_eq!(column(&moving), column(&usual), "{usual}");
        }
        assert_eq!(moving_type(&ArrowType::Int64), None);
    }

    #[test]
    fn values_are_the_same_in_either_form() {
        let most = 10_i128.pow(18) - 1;
        let decimals =
            Decimal128Array::from(vec![Some(0), None, Some(most), Some(-most)]).with_precision_and_scale(18, 3).unwrap();
        let texts = StringArray::from(vec![Some(""), None, Some("short"), Some("longer than a view")]);
        for usual in [Arc::new(decimals) as ArrayRef, Arc::new(texts)] {
            let moving = in_form(&usual, &moving_type(usual.data_type()).unwrap()).unwrap();
            assert_eq!(moving.data_type(), &moving_type(usual.data_type()).unwrap());
            assert_eq!(&in_form(&moving, usual.data_type()).unwrap(), &usual);
            assert_eq!(&in_form(&usual, usual.data_type()).unwrap(), &usual);
        }
    }
}
