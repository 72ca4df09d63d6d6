//! The shared parts of all files of a task: the columns to find, the condition to test, and how the
//! output is put together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_schema::{FieldRef, Fields, Schema, SchemaRef};

use lakebed_core::schema::mapping::{MappingMode, physical_name, to_physical};
use lakebed_core::schema::{DataType, PrimitiveType, StructField, StructType};
use lakebed_expr::Predicate;
use lakebed_expr::prune::Pruner;
use lakebed_io::parquet::Cores;
use lakebed_io::store::Store;

use super::condition::Condition;
use super::form::moving_type;
use super::options::ReadOptions;
use crate::runtime::memory::MemoryBudget;
use crate::scan::asked::parse_row_filter;
use crate::scan::file::ScanFile;
use crate::scan::output::OutputColumn;
use crate::scan::row_column::{ChangeType, RowColumnKind};
use crate::scan::row_tracking::MaterializedColumns;
use crate::scan::spec::ScanSpec;
use crate::{Error, Result};

/// The number of pieces per core that are decoded or wait to be taken.
const PIECES_PER_CORE: usize = 2;
/// The number of rows that must be tested before their share of matches is used.
const ENOUGH_TESTED: u64 = 50_000;
/// From this percentage of matches on, it is cheaper to decode all columns at once and to drop rows
/// afterwards.
const MANY_MATCHES: u64 = 30;

/// The common context in which the files of a scan are read.
pub(super) struct ReadContext {
    pub(super) store: Store,
    pub(super) table: TableLayout,
    /// The condition that rows are tested for, if partition values alone do not decide it.
    pub(super) condition: Option<Condition>,
    pub(super) pruner: Option<Pruner>,
    pub(super) projection: FileProjection,
    pub(super) output: Output,
    pub(super) limit: Option<u64>,
    pub(super) resources: ReadResources,
    pub(super) selectivity: Selectivity,
}

/// How the data files of a table store its columns.
pub(super) struct TableLayout {
    /// The URL, for messages.
    pub(super) url: String,
    pub(super) mapping_mode: MappingMode,
    /// The schema with physical names.
    pub(super) physical_schema: StructType,
    pub(super) materialized: MaterializedColumns,
    partition_columns: Vec<StructField>,
}

/// The memory and the cores that decoding may use, and the sizes that the caller chose.
pub(super) struct ReadResources {
    pub(super) memory: MemoryBudget,
    pub(super) cores: Cores,
    /// The number of decoded bytes that may wait for the consumer.
    pub(super) ahead_bytes: Option<u64>,
    /// The number of rows of a batch, if the caller chose it.
    pub(super) batch_rows: Option<usize>,
    /// Whether there are fewer files than cores.
    pub(super) has_few_files: bool,
}

/// The share of rows that match the condition, as far as rows have been tested.
#[derive(Default)]
pub(super) struct Selectivity {
    tested_rows: AtomicU64,
    matching_rows: AtomicU64,
}

/// The columns that are searched for in files: first those of the condition, then the others.
#[derive(Default)]
pub(super) struct FileProjection {
    pub(super) tested: StructType,
    pub(super) others: StructType,
    /// The columns that are found by name even if the others are found by field id.
    pub(super) by_name: Vec<String>,
    /// The sources of the `_metadata` columns in the condition, in the order of the condition.
    pub(super) tested_metadata: Vec<ColumnSource>,
}

/// The sources of the output columns and their order.
pub(super) struct Output {
    schema: SchemaRef,
    sources: Vec<ColumnSource>,
    /// Whether columns are returned in the types in which they are decoded.
    is_moving: bool,
}

/// The source of an output column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ColumnSource {
    /// The position of a column of the file. Columns of the condition are counted first, then the
    /// others.
    File(usize),
    /// The position of a partition column.
    Partition(usize),
    FilePath,
    FileSize,
    FileIndex,
    RowIndex,
    /// The position of the column that stores the ids of rows that moved, if there is one.
    RowId(Option<usize>),
    /// The position of the column that stores the versions of rows that moved, if there is one.
    RowCommitVersion(Option<usize>),
    /// The position of the column that stores the change type of each row, if a file of the task
    /// has one.
    ChangeType(Option<usize>),
    CommitVersion,
    CommitTimestamp,
}

impl ColumnSource {
    /// Returns the position of the column of the file that this source reads, if it reads one.
    fn position(self) -> Option<usize> {
        match self {
            Self::File(position) => Some(position),
            Self::RowId(moved) | Self::RowCommitVersion(moved) | Self::ChangeType(moved) => moved,
            _ => None,
        }
    }

    /// Returns whether the value depends on the positions of rows.
    pub(super) fn is_of_positions(self) -> bool {
        matches!(self, Self::RowIndex | Self::RowId(_))
    }
}

