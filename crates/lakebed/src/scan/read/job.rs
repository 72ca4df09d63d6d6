//! What all files of a task have in common: which columns to find, what to test, how the output is
//! put together.

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
use crate::scan::spec::ScanSpec;
use crate::{Error, Result};

/// Pieces that are decoded or wait to be taken, for each core.
const PIECES_PER_CORE: usize = 2;
/// Rows that have to be tested before their share of matches means something.
const ENOUGH_TESTED: u64 = 50_000;
/// Of a hundred rows, so many matches make it cheaper to decode all columns at once and to drop
/// rows afterwards.
const MANY_MATCHES: u64 = 30;

/// A task, understood.
pub(super) struct Job {
    store: Store,
    table: String,
    mode: MappingMode,
    physical: StructType,
    partition_columns: Vec<StructField>,
    condition: Option<Condition>,
    /// The sources of row ids, positions and their like in the condition.
    asked: Vec<Slot>,
    moved_ids: Option<String>,
    moved_versions: Option<String>,
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

/// The columns that are looked for in files: first those of the condition, then the others.
pub(super) struct Wanted {
    pub(super) tested: StructType,
    pub(super) others: StructType,
    /// Columns that are found by name even where others are found by field id.
    pub(super) by_name: Vec<String>,
}

/// How the output is put together.
pub(super) struct Output {
    schema: SchemaRef,
    slots: Vec<Slot>,
}

/// Where a column of the output comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Slot {
    /// The columns of the condition and then the others, by position.
    File(usize),
    /// A partition column, by position.
    Partition(usize),
    FilePath,
    FileSize,
    FileIndex,
    RowIndex,
    /// The position of the column that holds ids which moved with their rows, if there is one.
    RowId(Option<usize>),
    /// The same of versions.
    RowCommitVersion(Option<usize>),
    /// The position of the column in which rows say what happened to them, if a file of the task
    /// has one.
    ChangeType(Option<usize>),
    CommitVersion,
    CommitTimestamp,
}

impl Slot {
    /// The position of the column of the file that it looks at, if it does.
    fn position(self) -> Option<usize> {
        match self {
            Self::File(position) => Some(position),
            Self::RowId(moved) | Self::RowCommitVersion(moved) | Self::ChangeType(moved) => moved,
            _ => None,
        }
    }

    /// Whether it is told by the positions of rows.
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
            // Otherwise, files that partition values do not rule out match as a whole.
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
            moved_ids: spec.materialized_row_id.clone(),
            moved_versions: spec.materialized_row_commit_version.clone(),
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

    /// The table, for messages.
    pub(super) fn table(&self) -> &str {
        &self.table
    }

    pub(super) fn mode(&self) -> MappingMode {
        self.mode
    }

    /// The table's schema with physical names.
    pub(super) fn physical(&self) -> &StructType {
        &self.physical
    }

    /// With the physical name of each.
    pub(super) fn partition_columns(&self) -> impl Iterator<Item = (&str, PrimitiveType)> {
        self.partition_columns.iter().map(|field| {
            let primitive = match field.data_type {
                DataType::Primitive(primitive) => primitive,
                // Nobody can write such a table; its values are text.
                _ => PrimitiveType::String,
            };
            (physical_name(field, self.mode), primitive)
        })
    }

    /// The position of a partition column by its logical name.
    pub(super) fn partition_position(&self, name: &str) -> Option<usize> {
        self.partition_columns.iter().position(|field| field.name == name)
    }

    /// What rows are tested for, beyond what partition values decide.
    pub(super) fn condition(&self) -> Option<&Condition> {
        self.condition.as_ref()
    }

    /// The columns in which files keep the ids and the versions of rows that moved.
    pub(super) fn moved(&self) -> (Option<&String>, Option<&String>) {
        (self.moved_ids.as_ref(), self.moved_versions.as_ref())
    }

    /// The sources of row ids, positions and their like in the condition, in its order.
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

    /// Whether columns come out as they are decoded.
    pub(super) fn is_moving(&self) -> bool {
        self.is_moving
    }

    pub(super) fn memory(&self) -> &MemoryBudget {
        &self.memory
    }

    pub(super) fn cores(&self) -> &Cores {
        &self.cores
    }

    /// How many pieces are decoded, or wait to be taken, at once.
    pub(super) fn lanes(&self) -> usize {
        self.cores.count() * PIECES_PER_CORE
    }

    /// How many bytes may wait to be taken.
    pub(super) fn ahead_bytes(&self) -> Option<u64> {
        self.options.ahead_bytes
    }

