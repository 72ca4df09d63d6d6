//! Deletion vectors, wherever they are.

use lakebed_core::action::DeletionVectorDescriptor;
use lakebed_core::dv::{DeletionVector, DvPlace, place};
use lakebed_core::error::{Error, Result};

use crate::store::Store;

/// Reads the vector that a file action describes, and checks it: size, checksum, number of rows.
///
/// A vector is one ranged request, and several of one file are mostly one request together.
pub async fn read_deletion_vector(store: &Store, descriptor: &DeletionVectorDescriptor) -> Result<DeletionVector> {
    let (path, range) = match place(descriptor)? {
        DvPlace::Inline => return DeletionVector::from_inline(descriptor),
        DvPlace::File { path, range } => (path, range),
    };
    let (store, object) = store.resolve(&path)?;
    let bytes = store.get_ahead(&object, range).await.map_err(missing)?;
    DeletionVector::parse_framed(&bytes, descriptor)
}

/// Without its deletion vector a file cannot be read: that must not look like a file that is merely gone.
fn missing(error: Error) -> Error {
    error.within("a deletion vector cannot be read")
}

#[cfg(test)]
mod tests;
