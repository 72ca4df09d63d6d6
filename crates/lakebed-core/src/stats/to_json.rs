//! Writes the JSON of statistics that exist only as a struct.

use std::fmt::Write;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, DecimalType, Float32Type, Float64Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, StringArray, StructArray};
use arrow_cast::cast;
use arrow_schema::{DataType as ArrowType, TimeUnit};
use chrono::{DateTime, NaiveDate, SecondsFormat};

use super::from_struct::micros;
use crate::json_string::write_string;

/// Returns the JSON string of each row of `stats_parsed`, or null if the row is null.
///
/// Values are written as Delta Spark writes them: nulls are left out, timestamps are truncated to
/// milliseconds and in UTC, and NaN and the infinities are strings. Fields of types without
/// statistics are left out.
pub fn struct_to_json(parsed: &StructArray) -> StringArray {
    let fields = Fields::of(parsed);
    let mut texts = StringBuilder::new();
    let mut text = String::new();
    for row in 0..parsed.len() {
        if parsed.is_null(row) {
            texts.append_null();
            continue;
        }
        text.clear();
        fields.write(row, &mut text);
        texts.append_value(&text);
    }
    texts.finish()
}

/// The fields of a struct, each with its name as a JSON string.
struct Fields(Vec<(String, Field)>);

struct Field {
    array: ArrayRef,
    values: Values,
}

/// The form in which the values of a field are written.
enum Values {
    Struct(Fields),
    Long,
    Float,
    Double,
    Boolean,
    String,
    Decimal { precision: u8, scale: i8 },
    Date,
    Timestamp { zoned: bool },
}

impl Fields {
    fn of(parsed: &StructArray) -> Self {
        let named = parsed.column_names().into_iter().zip(parsed.columns());
        let fields = named.filter_map(|(name, array)| {
            let mut key = String::new();
            write_string(&mut key, name);
            key.push(':');
            Some((key, Field::of(array)?))
        });
        Self(fields.collect())
    }

    fn write(&self, row: usize, out: &mut String) {
        out.push('{');
        let mut first = true;
        for (key, field) in self.0.iter().filter(|(_, field)| field.array.is_valid(row)) {
            let before = out.len();
            if !first {
                out.push(',');
            }
            out.push_str(key);
            if field.write(row, out).is_some() {
                first = false;
            } else {
                out.truncate(before);
            }
        }
        out.push('}');
    }
}

impl Field {
    /// Returns the field with its values in one of the few types that are written, or `None` if
    /// statistics do not have its type.
    fn of(array: &ArrayRef) -> Option<Self> {
        use ArrowType::*;
        let brought = |to: ArrowType| cast(array, &to).ok();
        let (array, values) = match array.data_type() {
            Dictionary(_, values) => return Self::of(&brought(values.as_ref().clone())?),
            Struct(_) => (Arc::clone(array), Values::Struct(Fields::of(array.as_struct_opt()?))),
            integer if integer.is_integer() => (brought(Int64)?, Values::Long),
            Float32 => (Arc::clone(array), Values::Float),
            Float64 => (Arc::clone(array), Values::Double),
            Boolean => (Arc::clone(array), Values::Boolean),
            Utf8 | LargeUtf8 | Utf8View => (brought(Utf8)?, Values::String),
            Decimal32(precision, scale) | Decimal64(precision, scale) | Decimal128(precision, scale) => {
                (brought(Decimal128(*precision, *scale))?, Values::Decimal { precision: *precision, scale: *scale })
            }
            Date32 => (Arc::clone(array), Values::Date),
            Timestamp(TimeUnit::Second | TimeUnit::Millisecond | TimeUnit::Microsecond | TimeUnit::Nanosecond, zone) => {
                (Arc::new(micros(array)?) as ArrayRef, Values::Timestamp { zoned: zone.is_some() })
            }
            _ => return None,
        };
        Some(Self { array, values })
    }

    /// Writes a value that is not null. Returns `None` if it cannot be written. A part of the text
    /// may have been written in this case.
    fn write(&self, row: usize, out: &mut String) -> Option<()> {
        let array = &self.array;
        match &self.values {
            Values::Struct(fields) => fields.write(row, out),
            Values::Long => write!(out, "{}", array.as_primitive::<Int64Type>().value(row)).ok()?,
            Values::Float => {
                let value = array.as_primitive::<Float32Type>().value(row);
                write_float(out, value.into(), |out| write!(out, "{value:?}").ok())?;
            }
            Values::Double => {
                let value = array.as_primitive::<Float64Type>().value(row);
                write_float(out, value, |out| write!(out, "{value:?}").ok())?;
            }
            Values::Boolean => out.push_str(if array.as_boolean().value(row) { "true" } else { "false" }),
            Values::String => write_string(out, array.as_string::<i32>().value(row)),
            Values::Decimal { precision, scale } => {
                let value = array.as_primitive::<Decimal128Type>().value(row);
                out.push_str(&Decimal128Type::format_decimal(value, *precision, *scale));
            }
            Values::Date => {
                let date = NaiveDate::from_epoch_days(array.as_primitive::<Date32Type>().value(row))?;
                write!(out, "\"{}\"", date.format("%Y-%m-%d")).ok()?;
            }
            Values::Timestamp { zoned } => {
                let instant = DateTime::from_timestamp_micros(array.as_primitive::<TimestampMicrosecondType>().value(row))?;
                let text = instant.to_rfc3339_opts(SecondsFormat::Millis, true);
                write!(out, "\"{}\"", if *zoned { &text } else { text.trim_end_matches('Z') }).ok()?;
            }
        }
        Some(())
    }
}

fn write_float(out: &mut String, value: f64, finite: impl FnOnce(&mut String) -> Option<()>) -> Option<()> {
    match value {
        f64::INFINITY => out.push_str("\"Infinity\""),
        f64::NEG_INFINITY => out.push_str("\"-Infinity\""),
        value if value.is_nan() => out.push_str("\"NaN\""),
        _ => finite(out)?,
    }
    Some(())
}
