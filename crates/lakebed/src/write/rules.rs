//! The requirements for rows of a table. They are made from protocol and metadata once, and hold
//! for all batches.
//!
//! PROTOCOL has these requirements in many places. Here they come together: the columns of a file
//! and their names, the values of columns that the data lacks, the conditions that rows must meet,
//! and the statistics of files. If lakebed does not support a requirement, making the rules fails,
//! before anything is written.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{DataType as ArrowType, Field, FieldRef, Fields, Schema, SchemaRef};
use lakebed_core::action::{Metadata, Protocol};
use lakebed_core::feature::upgrade::{CURRENT_DEFAULT, GENERATION_EXPRESSION, IDENTITY_START};
use lakebed_core::property::TableProperties;
use lakebed_core::schema::arrow::{nullable_type_to_arrow, schema_to_arrow, type_to_arrow};
use lakebed_core::schema::mapping::{FIELD_ID, MappingMode, NESTED_IDS, physical_name};
use lakebed_core::schema::{DataType, PrimitiveType, StructField, StructType};
use lakebed_core::stats::StatsPlan;
use lakebed_core::value::stored_partition_values;
use lakebed_expr::{Expression, Options, filter_schema, parse_expr};
use serde_json::Value;

use super::check::Check;
use super::identity_column::Identity;
use crate::definition::columns::as_type;
use crate::scan::ChangeType;
use crate::scan::read::decoded_type::moving_type;
use crate::{Error, Result};

/// The key under which Parquet's writer looks for a field id.
const PARQUET_FIELD_ID: &str = "PARQUET:field_id";

/// The requirements for rows that are written to a table.
#[derive(Debug)]
pub struct WriteRules {
    /// The URL of the table, for messages.
    pub table: String,
    /// The schema with logical names.
    pub schema: StructType,
    /// The schema in Arrow types. Every field may be null, because checks come later.
    pub arrow_schema: SchemaRef,
    /// The parsed properties of the table.
    pub properties: TableProperties,
    /// The partition columns, in the order of the directories.
    pub partition_columns: Vec<PartitionColumn>,
    /// The values of columns that data may lack, by the index of the column in the schema.
    pub filled: Vec<(usize, Filling)>,
    /// The conditions that every row must meet.
    pub checks: Vec<Check>,
    /// The columns of a data file.
    pub file: FileLayout,
    /// The statistics that files get.
    pub stats: Arc<StatsPlan>,
}

/// A column with values in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionColumn {
    /// The index of the column in the schema.
    pub index: usize,
    /// The name of the column.
    pub name: String,
    /// The name of the column in the log.
    pub physical: String,
    /// The type of the column.
    pub data_type: PrimitiveType,
}

/// The source of a column's values if the data does not have the column.
#[derive(Debug, Clone)]
pub enum Filling {
    /// The same expression for every row.
    Default(Arc<Expression>),
    /// An expression over the other columns. Given values must be equal to its values.
    Generated(Arc<Expression>),
    /// Numbers in steps, of an identity column.
    Identity(Identity),
}

/// The kind of rows that files hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contents {
    /// New rows.
    Rows,
    /// Rows that have row ids already, or are new. Their row ids and commit versions are in two
    /// more columns behind those of the table.
    MovedRows,
    /// Changes of rows. The type of each change is in one more column.
    Changes,
}

/// The columns of a data file.
#[derive(Debug, Clone)]
pub struct FileLayout {
    /// The indexes of the columns in the table's schema.
    pub columns: Vec<usize>,
    /// The schema with physical names and field ids.
    pub schema: SchemaRef,
}