impl ReadContext {
    pub(super) fn new(store: &Store, spec: &ScanSpec, read: &[ScanFile], options: ReadOptions) -> Result<Self> {
        let schema = &spec.schema;
        let table = TableLayout::of(spec)?;
        let (mut pruner, mut tested) = (None, None);
        if let Some(predicate) = &spec.filter {
            let filter = match predicate {
                Predicate::Text(text) => Arc::new(parse_row_filter(schema, text, spec.now_ms)?),
                Predicate::Filter(filter) => Arc::clone(filter),
            };
            let of_filter = Pruner::of_footers(&filter, schema, &spec.partition_columns, spec.mapping_mode)?;
            // If partition values decide the predicate, all rows of a file that they do not rule
            // out match.
            if !of_filter.is_exact_on_partitions() {
                tested = Some(filter);
            }
            pruner = Some(of_filter);
        }
        let resources = ReadResources::new(&options, read.len());
        let condition = Condition::new(tested.as_deref(), options.test, schema)?;
        let mut projection = FileProjection::default();
        if let Some(condition) = &condition {
            projection.add_condition(condition, &table, read);
        }
        let source = |column: &OutputColumn| match column {
            OutputColumn::OfTable(field) => match table.partition_position(&field.name) {
                Some(position) => ColumnSource::Partition(position),
                None => ColumnSource::File(projection.position_of(field)),
            },
            OutputColumn::OfRows(column) => projection.metadata_source(column.kind, &table, read),
        };
        let sources = spec.output_columns()?.iter().map(source).collect();
        let mut output = Output { schema: spec.output_schema()?, sources, is_moving: false };
        if options.is_moving && condition.is_none() {
            output.move_on();
        }
        Ok(Self {
            store: store.clone(),
            table,
            condition,
            pruner,
            projection,
            output,
            limit: spec.limit,
            resources,
            selectivity: Selectivity::default(),
        })
    }

    /// Returns how many more rows are needed when this many rows are already started; None if that
    /// is unknown.
    pub(super) fn rows_wanted(&self, started: u64) -> Option<u64> {
        if self.condition.is_some() {
            return None;
        }
        self.limit.map(|limit| limit.saturating_sub(started))
    }
}

impl TableLayout {
    fn of(spec: &ScanSpec) -> Result<Self> {
        let partition_columns = spec.partition_columns.iter().map(|name| match spec.schema.field(name) {
            Some(field) => Ok(field.clone()),
            None => Err(Error::corrupt(&spec.table_url, format!("partition column {name} is not in the schema"))),
        });
        Ok(Self {
            url: spec.table_url.clone(),
            mapping_mode: spec.mapping_mode,
            physical_schema: to_physical(&spec.schema, spec.mapping_mode),
            materialized: spec.materialized.clone(),
            partition_columns: partition_columns.collect::<Result<_>>()?,
        })
    }

    /// Returns the physical name and the type of each partition column.
    pub(super) fn partition_columns(&self) -> impl Iterator<Item = (&str, PrimitiveType)> {
        self.partition_columns.iter().map(|field| {
            let primitive = match field.data_type {
                DataType::Primitive(primitive) => primitive,
                // Nobody can write such a table. Its partition values are strings.
                _ => PrimitiveType::String,
            };
            (physical_name(field, self.mapping_mode), primitive)
        })
    }

    /// Returns the position of a partition column with this logical name.
    pub(super) fn partition_position(&self, name: &str) -> Option<usize> {
        self.partition_columns.iter().position(|field| field.name == name)
    }
}

impl ReadResources {
    fn new(options: &ReadOptions, files: usize) -> Self {
        let cores = options.cores.map_or_else(Cores::new, Cores::of);
        Self {
            memory: options.memory.clone().unwrap_or_else(MemoryBudget::of_process),
            has_few_files: files < cores.count(),
            cores,
            ahead_bytes: options.ahead_bytes,
            batch_rows: options.batch_rows,
        }
    }

    /// Returns how many pieces are decoded, or wait to be taken, at once.
    pub(super) fn lanes(&self) -> usize {
        self.cores.count() * PIECES_PER_CORE
    }
}

impl Selectivity {
    /// Counts tested and matching rows.
    pub(super) fn count(&self, tested: u64, matching: u64) {
        self.tested_rows.fetch_add(tested, Ordering::Relaxed);
        self.matching_rows.fetch_add(matching, Ordering::Relaxed);
    }

    /// Returns whether so many rows match that it does not pay to decode the columns of the
    /// condition first.
    pub(super) fn matches_many(&self) -> bool {
        let (tested, matching) = (self.tested_rows.load(Ordering::Relaxed), self.matching_rows.load(Ordering::Relaxed));
        tested >= ENOUGH_TESTED && matching.saturating_mul(100) >= tested.saturating_mul(MANY_MATCHES)
    }
}

