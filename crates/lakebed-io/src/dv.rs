//! Reads and writes deletion vectors, inline or in files.

use lakebed_core::action::DeletionVectorDescriptor;
use lakebed_core::dv::{DeletionVector, DvLocation, check_file_version, frame, location};
use lakebed_core::error::{Error, Result};

use crate::env::Env;
use crate::store::Store;

/// A vector that begins within this many bytes is fetched together with all bytes before it. The
/// first byte is the version of the file.
const NEAR_THE_START: u64 = 64 * 1024;

/// Reads the vector that a file action describes, and checks its size, its checksum and its number
/// of rows. For a vector near the start of its file, the version of the file is checked too,
/// without a further request.
///
/// A vector costs one ranged request. Several vectors of one file mostly share a request.
pub async fn read_deletion_vector(store: &Store, descriptor: &DeletionVectorDescriptor) -> Result<DeletionVector> {
    let (path, range) = match location(descriptor)? {
        DvLocation::Inline => return DeletionVector::from_inline(descriptor),
        DvLocation::File { path, range } => (path, range),
    };
    let (store, object) = store.resolve(&path)?;
    // PROTOCOL "Deletion Vector File Storage Format": the version byte comes first. If the vector
    // begins near it, one request fetches both. A vector at offset 0 leaves no room for a version
    // byte.
    let start = if (1..=NEAR_THE_START).contains(&range.start) { 0 } else { range.start };
    let bytes = store.get_with_readahead(&object, start..range.end).await.map_err(missing)?;
    if start < range.start {
        check_file_version(bytes.first().copied(), descriptor)?;
    }
    let before = usize::try_from(range.start - start).unwrap_or(usize::MAX);
    DeletionVector::parse_framed(bytes.get(before..).unwrap_or_default(), descriptor)
}

/// Writes vectors into one new file below the root of the table.
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

/// Adds the deletion vector to an error of its store. A data file cannot be read without its
/// deletion vector, and a missing vector must not look like a data file that was deleted.
fn missing(error: Error) -> Error {
    error.within("a deletion vector cannot be read")
}

#[cfg(test)]
mod tests;
