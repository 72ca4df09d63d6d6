mod json;
mod property;
mod structs;

use std::sync::Arc;

use arrow_array::{ArrayRef, Decimal128Array, StringArray, TimestampMicrosecondArray};

use super::*;
use crate::kit::arrow::{decimals, timestamps};
use crate::kit::strings;

fn column(kind: StatKind, path: &[&str], data_type: PrimitiveType) -> StatColumn {
    StatColumn { kind, path: strings(path), data_type }
}

fn min(name: &str, data_type: PrimitiveType) -> StatColumn {
    column(StatKind::Min, &[name], data_type)
}

fn max(name: &str, data_type: PrimitiveType) -> StatColumn {
    column(StatKind::Max, &[name], data_type)
}

fn nulls(name: &str) -> StatColumn {
    column(StatKind::NullCount, &[name], PrimitiveType::Long)
}

fn rows() -> StatColumn {
    column(StatKind::NumRecords, &[], PrimitiveType::Long)
}

fn tight() -> StatColumn {
    column(StatKind::TightBounds, &[], PrimitiveType::Boolean)
}

/// Reads one statistic from one JSON string.
fn read(text: &str, wanted: StatColumn) -> ArrayRef {
    from_json(&StringArray::from(vec![text]), &[wanted]).remove(0)
}

#[track_caller]
fn check(text: &str, wanted: StatColumn, expected: impl arrow_array::Array + 'static) {
    let expected: ArrayRef = Arc::new(expected);
    assert_eq!(&read(text, wanted), &expected, "{text}");
}
