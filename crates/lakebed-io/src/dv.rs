//! Deletion vectors, wherever they are.

use lakebed_core::action::DeletionVectorDescriptor;
use lakebed_core::dv::{DeletionVector, DvLocation, check_file_version, frame, location};
use lakebed_core::error::{Error, Result};

use crate::env::Env;
use crate::store::Store;

/// A vector that begins within so many bytes is fetched together with what stands before it, for the sake of the file's version.
const NEAR_THE_START: u64 = 64 * 1024;

/// Reads the vector that a file action describes, and checks it: size, checksum, number of rows; for one near the start of its file also
/// the file's version, which costs no request of its own.
///
/// A vector is one ranged request, and several of one file are mostly one request together.
pub async fn read_deletion_vector(store: &Store, descriptor: &DeletionVectorDescriptor) -> Result<DeletionVector> {
    let (path, range) = match location(descriptor)? {
        DvLocation::Inline => return DeletionVector::from_inline(descriptor),
        DvLocation::File { path, range } => (path, range),
    };
    let (store, object) = store.resolve(&path)?;
    // PROTOCOL "Deletion Vector File Storage Format": version byte first. One request brings it where the vector stands near; a vector at 0
    // leaves no room for it.
    let start = if (1..=NEAR_THE_START).contains(&range.start) { 0 } else { range.start };
    let bytes = store.get_with_readahead(&object, start..range.end).await.map_err(missing)?;
    if start < range.start {
        check_file_version(bytes.first().copied(), descriptor)?;
    }
    let before = usize::try_from(range.start - start).unwrap_or(usize::MAX);
    DeletionVector::parse_framed(bytes.get(before..).unwrap_or_default(), descriptor)
}

/// Writes vectors into one new file below the table's root.
pub async fn write_deletion_vectors(
    store: &Store,
    env: &Env,
    vectors: &[DeletionVector],
) -> Result<Vec<DeletionVectorDescriptor>> {
    let id = env.new_uuid();
    let id = id.parse().map_err(|error| Error::internal(format!("{id} is not a UUID")).with_source(error))?;
    let (bytes, descriptors) = frame(vectors, id, "")?;
    let Some(DvLocation::File { path, .. }) = descriptors.first().map(location).transpose()? else { return Ok(descriptors) };
    let (store, object) = store.resolve(&path)?;
    store.put_new(&object, bytes.into()).await?;
    Ok(descriptors)
}

/// Without its deletion vector a file cannot be read: that must not look like a file that is merely gone.
fn missing(error: Error) -> Error {
    error.within("a deletion vector cannot be read")
}

#[cfg(test)]
mod tests;
