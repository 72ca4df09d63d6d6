//! The partition columns of the Delta table, and their values.
//!
//! Iceberg can change the partitioning of a table, and it can partition by a function of a column.
//! A Delta table has partition columns that hold for all files. They are the columns by which all
//! files are partitioned as they are. The files hold the values of all other columns, so nothing is
//! lost without the rest, and statistics skip files by them.

use std::collections::HashMap;

use lakebed_core::schema::mapping::{MappingMode, field_id, physical_name};
use lakebed_core::schema::{DataType, PrimitiveType, StructField, StructType};
use lakebed_core::value::Scalar;

use super::avro::{Record, Value};
use super::metadata::PartitionSpec;
use crate::{Error, Result};

/// The transform that leaves values as they are.
const IDENTITY: &str = "identity";

/// The partition columns of the Delta table.
#[derive(Debug)]
pub(super) struct Partitions {
    columns: Vec<PartitionColumn>,
}

#[derive(Debug)]
struct PartitionColumn {
    id: i32,
    name: String,
    primitive: PrimitiveType,
}

impl Partitions {
    /// Returns the columns by which all of these specs partition. The last one determines their
    /// order.
    pub(super) fn of(specs: &[&PartitionSpec], schema: &StructType) -> Self {
        let Some((last, others)) = specs.split_last() else { return Self { columns: Vec::new() } };
        let is_in = |id: i32, spec: &PartitionSpec| identities(spec).any(|(source, _)| source == id);
        let column = |id: i32| schema.fields.iter().find(|field| field_id(field) == Some(id)).and_then(partition_column);
        let ids = identities(last).map(|(source, _)| source).filter(|id| others.iter().all(|spec| is_in(*id, spec)));
        Self { columns: ids.filter_map(column).collect() }
    }

    /// Returns the names of the columns.
    pub(super) fn names(&self) -> Vec<String> {
        self.columns.iter().map(|column| column.name.clone()).collect()
    }

    /// Returns the values of a file, by the physical names of the columns. `table` is the schema of
    /// the Delta table.
    pub(super) fn values(
        &self,
        spec: &PartitionSpec,
        partition: &Record,
        table: &StructType,
    ) -> Result<HashMap<String, Option<String>>> {
        let mut values = HashMap::new();
        for column in &self.columns {
            let field = identities(spec).find(|(source, _)| *source == column.id).map(|(_, field)| field);
            let field = field.ok_or_else(|| Error::internal("a file is not partitioned by a column of all files"))?;
            if !partition.has(field) {
                return Err(Error::corrupt("manifest", format!("the partition of a file has no field {field}")));
            }
            let text = text_of(partition.get(field), column.primitive).map_err(|error| error.within(&column.name))?;
            let field = table.field(&column.name).ok_or_else(|| Error::internal("a partition column is not in the schema"))?;
            values.insert(physical_name(field, MappingMode::Id).to_owned(), text);
        }
        Ok(values)
    }

    /// Returns the ids of the columns that a file with this spec must hold itself, although Iceberg
    /// would take their values from the partition.
    pub(super) fn needed_in_file(&self, spec: &PartitionSpec) -> Vec<i32> {
        identities(spec).map(|(source, _)| source).filter(|id| self.columns.iter().all(|column| column.id != *id)).collect()
    }
}

/// Returns the columns by which a spec partitions as they are, and the ids of their values.
fn identities(spec: &PartitionSpec) -> impl Iterator<Item = (i32, i32)> {
    spec.fields.iter().filter(|field| field.transform == IDENTITY).filter_map(|field| Some((field.source_id?, field.field_id?)))
}

fn partition_column(field: &StructField) -> Option<PartitionColumn> {
    let DataType::Primitive(primitive) = field.data_type else { return None };
    // Delta stores partition values as strings, so bytes could not be told from text.
    let is_text = primitive != PrimitiveType::Binary;
    is_text.then(|| Some(PartitionColumn { id: field_id(field)?, name: field.name.clone(), primitive })).flatten()
}

