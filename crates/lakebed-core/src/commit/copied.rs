//! Files that a new version takes over from another table, as lines of its commit.
//!
//! There may be a million of them. So they are rendered while they are read, and only their lines
//! are kept, in the form in which the commit needs them.

use super::base::Base;
use super::row_ids::{self, RowIds};
use crate::action::{Action, Add, Protocol};
use crate::property::TableProperties;
use crate::{Error, Result};

/// Files that a new version takes over from another table.
#[derive(Debug, Clone)]
pub struct CopiedFiles {
    lines: Vec<u8>,
    count: u64,
    /// The version that the files are for. Their row ids and their commit version depend on it.
    version: u64,
    row_ids: Option<RowIds>,
}

impl CopiedFiles {
    /// Begins with no files, for the version after `base`. The table has this protocol and these
    /// properties in that version.
    pub fn new(base: &Base, protocol: &Protocol, properties: &TableProperties) -> Self {
        let version = base.next_version();
        let row_ids = row_ids::are_given(protocol, properties).then(|| RowIds::above(base.row_id_high_water_mark, version));
        Self { lines: Vec::new(), count: 0, version, row_ids }
    }

    /// Adds a file. It gets new row ids if the table gives any.
    pub fn push(&mut self, mut add: Add) -> Result<()> {
        (add.base_row_id, add.default_row_commit_version) = (None, None);
        if let Some(row_ids) = &mut self.row_ids {
            if add.num_records().is_none() {
                return Err(Error::invalid_input(format!(
                    "{}: the statistics of this file do not have its row count, which row tracking needs: fill in the \
                     statistics of the source first (optimize with fill_statistics)",
                    add.path
                )));
            }
            let (base_row_id, version) = row_ids.give(&add)?;
            (add.base_row_id, add.default_row_commit_version) = (Some(base_row_id), Some(version));
        }
        self.lines.extend_from_slice(Action::Add(add).to_line()?.as_bytes());
        self.lines.push(b'\n');
        self.count += 1;
        Ok(())
    }

    /// Returns the number of files.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the lines of the files, if the commit has this version.
    pub(super) fn lines(&self, version: u64) -> Option<&[u8]> {
        (self.row_ids.is_none() || version == self.version).then_some(&self.lines)
    }

    /// Returns the state from which the row ids of further files go on.
    pub(super) fn row_ids(&self) -> Option<&RowIds> {
        self.row_ids.as_ref()
    }
}
