//! Converts one requested statistic from JSON to an array.

use std::str::FromStr;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, PrimitiveBuilder, StringBuilder};
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType,
};
use arrow_array::{ArrayRef, new_null_array};
use arrow_schema::{DataType as ArrowType, TimeUnit};

use super::bound::Bound;
use super::scan::JsonLiteral;
use super::{StatColumn, StatKind, number, time};

/// The builder of one array.
pub(super) enum Leaf {
    Count(PrimitiveBuilder<Int64Type>),
    Tight(BooleanBuilder),
    Boolean(BooleanBuilder),
    Byte(PrimitiveBuilder<Int8Type>),
    Short(PrimitiveBuilder<Int16Type>),
    Integer(PrimitiveBuilder<Int32Type>),
    Long(PrimitiveBuilder<Int64Type>),
    Float(PrimitiveBuilder<Float32Type>, Bound),
    Double(PrimitiveBuilder<Float64Type>, Bound),
    String(StringBuilder),
    Date(PrimitiveBuilder<Date32Type>),
    Timestamp(PrimitiveBuilder<TimestampMicrosecondType>, Bound, Zoned),
    Decimal(PrimitiveBuilder<Decimal128Type>, Bound, u8, u8),
    /// The builder for types that have no bounds in the JSON.
    Nothing(ArrowType, usize),
}

type Zoned = bool;

impl Leaf {
    /// Creates a builder of bounds that are safe to use.
    pub(super) fn new(column: &StatColumn, rows: usize) -> Self {
        match column.kind {
            StatKind::NumRecords | StatKind::NullCount => Self::Count(PrimitiveBuilder::with_capacity(rows)),
            StatKind::TightBounds => Self::Tight(BooleanBuilder::with_capacity(rows)),
            StatKind::Min => Self::of_bound(column, rows, Bound::Lower),
            StatKind::Max => Self::of_bound(column, rows, Bound::Upper),
        }
    }

    /// Creates a builder of the values exactly as they are written.
    pub(super) fn as_written(column: &StatColumn, rows: usize) -> Self {
        match column.kind {
            StatKind::NumRecords | StatKind::NullCount => Self::Count(PrimitiveBuilder::with_capacity(rows)),
            StatKind::TightBounds => Self::Boolean(BooleanBuilder::with_capacity(rows)),
            StatKind::Min | StatKind::Max => Self::of_bound(column, rows, Bound::Exact),
        }
    }

    fn of_bound(column: &StatColumn, rows: usize, bound: Bound) -> Self {
        let arrow_type = column.arrow_type();
        match arrow_type {
            ArrowType::Boolean => Self::Boolean(BooleanBuilder::with_capacity(rows)),
            ArrowType::Int8 => Self::Byte(PrimitiveBuilder::with_capacity(rows)),
            ArrowType::Int16 => Self::Short(PrimitiveBuilder::with_capacity(rows)),
            ArrowType::Int32 => Self::Integer(PrimitiveBuilder::with_capacity(rows)),
            ArrowType::Int64 => Self::Long(PrimitiveBuilder::with_capacity(rows)),
            ArrowType::Float32 => Self::Float(PrimitiveBuilder::with_capacity(rows), bound),
            ArrowType::Float64 => Self::Double(PrimitiveBuilder::with_capacity(rows), bound),
            ArrowType::Utf8 => Self::String(StringBuilder::new()),
            ArrowType::Date32 => Self::Date(PrimitiveBuilder::with_capacity(rows)),
            ArrowType::Timestamp(TimeUnit::Microsecond, ref zone) => {
                let zoned = zone.is_some();
                Self::Timestamp(PrimitiveBuilder::with_capacity(rows).with_data_type(arrow_type), bound, zoned)
            }
            ArrowType::Decimal128(precision, scale) => {
                let builder = PrimitiveBuilder::with_capacity(rows).with_data_type(arrow_type);
                Self::Decimal(builder, bound, precision, scale.unsigned_abs())
            }
            other => Self::Nothing(other, 0),
        }
    }