impl WriteRules {
    /// Makes the rules of a table. `now_ms` is the current time in defaults.
    pub fn new(table: &str, protocol: &Protocol, metadata: &Metadata, clustering: &[Vec<String>], now_ms: i64) -> Result<Self> {
        let schema = lakebed_core::schema::parse(&metadata.schema_string).map_err(|error| error.within(table))?;
        let properties = TableProperties::parse(&metadata.configuration).map_err(|error| error.within(table))?;
        let mode = properties.column_mapping_mode;
        let partition_columns = partition_columns(&schema, &metadata.partition_columns, mode, table)?;
        let expressions = filter_schema(&schema)?;
        let options = Options { now_ms: Some(now_ms) };
        let mut filled = Vec::new();
        for (index, field) in schema.fields.iter().enumerate() {
            let filling = filling(field, &expressions, &options)
                .map_err(|error| error.within(format!("{table}: column {}", field.name)))?;
            filled.extend(filling.map(|filling| (index, filling)));
        }
        let checks = Check::of_table(table, &schema, &properties, &expressions, &options)?;
        let with_partitions = properties.write_partition_columns
            || properties.iceberg_compat_v1
            || properties.iceberg_compat_v2
            || has_feature(protocol, "materializePartitionColumns");
        let file = FileLayout::new(&schema, &partition_columns, mode, with_partitions, table)?;
        let stats = StatsPlan::new(&schema, mode, &metadata.partition_columns, &properties, clustering)?;
        let stats = Arc::new(stats.with_tight_bounds(has_feature(protocol, "deletionVectors")));
        let arrow_schema = nullable(schema_to_arrow(&schema)?.as_ref());
        let table = table.to_owned();
        Ok(Self { table, schema, arrow_schema, properties, partition_columns, filled, checks, file, stats })
    }

    /// Returns the schema of batches on their way to files: the table's columns, in which every
    /// value may be null, also nested values.
    pub fn loose_schema(&self) -> Result<SchemaRef> {
        let fields =
            self.schema.fields.iter().map(|field| Ok(Field::new(&field.name, nullable_type_to_arrow(&field.data_type)?, true)));
        Ok(Arc::new(Schema::new(fields.collect::<Result<Fields>>()?)))
    }

    /// Returns values of a column as they will be when they are read from the table. In a partition
    /// column, some of them become null.
    pub fn stored_form(&self, place: usize, values: ArrayRef) -> Result<ArrayRef> {
        match self.partition_columns.iter().find(|column| column.index == place) {
            Some(column) => stored_partition_values(values, column.data_type),
            None => Ok(values),
        }
    }

    /// Returns the columns of files that hold `contents`. The batches for them have the table's
    /// columns, and then the additional columns of `contents`.
    pub fn layout(&self, contents: Contents) -> Result<FileLayout> {
        let more = match contents {
            Contents::Rows => Vec::new(),
            Contents::MovedRows => {
                let properties = &self.properties;
                let names = [&properties.materialized_row_id_column, &properties.materialized_row_commit_version_column];
                let column = |name: &Option<String>| match name {
                    Some(name) => Ok(Field::new(name, ArrowType::Int64, true)),
                    None => Err(Error::corrupt(
                        &self.table,
                        "the table tracks rows, but it does not name the columns of their row ids",
                    )),
                };
                names.into_iter().map(column).collect::<Result<_>>()?
            }
            Contents::Changes => vec![Field::new(ChangeType::CHANGE_TYPE_COLUMN, ArrowType::Utf8, true)],
        };
        let columns = self.file.columns.iter().copied().chain(self.schema.fields.len()..self.schema.fields.len() + more.len());
        let fields = self.file.schema.fields().iter().cloned().chain(more.into_iter().map(Arc::new));
        Ok(FileLayout { columns: columns.collect(), schema: Arc::new(Schema::new(fields.collect::<Fields>())) })
    }

    /// Returns the same columns for rows that move from file to file. Their values have the types
    /// in which a scan returns them for that purpose.
    pub fn moving(&self, layout: FileLayout) -> FileLayout {
        let columns = layout.columns.iter().zip(layout.schema.fields());
        let fields = columns.map(|(index, field)| self.moving_field(*index, field));
        FileLayout { schema: Arc::new(Schema::new(fields.collect::<Fields>())), ..layout }
    }

