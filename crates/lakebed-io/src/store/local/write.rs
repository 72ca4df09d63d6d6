//! Writes a local file from an asynchronous task.

use lakebed_core::error::Result;
use object_store::path::Path;

use super::file_path::file_path;
use super::files::NewFile;
use super::hidden_file::Flush;
use crate::at::{At, written};
use crate::store::Store;

impl Store {
    /// Returns when local files are flushed to the disk.
    pub(in crate::store) fn flush(&self) -> Flush {
        self.0.file_rules.flush
    }

    /// Writes a local file on a thread for blocking work.
    pub(in crate::store) async fn write_file<T: Send + 'static>(
        &self,
        path: &Path,
        work: impl FnOnce(&std::path::Path, &NewFile<'_>) -> std::io::Result<T> + Send + 'static,
    ) -> Result<T> {
        let (file, unique, within) = (file_path(path), self.options().env.new_uuid(), self.within());
        let done = tokio::task::spawn_blocking(move || work(&file, &NewFile { unique: &unique, within: &within })).await;
        done.at(self.describe(path))?.map_err(|error| written(error, &self.describe(path)))
    }
}
