//! The difference of two versions: schema, properties, features, files, rows, and the commits that
//! made it. The log alone is read. Begin with [`Table::diff`].

mod schema;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use arrow_array::Array;
use lakebed_core::feature::supported_features;
use lakebed_core::log::files::{FileBatch, FileKey, column};
use serde::Serialize;

use crate::file_difference::FileDifference;
use crate::history::HistoryEntry;
use crate::scan::files::deleted_records;
use crate::{Result, Snapshot, Table};

pub use schema::SchemaDifference;

/// The difference of two versions.
#[derive(Debug, Clone)]
pub struct VersionDifference {
    /// The version before the changes.
    pub from: u64,
    /// The version after the changes. It may be older.
    pub to: u64,
    /// The columns that differ.
    pub schema: SchemaDifference,
    /// The properties that differ: their values before and after, or `None` if they are not set.
    pub properties: BTreeMap<String, (Option<String>, Option<String>)>,
    /// The features that only the version after the changes has.
    pub features_added: Vec<String>,
    /// The features that only the version before the changes has.
    pub features_dropped: Vec<String>,
    /// The partition columns before and after, if they differ.
    pub partition_columns: Option<(Vec<String>, Vec<String>)>,
    /// The clustering columns before and after, if they differ.
    pub clustering_columns: Option<(Vec<String>, Vec<String>)>,
    /// The files that differ.
    pub files: FilesDifference,
    /// The commits between the two versions that the log still has, newest first.
    pub commits: Vec<HistoryEntry>,
}

/// The files that two versions do not have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct FilesDifference {
    /// The files that only the version after the changes has, and their total size.
    pub added_files: u64,
    /// Their total size.
    pub added_bytes: u64,
    /// Their rows without deleted ones. `None` if the log has no row count for one of them.
    pub added_rows: Option<u64>,
    /// The files that only the version before the changes has.
    pub removed_files: u64,
    /// Their total size.
    pub removed_bytes: u64,
    /// Their rows without deleted ones. `None` if the log has no row count for one of them.
    pub removed_rows: Option<u64>,
    /// The files that both versions have, with different deletion vectors.
    pub changed_files: u64,
    /// Their total size.
    pub changed_bytes: u64,
    /// The change of the number of rows that are deleted in these files.
    pub changed_deleted_rows: i64,
}

impl Table {
    /// Returns the difference between two versions.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> lakebed::Result<()> {
    /// use std::sync::Arc;
    /// use arrow_array::{Int64Array, RecordBatch};
    /// use lakebed::{RecordBatchStream, Table};
    ///
    /// let rows = RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from(vec![1, 2, 3])) as _)])?;
    /// let table = Table::at("memory://docs/diff").build()?;
    /// table.write(RecordBatchStream::from_batches(rows.schema(), vec![rows])).run().await?;
    /// table.delete().run().await?;
    /// let files = table.diff(0, 1).await?.files;
    /// assert_eq!((files.removed_files, files.removed_rows, files.added_files), (1, Some(3), 0));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn diff(&self, from: u64, to: u64) -> Result<VersionDifference> {
        let before = self.snapshot_at(from).await?.by_log().await?;
        let after = self.snapshot_at(to).await?.by_log().await?;
        let of = |snapshot: &Snapshot| -> BTreeSet<String> {
            supported_features(snapshot.protocol()).into_iter().map(str::to_owned).collect()
        };
        let (old, new) = (of(&before), of(&after));
        let clustering = (before.clustering_columns().await?, after.clustering_columns().await?);
        let partitions = (before.partition_columns().to_vec(), after.partition_columns().to_vec());
        Ok(VersionDifference {
            from,
            to,
            schema: SchemaDifference::of(before.schema(), after.schema()),
            properties: properties(&before, &after),
            features_added: new.difference(&old).cloned().collect(),
            features_dropped: old.difference(&new).cloned().collect(),
            partition_columns: (partitions.0 != partitions.1).then_some(partitions),
            clustering_columns: (clustering.0 != clustering.1).then_some(clustering),
            files: files(&FileDifference::with_statistics(&after, &before).await?)?,
            commits: commits(&before, &after).await?,
        })
    }
}

fn properties(before: &Snapshot, after: &Snapshot) -> BTreeMap<String, (Option<String>, Option<String>)> {
    let (old, new) = (before.metadata(), after.metadata());
    let keys: BTreeSet<&String> = old.configuration.keys().chain(new.configuration.keys()).collect();
    let values = |key: &String| (old.property(key).map(str::to_owned), new.property(key).map(str::to_owned));
    let both = keys.into_iter().map(|key| (key.clone(), values(key)));
    both.filter(|(_, (old, new))| old != new).collect()
}

async fn commits(before: &Snapshot, after: &Snapshot) -> Result<Vec<HistoryEntry>> {
    let (older, newer) = if before.version() <= after.version() { (before, after) } else { (after, before) };
    let between = usize::try_from(newer.version() - older.version()).unwrap_or(usize::MAX);
    let mut entries = newer.history(Some(between)).await?;
    entries.retain(|entry| entry.version > older.version());
    Ok(entries)
}

/// A file of one of the versions.
struct OneFile {
    bytes: u64,
    /// The rows without deleted ones, if the log has the count.
    rows: Option<u64>,
    deleted: i64,
}

fn files(difference: &FileDifference) -> Result<FilesDifference> {
    let mut removed = HashMap::new();
    for batch in &difference.restored {
        removed.extend(each(batch)?);
    }
    let mut found = FilesDifference { added_rows: Some(0), removed_rows: Some(0), ..FilesDifference::default() };
    for batch in &difference.removed {
        for (path, file) in each(batch)? {
            if let Some(before) = removed.remove(&path) {
                found.changed_files += 1;
                found.changed_bytes += file.bytes;
                found.changed_deleted_rows += file.deleted - before.deleted;
            } else {
                found.added_files += 1;
                found.added_bytes += file.bytes;
                found.added_rows = found.added_rows.zip(file.rows).map(|(sum, rows)| sum + rows);
            }
        }
    }
    for file in removed.values() {
        found.removed_files += 1;
        found.removed_bytes += file.bytes;
        found.removed_rows = found.removed_rows.zip(file.rows).map(|(sum, rows)| sum + rows);
    }
    Ok(found)
}

fn each(batch: &FileBatch) -> Result<Vec<(FileKey, OneFile)>> {
    let (sizes, rows, deleted) = (batch.longs(column::SIZE)?, batch.row_counts()?, deleted_records(batch));
    let file = |(row, path): (usize, Option<&str>)| {
        let deleted = deleted.value(row);
        let all = rows.is_valid(row).then(|| rows.value(row));
        let file = OneFile {
            bytes: u64::try_from(sizes.value(row)).unwrap_or(0),
            rows: all.and_then(|all| u64::try_from(all - deleted).ok()),
            deleted,
        };
        (FileKey::new(path.unwrap_or_default(), None), file)
    };
    Ok(batch.paths()?.iter().enumerate().map(file).collect())
}
