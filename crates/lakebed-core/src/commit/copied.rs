//! Files that a new version takes over from another table.
//!
//! There may be a million of them. So their lines are rendered while the files are read, on many
//! threads ([`CopiedLines`]), and the caller keeps the lines until the commit is written. The sums
//! that the checksum needs are taken on the way, so that the lines are not parsed again.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, new_null_array};
use arrow_schema::DataType;

use super::base::Base;
use super::row_ids::{self, RowIds};
use crate::action::{Action, Add, Protocol};
use crate::log::add_lines::write_add_lines;
use crate::log::checksum::Tally;
use crate::log::files::{FileBatch, FileKey, column};
use crate::property::TableProperties;
use crate::{Error, Result};

/// Files that a new version takes over from another table, without their lines.
#[derive(Debug, Clone)]
pub struct CopiedFiles {
    keys: Vec<FileKey>,
    sums: Tally,
    /// The version that the files are for. Their row ids and their commit version depend on it.
    version: u64,
    row_ids: Option<RowIds>,
}

/// The lines of some of the files.
#[derive(Debug, Default)]
pub struct CopiedLines {
    bytes: Vec<u8>,
    keys: Vec<FileKey>,
    sums: Tally,
}

impl CopiedLines {
    /// Renders the lines of these files.
    pub fn of(files: &FileBatch) -> Result<Self> {
        let mut lines = Self { keys: files.keys()?, ..Self::default() };
        lines.sums.add_files(files)?;
        write_add_lines(files, true, &mut lines.bytes)?;
        Ok(lines)
    }

    /// Renders the line of one more file.
    pub fn push(&mut self, add: Add) -> Result<()> {
        self.keys.push(FileKey::of_add(&add));
        self.sums.add_file(&add);
        Action::Add(add).write_line(&mut self.bytes)
    }
}

impl CopiedFiles {
    /// Begins with no files, for the version after `base`. The table has this protocol and these
    /// properties in that version.
    pub fn new(base: &Base, protocol: &Protocol, properties: &TableProperties) -> Self {
        let version = base.next_version();
        let row_ids = row_ids::are_given(protocol, properties).then(|| RowIds::above(base.row_id_high_water_mark, version));
        Self { keys: Vec::new(), sums: Tally::default(), version, row_ids }
    }

    /// Returns the files with new row ids, if the table gives any. The row ids of the other table
    /// are dropped.
    pub fn with_row_ids(&mut self, files: &FileBatch) -> Result<FileBatch> {
        let (ids, versions): (ArrayRef, ArrayRef) = match &mut self.row_ids {
            None => (new_null_array(&DataType::Int64, files.len()), new_null_array(&DataType::Int64, files.len())),
            Some(row_ids) => {
                let mut ids = Vec::with_capacity(files.len());
                for (row, count) in files.row_counts()?.iter().enumerate() {
                    let count = count.filter(|count| *count >= 0).ok_or_else(|| {
                        let path = files.paths().map_or("", |paths| paths.value(row));
                        without_count(path)
                    })?;
                    ids.push(row_ids.give_next(count)?);
                }
                let versions = Int64Array::from_value(row_ids.version(), files.len());
                (Arc::new(Int64Array::from(ids)), Arc::new(versions))
            }
        };
        files.with_column(column::BASE_ROW_ID, ids)?.with_column(column::DEFAULT_ROW_COMMIT_VERSION, versions)
    }

    /// Gives a file new row ids, if the table gives any. The row ids of the other table are
    /// dropped.
    pub fn give_row_ids(&mut self, add: &mut Add) -> Result<()> {
        (add.base_row_id, add.default_row_commit_version) = (None, None);
        if let Some(row_ids) = &mut self.row_ids {
            let count = add.num_records().ok_or_else(|| without_count(&add.path))?;
            add.base_row_id = Some(row_ids.give_next(count)?);
            add.default_row_commit_version = Some(row_ids.version());
        }
        Ok(())
    }

    /// Adds files that have their row ids, and returns their lines.
    pub fn add(&mut self, lines: CopiedLines) -> Vec<u8> {
        self.keys.extend(lines.keys);
        self.sums.merge(&lines.sums);
        lines.bytes
    }

    /// Returns the number of files.
    pub fn count(&self) -> u64 {
        self.keys.len() as u64
    }

    /// Returns the keys of the files.
    pub fn keys(&self) -> &[FileKey] {
        &self.keys
    }

    /// Returns the sums over the files.
    pub fn sums(&self) -> &Tally {
        &self.sums
    }

    /// Returns whether a commit of this version may have the lines of the files.
    pub(super) fn may_be_in(&self, version: u64) -> bool {
        self.row_ids.is_none() || version == self.version
    }

    /// Returns the state from which the row ids of further files go on.
    pub(super) fn row_ids(&self) -> Option<&RowIds> {
        self.row_ids.as_ref()
    }
}

fn without_count(path: &str) -> Error {
    Error::invalid_input(format!(
        "{path}: the statistics of this file do not have its row count, which row tracking needs: fill in the statistics of the \
         source first (optimize with fill_statistics)"
    ))
}
