//! Generated partition columns as statistics of the columns they are generated from.
//!
//! A partition column `day = CAST(ts AS DATE)` says between which times `ts` lies in a file,
//! whatever a filter does with `ts`. The expressions are those that Delta Spark derives filters
//! from. A writer computes them in the zone of its session, which the table does not tell:
//! timestamps are therefore taken to lie up to eighteen hours to either side. Read
//! [`Generated::of_table`] first.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Int32Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, PrimitiveArray, StringArray};
use arrow_schema::{DataType, Schema};
use lakebed_core::schema::{DataType as Type, PrimitiveType, StructType};
use serde_json::Value;

use super::fact_source::leaf;
use crate::calendar::{Civil, DAY, SECOND};
use crate::evaluate::nested::field_index;
use crate::function::datetime_pattern::Pattern;
use crate::syntax::lex::Suffix;
use crate::syntax::parse::parse;
use crate::syntax::tree::{Kind, Node};

/// The zones of the world, and those Spark knows, are at most this far from UTC.
const FARTHEST_ZONE: i64 = 18 * 3_600 * SECOND;

/// A column whose bounds follow from partition columns.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Generated {
    base: Vec<String>,
    base_type: DataType,
    columns: Vec<String>,
    transform: Transform,
}

/// What the partition columns hold of the base column, as in a partition transform.
#[derive(Debug, Clone, PartialEq)]
enum Transform {
    /// The value itself.
    Identity,
    /// The year, or year and month, and so on down to the hour: one column each.
    Parts,
    /// The time cut to a unit.
    Truncated(TimeUnit),
    /// The time written by a pattern, which names it down to a unit.
    Formatted(Pattern, TimeUnit),
    /// The first so many characters.
    Prefix(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimeUnit {
    Year,
    Quarter,
    Month,
    Week,
    Day,
    Hour,
    Minute,
    Second,
}

/// One generation expression: which part of which base column.
struct Derivation {
    base: Vec<String>,
    what: Derived,
}

enum Derived {
    Transform(Transform),
    /// A part that takes others to be of use.
    Part(TimeUnit),
}

impl Generated {
    /// Returns the bounds of other columns that the generated partition columns of a table imply.
    pub(crate) fn of_table(table: &StructType, partitions: &[String], schema: &Schema) -> Vec<Generated> {
        let mut found = Vec::new();
        let mut parts: Vec<(Vec<String>, TimeUnit, String)> = Vec::new();
        for name in partitions {
            let Some(Derivation { base, what }) = source_of(table, name, schema) else { continue };
            // Writers generate from the text as it was before it was padded.
            if is_padded(table, &base) || is_padded(table, std::slice::from_ref(name)) {
                continue;
            }
            match what {
                Derived::Part(unit) => parts.push((base, unit, name.clone())),
                Derived::Transform(transform) => found.extend(Generated::new(base, vec![name.clone()], transform, schema)),
            }
        }
        for (base, _, year) in parts.iter().filter(|(_, unit, _)| *unit == TimeUnit::Year) {
            let part = |wanted: TimeUnit| {
                parts.iter().find(|(b, unit, _)| b == base && *unit == wanted).map(|(_, _, name)| name.clone())
            };
            let finer = [TimeUnit::Month, TimeUnit::Day, TimeUnit::Hour].map(part).into_iter().map_while(|name| name);
            let columns = std::iter::once(year.clone()).chain(finer).collect();
            found.extend(Generated::new(base.clone(), columns, Transform::Parts, schema));
        }
        found
    }

    fn new(base: Vec<String>, columns: Vec<String>, transform: Transform, schema: &Schema) -> Option<Generated> {
        let base_type = type_of(schema, &base)?;
        let types: Vec<DataType> =
            columns.iter().map(|name| type_of(schema, std::slice::from_ref(name))).collect::<Option<_>>()?;
        let time = matches!(base_type, DataType::Date32 | DataType::Timestamp(_, _));
        let fits = match &transform {
            Transform::Identity => types == [base_type.clone()],
            Transform::Parts => time && types.iter().all(DataType::is_integer),
            Transform::Truncated(_) => time && types.iter().all(|t| matches!(t, DataType::Date32 | DataType::Timestamp(_, _))),
            Transform::Formatted(_, _) => time && types == [DataType::Utf8],
            Transform::Prefix(_) => base_type == DataType::Utf8 && types == [DataType::Utf8],
        };
        fits.then_some(Generated { base, base_type, columns, transform })
    }

    /// The path of the column whose bounds it tells.
    pub(crate) fn base(&self) -> &[String] {
        &self.base
    }

    /// The partition columns it needs.
    pub(crate) fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The least and the greatest value that the base column may have, for each file; null where
    /// that is not known.
    pub(crate) fn bounds(&self, partitions: &[ArrayRef]) -> Option<(ArrayRef, ArrayRef)> {
        let first = partitions.first()?;
        match &self.transform {
            Transform::Identity => Some((first.clone(), first.clone())),
            Transform::Prefix(length) => {
                let texts = first.as_string_opt::<i32>()?;
                let high: StringArray = texts.iter().map(|text| last_with_prefix(text?, *length)).collect();
                Some((first.clone(), Arc::new(high)))
            }
            transform => {
                let spans = (0..first.len()).map(|row| span_of(transform, partitions, row));
                let (low, high): (Vec<_>, Vec<_>) = spans.map(|span| self.in_base_type(span)).unzip();
                self.arrays(low, high)
            }
        }
    }

    /// The first and last value of the base type within a span of microseconds.
    fn in_base_type(&self, span: Option<(i64, i64)>) -> (Option<i64>, Option<i64>) {
        let Some((start, end)) = span else { return (None, None) };
        match &self.base_type {
            DataType::Date32 => (Some(start.div_euclid(DAY)), Some((end - 1).div_euclid(DAY))),
            DataType::Timestamp(_, Some(_)) => (start.checked_sub(FARTHEST_ZONE), (end - 1).checked_add(FARTHEST_ZONE)),
            _ => (Some(start), Some(end - 1)),
        }
    }

    fn arrays(&self, low: Vec<Option<i64>>, high: Vec<Option<i64>>) -> Option<(ArrayRef, ArrayRef)> {
        let array = |values: Vec<Option<i64>>| -> ArrayRef {
            if self.base_type == DataType::Date32 {
                let days = values.into_iter().map(|value| value.and_then(|value| i32::try_from(value).ok()));
                return Arc::new(days.collect::<PrimitiveArray<Date32Type>>());
            }
            let times = values.into_iter().collect::<PrimitiveArray<TimestampMicrosecondType>>();
            Arc::new(times.with_data_type(self.base_type.clone()))
        };
        Some((array(low), array(high)))
    }
}

fn type_of(schema: &Schema, path: &[String]) -> Option<DataType> {
    let (first, fields) = path.split_first()?;
    let mut data_type = schema.field_with_name(first).ok()?.data_type();
    for name in fields {
        let DataType::Struct(children) = data_type else { return None };
        data_type = children.iter().find(|child| child.name() == name)?.data_type();
    }
    Some(data_type.clone())
}

/// Returns what a generation expression derives from its base column, if the expression is known.
fn source_of(table: &StructType, partition: &str, schema: &Schema) -> Option<Derivation> {
    let Value::String(text) = table.field(partition)?.metadata.get("delta.generationExpression")? else { return None };
    let node = parse(text).ok()?;
    let path = |node: &Node| path_in(schema, node);
    let derived = |node: &Node, transform: Transform| Some(Derivation { base: path(node)?, what: Derived::Transform(transform) });
    match &node.kind {
        Kind::Path(_) => derived(&node, Transform::Identity),
        Kind::Cast { value, to: DataType::Date32, .. } => derived(value, Transform::Truncated(TimeUnit::Day)),
        Kind::Call { name, args } => match (name.as_str(), args.as_slice()) {
            ("to_date" | "date", [value]) => derived(value, Transform::Truncated(TimeUnit::Day)),
            ("year", [value]) => Some(Derivation { base: path(value)?, what: Derived::Part(TimeUnit::Year) }),
            ("month", [value]) => Some(Derivation { base: path(value)?, what: Derived::Part(TimeUnit::Month) }),
            ("day" | "dayofmonth", [value]) => Some(Derivation { base: path(value)?, what: Derived::Part(TimeUnit::Day) }),
            ("hour", [value]) => Some(Derivation { base: path(value)?, what: Derived::Part(TimeUnit::Hour) }),
            ("date_trunc", [unit, value]) | ("trunc", [value, unit]) => derived(value, Transform::Truncated(unit_named(unit)?)),
            ("date_format", [value, pattern]) => {
                let Kind::Text(text) = &pattern.kind else { return None };
                let unit = match text.as_str() {
                    "yyyy" => TimeUnit::Year,
                    "yyyy-MM" | "yyyyMM" => TimeUnit::Month,
                    "yyyy-MM-dd" | "yyyyMMdd" => TimeUnit::Day,
                    "yyyy-MM-dd-HH" | "yyyyMMddHH" => TimeUnit::Hour,
                    _ => return None,
                };
                derived(value, Transform::Formatted(Pattern::parse(text).ok()?, unit))
            }
            ("substring", [value, from, length]) => match (whole_number(from)?, whole_number(length)?) {
                (0 | 1, length) => derived(value, Transform::Prefix(length)),
                _ => None,
            },
            ("left", [value, length]) => derived(value, Transform::Prefix(whole_number(length)?)),
            _ => None,
        },
        _ => None,
    }
}

/// The path of a column as the schema spells it.
fn path_in(schema: &Schema, node: &Node) -> Option<Vec<String>> {
    let Kind::Path(names) = &node.kind else { return None };
    let mut fields = schema.fields();
    let mut path = Vec::with_capacity(names.len());
    for (index, name) in names.iter().enumerate() {
        let field = fields.get(field_index(fields, name)?)?;
        path.push(field.name().clone());
        match field.data_type() {
            DataType::Struct(children) => fields = children,
            _ if index + 1 < names.len() => return None,
            _ => {}
        }
    }
    Some(path)
}

/// Whether a column's texts are padded when they are read.
fn is_padded(table: &StructType, path: &[String]) -> bool {
    matches!(leaf(table, path), Some(Type::Primitive(PrimitiveType::Char { .. })))
}

fn unit_named(node: &Node) -> Option<TimeUnit> {
    let Kind::Text(name) = &node.kind else { return None };
    Some(match name.to_ascii_uppercase().as_str() {
        "YEAR" | "YYYY" | "YY" => TimeUnit::Year,
        "QUARTER" => TimeUnit::Quarter,
        "MONTH" | "MON" | "MM" => TimeUnit::Month,
        "WEEK" => TimeUnit::Week,
        "DAY" | "DD" => TimeUnit::Day,
        "HOUR" => TimeUnit::Hour,
        "MINUTE" => TimeUnit::Minute,
        "SECOND" => TimeUnit::Second,
        _ => return None,
    })
}

fn whole_number(node: &Node) -> Option<usize> {
    match &node.kind {
        Kind::Number { digits, suffix: Suffix::None } => digits.parse().ok(),
        _ => None,
    }
}

/// The microseconds, first and first behind, that the partition values of a file allow.
fn span_of(transform: &Transform, partitions: &[ArrayRef], row: usize) -> Option<(i64, i64)> {
    let first = partitions.first()?;
    if first.is_null(row) {
        return None;
    }
    match transform {
        Transform::Truncated(unit) => {
            let start = match first.data_type() {
                DataType::Date32 => i64::from(first.as_primitive::<Date32Type>().value(row)).checked_mul(DAY)?,
                _ => first.as_primitive::<TimestampMicrosecondType>().value(row),
            };
            span(start, *unit)
        }
        Transform::Formatted(pattern, unit) => span(pattern.read(first.as_string::<i32>().value(row))?, *unit),
        Transform::Parts => {
            let mut numbers = [1970, 1, 1, 0];
            let units = [TimeUnit::Year, TimeUnit::Month, TimeUnit::Day, TimeUnit::Hour];
            let mut unit = TimeUnit::Year;
            for ((number, part), column) in numbers.iter_mut().zip(units).zip(partitions) {
                let column = arrow_cast::cast(&column.slice(row, 1), &DataType::Int32).ok()?;
                // A finer part that is null leaves the coarser ones.
                let Some(value) = column.as_primitive::<Int32Type>().iter().next().flatten() else { break };
                *number = i64::from(value);
                unit = part;
            }
            let [year, month, day, hour] = numbers;
            if !(0..24).contains(&hour) {
                return None;
            }
            let midnight = Civil::checked(year, month, day)?.days().checked_mul(DAY)?;
            span(midnight.checked_add(hour * 3_600 * SECOND)?, unit)
        }
        Transform::Identity | Transform::Prefix(_) => None,
    }
}

/// The span of a unit of time that begins here.
fn span(start: i64, unit: TimeUnit) -> Option<(i64, i64)> {
    let later = |months: i64| {
        let (day, clock) = (start.div_euclid(DAY), start.rem_euclid(DAY));
        Civil::from_days(day).plus_months(months).days().checked_mul(DAY)?.checked_add(clock)
    };
    let end = match unit {
        TimeUnit::Year => later(12)?,
        TimeUnit::Quarter => later(3)?,
        TimeUnit::Month => later(1)?,
        TimeUnit::Week => start.checked_add(7 * DAY)?,
        TimeUnit::Day => start.checked_add(DAY)?,
        TimeUnit::Hour => start.checked_add(3_600 * SECOND)?,
        TimeUnit::Minute => start.checked_add(60 * SECOND)?,
        TimeUnit::Second => start.checked_add(SECOND)?,
    };
    Some((start, end))
}

/// A text that no text with this beginning exceeds.
fn last_with_prefix(prefix: &str, length: usize) -> Option<String> {
    if prefix.chars().count() < length {
        return Some(prefix.to_string());
    }
    let mut characters: Vec<char> = prefix.chars().collect();
    while let Some(last) = characters.pop() {
        let next = match last {
            '\u{d7ff}' => Some('\u{e000}'),
            char::MAX => None,
            c => char::from_u32(c as u32 + 1),
        };
        if let Some(next) = next {
            characters.push(next);
            return Some(characters.into_iter().collect());
        }
    }
    None
}
