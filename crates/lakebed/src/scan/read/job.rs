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

/// A task in the form in which its files are read.
pub(super) struct Job {
    store: Store,
    table: String,
    mode: MappingMode,
    physical: StructType,
    partition_columns: Vec<StructField>,
    condition: Option<Condition>,
    /// The sources of the `_metadata` columns in the condition.
    asked: Vec<Slot>,
    materialized: MaterializedColumns,
    pruner: Option<Pruner>,
    wanted: Wanted,
    output: Output,
    is_moving: bool,
    limit: Option<u64>,
    files: usize,
    options: ReadOptions,
    memory: MemoryBudget,
    cores: Cores,
    tested_rows: AtomicU64,
    matching_rows: AtomicU64,
}

/// The columns that are searched for in files: first those of the condition, then the others.
pub(super) struct Wanted {
    pub(super) tested: StructType,
    pub(super) others: StructType,
    /// The columns that are found by name even if the others are found by field id.
    pub(super) by_name: Vec<String>,
}

/// The sources of the output columns and their order.
pub(super) struct Output {
    schema: SchemaRef,
    slots: Vec<Slot>,
}

/// The source of an output column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Slot {
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

impl Slot {
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

impl Job {
    pub(super) fn new(store: &Store, spec: &ScanSpec, read: &[ScanFile], options: ReadOptions) -> Result<Self> {
        let schema = &spec.schema;
        let partition_columns = spec.partition_columns.iter().map(|name| match schema.field(name) {
            Some(field) => Ok(field.clone()),
            None => Err(Error::corrupt(&spec.table_url, format!("partition column {name} is not in the schema"))),
        });
        let partition_columns = partition_columns.collect::<Result<Vec<_>>>()?;
        let is_partition = |name: &str| partition_columns.iter().any(|column| column.name == name);
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
        let condition = Condition::new(tested.as_deref(), options.test.clone(), schema)?;

        let tested =
            condition.iter().flat_map(|condition| &condition.columns().fields).filter(|field| !is_partition(&field.name));
        let mut wanted = Wanted {
            tested: StructType { fields: tested.cloned().collect() },
            others: StructType::default(),
            by_name: Vec::new(),
        };
        let of_rows = condition.iter().flat_map(|condition| condition.of_rows());
        let asked = of_rows.map(|kind| wanted.slot_asked(*kind, spec, read)).collect();
        let slot = |column: &OutputColumn| match column {
            OutputColumn::OfTable(field) => match partition_columns.iter().position(|column| column.name == field.name) {
                Some(position) => Slot::Partition(position),
                None => Slot::File(wanted.position_of(field)),
            },
            OutputColumn::OfRows(column) => wanted.slot_of_rows(column.kind, spec, read),
        };
        let slots = spec.output_columns()?.iter().map(slot).collect();
        let mut output = Output { schema: spec.output_schema()?, slots };
        let is_moving = options.is_moving && condition.is_none();
        if is_moving {
            output.move_on();
        }
        Ok(Self {
            store: store.clone(),
            table: spec.table_url.clone(),
            mode: spec.mapping_mode,
            physical: to_physical(schema, spec.mapping_mode),
            partition_columns,
            condition,
            asked,
            materialized: spec.materialized.clone(),
            pruner,
            wanted,
            output,
            is_moving,
            limit: spec.limit,
            files: read.len(),
            memory: options.memory.clone().unwrap_or_else(MemoryBudget::of_process),
            cores: options.cores.map_or_else(Cores::new, Cores::of),
            options,
            tested_rows: AtomicU64::new(0),
            matching_rows: AtomicU64::new(0),
        })
    }

    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the table, for messages.
    pub(super) fn table(&self) -> &str {
        &self.table
    }

    pub(super) fn mode(&self) -> MappingMode {
        self.mode
    }

    /// Returns the schema of the table with physical names.
    pub(super) fn physical(&self) -> &StructType {
        &self.physical
    }

    /// Returns the physical name and the type of each partition column.
    pub(super) fn partition_columns(&self) -> impl Iterator<Item = (&str, PrimitiveType)> {
        self.partition_columns.iter().map(|field| {
            let primitive = match field.data_type {
                DataType::Primitive(primitive) => primitive,
                // No writer can write such a table. Its partition values are strings.
                _ => PrimitiveType::String,
            };
            (physical_name(field, self.mode), primitive)
        })
    }

    /// Returns the position of a partition column with this logical name.
    pub(super) fn partition_position(&self, name: &str) -> Option<usize> {
        self.partition_columns.iter().position(|field| field.name == name)
    }

    /// Returns the condition that rows are tested for, if partition values alone do not decide it.
    pub(super) fn condition(&self) -> Option<&Condition> {
        self.condition.as_ref()
    }