    /// Returns the field of a column for rows that move from file to file. The values of partition
    /// columns come from the log, so their type stays.
    pub fn moving_field(&self, index: usize, field: &FieldRef) -> FieldRef {
        let is_partition = self.partition_columns.iter().any(|column| column.index == index);
        match moving_type(field.data_type()).filter(|_| !is_partition) {
            Some(moving) => Arc::new(field.as_ref().clone().with_data_type(moving)),
            None => Arc::clone(field),
        }
    }

    /// Returns whether a column is filled if the data does not have it.
    pub fn is_filled(&self, name: &str) -> bool {
        let Some(index) = self.schema.index_of(name) else { return false };
        self.filled.iter().any(|(filled, _)| *filled == index)
    }
}

impl FileLayout {
    fn new(
        schema: &StructType,
        partition_columns: &[PartitionColumn],
        mode: MappingMode,
        with_partitions: bool,
        table: &str,
    ) -> Result<Self> {
        let is_partition = |index: &usize| partition_columns.iter().any(|column| column.index == *index);
        let is_void = |index: &usize| is_void(&schema.fields[*index].data_type);
        let (partitions, data): (Vec<usize>, Vec<usize>) = (0..schema.fields.len()).partition(is_partition);
        let mut columns: Vec<usize> = data.into_iter().filter(|index| !is_void(index)).collect();
        if columns.is_empty() && !with_partitions {
            let message = format!("{table}: no column is left for the data files: all are partition columns or of type void");
            return Err(Error::invalid_input(message));
        }
        if with_partitions {
            columns.extend(partitions);
        }
        let fields =
            columns.iter().map(|index| physical_field(&schema.fields[*index], mode, table)).collect::<Result<Fields>>()?;
        Ok(Self { columns, schema: Arc::new(Schema::new(fields)) })
    }
}

fn is_void(data_type: &DataType) -> bool {
    *data_type == DataType::Primitive(PrimitiveType::Void)
}

fn holds_void(data_type: &DataType) -> bool {
    match data_type {
        DataType::Primitive(_) => is_void(data_type),
        DataType::Struct(fields) => fields.fields.iter().any(|field| holds_void(&field.data_type)),
        DataType::Array(array) => holds_void(&array.element),
        DataType::Map(map) => holds_void(&map.key) || holds_void(&map.value),
    }
}

fn has_feature(protocol: &Protocol, name: &str) -> bool {
    protocol.writer_features.iter().flatten().any(|feature| feature == name)
}

fn partition_columns(schema: &StructType, names: &[String], mode: MappingMode, table: &str) -> Result<Vec<PartitionColumn>> {
    let column = |name: &String| {
        let index = schema.fields.iter().position(|field| field.name == *name);
        let field = index.and_then(|index| Some((index, schema.fields.get(index)?)));
        match field {
            Some((index, field)) => match field.data_type {
                DataType::Primitive(data_type) if !matches!(data_type, PrimitiveType::Variant | PrimitiveType::Void) => {
                    let physical = physical_name(field, mode).to_owned();
                    Ok(PartitionColumn { index, name: name.clone(), physical, data_type })
                }
                _ => Err(Error::invalid_input(format!(
                    "{table}: a table cannot be partitioned by column {name}: its values cannot be written as strings"
                ))),
            },
            None => Err(Error::corrupt(table, format!("partition column {name:?} is not in the schema"))),
        }
    };
    names.iter().map(column).collect()
}

fn filling(field: &StructField, schema: &Schema, options: &Options) -> Result<Option<Filling>> {
    let text = |key: &str| field.metadata.get(key).and_then(Value::as_str);
    if let Some(expression) = text(GENERATION_EXPRESSION) {
        return Ok(Some(Filling::Generated(Arc::new(parse_expr(&as_type(expression, field), schema, options)?))));
    }
    if field.metadata.contains_key(IDENTITY_START) {
        return Ok(Some(Filling::Identity(Identity::of(field)?)));
    }
    match text(CURRENT_DEFAULT) {
        Some(expression) => Ok(Some(Filling::Default(Arc::new(parse_expr(&as_type(expression, field), schema, options)?)))),
        None => Ok(None),
    }
}

