//! Spark's types as Arrow types: their names, and the common type of two operands.
//!
//! The rules are those of Spark's ANSI mode. The module `evaluate::cast` casts values from one type
//! to another. Read [`common`] first.

use std::sync::Arc;

use arrow_schema::{DataType, Field, IntervalUnit, TimeUnit};

/// The largest precision of a decimal.
pub(crate) const MAX_DIGITS: u8 = 38;

/// The type of an instant (TIMESTAMP).
pub(crate) fn timestamp() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

/// The type of a wall-clock time without a time zone (TIMESTAMP_NTZ).
pub(crate) fn timestamp_ntz() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, None)
}

/// The type of a day-time interval, in microseconds.
pub(crate) fn day_time() -> DataType {
    DataType::Duration(TimeUnit::Microsecond)
}

/// The type of a year-month interval, in months.
pub(crate) fn year_month() -> DataType {
    DataType::Interval(IntervalUnit::YearMonth)
}

/// The type of an array with elements of this type.
pub(crate) fn array_of(element: DataType) -> DataType {
    DataType::List(Arc::new(Field::new("element", element, true)))
}

/// The type of a map with keys and values of these types.
pub(crate) fn map_of(key: DataType, value: DataType) -> DataType {
    let entries = DataType::Struct(vec![Field::new("key", key, false), Field::new("value", value, true)].into());
    DataType::Map(Arc::new(Field::new("key_value", entries, false)), false)
}

/// The type with this SQL name.
pub(crate) fn from_name(name: &str, numbers: &[u8]) -> Option<DataType> {
    let name = name.to_ascii_lowercase();
    if matches!(name.as_str(), "decimal" | "dec" | "numeric") {
        let (precision, scale) = match *numbers {
            [] => (10, 0),
            [precision] => (precision, 0),
            [precision, scale] => (precision, scale),
            _ => return None,
        };
        let valid = (1..=MAX_DIGITS).contains(&precision) && scale <= precision;
        return valid.then_some(DataType::Decimal128(precision, scale as i8));
    }
    if matches!(name.as_str(), "char" | "character" | "varchar") {
        return (numbers.len() == 1).then_some(DataType::Utf8);
    }
    let found = match name.as_str() {
        "boolean" => DataType::Boolean,
        "tinyint" | "byte" => DataType::Int8,
        "smallint" | "short" => DataType::Int16,
        "int" | "integer" => DataType::Int32,
        "bigint" | "long" => DataType::Int64,
        "float" | "real" => DataType::Float32,
        "double" => DataType::Float64,
        "string" => DataType::Utf8,
        "binary" => DataType::Binary,
        "date" => DataType::Date32,
        "timestamp" | "timestamp_ltz" => timestamp(),
        "timestamp_ntz" => timestamp_ntz(),
        "void" => DataType::Null,
        _ => return None,
    };
    numbers.is_empty().then_some(found)
}

/// Spark's name of a type, for messages.
pub(crate) fn name(data_type: &DataType) -> String {
    match data_type {
        DataType::Null => "VOID".into(),
        DataType::Boolean => "BOOLEAN".into(),
        DataType::Int8 => "TINYINT".into(),
        DataType::Int16 => "SMALLINT".into(),
        DataType::Int32 => "INT".into(),
        DataType::Int64 => "BIGINT".into(),
        DataType::Float32 => "FLOAT".into(),
        DataType::Float64 => "DOUBLE".into(),
        DataType::Utf8 => "STRING".into(),
        DataType::Binary => "BINARY".into(),
        DataType::Date32 => "DATE".into(),
        DataType::Timestamp(_, Some(_)) => "TIMESTAMP".into(),
        DataType::Timestamp(_, None) => "TIMESTAMP_NTZ".into(),
        DataType::Decimal128(precision, scale) => format!("DECIMAL({precision},{scale})"),
        DataType::Interval(_) => "INTERVAL YEAR TO MONTH".into(),
        DataType::Duration(_) => "INTERVAL DAY TO SECOND".into(),
        DataType::List(element) => format!("ARRAY<{}>", name(element.data_type())),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => {
                format!("MAP<{}, {}>", name(fields[0].data_type()), name(fields[1].data_type()))
            }
            _ => "MAP".into(),
        },
        DataType::Struct(fields) => {
            let fields: Vec<String> = fields.iter().map(|f| format!("{}: {}", f.name(), name(f.data_type()))).collect();
            format!("STRUCT<{}>", fields.join(", "))
        }
        other => format!("{other}"),
    }
}

pub(crate) fn is_whole_number(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64)
}

pub(crate) fn is_float(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Float32 | DataType::Float64)
}

