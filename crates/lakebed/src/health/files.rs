//! Sums over the files of a version, in one pass and in bounded memory.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef};
use lakebed_core::log::files::{FileBatch, FileKey, column};
use lakebed_core::stats::{StatColumn, StatKind};

use super::overlap::Intervals;
use crate::Result;
use crate::scan::files::deleted_records;

/// The most partitions that are told apart. The files of further ones count as one partition.
const MOST_PARTITIONS: usize = 1_000_000;

/// A column with bounds.
pub(super) struct BoundedColumn {
    /// The logical name.
    pub(super) name: String,
    /// The statistics: the least value and the greatest value.
    pub(super) bounds: [StatColumn; 2],
    pub(super) is_clustering: bool,
}

/// The sums over all files.
pub(super) struct FileSums {
    partitions: Vec<String>,
    /// Files below this size count as small.
    small_bytes: u64,
    pub(super) files: u64,
    pub(super) size_bytes: u64,
    /// The number of rows, as far as the log gives it.
    pub(super) rows: u64,
    pub(super) files_without_rows: u64,
    pub(super) files_without_statistics: u64,
    pub(super) bytes_without_statistics: u64,
    pub(super) vectors: u64,
    pub(super) deleted_rows: u64,
    /// The size of files with deletion vectors, and about how much of it deleted rows take.
    pub(super) vector_file_bytes: u64,
    pub(super) deleted_bytes: u64,
    pub(super) by_partition: HashMap<FileKey, PartitionSums>,
    /// For each column the bounds of some files.
    pub(super) intervals: Vec<Intervals>,
}

/// The sums over the files of a partition.
#[derive(Default)]
pub(super) struct PartitionSums {
    pub(super) bytes: u64,
    pub(super) small_files: u64,
    pub(super) small_bytes: u64,
}

impl FileSums {
    pub(super) fn new(partitions: Vec<String>, small_bytes: u64, columns: usize) -> Self {
        Self {
            partitions,
            small_bytes,
            files: 0,
            size_bytes: 0,
            rows: 0,
            files_without_rows: 0,
            files_without_statistics: 0,
            bytes_without_statistics: 0,
            vectors: 0,
            deleted_rows: 0,
            vector_file_bytes: 0,
            deleted_bytes: 0,
            by_partition: HashMap::new(),
            intervals: (0..columns).map(|_| Intervals::default()).collect(),
        }
    }

    /// Adds the files of a batch.
    pub(super) fn add(&mut self, batch: &FileBatch, columns: &[BoundedColumn]) -> Result<()> {
        let (sizes, rows, deleted) = (batch.longs(column::SIZE)?, batch.row_counts()?, deleted_records(batch));
        let has_vector = batch.has_deletion_vector()?;
        let texts = self.partitions.iter().map(|name| batch.partition_texts(name)).collect::<Result<Vec<_>>>()?;
        let wanted: Vec<StatColumn> = columns.iter().flat_map(|column| column.bounds.clone()).collect();
        let nulls: Vec<StatColumn> =
            columns.iter().map(|column| StatColumn { kind: StatKind::NullCount, ..column.bounds[0].clone() }).collect();
        let (bounds, nulls) = (batch.stats(&wanted)?, batch.stats(&nulls)?);
        for row in 0..batch.len() {
            let size = u64::try_from(sizes.value(row)).unwrap_or(0);
            let count = rows.is_valid(row).then(|| rows.value(row).unsigned_abs());
            self.files += 1;
            self.size_bytes += size;
            self.rows += count.unwrap_or(0);
            self.files_without_rows += u64::from(count.is_none());
            if count.is_none() || lacks_bounds(&bounds, &nulls, row, rows.value(row)) {
                self.files_without_statistics += 1;
                self.bytes_without_statistics += size;
            }
            if has_vector.value(row) {
                let gone = deleted.value(row).unsigned_abs();
                self.vectors += 1;
                self.deleted_rows += gone;
                self.vector_file_bytes += size;
                let share = count.filter(|count| *count > 0).map_or(0.0, |count| gone as f64 / count as f64);
                self.deleted_bytes += (size as f64 * share.min(1.0)) as u64;
            }
            let mut partition = String::new();
            for texts in &texts {
                partition.push('\u{1F}');
                partition.push_str(if texts.is_valid(row) { texts.value(row) } else { "\u{0}" });
            }
            self.add_to_partition(&partition, size);
        }
        for (intervals, bounds) in self.intervals.iter_mut().zip(bounds.chunks(2)) {
            if let [least, greatest] = bounds {
                intervals.add(least, greatest, &batch.keys()?)?;
            }
        }
        Ok(())
    }

    fn add_to_partition(&mut self, partition: &str, size: u64) {
        let key = FileKey::new(partition, None);
        let key = if self.by_partition.len() < MOST_PARTITIONS || self.by_partition.contains_key(&key) {
            key
        } else {
            FileKey::new("", None)
        };
        let sums = self.by_partition.entry(key).or_default();
        sums.bytes += size;
        if size < self.small_bytes {
            sums.small_files += 1;
            sums.small_bytes += size;
        }
    }
}

/// Returns whether a column of a file has no bounds, although it has values.
fn lacks_bounds(bounds: &[ArrayRef], nulls: &[ArrayRef], row: usize, rows: i64) -> bool {
    bounds.chunks(2).zip(nulls).any(|(bounds, nulls)| {
        let is_null = nulls.as_primitive_opt::<Int64Type>().is_some_and(|nulls| nulls.is_valid(row) && nulls.value(row) == rows);
        !is_null && bounds.iter().all(|bounds| bounds.is_null(row))
    })
}