/// Returns the same schema with nulls allowed in all columns.
fn nullable(schema: &Schema) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| Arc::new(field.as_ref().clone().with_nullable(true)));
    Arc::new(Schema::new(fields.collect::<Fields>()))
}

/// Returns the field of a column in data files.
fn physical_field(field: &StructField, mode: MappingMode, table: &str) -> Result<Field> {
    let name = physical_name(field, mode);
    let nested = field.metadata.get(NESTED_IDS).and_then(Value::as_object).filter(|_| mode != MappingMode::None);
    let ids = NestedIds { ids: nested, mode, table };
    let physical = Field::new(name, ids.physical_type(&field.data_type, name)?, field.nullable);
    Ok(with_id(physical, field.metadata.get(FIELD_ID).filter(|_| mode != MappingMode::None)))
}

fn with_id(field: Field, id: Option<&Value>) -> Field {
    match id.and_then(Value::as_i64) {
        Some(id) => field.with_metadata([(PARQUET_FIELD_ID.to_owned(), id.to_string())].into()),
        None => field,
    }
}

/// The ids of elements, keys and values below one field.
struct NestedIds<'a> {
    ids: Option<&'a serde_json::Map<String, Value>>,
    mode: MappingMode,
    table: &'a str,
}

impl NestedIds<'_> {
    fn physical_type(&self, data_type: &DataType, path: &str) -> Result<ArrowType> {
        Ok(match data_type {
            DataType::Primitive(primitive) => stored_type(*primitive, self.table, path)?,
            DataType::Struct(fields) => {
                // Files have no column for a field of type void, as for a void column of the table.
                let kept = fields.fields.iter().filter(|field| !is_void(&field.data_type));
                let kept = kept.map(|field| physical_field(field, self.mode, self.table)).collect::<Result<Fields>>()?;
                if kept.is_empty() {
                    let message =
                        format!("{}: column {path}: all its fields are of type void, so a file cannot store it", self.table);
                    return Err(Error::invalid_input(message));
                }
                ArrowType::Struct(kept)
            }
            DataType::Array(array) => ArrowType::List(self.part("element", &array.element, array.contains_null, path)?),
            DataType::Map(map) => {
                let key = self.part("key", &map.key, false, path)?;
                let value = self.part("value", &map.value, map.value_contains_null, path)?;
                let entries = Field::new("key_value", ArrowType::Struct(Fields::from(vec![key, value])), false);
                ArrowType::Map(Arc::new(entries), false)
            }
        })
    }

    fn part(&self, name: &str, data_type: &DataType, nullable: bool, path: &str) -> Result<Arc<Field>> {
        let path = format!("{path}.{name}");
        if holds_void(data_type) {
            let message = format!("{}: column {path}: values of type void are not allowed inside arrays and maps", self.table);
            return Err(Error::invalid_input(message));
        }
        let field = Field::new(name, self.physical_type(data_type, &path)?, nullable);
        Ok(Arc::new(with_id(field, self.ids.and_then(|ids| ids.get(&path)))))
    }
}

/// Returns the Arrow type with the Parquet form that Delta stores.
fn stored_type(primitive: PrimitiveType, table: &str, path: &str) -> Result<ArrowType> {
    Ok(match primitive {
        PrimitiveType::YearMonthInterval => ArrowType::Int32,
        PrimitiveType::DayTimeInterval => ArrowType::Int64,
        PrimitiveType::Void => return Err(Error::internal(format!("{table}: column {path} of type void has no stored type"))),
        other => type_to_arrow(&other.into())?,
    })
}
