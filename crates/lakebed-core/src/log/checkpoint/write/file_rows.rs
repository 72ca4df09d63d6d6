//! The rows of files: `add` and `remove` in the form of the checkpoint.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, MapArray, RecordBatch, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Fields};

use super::cast::cast_to_field;
use super::columns;
use super::stats::ParsedStats;
use super::table_head::TableHead;
use crate::feature::supported_features;
use crate::log::files::{FileBatch, column};
use crate::property::TableProperties;
use crate::schema::arrow::primitive_to_arrow;
use crate::schema::mapping::physical_name;
use crate::schema::{DataType as DeltaType, PrimitiveType, StructField, StructType};
use crate::stats::StatsPlan;
use crate::{Error, Result, action};

/// Builds the rows of a table's files.
pub(super) struct FileRows {
    add: Field,
    remove: Field,
    writes_json: bool,
    parsed: Option<ParsedStats>,
    /// The physical names and types of the partition columns.
    partitions: Vec<(String, PrimitiveType)>,
}

impl FileRows {
    pub(super) fn new(table: TableHead<'_>, clustering: &[Vec<String>]) -> Result<Self> {
        let TableHead { protocol, metadata, schema, properties } = table;
        let parsed = match properties.checkpoint_write_stats_as_struct {
            true => {
                let mode = properties.column_mapping_mode;
                let plan = StatsPlan::new(schema, mode, &metadata.partition_columns, properties, clustering)?;
                Some(ParsedStats::new(plan.columns(), supported_features(protocol).contains(&"deletionVectors")))
            }
            false => None,
        };
        let partitions = match parsed {
            Some(_) => partitions(metadata, schema, properties)?,
            None => Vec::new(),
        };
        let mut statistics = Vec::new();
        if properties.checkpoint_write_stats_as_json {
            statistics.push(columns::text(column::STATS));
        }
        if !partitions.is_empty() {
            let fields = partitions.iter().map(|(name, data_type)| Ok(Field::new(name, primitive_to_arrow(*data_type)?, true)));
            statistics.push(columns::group(column::PARTITION_VALUES_PARSED, fields.collect::<Result<_>>()?));
        }
        statistics.extend(parsed.as_ref().map(ParsedStats::field));
        Ok(Self {
            add: columns::add(statistics),
            remove: columns::remove(),
            writes_json: properties.checkpoint_write_stats_as_json,
            parsed,
            partitions,
        })
    }

    pub(super) fn add_field(&self) -> &Field {
        &self.add
    }

    pub(super) fn remove_field(&self) -> &Field {
        &self.remove
    }

    /// Returns the rows of the table's files.
    pub(super) fn adds(&self, files: &FileBatch) -> Result<StructArray> {
        let texts = files.stat_texts()?;
        let fields = fields_of(&self.add)?;
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(fields.len());
        for field in fields {
            columns.push(match field.name().as_str() {
                column::PARTITION_VALUES => without_nulls(common_column(files.batch(), field)?)?,
                column::PARTITION_VALUES_PARSED => self.parsed_partitions(files, field)?,
                column::STATS if self.writes_json => Arc::new(texts.clone()),
                column::STATS_PARSED => match &self.parsed {
                    Some(parsed) => Arc::new(parsed.parse(&texts)?),
                    None => return Err(Error::internal("stats_parsed was requested without columns")),
                },
                _ => common_column(files.batch(), field)?,
            });
        }
        Ok(StructArray::try_new(fields.clone(), columns, None)?)
    }

    fn parsed_partitions(&self, files: &FileBatch, field: &Field) -> Result<ArrayRef> {
        let values = self.partitions.iter().map(|(name, data_type)| files.partition_values(name, *data_type));
        Ok(Arc::new(StructArray::try_new(fields_of(field)?.clone(), values.collect::<Result<_>>()?, None)?))
    }

    /// Returns the rows of tombstones.
    pub(super) fn removes(&self, tombstones: &RecordBatch) -> Result<StructArray> {
        let fields = fields_of(&self.remove)?;
        let columns = fields.iter().map(|field| common_column(tombstones, field));
        Ok(StructArray::try_new(fields.clone(), columns.collect::<Result<_>>()?, None)?)
    }
}

/// Returns a column that both kinds of file actions have, or a column that is copied as it is.
fn common_column(batch: &RecordBatch, field: &Field) -> Result<ArrayRef> {
    match field.name().as_str() {
        // The checkpoint itself changes no rows.
        "dataChange" => Ok(Arc::new(BooleanArray::from(vec![false; batch.num_rows()]))),
        name @ column::DELETION_VECTOR => deletion_vectors(cast_to_field(batch.column_by_name(name), field, batch.num_rows())?),
        name => cast_to_field(batch.column_by_name(name), field, batch.num_rows()),
    }
}

/// Replaces structs of nulls, which some writers store for an absent deletion vector, by null. Some
/// readers would take such a struct for a deletion vector.
fn deletion_vectors(array: ArrayRef) -> Result<ArrayRef> {
    let Some(structs) = array.as_struct_opt() else { return Err(Error::internal("the deletion vectors are not a struct array")) };
    let (fields, columns, nulls) = structs.clone().into_parts();
    let there = columns.first().and_then(|storage| storage.nulls().cloned());
    Ok(Arc::new(StructArray::try_new(fields, columns, NullBuffer::union(nulls.as_ref(), there.as_ref()))?))
}

/// Replaces null by an empty map, because `add.partitionValues` is required. A table without
/// partition columns has an empty map.
fn without_nulls(array: ArrayRef) -> Result<ArrayRef> {
    let Some(map) = array.as_map_opt().filter(|map| map.null_count() > 0) else { return Ok(array) };
    let DataType::Map(entries, _) = map.data_type() else { return Err(Error::internal("a map column is not a map array")) };
    Ok(Arc::new(MapArray::try_new(Arc::clone(entries), map.offsets().clone(), map.entries().clone(), None, false)?))
}

fn fields_of(field: &Field) -> Result<&Fields> {
    match field.data_type() {
        DataType::Struct(fields) => Ok(fields),
        _ => Err(Error::internal(format!("column {} is not a struct array", field.name()))),
    }
}

fn partitions(
    metadata: &action::Metadata,
    schema: &StructType,
    properties: &TableProperties,
) -> Result<Vec<(String, PrimitiveType)>> {
    let of_field = |field: &StructField| match &field.data_type {
        // The value is the stored string, because readers pad CHAR values.
        DeltaType::Primitive(PrimitiveType::Char { .. }) => Ok(PrimitiveType::String),
        DeltaType::Primitive(primitive) => Ok(*primitive),
        _ => Err(Error::corrupt("schema", format!("partition column {:?} is not of a primitive type", field.name))),
    };
    let columns = metadata.partition_columns.iter().filter_map(|name| schema.field(name));
    columns.map(|field| Ok((physical_name(field, properties.column_mapping_mode).to_owned(), of_field(field)?))).collect()
}
