//! The sums over the files of a version, counted file by file or continued from the previous
//! version.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;

use super::VersionChecksum;
use super::histogram::{DeletedRecordCounts, FileSizeHistogram};
use crate::Result;
use crate::action::{Add, Protocol};
use crate::feature::supported_features;
use crate::log::files::{FileBatch, column};

/// Sums over files.
#[derive(Debug, Clone, PartialEq)]
pub struct Tally {
    pub(super) num_files: i64,
    pub(super) size_bytes: i64,
    pub(super) sizes: Option<FileSizeHistogram>,
    pub(super) vectors: Option<VectorTally>,
}

/// Sums over deletion vectors. A file without a deletion vector counts as a file with no deleted
/// row.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct VectorTally {
    pub(super) count: i64,
    pub(super) deleted: i64,
    pub(super) by_deleted: Option<DeletedRecordCounts>,
}

impl Default for Tally {
    /// Returns the sums over no files.
    fn default() -> Self {
        let vectors = VectorTally { count: 0, deleted: 0, by_deleted: Some(DeletedRecordCounts::default()) };
        Self { num_files: 0, size_bytes: 0, sizes: Some(FileSizeHistogram::default()), vectors: Some(vectors) }
    }
}

impl Tally {
    pub(super) fn of(checksum: &VersionChecksum) -> Self {
        let vectors = match (checksum.num_deletion_vectors, checksum.num_deleted_records) {
            (Some(count), Some(deleted)) => Some(VectorTally { count, deleted, by_deleted: checksum.deleted_record_counts }),
            // A table that does not support deletion vectors has none.
            _ if !may_have_vectors(&checksum.protocol) => Some(VectorTally { count: 0, deleted: 0, by_deleted: None }),
            _ => None,
        };
        Self {
            num_files: checksum.num_files,
            size_bytes: checksum.table_size_bytes,
            sizes: checksum.file_size_histogram.clone(),
            vectors,
        }
    }

    /// Counts files of the table.
    pub fn add_files(&mut self, files: &FileBatch) -> Result<()> {
        let vectors = files.column(column::DELETION_VECTOR).and_then(|array| array.as_struct_opt());
        let deleted = vectors.and_then(|vectors| vectors.column_by_name("cardinality")?.as_primitive_opt::<Int64Type>());
        let has_vector = files.has_deletion_vector()?;
        for (row, size) in files.longs(column::SIZE)?.iter().enumerate() {
            let deleted = has_vector.value(row).then(|| deleted.map_or(0, |deleted| deleted.value(row)));
            self.count(size.unwrap_or(0), deleted, 1);
        }
        Ok(())
    }

    /// Counts a file of the table.
    pub fn add_file(&mut self, add: &Add) {
        self.count(add.size, add.deletion_vector.as_ref().map(|vector| vector.cardinality), 1);
    }

    /// Adds the files of another tally, which must have started with no files.
    pub fn merge(&mut self, other: &Self) {
        self.num_files += other.num_files;
        self.size_bytes += other.size_bytes;
        match (&mut self.sizes, &other.sizes) {
            (Some(sizes), Some(others)) if sizes.sorted_bin_boundaries == others.sorted_bin_boundaries => sizes.merge(others),
            (sizes, _) => *sizes = None,
        }
        match (&mut self.vectors, &other.vectors) {
            (Some(vectors), Some(others)) => vectors.merge(others),
            (vectors, _) => *vectors = None,
        }
    }

    /// Adds `files` files of this size, with a vector that deletes `deleted` rows. The number may
    /// be negative.
    pub(super) fn count(&mut self, size: i64, deleted: Option<i64>, files: i64) {
        self.num_files += files;
        self.size_bytes += files * size;
        if let Some(sizes) = &mut self.sizes {
            sizes.count(size, files);
        }
        if let Some(vectors) = &mut self.vectors {
            vectors.count += if deleted.is_some() { files } else { 0 };
            vectors.deleted += files * deleted.unwrap_or(0);
            if let Some(counts) = &mut vectors.by_deleted {
                counts.count(deleted.unwrap_or(0), files);
            }
        }
    }

    /// Returns whether a table can have these sums.
    pub(super) fn is_possible(&self) -> bool {
        let vectors = self.vectors.as_ref();
        self.num_files >= 0
            && self.size_bytes >= 0
            && self.sizes.as_ref().is_none_or(FileSizeHistogram::is_possible)
            && vectors.is_none_or(|vectors| {
                vectors.count >= 0 && vectors.deleted >= 0 && vectors.by_deleted.is_none_or(|counts| counts.is_possible())
            })
    }
}

impl VectorTally {
    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.deleted += other.deleted;
        match (&mut self.by_deleted, &other.by_deleted) {
            (Some(counts), Some(others)) => counts.merge(others),
            (counts, _) => *counts = None,
        }
    }
}

pub(super) fn may_have_vectors(protocol: &Protocol) -> bool {
    supported_features(protocol).contains(&"deletionVectors")
}
