//! The casts that Spark has, and which of them are monotonic or never fail. Read [`can_cast`]
//! first.

use arrow_schema::DataType;

use super::nested::map_types;
use crate::types;

/// Whether the second type has every number of the first type, in the same order.
pub(crate) fn widens(from: &DataType, to: &DataType) -> bool {
    match (types::digits(from), types::digits(to)) {
        (Some((p1, s1)), Some((p2, s2))) if types::is_decimal(to) => s2 >= s1 && (p2 as i8 - s2) >= (p1 as i8 - s1),
        (Some((p1, _)), Some((p2, _))) if !types::is_decimal(from) => p1 <= p2,
        (Some(_), None) => types::is_whole_number(from) && *to == DataType::Float64,
        _ => (from, to) == (&DataType::Float32, &DataType::Float64),
    }
}

/// Whether Spark has a cast from one type to another.
pub fn can_cast(from: &DataType, to: &DataType) -> bool {
    from == to || widens(from, to) || allowed(from, to)
}

pub(crate) fn allowed(from: &DataType, to: &DataType) -> bool {
    use DataType::{Binary, Boolean, Date32, Null, Utf8};
    let simple =
        |t: &DataType| types::is_number(t) || types::is_timestamp(t) || matches!(t, Boolean | Date32 | Utf8 | Binary | Null);
    match (from, to) {
        (Null, _) => true,
        (from, _) if from.is_nested() => nested_allowed(from, to),
        (Utf8, to) | (to, Utf8) => simple(to),
        (from, to) if types::is_number(from) || *from == Boolean => {
            types::is_number(to) || *to == Boolean || matches!(to, DataType::Timestamp(_, Some(_)))
        }
        (Date32, to) => types::is_timestamp(to),
        (from, to) if types::is_timestamp(from) => {
            *to == Date32 || types::is_timestamp(to) || (types::is_number(to) && matches!(from, DataType::Timestamp(_, Some(_))))
        }
        _ => false,
    }
}

/// Whether Spark has a cast from an array, map or struct to another type.
fn nested_allowed(from: &DataType, to: &DataType) -> bool {
    use DataType::{List, Map, Struct, Utf8};
    match (from, to) {
        (_, Utf8) => !types::may_be_variant(from) && part_types(from).into_iter().all(|part| can_cast(part, &Utf8)),
        (Struct(fields), Struct(wanted)) => {
            fields.len() == wanted.len()
                && fields.iter().zip(wanted).all(|(field, wanted)| can_cast(field.data_type(), wanted.data_type()))
        }
        (List(element), List(wanted)) => can_cast(element.data_type(), wanted.data_type()),
        (Map(_, _), Map(_, _)) => match (map_types(from), map_types(to)) {
            // A key cannot become null, so the cast of keys must not fail. A cast to text never
            // fails.
            (Some((key, value)), Some((to_key, to_value))) => {
                let is_safe = key == to_key || widens(key, to_key) || never_fails(key, to_key) || *to_key == Utf8;
                is_safe && can_cast(key, to_key) && can_cast(value, to_value)
            }
            _ => false,
        },
        _ => false,
    }
}

/// The types of the fields, of the elements, or of the keys and values.
fn part_types(data_type: &DataType) -> Vec<&DataType> {
    match data_type {
        DataType::Struct(fields) => fields.iter().map(|field| field.data_type()).collect(),
        DataType::List(element) => vec![element.data_type()],
        _ => map_types(data_type).map_or_else(Vec::new, |(key, value)| vec![key, value]),
    }
}

/// Whether the cast is increasing: a greater value never becomes a smaller one. Casts from and to
/// text are not increasing, except a cast to bytes.
pub(crate) fn is_increasing(from: &DataType, to: &DataType) -> bool {
    let text = |t: &DataType| matches!(t, DataType::Utf8 | DataType::Boolean);
    (!text(from) && !text(to) && !from.is_nested()) || (from, to) == (&DataType::Utf8, &DataType::Binary)
}

/// Whether the cast succeeds for every value.
pub(crate) fn never_fails(from: &DataType, to: &DataType) -> bool {
    (types::is_timestamp(from) && (types::is_timestamp(to) || *to == DataType::Date32))
        || (from, to) == (&DataType::Utf8, &DataType::Binary)
        || *from == DataType::Null
}