    /// Appends the value that a JSON string gives for this statistic.
    pub(super) fn append(&mut self, written: Option<&JsonLiteral<'_>>) {
        let text = written.map(JsonLiteral::text);
        match self {
            Self::Count(builder) => builder.append_option(text.and_then(number::integer).filter(|count| *count >= 0)),
            Self::Tight(builder) => builder.append_option(text.map_or(Some(true), boolean)),
            Self::Boolean(builder) => builder.append_option(text.and_then(boolean)),
            Self::Byte(builder) => builder.append_option(integer::<Int8Type>(text)),
            Self::Short(builder) => builder.append_option(integer::<Int16Type>(text)),
            Self::Integer(builder) => builder.append_option(integer::<Int32Type>(text)),
            Self::Long(builder) => builder.append_option(integer::<Int64Type>(text)),
            Self::Float(builder, bound) => builder.append_option(float(text).and_then(|value| bound.float(value))),
            Self::Double(builder, bound) => builder.append_option(float(text).and_then(|value| bound.double(value))),
            Self::String(builder) => builder.append_option(written.and_then(JsonLiteral::quoted)),
            Self::Date(builder) => builder.append_option(written.and_then(JsonLiteral::quoted).and_then(time::date)),
            Self::Timestamp(builder, bound, zoned) => {
                let said = written.and_then(JsonLiteral::quoted);
                builder.append_option(said.and_then(|said| time::timestamp(said, *zoned, *bound)));
            }
            Self::Decimal(builder, bound, precision, scale) => {
                builder.append_option(text.and_then(|text| number::decimal(text, *precision, *scale, *bound)));
            }
            Self::Nothing(_, rows) => *rows += 1,
        }
    }

    /// Appends null if there is no JSON, or if it cannot be read.
    pub(super) fn append_null(&mut self) {
        match self {
            Self::Tight(builder) => builder.append_null(),
            _ => self.append(None),
        }
    }

    pub(super) fn finish(self) -> ArrayRef {
        match self {
            Self::Count(mut builder) | Self::Long(mut builder) => Arc::new(builder.finish()),
            Self::Tight(mut builder) | Self::Boolean(mut builder) => Arc::new(builder.finish()),
            Self::Byte(mut builder) => Arc::new(builder.finish()),
            Self::Short(mut builder) => Arc::new(builder.finish()),
            Self::Integer(mut builder) => Arc::new(builder.finish()),
            Self::Float(mut builder, _) => Arc::new(builder.finish()),
            Self::Double(mut builder, _) => Arc::new(builder.finish()),
            Self::String(mut builder) => Arc::new(builder.finish()),
            Self::Date(mut builder) => Arc::new(builder.finish()),
            Self::Timestamp(mut builder, _, _) => Arc::new(builder.finish()),
            Self::Decimal(mut builder, _, _, _) => Arc::new(builder.finish()),
            Self::Nothing(data_type, rows) => new_null_array(&data_type, rows),
        }
    }
}

impl JsonLiteral<'_> {
    fn text(&self) -> &str {
        match self {
            JsonLiteral::Bare(text) => text,
            JsonLiteral::Quoted(text) => text,
        }
    }

    fn quoted(&self) -> Option<&str> {
        match self {
            JsonLiteral::Bare(_) => None,
            JsonLiteral::Quoted(text) => Some(text),
        }
    }
}

fn boolean(text: &str) -> Option<bool> {
    match text {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

fn integer<T: ArrowPrimitiveType<Native: TryFrom<i64>>>(text: Option<&str>) -> Option<T::Native> {
    text.and_then(number::integer).and_then(|value| value.try_into().ok())
}

/// Parses a float. `NaN`, `Infinity` and `-Infinity`, which writers put into quotes, are accepted
/// too.
fn float<F: FromStr>(text: Option<&str>) -> Option<F> {
    text.and_then(|text| text.parse().ok())
}