pub(crate) fn is_decimal(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Decimal128(_, _) | DataType::Decimal256(_, _))
}

pub(crate) fn is_number(data_type: &DataType) -> bool {
    is_whole_number(data_type) || is_float(data_type) || is_decimal(data_type)
}

pub(crate) fn is_timestamp(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Timestamp(_, _))
}

/// The precision and scale that hold every value of an exact numeric type.
pub(crate) fn digits(data_type: &DataType) -> Option<(u8, i8)> {
    match data_type {
        DataType::Int8 => Some((3, 0)),
        DataType::Int16 => Some((5, 0)),
        DataType::Int32 => Some((10, 0)),
        DataType::Int64 => Some((20, 0)),
        DataType::Decimal128(precision, scale) | DataType::Decimal256(precision, scale) => Some((*precision, *scale)),
        _ => None,
    }
}

/// The common type of two types: comparisons and the branches of CASE use it.
pub(crate) fn common(left: &DataType, right: &DataType) -> Option<DataType> {
    use DataType::{Boolean, Date32, Decimal128, Float64, Null, Utf8};
    if left == right {
        return Some(left.clone());
    }
    match (left, right) {
        (Null, other) | (other, Null) => Some(other.clone()),
        (Utf8, other) | (other, Utf8) => common_with_string(other),
        (a, b) if is_decimal(a) || is_decimal(b) => match (digits(a), digits(b)) {
            (Some((p1, s1)), Some((p2, s2))) => {
                let scale = s1.max(s2);
                let whole = (p1 as i8 - s1).max(p2 as i8 - s2);
                Some(bounded_decimal(whole as i16 + scale as i16, scale as i16))
            }
            _ => (is_number(a) && is_number(b)).then_some(Float64),
        },
        (a, b) if is_number(a) && is_number(b) => Some(common_number(a, b)),
        (Date32, time) | (time, Date32) if is_timestamp(time) => Some(time.clone()),
        (a, b) if is_timestamp(a) && is_timestamp(b) => Some(timestamp()),
        (Boolean, Decimal128(_, _)) => None,
        _ => None,
    }
}

/// The common type of a string and a value of another type. The string is read as the other type,
/// or as BIGINT for integers and as DOUBLE for other numbers.
fn common_with_string(other: &DataType) -> Option<DataType> {
    match other {
        t if is_whole_number(t) => Some(DataType::Int64),
        t if is_number(t) => Some(DataType::Float64),
        DataType::Boolean | DataType::Binary | DataType::Date32 | DataType::Timestamp(_, _) => Some(other.clone()),
        _ => None,
    }
}

fn common_number(a: &DataType, b: &DataType) -> DataType {
    if is_float(a) || is_float(b) {
        // A FLOAT cannot hold every integer, so both sides become DOUBLE.
        return if a == b { a.clone() } else { DataType::Float64 };
    }
    [DataType::Int64, DataType::Int32, DataType::Int16].into_iter().find(|t| t == a || t == b).unwrap_or(DataType::Int8)
}

/// A decimal type whose precision and scale are limited to what a decimal can hold.
pub(crate) fn bounded_decimal(precision: i16, scale: i16) -> DataType {
    let most = i16::from(MAX_DIGITS);
    DataType::Decimal128(precision.min(most) as u8, scale.min(most) as i8)
}

/// The decimal type in which two exact numbers are compared without loss.
pub(crate) fn comparison_decimal(left: &DataType, right: &DataType) -> Option<DataType> {
    let ((p1, s1), (p2, s2)) = (digits(left)?, digits(right)?);
    let scale = s1.max(s2);
    let precision = (p1 as i8 - s1).max(p2 as i8 - s2) + scale;
    Some(if precision <= MAX_DIGITS as i8 {
        DataType::Decimal128(precision as u8, scale)
    } else {
        DataType::Decimal256(precision as u8, scale)
    })
}

/// The common type of several types.
pub(crate) fn common_of<'a>(types: impl IntoIterator<Item = &'a DataType>) -> Option<DataType> {
    let (strings, others): (Vec<_>, Vec<_>) = types.into_iter().partition(|t| **t == DataType::Utf8);
    // Strings come last, so that the order of the arguments does not matter.
    others.into_iter().chain(strings).try_fold(DataType::Null, |all, next| common(&all, next))
}

/// Whether the type is a variant. A variant is a struct of two binaries, and its text is not made
/// of these. A struct with two such fields counts as a variant.
pub(crate) fn may_be_variant(data_type: &DataType) -> bool {
    let DataType::Struct(fields) = data_type else { return false };
    let mut names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
    names.sort_unstable();
    names == ["metadata", "value"] && fields.iter().all(|field| *field.data_type() == DataType::Binary)
}
