//! CAST of columns without nested values. Arrow casts numbers. Text is read and written as Spark
//! does. Read [`convert`] first.

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, BooleanArray, PrimitiveArray, StringArray};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::DataType;
use datafusion_common::Result as DfResult;

use super::kernel::fail;
use super::text_value::{
    decimal_text, float_text, parse_boolean, parse_date, parse_decimal, parse_double, parse_long, parse_timestamp,
    parse_timestamp_ntz,
};
use crate::calendar::{DAY, SECOND, date_text, timestamp_text};
use crate::types;

/// Casts a column. A value that cannot be cast becomes null with `try_` and is an error otherwise.
pub(crate) fn convert(array: &ArrayRef, to: &DataType, try_: bool) -> DfResult<ArrayRef> {
    use DataType::{Binary, Boolean, Date32, Decimal128, Float32, Float64, Timestamp, Utf8};
    match (array.data_type(), to) {
        (Utf8, Binary) => arrow(array, to, try_),
        (Utf8, _) => from_text(array.as_string::<i32>(), to, try_),
        (_, Utf8) => to_text(array),
        (Float32 | Float64, Decimal128(precision, scale)) => float_to_decimal(array, *precision, *scale, try_),
        (Decimal128(_, scale), Float64) => {
            let scale = *scale;
            parse_each::<Float64Type, _>(array.as_primitive::<Decimal128Type>(), to, try_, |v| {
                decimal_text(v, scale).parse().ok()
            })
        }
        (Date32, Timestamp(_, _)) => {
            parse_each::<TimestampMicrosecondType, _>(array.as_primitive::<Date32Type>(), to, try_, |days| {
                i64::from(days).checked_mul(DAY)
            })
        }
        (Timestamp(_, _), Timestamp(_, _)) => {
            let times = array.as_primitive::<TimestampMicrosecondType>().clone();
            Ok(Arc::new(times.with_data_type(to.clone())))
        }
        (Timestamp(_, _), Date32) => {
            let times = array.as_primitive::<TimestampMicrosecondType>();
            Ok(Arc::new(times.unary::<_, Date32Type>(|micros| micros.div_euclid(DAY) as i32)))
        }
        (Timestamp(_, _), Float64) => {
            let times = array.as_primitive::<TimestampMicrosecondType>();
            Ok(Arc::new(times.unary::<_, Float64Type>(|micros| micros as f64 / SECOND as f64)))
        }
        (Timestamp(_, _), _) => {
            let times = array.as_primitive::<TimestampMicrosecondType>();
            let seconds: ArrayRef = Arc::new(times.unary::<_, Int64Type>(|micros| micros.div_euclid(SECOND)));
            arrow(&seconds, to, try_)
        }
        (Float32 | Float64, Timestamp(_, _)) => {
            let seconds = arrow(array, &Float64, try_)?;
            parse_each::<TimestampMicrosecondType, _>(seconds.as_primitive::<Float64Type>(), to, try_, |seconds| {
                let micros = seconds * SECOND as f64;
                (micros >= i64::MIN as f64 && micros < i64::MAX as f64).then_some(micros as i64)
            })
        }
        (from, Timestamp(_, _)) if types::is_decimal(from) => {
            let micros = arrow(array, &Decimal128(38, 6), try_)?;
            let micros = micros.as_primitive::<Decimal128Type>();
            parse_each::<TimestampMicrosecondType, _>(micros, to, try_, |micros| i64::try_from(micros).ok())
        }
        (_, Timestamp(_, _)) => {
            let seconds = arrow(array, &DataType::Int64, try_)?;
            parse_each::<TimestampMicrosecondType, _>(seconds.as_primitive::<Int64Type>(), to, try_, |s| s.checked_mul(SECOND))
        }
        (_, Boolean) | (_, _) => arrow(array, to, try_),
    }
}

fn arrow(array: &ArrayRef, to: &DataType, try_: bool) -> DfResult<ArrayRef> {
    let options = CastOptions { safe: try_, ..CastOptions::default() };
    cast_with_options(array, to, &options).map_err(|_| match first_without_counterpart(array, to) {
        Some(value) => fail(format!("a value does not fit {}: {value}", types::name(to))),
        None => fail(format!("values of type {} cannot be cast to {}", types::name(array.data_type()), types::name(to))),
    })
}

/// Returns the first value that Arrow's cast turns into null.
fn first_without_counterpart(array: &ArrayRef, to: &DataType) -> Option<String> {
    let cast = cast_with_options(array, to, &CastOptions::default()).ok()?;
    let row = (0..array.len()).find(|row| array.is_valid(*row) && cast.is_null(*row))?;
    let values = ArrayFormatter::try_new(array.as_ref(), &FormatOptions::default()).ok()?;
    values.value(row).try_to_string().ok()
}

/// Converts each value. A value that cannot be converted becomes null with `try_` and is an error
/// otherwise.
fn parse_each<T: ArrowPrimitiveType, F: ArrowPrimitiveType>(
    array: &PrimitiveArray<F>,
    to: &DataType,
    try_: bool,
    convert: impl Fn(F::Native) -> Option<T::Native>,
) -> DfResult<ArrayRef> {
    let converted: PrimitiveArray<T> = if try_ {
        array.unary_opt(convert)
    } else {
        array.try_unary(|value| convert(value).ok_or_else(|| does_not_fit(&format!("{value:?}"), to)))?
    };
    Ok(Arc::new(converted.with_data_type(to.clone())))
}

