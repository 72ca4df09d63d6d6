//! The sources of a fact: columns of statistics, and guarantees about statistics. Read
//! [`stat_column`] first.

use lakebed_core::schema::mapping::{MappingMode, physical_path};
use lakebed_core::schema::{DataType, PrimitiveType, StructType};
use lakebed_core::stats::{StatColumn, StatKind};

use super::facts::Fact;
use super::metadata_statistics::stat_of_rows;

/// A guarantee about the statistics of a column, given by its physical path. The statistics prove
/// something only where it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Guarantee {
    /// Whether the upper bound holds for NaN, too.
    BoundsNan(Vec<String>),
    /// Whether the count of nulls includes those of null structs around the field.
    CountsNullStructs(Vec<String>),
}

/// Returns the guarantee that a fact needs.
pub(super) fn guarantee(fact: &Fact, schema: &StructType, mode: MappingMode) -> Option<Guarantee> {
    let physical = |path: &[String]| physical_path(schema, &path.iter().map(String::as_str).collect::<Vec<_>>(), mode);
    match fact {
        Fact::BoundsNan(path) => physical(path).map(Guarantee::BoundsNan),
        Fact::CountsNullStructs(path) => physical(path).map(Guarantee::CountsNullStructs),
        _ => None,
    }
}

/// Returns where the log keeps a statistic, and the length in characters to which the strings of
/// its column are padded.
pub(super) fn stat_column(fact: &Fact, schema: &StructType, mode: MappingMode) -> Option<(StatColumn, Option<u32>)> {
    let (kind, path) = match fact {
        Fact::Minimum(path) => (StatKind::Min, path),
        Fact::Maximum(path) => (StatKind::Max, path),
        Fact::NullCount(path) => (StatKind::NullCount, path),
        Fact::Rows => {
            return Some((StatColumn::num_records(), None));
        }
        _ => return None,
    };
    if let Some(column) = stat_of_rows(kind, path, schema) {
        return Some((column, None));
    }
    let names: Vec<&str> = path.iter().map(String::as_str).collect();
    let (data_type, length) = match (kind, leaf(schema, path)?) {
        (StatKind::NullCount, _) => (PrimitiveType::Long, None),
        (_, DataType::Primitive(PrimitiveType::Char { length })) => (PrimitiveType::String, Some(*length)),
        (_, DataType::Primitive(primitive)) => (*primitive, None),
        _ => return None,
    };
    Some((StatColumn { kind, path: physical_path(schema, &names, mode)?, data_type }, length))
}

pub(super) fn leaf<'s>(schema: &'s StructType, path: &[String]) -> Option<&'s DataType> {
    let (name, rest) = path.split_first()?;
    let field = schema.field(name)?;
    match (&field.data_type, rest) {
        (data_type, []) => Some(data_type),
        (DataType::Struct(fields), rest) => leaf(fields, rest),
        _ => None,
    }
}
