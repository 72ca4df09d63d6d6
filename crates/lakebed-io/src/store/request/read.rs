//! Reads objects.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::OnceLock;

use bytes::Bytes;
use lakebed_core::error::{Error, Result};
use object_store::path::Path;
use object_store::{GetOptions, OBJECT_STORE_COALESCE_DEFAULT, ObjectMeta, ObjectStoreExt, coalesce_ranges};

use crate::at::At;
use crate::store::Store;
use crate::store::local::files;
use crate::store::request::object_version::ObjectVersion;

impl Store {
    /// Returns all bytes of an object.
    pub async fn get(&self, path: &Path) -> Result<Bytes> {
        if let Some(file) = self.local_path(path) {
            let within = self.within();
            return self.blocking(path, file, move |file| files::read(&file, &within)).await;
        }
        let get = || async { self.object_store().get(path).await?.bytes().await };
        self.retry(get).await.map_err(|error| self.failed(&error, path))
    }

    /// Returns these ranges of an object, each complete. Neighbouring ranges are fetched together.
    ///
    /// If a range goes past the end, the object is corrupt: either the pointer to the range is
    /// wrong, or the object is torn.
    pub async fn get_ranges(&self, path: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        if let Some(file) = self.local_path(path) {
            let (wanted, within) = (ranges.to_vec(), self.within());
            return match self.blocking(path, file, move |file| files::read_ranges(&file, &wanted, &within)).await? {
                files::Ranges::Read(bytes) => Ok(bytes),
                files::Ranges::TooShort { size } => Err(self.too_short(path, ranges, size)),
            };
        }
        self.fetch_ranges(path, ranges, None).await
    }

    /// Returns these ranges of an object that others may replace and that is not a local file. All
    /// ranges come from the version in `seen`, or from the first version that is returned. If the
    /// object was replaced, the call fails with an error of its own kind.
    pub(crate) async fn get_ranges_of(
        &self,
        path: &Path,
        ranges: &[Range<u64>],
        seen: &OnceLock<ObjectVersion>,
    ) -> Result<Vec<Bytes>> {
        self.fetch_ranges(path, ranges, Some(seen)).await
    }

    async fn fetch_ranges(
        &self,
        path: &Path,
        ranges: &[Range<u64>],
        seen: Option<&OnceLock<ObjectVersion>>,
    ) -> Result<Vec<Bytes>> {
        // Stores refuse empty ranges.
        let wanted: Vec<Range<u64>> = ranges.iter().filter(|range| !range.is_empty()).cloned().collect();
        let fetch = || async {
            let Some(seen) = seen else { return self.object_store().get_ranges(path, &wanted).await };
            let fetch = |range: Range<u64>| self.get_of(path, GetOptions::new().with_range(Some(range)), Some(seen));
            coalesce_ranges(&wanted, fetch, OBJECT_STORE_COALESCE_DEFAULT).await
        };
        match self.retry(fetch).await {
            Ok(bytes) if complete(&bytes, &wanted) => Ok(with_empty_ones(bytes, ranges)),
            Ok(_) => Err(self.too_short(path, ranges, self.head(path).await?.size)),
            // Some web servers send only whole files.
            Err(object_store::Error::NotSupported { .. }) if self.is_web() => self.cut_ranges(path, ranges, seen).await,
            Err(object_store::Error::Precondition { .. }) if seen.is_some() => Err(Error::replaced(self.describe(path))),
            Err(error) => Err(self.explained(self.failed(&error, path), path, ranges, seen.and_then(OnceLock::get)).await),
        }
    }

    /// Returns the size and the modification time of an object.
    pub async fn head(&self, path: &Path) -> Result<ObjectMeta> {
        if let Some(file) = self.local_path(path) {
            let own = path.clone();
            return self.blocking(path, file, move |file| files::head(&file, &own)).await;
        }
        self.retry(|| self.object_store().head(path)).await.map_err(|error| self.failed(&error, path))
    }

    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        path: &Path,
        file: PathBuf,
        work: impl FnOnce(PathBuf) -> std::io::Result<T> + Send + 'static,
    ) -> Result<T> {
        let done = tokio::task::spawn_blocking(move || work(file)).await;
        // The name is formatted only for an error, because there may be a hundred thousand small
        // files.
        match done {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(error).at(self.describe(path)),
            Err(error) => Err(error).at(self.describe(path)),
        }
    }

    /// Replaces an unclear error by a better one. Stores reply to a range past the end in many
    /// ways, so the size of the object is requested. If the object has another version than `seen`,
    /// it was replaced.
    pub(in crate::store) async fn explained(
        &self,
        error: Error,
        path: &Path,
        ranges: &[Range<u64>],
        seen: Option<&ObjectVersion>,
    ) -> Error {
        use lakebed_core::error::ErrorKind;
        let unclear = matches!(error.kind(), ErrorKind::Store { retryable: false, not_found: false, .. });
        if !unclear {
            return error;
        }
        match self.head(path).await {
            Ok(found) if seen.is_some_and(|seen| !seen.is_of(&found)) => Error::replaced(self.describe(path)),
            Ok(found) if ranges.iter().any(|range| range.end > found.size) => self.too_short(path, ranges, found.size),
            _ => error,
        }
    }
}

fn with_empty_ones(bytes: Vec<Bytes>, ranges: &[Range<u64>]) -> Vec<Bytes> {
    if bytes.len() == ranges.len() {
        return bytes;
    }
    let mut bytes = bytes.into_iter();
    ranges.iter().map(|range| if range.is_empty() { Bytes::new() } else { bytes.next().unwrap_or_default() }).collect()
}

fn complete(bytes: &[Bytes], ranges: &[Range<u64>]) -> bool {
    bytes.len() == ranges.len()
        && bytes.iter().zip(ranges).all(|(bytes, range)| Some(bytes.len() as u64) == range.end.checked_sub(range.start))
}
