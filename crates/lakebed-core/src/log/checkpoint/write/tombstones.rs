//! The tombstones of a table: files that left it but may still have readers.
//!
//! [`Tombstones`] reads the commits above the old checkpoint, newest first. It keeps the newest
//! `remove` of each file that is not in the table again, unless it is older than the retention
//! period. [`old_tombstones`] and [`Tombstones::of_checkpoint`] read the tombstones of the old
//! checkpoint, and keep those of files that no commit touched. PROTOCOL "Action Reconciliation".

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Int64Builder, MapBuilder, StringBuilder, StructBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};

use crate::action::json::{CommitLines, FileLine, Line, RemoveRef, lines, read_line};
use crate::log::builder::{append_descriptor, append_text_map, descriptor_builder, text_map_builder};
use crate::log::files::{FileBatch, FileKey};
use crate::log::replay::Layers;
use crate::{Error, Result};

/// A batch is full at this number of rows.
const FULL_ROWS: usize = 16 * 1024;

/// Collects the tombstones from lines of actions.
pub struct Tombstones<'a> {
    layers: &'a Layers,
    /// Whether the lines are older than the layers. Otherwise the layers were folded from the
    /// lines.
    is_below: bool,
    /// A file that was removed at this time or before has expired.
    expired_ms: i64,
    /// The files that the commits left in the table. The set is computed at the first removal.
    alive: Option<HashSet<FileKey>>,
    /// The files for which the newest tombstone was found.
    taken: HashSet<FileKey>,
    builder: RemoveBuilder,
}

impl<'a> Tombstones<'a> {
    /// Reads the commits from which these layers were folded.
    pub fn of_commits(layers: &'a Layers, expired_ms: i64) -> Self {
        Self { layers, is_below: false, expired_ms, alive: None, taken: HashSet::new(), builder: RemoveBuilder::default() }
    }

    /// Reads an older checkpoint in JSON lines.
    pub fn of_checkpoint(layers: &'a Layers, expired_ms: i64) -> Self {
        Self { is_below: true, ..Self::of_commits(layers, expired_ms) }
    }

    /// Reads lines that are older than all lines read before. Returns a batch when one is full.
    pub fn read(&mut self, part: CommitLines<'_>) -> Result<Option<RecordBatch>> {
        for (number, line) in lines(part.bytes) {
            // A line holds one action, so no other action can follow.
            if line.starts_with(b"{\"add\":{") {
                continue;
            }
            let said = read_line(line).map_err(|error| {
                Error::corrupt(part.name, format!("line {}: {}", number + part.lines_before, error.message()))
            })?;
            if let Line::File(FileLine::Remove(remove)) = said {
                self.take(&remove)?;
            }
        }
        if self.builder.rows < FULL_ROWS { Ok(None) } else { self.builder.finish().map(Some) }
    }

    fn take(&mut self, remove: &RemoveRef<'_>) -> Result<()> {
        if remove.deletion_timestamp.unwrap_or(0) <= self.expired_ms {
            return Ok(());
        }
        let id = remove.deletion_vector.as_ref().map(|dv| dv.unique_id());
        let key = FileKey::new(&remove.path, id.as_deref());
        let is_undone = if self.is_below { self.layers.hides(&key) } else { self.alive()?.contains(&key) };
        if is_undone || !self.taken.insert(key) {
            return Ok(());
        }
        self.builder.append(remove)
    }

    fn alive(&mut self) -> Result<&HashSet<FileKey>> {
        if self.alive.is_none() {
            let mut alive = HashSet::new();
            for added in self.layers.visible_files() {
                alive.extend(added?.keys());
            }
            self.alive = Some(alive);
        }
        self.alive.as_ref().ok_or_else(|| Error::internal("the set of visible files was not built"))
    }

    /// Returns the remaining tombstones of the commits.
    pub fn finish(mut self) -> Result<Option<RecordBatch>> {
        if self.builder.rows == 0 { Ok(None) } else { self.builder.finish().map(Some) }
    }
}

/// Returns the tombstones in the rows of an older checkpoint that no commit after it touched.
pub fn old_tombstones(batch: &RecordBatch, layers: &Layers, expired_ms: i64) -> Result<RecordBatch> {
    let removes = FileBatch::removes_of_checkpoint(batch)?;
    let times = removes.column("deletionTimestamp").and_then(|array| array.as_primitive_opt::<Int64Type>());
    let keys = removes.keys()?;
    let keep = |(row, key): (usize, &FileKey)| {
        let time = times.filter(|times| times.is_valid(row)).map_or(0, |times| times.value(row));
        Some(time > expired_ms && !layers.hides(key))
    };
    let keep: BooleanArray = keys.iter().enumerate().map(keep).collect();
    Ok(removes.filter(&keep)?.batch().clone())
}

/// Builds rows of `remove`.
struct RemoveBuilder {
    rows: usize,
    path: StringBuilder,
    deletion_timestamp: Int64Builder,
    extended_file_metadata: BooleanBuilder,
    partition_values: MapBuilder<StringBuilder, StringBuilder>,
    size: Int64Builder,
    deletion_vector: StructBuilder,
    base_row_id: Int64Builder,
    default_row_commit_version: Int64Builder,
}

impl Default for RemoveBuilder {
    fn default() -> Self {
        Self {
            rows: 0,
            path: StringBuilder::new(),
            deletion_timestamp: Int64Builder::new(),
            extended_file_metadata: BooleanBuilder::new(),
            partition_values: text_map_builder(),
            size: Int64Builder::new(),
            deletion_vector: descriptor_builder(),
            base_row_id: Int64Builder::new(),
            default_row_commit_version: Int64Builder::new(),
        }
    }
}

impl RemoveBuilder {
    fn append(&mut self, remove: &RemoveRef<'_>) -> Result<()> {
        self.rows += 1;
        self.path.append_value(&remove.path);
        self.deletion_timestamp.append_option(remove.deletion_timestamp);
        self.extended_file_metadata.append_option(remove.extended_file_metadata);
        append_text_map(&mut self.partition_values, remove.partition_values.as_ref())?;
        self.size.append_option(remove.size);
        append_descriptor(&mut self.deletion_vector, remove.deletion_vector.as_ref())?;
        self.base_row_id.append_option(remove.base_row_id);
        self.default_row_commit_version.append_option(remove.default_row_commit_version);
        Ok(())
    }

    fn finish(&mut self) -> Result<RecordBatch> {
        self.rows = 0;
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("path", Arc::new(self.path.finish())),
            ("deletionTimestamp", Arc::new(self.deletion_timestamp.finish())),
            ("extendedFileMetadata", Arc::new(self.extended_file_metadata.finish())),
            ("partitionValues", Arc::new(self.partition_values.finish())),
            ("size", Arc::new(self.size.finish())),
            ("deletionVector", Arc::new(self.deletion_vector.finish())),
            ("baseRowId", Arc::new(self.base_row_id.finish())),
            ("defaultRowCommitVersion", Arc::new(self.default_row_commit_version.finish())),
        ];
        Ok(RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))?)
    }
}
