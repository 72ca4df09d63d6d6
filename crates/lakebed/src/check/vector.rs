//! Whether a deletion vector can be read and fits its data file.

use lakebed_core::action::DeletionVectorDescriptor;
use lakebed_io::dv::read_deletion_vector;
use lakebed_io::store::Store;

use super::damaged::damage;
use crate::Result;

/// The state of a deletion vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum VectorState {
    /// It can be read and fits its data file.
    Sound,
    /// Its file does not exist.
    Missing,
    /// It cannot be read, or contradicts the log or the data file. The text says why.
    Invalid(String),
}

impl VectorState {
    /// Reads a deletion vector. `rows` is the number of rows of the data file, if it is known.
    pub(crate) async fn read(store: &Store, vector: &DeletionVectorDescriptor, rows: Option<u64>) -> Result<Self> {
        Ok(match damage(read_deletion_vector(store, vector).await)? {
            Ok(deleted) => match (deleted.last(), rows) {
                (Some(last), Some(rows)) if last >= rows => {
                    Self::Invalid(format!("its deletion vector deletes row {last}, but it has only {rows} rows"))
                }
                _ => Self::Sound,
            },
            Err(error) if error.is_not_found() => Self::Missing,
            Err(error) => Self::Invalid(error.message().to_owned()),
        })
    }
}
