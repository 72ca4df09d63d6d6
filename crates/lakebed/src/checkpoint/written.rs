//! The written files of a checkpoint and the counts of their rows.

use lakebed_core::log::checksum::Tally;
use lakebed_core::log::hint::Hint;
use lakebed_io::checkpoint::RowCounts;

use crate::{Error, ErrorKind, Result};

/// The files of a checkpoint, written and read again.
pub(super) struct WrittenCheckpoint {
    /// The name of the file that is the checkpoint or names its other files.
    pub(super) name: String,
    pub(super) size_bytes: u64,
    pub(super) summary: WrittenCounts,
    /// The content of `_last_checkpoint`, except the sums.
    pub(super) hint: Hint,
}

/// The counts of written rows.
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

    /// Checks the rows that were read from a file against the rows that were written.
    pub(super) fn check(&self, found: Result<RowCounts>, file: &str) -> Result<()> {
        let found = found.map_err(|error| unread(error, file))?;
        if found != self.counts {
            let message = format!("{file} was written with these rows: {:?}, but it has these: {found:?}", self.counts);
            return Err(Error::internal(message));
        }
        Ok(())
    }
}

/// Returns the error for a file that was just written and cannot be read. The error says nothing
/// about the rest of the log. If the store does not find the file, it may find it later. If the
/// file is broken, it was written broken.
pub(super) fn unread(error: Error, file: &str) -> Error {
    let message = format!("{file} was written, but it cannot be read");
    let kind = match error.kind() {
        ErrorKind::Store { object, not_found: true, .. } => {
            ErrorKind::Store { object: object.clone(), retryable: true, not_found: false }
        }
        kind @ ErrorKind::Store { .. } => kind.clone(),
        _ => ErrorKind::Internal,
    };
    Error::new(kind, message).with_source(error)
}

#[cfg(test)]
mod tests;