fn text_of(value: Option<&Value>, primitive: PrimitiveType) -> Result<Option<String>> {
    let Some(value) = value else { return Ok(None) };
    let scalar = scalar_of(value, primitive)
        .ok_or_else(|| Error::corrupt("manifest", format!("its partition value {value:?} is not of type {primitive}")))?;
    let text = scalar.to_partition()?;
    if text.is_none() {
        return Err(Error::invalid_input(
            "the partition of this file is an empty string, which Delta cannot tell from null: change these rows with Iceberg",
        ));
    }
    Ok(text)
}

fn scalar_of(value: &Value, primitive: PrimitiveType) -> Option<Scalar> {
    Some(match (primitive, value) {
        (PrimitiveType::Boolean, Value::Boolean(value)) => Scalar::Boolean(*value),
        (PrimitiveType::Integer, Value::Int(value)) => Scalar::Integer(*value),
        (PrimitiveType::Long, Value::Int(value)) => Scalar::Long(i64::from(*value)),
        (PrimitiveType::Long, Value::Long(value)) => Scalar::Long(*value),
        (PrimitiveType::Float, Value::Float(value)) => Scalar::Float(*value),
        (PrimitiveType::Double, Value::Float(value)) => Scalar::Double(f64::from(*value)),
        (PrimitiveType::Double, Value::Double(value)) => Scalar::Double(*value),
        (PrimitiveType::Date, Value::Int(days)) => Scalar::Date(*days),
        (PrimitiveType::Timestamp, Value::Long(micros)) => Scalar::Timestamp(*micros),
        (PrimitiveType::TimestampNtz, Value::Long(micros)) => Scalar::TimestampNtz(*micros),
        (PrimitiveType::String, Value::String(text)) => Scalar::String(text.clone()),
        (PrimitiveType::Decimal { scale, .. }, Value::Bytes(bytes)) => Scalar::Decimal { unscaled: unscaled(bytes)?, scale },
        _ => return None,
    })
}

/// Returns the number in bytes with the most significant one first.
fn unscaled(bytes: &[u8]) -> Option<i128> {
    let first = *bytes.first()?;
    let mut number = if first & 0x80 == 0 { 0i128 } else { -1 };
    for byte in bytes {
        number = number.checked_mul(256)? | i128::from(*byte);
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: Value, primitive: PrimitiveType, expected: Option<&str>) {
        assert_eq!(text_of(Some(&value), primitive).unwrap().as_deref(), expected);
    }

    #[test]
    fn partition_values_follow_the_type_of_the_column() {
        let decimal = PrimitiveType::Decimal { precision: 9, scale: 2 };
        check(Value::Bytes(vec![0xff, 0x38]), decimal, Some("-2.00"));
        check(Value::Bytes(vec![0, 0, 0, 0x96]), decimal, Some("1.50"));
        check(Value::Int(-7), PrimitiveType::Long, Some("-7"));
        check(Value::Float(0.1), PrimitiveType::Double, Some("0.10000000149011612"));
        check(Value::Int(19_723), PrimitiveType::Date, Some("2024-01-01"));
        check(Value::Long(1_704_067_200_000_001), PrimitiveType::TimestampNtz, Some("2024-01-01 00:00:00.000001"));
        check(Value::Boolean(true), PrimitiveType::Boolean, Some("true"));
    }

    #[test]
    fn values_of_other_types_are_refused() {
        let refused = |value: Value, primitive| text_of(Some(&value), primitive).unwrap_err().to_string();
        assert_eq!(
            refused(Value::Int(1), PrimitiveType::Timestamp),
            "manifest: its partition value Int(1) is not of type timestamp"
        );
        assert_eq!(
            refused(Value::String(String::new()), PrimitiveType::String),
            "the partition of this file is an empty string, which Delta cannot tell from null: change these rows with Iceberg"
        );
        assert_eq!(text_of(None, PrimitiveType::String).unwrap(), None);
    }
}