impl FileProjection {
    /// Returns the position of a column of the output. The column is added if the condition does
    /// not use the same column.
    fn position_of(&mut self, field: &StructField) -> usize {
        let same = |other: &StructField| other.name == field.name && other.data_type == field.data_type;
        if let Some(position) = self.tested.fields.iter().position(same) {
            return position;
        }
        self.others.fields.push(field.clone());
        self.tested.fields.len() + self.others.fields.len() - 1
    }

    /// Adds the columns of the condition. Columns that files store for its `_metadata` columns are
    /// read together with them.
    fn add_condition(&mut self, condition: &Condition, table: &TableLayout, read: &[ScanFile]) {
        let fields = condition.columns().fields.iter().filter(|field| table.partition_position(&field.name).is_none());
        self.tested.fields.extend(fields.cloned());
        for kind in condition.of_rows() {
            let source = self.metadata_source(*kind, table, read);
            self.tested.fields.append(&mut self.others.fields);
            self.tested_metadata.push(source);
        }
    }

    /// Returns the source of a `_metadata` column.
    fn metadata_source(&mut self, kind: RowColumnKind, table: &TableLayout, read: &[ScanFile]) -> ColumnSource {
        let rows_tell = |file: &ScanFile| file.change.is_some_and(|change| change.change_type == ChangeType::InFile);
        match kind {
            RowColumnKind::FilePath => ColumnSource::FilePath,
            RowColumnKind::FileSize => ColumnSource::FileSize,
            RowColumnKind::FileIndex => ColumnSource::FileIndex,
            RowColumnKind::RowIndex => ColumnSource::RowIndex,
            RowColumnKind::RowId => ColumnSource::RowId(self.moved(table.materialized.row_id.as_ref())),
            RowColumnKind::RowCommitVersion => {
                ColumnSource::RowCommitVersion(self.moved(table.materialized.row_commit_version.as_ref()))
            }
            RowColumnKind::ChangeType => ColumnSource::ChangeType(
                read.iter().any(rows_tell).then(|| self.position_by_name(ChangeType::CHANGE_TYPE_COLUMN, PrimitiveType::String)),
            ),
            RowColumnKind::CommitVersion => ColumnSource::CommitVersion,
            RowColumnKind::CommitTimestamp => ColumnSource::CommitTimestamp,
        }
    }

    /// Returns the position of a column that stores values of rows that moved.
    fn moved(&mut self, name: Option<&String>) -> Option<usize> {
        name.map(|name| self.position_by_name(name, PrimitiveType::Long))
    }

    /// Returns the position of a column that is not in the schema of the table.
    fn position_by_name(&mut self, name: &str, data_type: PrimitiveType) -> usize {
        if self.by_name.iter().any(|known| known == name)
            && let Some(position) = self.tested.fields.iter().chain(&self.others.fields).position(|field| field.name == name)
        {
            return position;
        }
        self.by_name.push(name.to_owned());
        self.others.fields.push(StructField::new(name, data_type, true));
        self.tested.fields.len() + self.others.fields.len() - 1
    }

    /// Returns all columns.
    pub(super) fn all(&self) -> StructType {
        StructType { fields: self.tested.fields.iter().chain(&self.others.fields).cloned().collect() }
    }
}

impl Output {
    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    pub(super) fn sources(&self) -> &[ColumnSource] {
        &self.sources
    }

    /// Returns whether columns are returned in the types in which they are decoded.
    pub(super) fn is_moving(&self) -> bool {
        self.is_moving
    }

    /// Changes the types of columns of files to those in which rows move to other files.
    fn move_on(&mut self) {
        let field = |(field, source): (&FieldRef, &ColumnSource)| match moving_type(field.data_type())
            .filter(|_| matches!(source, ColumnSource::File(_)))
        {
            Some(moving) => Arc::new(field.as_ref().clone().with_data_type(moving)),
            None => Arc::clone(field),
        };
        let fields: Fields = self.schema.fields().iter().zip(&self.sources).map(field).collect();
        self.schema = Arc::new(Schema::new(fields));
        self.is_moving = true;
    }

    /// Returns whether an output column reads the column of the file at this position.
    pub(super) fn takes(&self, position: usize) -> bool {
        self.sources.iter().any(|source| source.position() == Some(position))
    }

    /// Returns whether an output column has this source.
    pub(super) fn has(&self, source: ColumnSource) -> bool {
        self.sources.contains(&source)
    }

    /// Returns the fields of the output with their sources.
    pub(super) fn fields(&self) -> impl Iterator<Item = (&FieldRef, ColumnSource)> {
        self.schema.fields().iter().zip(self.sources.iter().copied())
    }
}
