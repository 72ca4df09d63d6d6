//! Casts arrays from the type that a file stores to the type of the schema.
//!
//! Besides widenings, it handles the different ways in which Parquet files store one type: large
//! and view forms of strings and binaries, timestamps in other units, small integers without
//! annotation, and lists with another name for their child. Every cast is exact: a value that does
//! not fit is an error, and never becomes null or a rounded value.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal128Type, DurationMicrosecondType, Int32Type, Int64Type, IntervalYearMonthType,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, ListArray, MapArray, StructArray, TimestampMicrosecondArray, new_null_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType as ArrowType, FieldRef, Fields, IntervalUnit, TimeUnit};

use super::super::arrow::type_name;
use crate::{Error, Result};

const MICROS_PER_DAY: i64 = 86_400_000_000;
const MILLIS_PER_DAY: i64 = 86_400_000;

/// Casts an array as read from a file to the Arrow type of its column, exactly.
///
/// Lists and maps are cast part by part. Structs are cast field by field: by name, with nulls for
/// fields that the file lacks, and without fields that the type lacks. A zone other than UTC is
/// only a label. Times without a zone count as UTC if the column has instants, and the reverse.
pub fn cast_up(array: &ArrayRef, to: &ArrowType) -> Result<ArrayRef> {
    use ArrowType::*;
    let from = array.data_type();
    match (from, to) {
        (from, to) if from == to => Ok(Arc::clone(array)),
        (Null, _) | (_, Null) => Ok(new_null_array(to, array.len())),
        (Dictionary(_, value), _) => cast_up(&exact(array, value)?, to),

        (Int16 | Int32 | UInt8, Int8)
        | (Int8 | Int32 | UInt8 | UInt16, Int16)
        | (Int8 | Int16 | UInt8 | UInt16 | UInt32, Int32)
        | (Int8 | Int16 | Int32 | UInt8 | UInt16 | UInt32 | UInt64, Int64)
        | (Float16, Float32)
        | (Int8 | Int16 | Int32 | Float16 | Float32, Float64) => exact(array, to),
        (Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64, Decimal128(precision, scale)) => {
            // Twenty digits are enough for every integer.
            rescale(&exact(array, &Decimal128(20, 0))?, 20, 0, *precision, *scale)
        }
        (Decimal32(_, from_scale) | Decimal64(_, from_scale) | Decimal256(_, from_scale), Decimal128(precision, scale))
            if from_scale <= scale =>
        {
            rescale(&exact(array, &Decimal128(38, *from_scale))?, 38, *from_scale, *precision, *scale)
        }
        (Decimal128(from_precision, from_scale), Decimal128(precision, scale)) if from_scale <= scale => {
            rescale(array, *from_precision, *from_scale, *precision, *scale)
        }

        // Old writers did not annotate dates.
        (Int32, Date32) => Ok(Arc::new(array.as_primitive::<Int32Type>().reinterpret_cast::<Date32Type>())),
        (Date32, Timestamp(TimeUnit::Microsecond, None)) => days_to_micros(array),
        (Date64, Date32) => millis_to_days(array),
        (Timestamp(unit, _), Timestamp(TimeUnit::Microsecond, zone)) => {
            Ok(Arc::new(to_micros(array, *unit)?.with_timezone_opt(zone.clone())))
        }
        (Int32, Interval(IntervalUnit::YearMonth)) => {
            Ok(Arc::new(array.as_primitive::<Int32Type>().reinterpret_cast::<IntervalYearMonthType>()))
        }
        (Int64, Duration(TimeUnit::Microsecond)) => {
            Ok(Arc::new(array.as_primitive::<Int64Type>().reinterpret_cast::<DurationMicrosecondType>()))
        }

        (
            Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView | FixedSizeBinary(_),
            Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView,
        ) => exact(array, to),

        (List(_), List(element)) => cast_list(array.as_list(), element),
        (LargeList(inner) | ListView(inner) | LargeListView(inner) | FixedSizeList(inner, _), List(element)) => {
            cast_list(exact(array, &List(Arc::clone(inner)))?.as_list(), element)
        }
        (Map(..), Map(entries, sorted)) => cast_map(array.as_map(), entries, *sorted),
        (Struct(_), Struct(fields)) => cast_struct(array.as_struct(), fields),
        _ => Err(no_cast(from, to)),
    }
}

/// Casts with Arrow, which fails if a value does not fit.
fn exact(array: &ArrayRef, to: &ArrowType) -> Result<ArrayRef> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(array, to, &options).map_err(|error| no_fit(array.data_type(), to, error))
}

fn rescale(array: &ArrayRef, from_precision: u8, from_scale: i8, precision: u8, scale: i8) -> Result<ArrayRef> {
    let (from, to) = (array.data_type(), ArrowType::Decimal128(precision, scale));
    let array = array.as_primitive::<Decimal128Type>();
    let array = if from_scale == scale && from_precision <= precision {
        array.clone()
    } else {
        let power = |exponent: u32| 10_i128.checked_pow(exponent).ok_or_else(|| no_cast(from, &to));
        let factor = power(u32::from(scale.abs_diff(from_scale)))?;
        let bound = power(u32::from(precision))?;
        array.try_unary::<_, Decimal128Type, _>(|value| {
            let scaled = value.checked_mul(factor).filter(|scaled| scaled.unsigned_abs() < bound.unsigned_abs());
            scaled.ok_or_else(|| no_fit(from, &to, value_error(format!("{value} with {from_scale} decimals"))))
        })?
    };
    Ok(Arc::new(array.with_precision_and_scale(precision, scale).map_err(|error| no_fit(from, &to, error))?))
}