fn does_not_fit(value: &str, to: &DataType) -> datafusion_common::DataFusionError {
    fail(format!("the value {value} cannot be cast to {}; TRY_CAST would give null", types::name(to)))
}

fn from_text(array: &StringArray, to: &DataType, try_: bool) -> DfResult<ArrayRef> {
    match to {
        DataType::Boolean => {
            let values = array.iter().map(|text| match text.map(|text| (text, parse_boolean(text))) {
                Some((text, None)) if !try_ => Err(does_not_fit(&format!("'{text}'"), to)),
                parsed => Ok(parsed.and_then(|(_, value)| value)),
            });
            Ok(Arc::new(values.collect::<DfResult<BooleanArray>>()?))
        }
        DataType::Int8 => read::<Int8Type>(array, to, try_, |text| parse_long(text)?.try_into().ok()),
        DataType::Int16 => read::<Int16Type>(array, to, try_, |text| parse_long(text)?.try_into().ok()),
        DataType::Int32 => read::<Int32Type>(array, to, try_, |text| parse_long(text)?.try_into().ok()),
        DataType::Int64 => read::<Int64Type>(array, to, try_, parse_long),
        DataType::Float32 => read::<Float32Type>(array, to, try_, |text| parse_double(text).map(|value| value as f32)),
        DataType::Float64 => read::<Float64Type>(array, to, try_, parse_double),
        DataType::Decimal128(precision, scale) => {
            read::<Decimal128Type>(array, to, try_, |text| parse_decimal(text, *precision, *scale))
        }
        DataType::Date32 => read::<Date32Type>(array, to, try_, parse_date),
        DataType::Timestamp(_, Some(_)) => read::<TimestampMicrosecondType>(array, to, try_, parse_timestamp),
        DataType::Timestamp(_, None) => read::<TimestampMicrosecondType>(array, to, try_, parse_timestamp_ntz),
        _ => Err(fail(format!("STRING cannot be cast to {}", types::name(to)))),
    }
}

fn read<T: ArrowPrimitiveType>(
    array: &StringArray,
    to: &DataType,
    try_: bool,
    parse: impl Fn(&str) -> Option<T::Native>,
) -> DfResult<ArrayRef> {
    let values = array.iter().map(|text| match text.map(|text| (text, parse(text))) {
        Some((text, None)) if !try_ => Err(does_not_fit(&format!("'{text}'"), to)),
        parsed => Ok(parsed.and_then(|(_, value)| value)),
    });
    let values = values.collect::<DfResult<Vec<_>>>()?;
    Ok(Arc::new(PrimitiveArray::<T>::from_iter(values).with_data_type(to.clone())))
}

fn float_to_decimal(array: &ArrayRef, precision: u8, scale: i8, try_: bool) -> DfResult<ArrayRef> {
    let to = DataType::Decimal128(precision, scale);
    // The float is converted by way of the shortest text that identifies it, as in Java.
    let decimal = |text: String| parse_decimal(&text, precision, scale);
    match array.data_type() {
        DataType::Float32 => {
            parse_each::<Decimal128Type, _>(array.as_primitive::<Float32Type>(), &to, try_, |v| decimal(format!("{v:e}")))
        }
        _ => parse_each::<Decimal128Type, _>(array.as_primitive::<Float64Type>(), &to, try_, |v| decimal(format!("{v:e}"))),
    }
}

fn to_text(array: &ArrayRef) -> DfResult<ArrayRef> {
    use DataType::{Binary, Boolean, Date32, Decimal128, Float32, Float64, Timestamp};
    let each = |text: &dyn Fn(usize) -> String| {
        let mut builder = StringBuilder::with_capacity(array.len(), array.len() * 8);
        for row in 0..array.len() {
            builder.append_option(array.is_valid(row).then(|| text(row)));
        }
        Arc::new(builder.finish()) as ArrayRef
    };
    Ok(match array.data_type() {
        Boolean => each(&|row| array.as_boolean().value(row).to_string()),
        Float32 => each(&|row| {
            let value = array.as_primitive::<Float32Type>().value(row);
            float_text(f64::from(value), &format!("{value:e}"))
        }),
        Float64 => each(&|row| {
            let value = array.as_primitive::<Float64Type>().value(row);
            float_text(value, &format!("{value:e}"))
        }),
        Decimal128(_, scale) => each(&|row| decimal_text(array.as_primitive::<Decimal128Type>().value(row), *scale)),
        Date32 => each(&|row| date_text(i64::from(array.as_primitive::<Date32Type>().value(row)))),
        Timestamp(_, _) => each(&|row| timestamp_text(array.as_primitive::<TimestampMicrosecondType>().value(row))),
        Binary => each(&|row| String::from_utf8_lossy(array.as_binary::<i32>().value(row)).into_owned()),
        _ => arrow(array, &DataType::Utf8, false)?,
    })
}
