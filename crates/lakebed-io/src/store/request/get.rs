//! One request for an object or a part of it, which checks the version of the object.

use std::ops::Range;
use std::sync::OnceLock;

use bytes::Bytes;
use lakebed_core::error::Error;
use object_store::path::Path;
use object_store::{GetOptions, ObjectStore};

use super::object_version::ObjectVersion;
use crate::store::Store;

impl Store {
    /// Returns the requested bytes. If others may replace the object, `seen` has its version, and
    /// another version is an error.
    pub(in crate::store) async fn get_of(
        &self,
        path: &Path,
        options: GetOptions,
        seen: Option<&OnceLock<ObjectVersion>>,
    ) -> object_store::Result<Bytes> {
        let found = self.object_store().get_opts(path, options).await?;
        match seen.is_none_or(|seen| seen.get_or_init(|| ObjectVersion::of(&found.meta)).is_of(&found.meta)) {
            true => found.bytes().await,
            false => {
                Err(object_store::Error::Precondition { path: path.to_string(), source: "another object has its name".into() })
            }
        }
    }

    /// Returns the error for ranges that go past the end of the object.
    pub(in crate::store) fn too_short(&self, path: &Path, ranges: &[Range<u64>], size: u64) -> Error {
        let range = ranges.iter().max_by_key(|range| range.end).cloned().unwrap_or_default();
        Error::corrupt(
            self.describe(path),
            format!("bytes {} to {} were requested, but it has only {size} bytes", range.start, range.end),
        )
    }
}