    /// Rows of a batch, if the caller says so.
    pub(super) fn batch_rows(&self) -> Option<usize> {
        self.options.batch_rows
    }

    /// The limit, if there is one.
    pub(super) fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// Whether there are fewer files than cores.
    pub(super) fn has_few_files(&self) -> bool {
        self.files < self.cores.count()
    }

    /// How many more rows are wanted once so many are on their way; None if that cannot be said.
    pub(super) fn rows_wanted(&self, started: u64) -> Option<u64> {
        if self.condition.is_some() {
            return None;
        }
        self.limit.map(|limit| limit.saturating_sub(started))
    }

    /// Remembers how selective the condition is.
    pub(super) fn count_tested(&self, tested: u64, matching: u64) {
        self.tested_rows.fetch_add(tested, Ordering::Relaxed);
        self.matching_rows.fetch_add(matching, Ordering::Relaxed);
    }

    /// Whether so many rows match that decoding the condition's columns first does not pay.
    pub(super) fn matches_many(&self) -> bool {
        let (tested, matching) = (self.tested_rows.load(Ordering::Relaxed), self.matching_rows.load(Ordering::Relaxed));
        tested >= ENOUGH_TESTED && matching.saturating_mul(100) >= tested.saturating_mul(MANY_MATCHES)
    }
}

impl Wanted {
    /// Where a column of the output is found, added if the condition does not need the same.
    fn position_of(&mut self, field: &StructField) -> usize {
        let same = |other: &StructField| other.name == field.name && other.data_type == field.data_type;
        if let Some(position) = self.tested.fields.iter().position(same) {
            return position;
        }
        self.others.fields.push(field.clone());
        self.tested.fields.len() + self.others.fields.len() - 1
    }

    /// The sources of row ids, positions and their like in a condition. What a file stores of them
    /// is read with the condition's columns.
    fn slot_asked(&mut self, kind: RowColumnKind, spec: &ScanSpec, read: &[ScanFile]) -> Slot {
        let slot = self.slot_of_rows(kind, spec, read);
        self.tested.fields.append(&mut self.others.fields);
        slot
    }

    /// Where a column about rows comes from.
    fn slot_of_rows(&mut self, kind: RowColumnKind, spec: &ScanSpec, read: &[ScanFile]) -> Slot {
        let rows_tell = |file: &ScanFile| file.change.is_some_and(|change| change.change_type == ChangeType::InFile);
        match kind {
            RowColumnKind::FilePath => Slot::FilePath,
            RowColumnKind::FileSize => Slot::FileSize,
            RowColumnKind::FileIndex => Slot::FileIndex,
            RowColumnKind::RowIndex => Slot::RowIndex,
            RowColumnKind::RowId => Slot::RowId(self.moved(spec.materialized_row_id.as_ref())),
            RowColumnKind::RowCommitVersion => Slot::RowCommitVersion(self.moved(spec.materialized_row_commit_version.as_ref())),
            RowColumnKind::ChangeType => Slot::ChangeType(
                read.iter().any(rows_tell).then(|| self.position_by_name(ChangeType::CHANGE_TYPE_COLUMN, PrimitiveType::String)),
            ),
            RowColumnKind::CommitVersion => Slot::CommitVersion,
            RowColumnKind::CommitTimestamp => Slot::CommitTimestamp,
        }
    }

    /// Where that is found which moved with its rows.
    fn moved(&mut self, name: Option<&String>) -> Option<usize> {
        name.map(|name| self.position_by_name(name, PrimitiveType::Long))
    }

    /// Where a column is found that is not in the schema.
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

    /// All of them.
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

    /// Columns of files come out in the types in which they move on.
    fn move_on(&mut self) {
        let field =
            |(field, slot): (&FieldRef, &Slot)| match moving_type(field.data_type()).filter(|_| matches!(slot, Slot::File(_))) {
                Some(moving) => Arc::new(field.as_ref().clone().with_data_type(moving)),
                None => Arc::clone(field),
            };
        let fields: Fields = self.schema.fields().iter().zip(&self.slots).map(field).collect();
        self.schema = Arc::new(Schema::new(fields));
    }

    /// Whether something of the output comes from the column of the file at this position.
    pub(super) fn takes(&self, position: usize) -> bool {
        self.slots.iter().any(|slot| slot.position() == Some(position))
    }

    /// Whether a column of the output comes from there.
    pub(super) fn has(&self, slot: Slot) -> bool {
        self.slots.contains(&slot)
    }

    /// The fields with the slots.
    pub(super) fn fields(&self) -> impl Iterator<Item = (&FieldRef, Slot)> {
        self.schema.fields().iter().zip(self.slots.iter().copied())
    }
}
