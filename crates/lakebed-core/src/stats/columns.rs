//! Decides which columns of a table have statistics, and which of these have bounds. The rules are
//! Delta Spark's.

use crate::property::TableProperties;
use crate::schema::mapping::{MappingMode, physical_name};
use crate::schema::{DataType, PrimitiveType, StructField, StructType};
use crate::{Error, Result};

/// The statistics that the files of a table have.
#[derive(Debug, Clone, PartialEq)]
pub struct StatsPlan {
    columns: Vec<IndexedColumn>,
    string_prefix_length: u32,
    tight_bounds: bool,
}

/// A column with statistics, or a struct with such fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedColumn {
    /// The physical name.
    pub name: String,
    /// The statistics of the column.
    pub kind: IndexedKind,
}

/// The statistics of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexedKind {
    /// A count of nulls, and bounds of this type if the column's type has bounds. CHAR and VARCHAR
    /// count as strings.
    Leaf(Option<PrimitiveType>),
    /// The statistics of these fields.
    Struct(Vec<IndexedColumn>),
}

impl StatsPlan {
    /// Selects the columns that the properties choose, and the clustering columns, in the order of
    /// the schema.
    ///
    /// `schema` and `partition_columns` have logical names, and `clustering` has physical paths.
    /// Partition columns have no statistics, and do not count towards
    /// `delta.dataSkippingNumIndexedCols`. Every other leaf counts, independent of its type. An
    /// unknown name in `delta.dataSkippingStatsColumns` is ignored here, because Delta Spark
    /// refuses it when the property is set.
    pub fn new(
        schema: &StructType,
        mode: MappingMode,
        partition_columns: &[String],
        properties: &TableProperties,
        clustering: &[Vec<String>],
    ) -> Result<Self> {
        let chosen = match &properties.data_skipping_stats_columns {
            Some(list) => ColumnChoice::Named(lower(parse_stats_columns(list)?)),
            None => ColumnChoice::First(properties.data_skipping_num_indexed_cols.unwrap_or(u32::MAX)),
        };
        let mut selector = ColumnSelector { chosen, clustering, mode, logical: Vec::new(), physical: Vec::new() };
        let partition_columns: Vec<_> = partition_columns.iter().filter_map(|name| schema.index_of(name)).collect();
        let data = schema.fields.iter().enumerate().filter(|(index, _)| !partition_columns.contains(index));
        Ok(Self {
            columns: selector.of_fields(data.map(|(_, field)| field)),
            string_prefix_length: properties.data_skipping_string_prefix_length,
            tight_bounds: false,
        })
    }

    /// Records in each file's statistics whether its bounds are tight. Delta Spark does this if the
    /// table supports deletion vectors.
    #[must_use]
    pub fn with_tight_bounds(mut self, tight_bounds: bool) -> Self {
        self.tight_bounds = tight_bounds;
        self
    }

    /// Returns the columns, without structs that have no columns with statistics.
    pub fn columns(&self) -> &[IndexedColumn] {
        &self.columns
    }

    pub(super) fn string_prefix_length(&self) -> u32 {
        self.string_prefix_length
    }

    pub(super) fn tight_bounds(&self) -> bool {
        self.tight_bounds
    }
}

impl IndexedColumn {
    /// Returns whether the column or one of its fields has bounds.
    pub fn has_bounds(&self) -> bool {
        match &self.kind {
            IndexedKind::Leaf(bounds) => bounds.is_some(),
            IndexedKind::Struct(fields) => fields.iter().any(Self::has_bounds),
        }
    }
}

/// The columns that a property chooses.
enum ColumnChoice {
    /// The number of leaves that may still be chosen.
    First(u32),
    /// Columns by logical paths in lower case, with all fields below them.
    Named(Vec<Vec<String>>),
}

/// A walk through a schema that selects the chosen columns.
struct ColumnSelector<'a> {
    chosen: ColumnChoice,
    clustering: &'a [Vec<String>],
    mode: MappingMode,
    /// The path of the current position, in lower case.
    logical: Vec<String>,
    physical: Vec<String>,
}

