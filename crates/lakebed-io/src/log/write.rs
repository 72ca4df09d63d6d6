//! Writes the files that help readers of a log: the hint and checksums. `put` writes commits.

#[cfg(test)]
mod tests;

use lakebed_core::error::Result;
use lakebed_core::log::checksum::VersionChecksum;
use lakebed_core::log::hint::Hint;
use lakebed_core::path::{HINT_NAME, checksum_name};

use object_store::path::Path;

use super::{ReadHint, read_hint};
use crate::store::{PutOutcome, Store};

/// Writes `_last_checkpoint`, unless it names a later version. Returns whether it was written.
///
/// Two writers may write it at the same time, and the hint with the earlier version may stay. An
/// old hint only makes the next listing longer.
pub async fn write_hint(store: &Store, hint: &Hint) -> Result<bool> {
    if let ReadHint::Sound(found) = read_hint(store).await?
        && found.version > hint.version
    {
        return Ok(false);
    }
    store.put(&store.log_path(HINT_NAME)?, hint.to_json()?.into()).await?;
    Ok(true)
}

/// Writes the checksum of a version, if it does not exist.
pub async fn put_checksum(store: &Store, version: u64, checksum: &VersionChecksum) -> Result<PutOutcome> {
    store.put_disposable_if_absent(&store.log_path(&checksum_name(version))?, checksum.to_json()?.into()).await
}

/// Returns the path of the hidden checksum that Hadoop may keep beside this file below the table. Only
/// files on the local disk have one.
pub fn hadoop_checksum_path(store: &Store, file: &str) -> Result<Option<Path>> {
    if !store.is_local() {
        return Ok(None);
    }
    let checksum = match file.rsplit_once('/') {
        Some((folder, name)) => format!("{folder}/{}", hadoop_checksum_name(name)),
        None => hadoop_checksum_name(file),
    };
    store.path_of(&checksum).map(Some)
}

/// Returns the name of the hidden checksum that Hadoop keeps beside a local file of this name.
pub fn hadoop_checksum_name(name: &str) -> String {
    format!(".{name}.crc")
}
