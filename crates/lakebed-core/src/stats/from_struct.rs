//! Reads statistics from the struct `stats_parsed` of checkpoints.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Float32Type, Float64Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, BooleanArray, PrimitiveArray, StructArray, new_null_array};
use arrow_buffer::NullBuffer;
use arrow_cast::cast;
use arrow_schema::{DataType as ArrowType, TimeUnit};
use arrow_select::nullif::nullif;

use super::bound::Bound;
use super::{StatColumn, StatKind};

const MICROS_A_DAY: i64 = 86_400_000_000;

/// Returns the requested statistics of many files from their `stats_parsed`. The arrays are the
/// same as those that [`from_json`](super::from_json) returns for the JSON.
///
/// A value stored in a type from which a column was widened is cast. A value is null if it is
/// missing, or if its type has no exact counterpart in the column's type.
pub fn from_struct(parsed: &StructArray, wanted: &[StatColumn]) -> Vec<ArrayRef> {
    wanted
        .iter()
        .map(|column| {
            let stored = find(parsed, column);
            if column.kind == StatKind::TightBounds {
                return tight_bounds(parsed, stored.as_ref());
            }
            let to = column.arrow_type();
            stored.and_then(|stored| convert(&stored, &to, column.kind)).unwrap_or_else(|| new_null_array(&to, parsed.len()))
        })
        .collect()
}

/// Returns the array of a requested statistic. It is null where a struct around it is null.
fn find(parsed: &StructArray, column: &StatColumn) -> Option<ArrayRef> {
    let mut names = column.names().peekable();
    let mut within = parsed;
    let mut nulls = parsed.nulls().cloned();
    loop {
        let child = within.column_by_name(names.next()?)?;
        if names.peek().is_none() {
            return Some(with_nulls(child, nulls.as_ref()));
        }
        within = child.as_struct_opt()?;
        nulls = NullBuffer::union(nulls.as_ref(), within.nulls());
    }
}

fn with_nulls(array: &ArrayRef, nulls: Option<&NullBuffer>) -> ArrayRef {
    match nulls.filter(|nulls| nulls.null_count() > 0) {
        None => Arc::clone(array),
        Some(nulls) => {
            let absent = BooleanArray::new(!nulls.inner(), None);
            nullif(array, &absent).unwrap_or_else(|_| new_null_array(array.data_type(), array.len()))
        }
    }
}

fn tight_bounds(parsed: &StructArray, stored: Option<&ArrayRef>) -> ArrayRef {
    let stored = stored.and_then(|stored| stored.as_boolean_opt());
    let tight = |row| match stored {
        Some(stored) if stored.is_valid(row) => stored.value(row),
        _ => true,
    };
    Arc::new((0..parsed.len()).map(|row| parsed.is_valid(row).then(|| tight(row))).collect::<BooleanArray>())
}

/// Returns a stored statistic in the column's current type, or `None` if this could make it wrong.
fn convert(stored: &ArrayRef, to: &ArrowType, kind: StatKind) -> Option<ArrayRef> {
    if let ArrowType::Dictionary(_, values) = stored.data_type() {
        return convert(&cast(stored, values).ok()?, to, kind);
    }
    let bound = match kind {
        StatKind::Min => Bound::Lower,
        StatKind::Max => Bound::Upper,
        StatKind::NumRecords | StatKind::NullCount | StatKind::TightBounds => return counts(stored),
    };
    match to {
        ArrowType::Float32 | ArrowType::Float64 | ArrowType::Timestamp(..) => {}
        _ if !is_exact(stored.data_type(), to) => return None,
        _ => return cast(stored, to).ok(),
    }
    match (stored.data_type(), to) {
        (ArrowType::Float32, ArrowType::Float32) => {
            let bounds = stored.as_primitive::<Float32Type>();
            Some(Arc::new(bounds.unary_opt::<_, Float32Type>(|value| bound.float(value))))
        }
        (from, ArrowType::Float64) if is_exact(from, to) => {
            let bounds = cast(stored, to).ok()?;
            Some(Arc::new(bounds.as_primitive::<Float64Type>().unary_opt::<_, Float64Type>(|value| bound.double(value))))
        }
        (_, ArrowType::Timestamp(..)) => {
            let bounds: PrimitiveArray<TimestampMicrosecondType> = micros(stored)?.unary(|value| bound.timestamp(value));
            Some(Arc::new(bounds.with_data_type(to.clone())))
        }
        _ => None,
    }
}

fn counts(stored: &ArrayRef) -> Option<ArrayRef> {
    if !stored.data_type().is_integer() {
        return None;
    }
    let counts = cast(stored, &ArrowType::Int64).ok()?;
    Some(Arc::new(counts.as_primitive::<Int64Type>().unary_opt::<_, Int64Type>(|count| (count >= 0).then_some(count))))
}

/// Returns whether a value of one type keeps its value in the other, or becomes null.
fn is_exact(from: &ArrowType, to: &ArrowType) -> bool {
    use ArrowType::*;
    match (from, to) {
        (from, to) if from == to => true,
        (from, Int8 | Int16 | Int32 | Int64 | Decimal128(..)) if from.is_integer() => true,
        (Int8 | Int16 | Int32 | Float32, Float64) => true,
        (Decimal32(_, from) | Decimal64(_, from) | Decimal128(_, from) | Decimal256(_, from), Decimal128(_, to)) => from <= to,
        (LargeUtf8 | Utf8View, Utf8) => true,
        _ => false,
    }
}

/// Returns days or timestamps of any unit in microseconds, rounded down.
pub(super) fn micros(stored: &ArrayRef) -> Option<PrimitiveArray<TimestampMicrosecondType>> {
    use TimeUnit::*;
    Some(match stored.data_type() {
        ArrowType::Date32 => stored.as_primitive::<Date32Type>().unary_opt(|days| i64::from(days).checked_mul(MICROS_A_DAY)),
        ArrowType::Timestamp(Second, _) => {
            stored.as_primitive::<TimestampSecondType>().unary_opt(|value| value.checked_mul(1_000_000))
        }
        ArrowType::Timestamp(Millisecond, _) => {
            stored.as_primitive::<TimestampMillisecondType>().unary_opt(|value| value.checked_mul(1_000))
        }
        ArrowType::Timestamp(Microsecond, _) => stored.as_primitive::<TimestampMicrosecondType>().clone(),
        ArrowType::Timestamp(Nanosecond, _) => {
            stored.as_primitive::<TimestampNanosecondType>().unary(|value| value.div_euclid(1_000))
        }
        _ => return None,
    })
}
