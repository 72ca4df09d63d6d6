//! The files of a checkpoint that were written, and what was counted in them.

use lakebed_core::log::checksum::Tally;
use lakebed_core::log::hint::Hint;
use lakebed_io::checkpoint::RowCounts;

use crate::{Error, ErrorKind, Result};

/// Files of a checkpoint, written and read again.
pub(super) struct WrittenCheckpoint {
    /// Of the file that is, or leads to, the whole.
    pub(super) name: String,
    pub(super) size_bytes: u64,
    pub(super) summary: WrittenCounts,
    /// What `_last_checkpoint` says of it besides sums.
    pub(super) hint: Hint,
}

/// What was written.
#[derive(Default)]
pub(super) struct WrittenCounts {
    pub(super) counts: RowCounts,
    pub(super) tally: Tally,
}

impl WrittenCounts {
    pub(super) fn add(&mut self, other: &Self) {
        self.tally.merge(&other.tally);
        for (column, rows) in &other.counts {
            *self.counts.entry(column.clone()).or_default() += rows;
        }
    }

    /// Refuses what was read of a file that should hold this.
    pub(super) fn check(&self, found: Result<RowCounts>, file: &str) -> Result<()> {
        let found = found.map_err(|error| unread(error, file))?;
        if found != self.counts {
            let message = format!("{file} was written with these rows: {:?}, but holds these: {found:?}", self.counts);
            return Err(Error::internal(message));
        }
        Ok(())
    }
}

/// The error of who reads again what was just written. It says nothing about the rest of the log: what a store does not find that has
/// taken it may be there later, and what is broken was written so.
pub(super) fn unread(error: Error, file: &str) -> Error {
    let message = format!("{file} was written but cannot be read");
    let kind = match error.kind() {
        ErrorKind::Store { object, not_found: true, .. } => {
            ErrorKind::Store { object: object.clone(), retryable: true, not_found: false }
        }
        kind @ ErrorKind::Store { .. } => kind.clone(),
        _ => ErrorKind::Internal,
    };
    Error::new(kind, message).with_source(error)
}
