//! The deleted rows of a table, by file.

use std::collections::HashMap;
use std::sync::Arc;

use lakebed_core::action::Add;
use lakebed_core::dv::DeletionVector;
use lakebed_core::log::files::{FileBatch, column};

use crate::scan::count::known_rows;
use crate::scan::{FileRows, ScanFile};
use crate::{Result, Snapshot};

/// The deleted rows of the table, by file.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeletedRows {
    /// Files of which all rows are deleted, as the log proves.
    pub(crate) whole: Vec<FileBatch>,
    /// Files that were read to find their deleted rows.
    pub(crate) parts: Vec<PartOfFile>,
    /// Rows that other processes found. Their files are not looked up yet.
    pub(crate) named: Vec<NamedRows>,
}

/// Deleted rows of a file of which only the name is known.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NamedRows {
    /// The path, as the log spells it.
    pub(crate) path: String,
    /// The unique id of the deletion vector that the file had when it was read.
    pub(crate) vector: Option<String>,
    /// The newly deleted rows; None if all rows of the file are deleted.
    pub(crate) rows: Option<DeletionVector>,
}

/// A file with deleted rows, which may be all of its rows.
#[derive(Debug, Clone)]
pub(crate) struct PartOfFile {
    /// The file as in the log, in a batch of its own.
    pub(crate) file: FileBatch,
    pub(crate) add: Add,
    /// The newly deleted rows. Rows that the file had lost before are not among them.
    pub(crate) rows: DeletionVector,
}

impl DeletedRows {
    /// Adds the rows that another search found, which may be in the same files.
    pub(crate) fn join(&mut self, other: Self) {
        let mut known: HashMap<String, usize> =
            self.parts.iter().enumerate().map(|(place, part)| (part.add.path.clone(), place)).collect();
        for part in other.parts {
            match known.get(&part.add.path).and_then(|place| self.parts.get_mut(*place)) {
                Some(same) => same.rows = same.rows.union(&part.rows),
                None => {
                    known.insert(part.add.path.clone(), self.parts.len());
                    self.parts.push(part);
                }
            }
        }
        self.whole.extend(other.whole);
        self.named.extend(other.named);
    }

    /// Returns whether no row is deleted.
    pub(crate) fn is_empty(&self) -> bool {
        self.whole.is_empty() && self.parts.is_empty() && self.named.is_empty()
    }

    /// Returns the same with files that leave the table as a whole, because their other rows were
    /// copied to new files.
    pub(crate) fn into_whole_files(mut self) -> Self {
        self.whole.extend(self.parts.drain(..).map(|part| part.file));
        self
    }

    /// Returns the number of deleted rows, or `None` if the log does not have the row count of a
    /// whole file.
    pub(crate) fn rows(&self) -> Result<Option<u64>> {
        let named = self.named.iter().map(|named| named.rows.as_ref().map(DeletionVector::len)).sum::<Option<u64>>();
        Ok(self.rows_of_whole()?.zip(named).map(|(whole, named)| whole + named + self.rows_of_parts()))
    }

    /// Returns the number of rows in whole files, if the log has it for all of them.
    fn rows_of_whole(&self) -> Result<Option<u64>> {
        let rows = self.whole.iter().map(known_rows).collect::<Result<Option<Vec<u64>>>>()?;
        Ok(rows.map(|rows| rows.iter().sum()))
    }

    /// Returns the number of rows that were found by reading.
    fn rows_of_parts(&self) -> u64 {
        self.parts.iter().map(|part| part.rows.len()).sum()
    }
}

impl PartOfFile {
    /// Returns the file to read, with its newly deleted rows only.
    pub(crate) fn leaving(&self) -> Result<ScanFile> {
        let only = Some(FileRows::Known(Arc::new(self.rows.clone())));
        Ok(ScanFile { deletion_vector: None, only, ..ScanFile::new(self.add.clone(), None)? })
    }

    /// Returns the file to read, with the rows that stay in it, or `None` if none does.
    pub(crate) async fn staying(&self, snapshot: &Snapshot) -> Result<Option<ScanFile>> {
        let file = ScanFile::new(self.add.clone(), None)?;
        let gone = match &file.deletion_vector {
            Some(deleted) => deleted.read(snapshot.store()).await?.union(&self.rows),
            None => self.rows.clone(),
        };
        if self.add.num_records().is_some_and(|rows| u64::try_from(rows) == Ok(gone.len())) {
            return Ok(None);
        }
        Ok(Some(ScanFile { deletion_vector: Some(FileRows::Known(Arc::new(gone))), ..file }))
    }
}

/// Returns the number of files and their total size.
pub(crate) fn totals<'a>(files: impl IntoIterator<Item = &'a FileBatch>) -> Result<(u64, u64)> {
    let (mut count, mut bytes) = (0, 0);
    for batch in files {
        count += batch.len() as u64;
        bytes += batch.longs(column::SIZE)?.iter().flatten().filter_map(|size| u64::try_from(size).ok()).sum::<u64>();
    }
    Ok((count, bytes))
}