impl ColumnSelector<'_> {
    fn of_fields<'f>(&mut self, fields: impl Iterator<Item = &'f StructField>) -> Vec<IndexedColumn> {
        let mut columns = Vec::new();
        for field in fields {
            let name = physical_name(field, self.mode);
            self.logical.push(field.name.to_lowercase());
            self.physical.push(name.to_owned());
            let kind = match &field.data_type {
                DataType::Struct(inner) => {
                    Some(self.of_fields(inner.fields.iter())).filter(|inner| !inner.is_empty()).map(IndexedKind::Struct)
                }
                leaf => self.takes_leaf().then(|| IndexedKind::Leaf(bounded(leaf))),
            };
            self.logical.pop();
            self.physical.pop();
            columns.extend(kind.map(|kind| IndexedColumn { name: name.to_owned(), kind }));
        }
        columns
    }

    fn takes_leaf(&mut self) -> bool {
        let chosen = match &mut self.chosen {
            ColumnChoice::First(0) => false,
            ColumnChoice::First(left) => {
                *left -= 1;
                true
            }
            ColumnChoice::Named(names) => names.iter().any(|name| self.logical.starts_with(name)),
        };
        // PROTOCOL "Clustered Table": statistics are written for clustering columns.
        chosen || self.clustering.contains(&self.physical)
    }
}

/// Returns the type of a leaf's bounds, or `None` for booleans, binaries, arrays, maps, variants,
/// intervals and void.
fn bounded(leaf: &DataType) -> Option<PrimitiveType> {
    use PrimitiveType::*;
    let DataType::Primitive(primitive) = leaf else { return None };
    match primitive {
        String | Char { .. } => Some(String),
        Long | Integer | Short | Byte | Float | Double | Date | Timestamp | TimestampNtz | Decimal { .. } => Some(*primitive),
        Boolean | Binary | Variant | Void | YearMonthInterval | DayTimeInterval => None,
    }
}

fn not_names(list: &str) -> Error {
    let message = format!(
        "its value {list:?} must be column names separated by commas; write unusual names, and each part of a path, in backticks"
    );
    Error::corrupt("property delta.dataSkippingStatsColumns", message)
}

/// Returns the paths of the list in `delta.dataSkippingStatsColumns`.
///
/// # Errors
/// If the list is not one of column names.
pub fn parse_stats_columns(list: &str) -> Result<Vec<Vec<String>>> {
    parse_names(list).ok_or_else(|| not_names(list))
}

fn lower(paths: Vec<Vec<String>>) -> Vec<Vec<String>> {
    paths.into_iter().map(|path| path.iter().map(|name| name.to_lowercase()).collect()).collect()
}

/// Returns the paths of a list such as `a, s.x, ``odd, name```. A blank string has no paths. A name
/// that needs backticks in SQL may be given without them.
fn parse_names(list: &str) -> Option<Vec<Vec<String>>> {
    let mut rest = list.trim();
    let mut names = Vec::new();
    let mut name = Vec::new();
    if rest.is_empty() {
        return Some(names);
    }
    loop {
        let (part, after) = parse_part(rest)?;
        name.push(part);
        let after = after.trim_start();
        if let Some(next) = after.strip_prefix('.') {
            rest = next.trim_start();
            continue;
        }
        names.push(std::mem::take(&mut name));
        match after.strip_prefix(',') {
            Some(next) => rest = next.trim_start(),
            None => return after.is_empty().then_some(names),
        }
    }
}

/// Returns the first part of a name, and the rest.
fn parse_part(text: &str) -> Option<(String, &str)> {
    let Some(mut quoted) = text.strip_prefix('`') else {
        let end = text.find(|letter: char| matches!(letter, '.' | ',' | '`') || letter.is_whitespace()).unwrap_or(text.len());
        let (part, rest) = text.split_at_checked(end)?;
        return (!part.is_empty()).then(|| (part.to_owned(), rest));
    };
    let mut part = String::new();
    loop {
        let (inside, rest) = quoted.split_once('`')?;
        part.push_str(inside);
        match rest.strip_prefix('`') {
            Some(more) => {
                part.push('`');
                quoted = more;
            }
            None => return (!part.is_empty()).then_some((part, rest)),
        }
    }
}

#[cfg(test)]
mod tests;
