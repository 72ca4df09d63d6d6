//! Files that a new version takes over from another table, as lines of its commit.
//!
//! There may be a million of them. So they are rendered while they are read, on many threads
//! ([`CopiedLines`]), and only their lines are kept, in the pieces in which the commit is written.
//! The sums that the checksum needs are taken on the way, so that the lines are not parsed again.

use bytes::Bytes;

use super::base::Base;
use super::row_ids::{self, RowIds};
use crate::action::{Action, Add, Protocol};
use crate::log::checksum::Tally;
use crate::log::files::FileKey;
use crate::property::TableProperties;
use crate::{Error, Result};

/// A piece of lines is complete at this size.
const PIECE_BYTES: usize = 4 << 20;

/// Collects files that a new version takes over from another table.
#[derive(Debug)]
pub struct CopiedFilesBuilder {
    files: CopiedFiles,
    /// The lines that are not in a piece yet.
    rest: Vec<u8>,
}

/// Files that a new version takes over from another table.
#[derive(Debug, Clone)]
pub struct CopiedFiles {
    pieces: Vec<Bytes>,
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
    pub fn of(adds: Vec<Add>) -> Result<Self> {
        let mut lines = Self::default();
        for add in adds {
            let id = add.deletion_vector.as_ref().map(|vector| vector.unique_id());
            lines.keys.push(FileKey::new(&add.path, id.as_deref()));
            lines.sums.add_file(&add);
            Action::Add(add).write_line(&mut lines.bytes)?;
        }
        Ok(lines)
    }
}

impl CopiedFilesBuilder {
    /// Begins with no files, for the version after `base`. The table has this protocol and these
    /// properties in that version.
    pub fn new(base: &Base, protocol: &Protocol, properties: &TableProperties) -> Self {
        let version = base.next_version();
        let row_ids = row_ids::are_given(protocol, properties).then(|| RowIds::above(base.row_id_high_water_mark, version));
        let files = CopiedFiles { pieces: Vec::new(), keys: Vec::new(), sums: Tally::default(), version, row_ids };
        Self { files, rest: Vec::new() }
    }

    /// Gives files new row ids, if the table gives any. The files of the other table have none
    /// afterwards.
    pub fn give_row_ids(&mut self, adds: &mut [Add]) -> Result<()> {
        for add in adds {
            (add.base_row_id, add.default_row_commit_version) = (None, None);
            let Some(row_ids) = &mut self.files.row_ids else { continue };
            if add.num_records().is_none() {
                return Err(Error::invalid_input(format!(
                    "{}: the statistics of this file do not have its row count, which row tracking needs: fill in the \
                     statistics of the source first (optimize with fill_statistics)",
                    add.path
                )));
            }
            let (base_row_id, version) = row_ids.give(add)?;
            (add.base_row_id, add.default_row_commit_version) = (Some(base_row_id), Some(version));
        }
        Ok(())
    }

    /// Adds the lines of files that have their row ids.
    pub fn append(&mut self, lines: CopiedLines) {
        let CopiedLines { bytes, keys, sums } = lines;
        self.files.keys.extend(keys);
        self.files.sums.merge(&sums);
        match self.rest.is_empty() {
            true => self.rest = bytes,
            false => self.rest.extend_from_slice(&bytes),
        }
        if self.rest.len() >= PIECE_BYTES {
            self.end_piece();
        }
    }

    /// Adds a file. It gets new row ids if the table gives any.
    pub fn push(&mut self, add: Add) -> Result<()> {
        let mut adds = vec![add];
        self.give_row_ids(&mut adds)?;
        self.append(CopiedLines::of(adds)?);
        Ok(())
    }

    /// Returns the files.
    pub fn finish(mut self) -> CopiedFiles {
        self.end_piece();
        self.files
    }

    fn end_piece(&mut self) {
        let mut piece = std::mem::take(&mut self.rest);
        if !piece.is_empty() {
            piece.shrink_to_fit();
            self.files.pieces.push(piece.into());
        }
    }
}

impl CopiedFiles {
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

    /// Returns the lines of the files, if the commit has this version.
    pub(super) fn pieces(&self, version: u64) -> Option<&[Bytes]> {
        (self.row_ids.is_none() || version == self.version).then_some(&self.pieces)
    }

    /// Returns the state from which the row ids of further files go on.
    pub(super) fn row_ids(&self) -> Option<&RowIds> {
        self.row_ids.as_ref()
    }
}