    /// Returns the columns in which files store the ids and the versions of rows that moved.
    pub(super) fn materialized(&self) -> &MaterializedColumns {
        &self.materialized
    }

    /// Returns the sources of the `_metadata` columns in the condition, in the order of the
    /// condition.
    pub(super) fn asked(&self) -> &[Slot] {
        &self.asked
    }

    pub(super) fn pruner(&self) -> Option<&Pruner> {
        self.pruner.as_ref()
    }

    pub(super) fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    pub(super) fn output(&self) -> &Output {
        &self.output
    }

    /// Returns whether columns are returned in the types in which they are decoded.
    pub(super) fn is_moving(&self) -> bool {
        self.is_moving
    }

    pub(super) fn memory(&self) -> &MemoryBudget {
        &self.memory
    }

    pub(super) fn cores(&self) -> &Cores {
        &self.cores
    }

    /// Returns how many pieces are decoded, or wait to be taken, at once.
    pub(super) fn lanes(&self) -> usize {
        self.cores.count() * PIECES_PER_CORE
    }

    /// Returns how many decoded bytes may wait to be taken.
    pub(super) fn ahead_bytes(&self) -> Option<u64> {
        self.options.ahead_bytes
    }

    /// Returns the number of rows of a batch, if the caller chose it.
    pub(super) fn batch_rows(&self) -> Option<usize> {
        self.options.batch_rows
    }

    /// Returns the limit, if there is one.
    pub(super) fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// Returns whether there are fewer files than cores.
    pub(super) fn has_few_files(&self) -> bool {
        self.files < self.cores.count()
    }

    /// Returns how many more rows are needed when this many rows are already started; None if that
    /// is unknown.
    pub(super) fn rows_wanted(&self, started: u64) -> Option<u64> {
        if self.condition.is_some() {
            return None;
        }
        self.limit.map(|limit| limit.saturating_sub(started))
    }

    /// Counts tested and matching rows, from which the selectivity of the condition follows.
    pub(super) fn count_tested(&self, tested: u64, matching: u64) {
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

impl Wanted {
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

    /// Returns the source of a `_metadata` column of the condition. Columns that files store for it
    /// are read together with the columns of the condition.
    fn slot_asked(&mut self, kind: RowColumnKind, spec: &ScanSpec, read: &[ScanFile]) -> Slot {
        let slot = self.slot_of_rows(kind, spec, read);
        self.tested.fields.append(&mut self.others.fields);
        slot
    }

    /// Returns the source of a column about rows.
    fn slot_of_rows(&mut self, kind: RowColumnKind, spec: &ScanSpec, read: &[ScanFile]) -> Slot {
        let rows_tell = |file: &ScanFile| file.change.is_some_and(|change| change.change_type == ChangeType::InFile);
        match kind {
            RowColumnKind::FilePath => Slot::FilePath,
            RowColumnKind::FileSize => Slot::FileSize,
            RowColumnKind::FileIndex => Slot::FileIndex,
            RowColumnKind::RowIndex => Slot::RowIndex,
            RowColumnKind::RowId => Slot::RowId(self.moved(spec.materialized.row_id.as_ref())),
            RowColumnKind::RowCommitVersion => Slot::RowCommitVersion(self.moved(spec.materialized.row_commit_version.as_ref())),
            RowColumnKind::ChangeType => Slot::ChangeType(
                read.iter().any(rows_tell).then(|| self.position_by_name(ChangeType::CHANGE_TYPE_COLUMN, PrimitiveType::String)),
            ),
            RowColumnKind::CommitVersion => Slot::CommitVersion,
            RowColumnKind::CommitTimestamp => Slot::CommitTimestamp,
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

    pub(super) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Changes the types of columns of files to those in which rows move to other files.
    fn move_on(&mut self) {
        let field =
            |(field, slot): (&FieldRef, &Slot)| match moving_type(field.data_type()).filter(|_| matches!(slot, Slot::File(_))) {
                Some(moving) => Arc::new(field.as_ref().clone().with_data_type(moving)),
                None => Arc::clone(field),
            };
        let fields: Fields = self.schema.fields().iter().zip(&self.slots).map(field).collect();
        self.schema = Arc::new(Schema::new(fields));
    }

    /// Returns whether an output column reads the column of the file at this position.
    pub(super) fn takes(&self, position: usize) -> bool {
        self.slots.iter().any(|slot| slot.position() == Some(position))
    }

    /// Returns whether an output column has this source.
    pub(super) fn has(&self, slot: Slot) -> bool {
        self.slots.contains(&slot)
    }

    /// Returns the fields of the output with their sources.
    pub(super) fn fields(&self) -> impl Iterator<Item = (&FieldRef, Slot)> {
        self.schema.fields().iter().zip(self.slots.iter().copied())
    }
}