fn days_to_micros(array: &ArrayRef) -> Result<ArrayRef> {
    let micros = array.as_primitive::<Date32Type>().try_unary::<_, TimestampMicrosecondType, _>(|days| {
        let to = ArrowType::Timestamp(TimeUnit::Microsecond, None);
        i64::from(days)
            .checked_mul(MICROS_PER_DAY)
            .ok_or_else(|| no_fit(&ArrowType::Date32, &to, value_error(format!("day {days}"))))
    })?;
    Ok(Arc::new(micros))
}

fn millis_to_days(array: &ArrayRef) -> Result<ArrayRef> {
    let days = array.as_primitive::<Date64Type>().try_unary::<_, Date32Type, _>(|millis| {
        i32::try_from(millis.div_euclid(MILLIS_PER_DAY))
            .map_err(|_| no_fit(&ArrowType::Date64, &ArrowType::Date32, value_error(format!("millisecond {millis}"))))
    })?;
    Ok(Arc::new(days))
}

/// Returns microseconds. Finer units are rounded down to the earlier microsecond, as in Spark.
fn to_micros(array: &ArrayRef, unit: TimeUnit) -> Result<TimestampMicrosecondArray> {
    let scale = |value: i64, factor: i64| {
        value.checked_mul(factor).ok_or_else(|| {
            let to = ArrowType::Timestamp(TimeUnit::Microsecond, None);
            no_fit(array.data_type(), &to, value_error(value.to_string()))
        })
    };
    match unit {
        TimeUnit::Second => array.as_primitive::<TimestampSecondType>().try_unary(|value| scale(value, 1_000_000)),
        TimeUnit::Millisecond => array.as_primitive::<TimestampMillisecondType>().try_unary(|value| scale(value, 1_000)),
        TimeUnit::Microsecond => Ok(array.as_primitive::<TimestampMicrosecondType>().clone()),
        TimeUnit::Nanosecond => Ok(array.as_primitive::<TimestampNanosecondType>().unary(|value| value.div_euclid(1_000))),
    }
}

fn cast_list(list: &ListArray, element: &FieldRef) -> Result<ArrayRef> {
    let values = cast_up(list.values(), element.data_type())?;
    let cast = ListArray::try_new(Arc::clone(element), list.offsets().clone(), values, list.nulls().cloned());
    Ok(Arc::new(cast.map_err(|error| no_fit(list.data_type(), &ArrowType::List(Arc::clone(element)), error))?))
}

fn cast_map(map: &MapArray, entries: &FieldRef, sorted: bool) -> Result<ArrayRef> {
    let to = ArrowType::Map(Arc::clone(entries), sorted);
    let ArrowType::Struct(fields) = entries.data_type() else { return Err(no_cast(map.data_type(), &to)) };
    let [key, value] = &fields[..] else { return Err(no_cast(map.data_type(), &to)) };
    let columns = vec![cast_up(map.keys(), key.data_type())?, cast_up(map.values(), value.data_type())?];
    let cast = StructArray::try_new(fields.clone(), columns, None)
        .and_then(|cast| MapArray::try_new(Arc::clone(entries), map.offsets().clone(), cast, map.nulls().cloned(), sorted));
    Ok(Arc::new(cast.map_err(|error| no_fit(map.data_type(), &to, error))?))
}

fn cast_struct(array: &StructArray, fields: &Fields) -> Result<ArrayRef> {
    let to = ArrowType::Struct(fields.clone());
    let columns = fields.iter().map(|field| match array.column_by_name(field.name()) {
        Some(column) => cast_up(column, field.data_type()).map_err(|error| error.within(format!("field {}", field.name()))),
        None if field.is_nullable() => Ok(new_null_array(field.data_type(), array.len())),
        None => Err(no_fit(
            array.data_type(),
            &to,
            value_error(format!("field {}, which is absent but must not be null", field.name())),
        )),
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let cast = StructArray::try_new_with_length(fields.clone(), columns, array.nulls().cloned(), array.len());
    Ok(Arc::new(cast.map_err(|error| no_fit(array.data_type(), &to, error))?))
}

fn no_cast(from: &ArrowType, to: &ArrowType) -> Error {
    let (from, to) = (type_name(from), type_name(to));
    Error::schema_mismatch(format!("a column stored as {from} cannot be read as {to}: Delta allows no such change of type"))
}

fn no_fit(from: &ArrowType, to: &ArrowType, error: ArrowError) -> Error {
    let (from, to) = (type_name(from), type_name(to));
    let why = error.to_string();
    let why = why.strip_prefix("Cast error: ").unwrap_or(&why);
    // Arrow's message has the value, but names types in its own way.
    let value =
        why.strip_prefix("Can't cast value ").and_then(|rest| rest.split_once(" to type ")).map_or(why, |(value, _)| value);
    Error::schema_mismatch(format!("a value stored as {from} does not fit into {to}: {value}"))
}

fn value_error(value: String) -> ArrowError {
    ArrowError::CastError(value)
}

#[cfg(test)]
mod tests;
