//! `stats_parsed`: the statistics of files as a struct, parsed from their JSON.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, StringArray, StructArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::{DataType, Field, Fields};

use super::columns::{flag, group, long};
use crate::Result;
use crate::log::files::column;
use crate::schema::PrimitiveType;
use crate::stats::{self, IndexedColumn, IndexedKind, StatColumn, StatKind};

/// Builds `stats_parsed`.
pub(super) struct ParsedStats {
    fields: Fields,
    /// The statistics of the leaves of `fields`, in their order.
    leaves: Vec<StatColumn>,
}

impl ParsedStats {
    /// Creates the builder for columns with statistics. `tight_bounds` is for tables that may have
    /// deletion vectors.
    pub(super) fn new(columns: &[IndexedColumn], tight_bounds: bool) -> Self {
        let mut leaves = Leaves::default();
        let mut fields = vec![leaves.leaf("numRecords", StatKind::NumRecords, PrimitiveType::Long)];
        for (name, kind) in [("minValues", StatKind::Min), ("maxValues", StatKind::Max), ("nullCount", StatKind::NullCount)] {
            fields.extend(leaves.of_kind(name, columns, kind));
        }
        if tight_bounds {
            fields.push(leaves.leaf("tightBounds", StatKind::TightBounds, PrimitiveType::Boolean));
        }
        Self { fields: Fields::from(fields), leaves: leaves.found }
    }

    pub(super) fn field(&self) -> Field {
        Field::new_struct(column::STATS_PARSED, self.fields.clone(), true)
    }

    /// Parses each JSON string to a struct.
    pub(super) fn parse(&self, texts: &StringArray) -> Result<StructArray> {
        let arrays = stats::from_json_as_written(texts, &self.leaves);
        assemble(&self.fields, &mut arrays.into_iter())
    }
}

#[derive(Default)]
struct Leaves {
    found: Vec<StatColumn>,
    way: Vec<String>,
}

impl Leaves {
    fn of_kind(&mut self, name: &str, columns: &[IndexedColumn], kind: StatKind) -> Option<Field> {
        let fields: Vec<Field> = columns.iter().filter_map(|column| self.of_column(column, kind)).collect();
        (!fields.is_empty()).then(|| group(name, fields))
    }

    fn of_column(&mut self, column: &IndexedColumn, kind: StatKind) -> Option<Field> {
        self.way.push(column.name.clone());
        let field = match &column.kind {
            IndexedKind::Struct(columns) => self.of_kind(&column.name, columns, kind),
            IndexedKind::Leaf(_) if kind == StatKind::NullCount => Some(self.leaf(&column.name, kind, PrimitiveType::Long)),
            IndexedKind::Leaf(bounded) => bounded.map(|data_type| self.leaf(&column.name, kind, data_type)),
        };
        self.way.pop();
        field
    }

    fn leaf(&mut self, name: &str, kind: StatKind, data_type: PrimitiveType) -> Field {
        let leaf = StatColumn { kind, path: self.way.clone(), data_type };
        let field = match kind {
            StatKind::NumRecords | StatKind::NullCount => long(name),
            StatKind::TightBounds => flag(name),
            StatKind::Min | StatKind::Max => Field::new(name, leaf.arrow_type(), true),
        };
        self.found.push(leaf);
        field
    }
}

/// Builds a struct of these fields from the arrays of its leaves. A row is null if all leaves are.
fn assemble(fields: &Fields, leaves: &mut impl Iterator<Item = ArrayRef>) -> Result<StructArray> {
    let mut columns: Vec<ArrayRef> = Vec::with_capacity(fields.len());
    for field in fields {
        columns.extend(match field.data_type() {
            DataType::Struct(fields) => Some(Arc::new(assemble(fields, leaves)?) as ArrayRef),
            _ => leaves.next(),
        });
    }
    let present = columns.iter().map(valid).reduce(|any, column| &any | &column);
    Ok(StructArray::try_new(fields.clone(), columns, present.map(NullBuffer::new))?)
}

fn valid(array: &ArrayRef) -> BooleanBuffer {
    array.nulls().map_or_else(|| BooleanBuffer::new_set(array.len()), |nulls| nulls.inner().clone())
}
