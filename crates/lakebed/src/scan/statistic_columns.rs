//! The statistics of files as columns: a struct of null counts, one of lower bounds and one of upper
//! bounds, with the names of the table's columns.

use std::sync::Arc;

use arrow_array::{ArrayRef, StructArray};
use arrow_schema::{DataType as ArrowType, Field, FieldRef, Fields};
use lakebed_core::log::files::FileBatch;
use lakebed_core::schema::mapping::{MappingMode, physical_name};
use lakebed_core::schema::{DataType, PrimitiveType, StructField, StructType};
use lakebed_core::stats::{IndexedColumn, IndexedKind, StatColumn, StatKind, StatsPlan};

use crate::{Error, Result, Snapshot};

const KINDS: [(&str, StatKind); 3] = [("null_count", StatKind::NullCount), ("min", StatKind::Min), ("max", StatKind::Max)];

/// The statistics that the properties of a table choose.
pub(crate) struct StatisticColumns {
    /// One struct for each kind.
    pub(super) fields: Fields,
    /// The statistics of the leaves of `fields`, in their order.
    wanted: Vec<StatColumn>,
}

impl StatisticColumns {
    /// Returns the columns with statistics, without partition columns.
    pub(crate) fn of(snapshot: &Snapshot, clustering: &[Vec<String>]) -> Result<Self> {
        let (schema, mode) = (snapshot.schema(), snapshot.mapping_mode());
        let plan = StatsPlan::new(schema, mode, snapshot.partition_columns(), snapshot.properties(), clustering)?;
        let mut wanted = Vec::new();
        let of_kind = |(name, kind): (&str, StatKind)| {
            let fields = Walk { mode, kind, wanted: &mut wanted }.fields(plan.columns(), schema, &[]);
            Field::new_struct(name, fields, false)
        };
        let fields = KINDS.into_iter().map(of_kind).collect();
        Ok(Self { fields, wanted })
    }

    /// Returns the structs of these files.
    pub(super) fn of_files(&self, batch: &FileBatch) -> Result<Vec<ArrayRef>> {
        let mut values = batch.stats(&self.wanted)?.into_iter();
        self.fields.iter().map(|field| assemble(field, batch.len(), &mut values)).collect()
    }
}

/// Collects the statistics of one kind.
struct Walk<'a> {
    mode: MappingMode,
    kind: StatKind,
    wanted: &'a mut Vec<StatColumn>,
}

impl Walk<'_> {
    /// Returns a field for each column that has this kind of statistic.
    fn fields(&mut self, columns: &[IndexedColumn], schema: &StructType, above: &[String]) -> Fields {
        let mut fields = Vec::new();
        for column in columns {
            let of_name = |field: &&StructField| physical_name(field, self.mode) == column.name;
            let Some(field) = schema.fields.iter().find(of_name) else { continue };
            let path = [above, std::slice::from_ref(&column.name)].concat();
            let data_type = match (&column.kind, &field.data_type) {
                (IndexedKind::Struct(columns), DataType::Struct(inner)) => {
                    Some(ArrowType::Struct(self.fields(columns, inner, &path)))
                        .filter(|found| *found != ArrowType::Struct(Fields::empty()))
                }
                (IndexedKind::Leaf(bounds), _) => self.leaf(*bounds, path),
                (IndexedKind::Struct(_), _) => None,
            };
            fields.extend(data_type.map(|data_type| Field::new(&field.name, data_type, true)));
        }
        Fields::from(fields)
    }

    /// Adds a statistic and returns its type, if the column has it.
    fn leaf(&mut self, bounds: Option<PrimitiveType>, path: Vec<String>) -> Option<ArrowType> {
        let data_type = if self.kind == StatKind::NullCount { PrimitiveType::Long } else { bounds? };
        let column = StatColumn { kind: self.kind, path, data_type };
        let found = Some(column.arrow_type()).filter(|found| *found != ArrowType::Null)?;
        self.wanted.push(column);
        Some(found)
    }
}

/// Returns the array of a field. Its leaves come from `values`.
fn assemble(field: &FieldRef, rows: usize, values: &mut impl Iterator<Item = ArrayRef>) -> Result<ArrayRef> {
    match field.data_type() {
        ArrowType::Struct(fields) => {
            let arrays = fields.iter().map(|field| assemble(field, rows, values)).collect::<Result<Vec<_>>>()?;
            Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), arrays, None, rows)?))
        }
        _ => values.next().ok_or_else(|| Error::internal("a statistic of files is missing")),
    }
}
