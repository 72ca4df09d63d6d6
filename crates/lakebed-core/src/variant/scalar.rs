//! Typed primitives, and the kinds by which the encoding represents them.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType, TimestampNanosecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType as ArrowType, TimeUnit};

use crate::{Error, Result};

use super::encode::{counted, primitive, string};

const BINARY: u8 = 15;
const STRING: u8 = 16;
const UUID: u8 = 20;
const UUID_BYTES: i32 = 16;

/// A column of primitives with a kind that variants have.
pub(super) struct Scalar<'a> {
    column: &'a ArrayRef,
    write: fn(&ArrayRef, usize, &mut Vec<u8>) -> Result<()>,
}

impl<'a> Scalar<'a> {
    pub(super) fn new(column: &'a ArrayRef) -> Result<Self> {
        use ArrowType::*;
        let write: fn(&ArrayRef, usize, &mut Vec<u8>) -> Result<()> = match column.data_type() {
            Boolean => |column, row, out| {
                primitive(if column.as_boolean().value(row) { 1 } else { 2 }, &[], out);
                Ok(())
            },
            Int8 => |column, row, out| put(3, &value::<Int8Type>(column, row).to_le_bytes(), out),
            Int16 => |column, row, out| put(4, &value::<Int16Type>(column, row).to_le_bytes(), out),
            Int32 => |column, row, out| put(5, &value::<Int32Type>(column, row).to_le_bytes(), out),
            Int64 => |column, row, out| put(6, &value::<Int64Type>(column, row).to_le_bytes(), out),
            Float64 => |column, row, out| put(7, &value::<Float64Type>(column, row).to_le_bytes(), out),
            Float32 => |column, row, out| put(14, &value::<Float32Type>(column, row).to_le_bytes(), out),
            Decimal128(..) => decimal,
            Date32 => |column, row, out| put(11, &value::<Date32Type>(column, row).to_le_bytes(), out),
            Time64(TimeUnit::Microsecond) => {
                |column, row, out| put(17, &value::<Time64MicrosecondType>(column, row).to_le_bytes(), out)
            }
            Timestamp(TimeUnit::Microsecond, zone) => match zone {
                Some(_) => |column, row, out| put(12, &value::<TimestampMicrosecondType>(column, row).to_le_bytes(), out),
                None => |column, row, out| put(13, &value::<TimestampMicrosecondType>(column, row).to_le_bytes(), out),
            },
            Timestamp(TimeUnit::Nanosecond, zone) => match zone {
                Some(_) => |column, row, out| put(18, &value::<TimestampNanosecondType>(column, row).to_le_bytes(), out),
                None => |column, row, out| put(19, &value::<TimestampNanosecondType>(column, row).to_le_bytes(), out),
            },
            Binary => |column, row, out| counted(BINARY, column.as_binary::<i32>().value(row), out),
            Utf8 => |column, row, out| string(STRING, column.as_string::<i32>().value(row).as_bytes(), out),
            FixedSizeBinary(UUID_BYTES) => |column, row, out| put(UUID, column.as_fixed_size_binary().value(row), out),
            other => return Err(Error::schema_mismatch(format!("a variant cannot hold values of type {other}"))),
        };
        Ok(Self { column, write })
    }

    pub(super) fn is_valid(&self, row: usize) -> bool {
        self.column.is_valid(row)
    }

    pub(super) fn write(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        (self.write)(self.column, row, out)
    }
}

fn value<T: ArrowPrimitiveType>(column: &ArrayRef, row: usize) -> T::Native {
    column.as_primitive::<T>().value(row)
}

fn put(kind: u8, content: &[u8], out: &mut Vec<u8>) -> Result<()> {
    primitive(kind, content, out);
    Ok(())
}

/// Encodes a decimal in as many bytes as the column's precision requires.
fn decimal(column: &ArrayRef, row: usize, out: &mut Vec<u8>) -> Result<()> {
    let ArrowType::Decimal128(precision, scale) = column.data_type() else {
        return Err(Error::internal("a decimal column has another type"));
    };
    let (kind, width) = match precision {
        0..=9 => (8, 4),
        10..=18 => (9, 8),
        _ => (10, 16),
    };
    primitive(kind, &scale.to_le_bytes(), out);
    out.extend(value::<Decimal128Type>(column, row).to_le_bytes().into_iter().take(width));
    Ok(())
}
