//! Files of deletion vectors that a transaction wrote.

use lakebed_core::action::DeletionVectorDescriptor;
use lakebed_core::dv::{DvLocation, location};
use lakebed_core::path::FilePath;

use crate::Result;

/// A file with deletion vectors that a transaction wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VectorFile(pub(super) FilePath);

impl VectorFile {
    /// Returns the file that this vector is in, or `None` for an inline vector.
    pub(super) fn of(descriptor: &DeletionVectorDescriptor) -> Result<Option<Self>> {
        Ok(match location(descriptor)? {
            DvLocation::Inline => None,
            DvLocation::File { path, .. } => Some(Self(path)),
        })
    }
}
