//! The location of a data file: its store, its path and its size.

use lakebed_core::log::files::{FileBatch, column};
use lakebed_core::path::FilePath;
use lakebed_io::parquet::{PageIndex, ParquetFile};
use lakebed_io::store::Store;
use object_store::path::Path;

use crate::Result;

/// The location of a file.
pub(super) struct FileLocation {
    store: Store,
    path: Path,
    /// The size in bytes, if the log knows it.
    size: Option<u64>,
}

impl FileLocation {
    /// Returns the file with this path, as the log spells it.
    pub(super) fn new(table: &Store, path: &str, size: Option<u64>) -> Result<Self> {
        let (store, path) = table.resolve(&FilePath::parse(path)?)?;
        // Some writers do not know the size and write 0.
        Ok(Self { store, path, size: size.filter(|size| *size > 0) })
    }

    /// Returns the file that this row of a batch describes.
    pub(super) fn of(table: &Store, batch: &FileBatch, row: usize) -> Result<Self> {
        let size = batch.longs(column::SIZE)?.value(row);
        Self::new(table, batch.paths()?.value(row), u64::try_from(size).ok())
    }

    /// Returns whether the file is in a local file system.
    pub(super) fn is_local(&self) -> bool {
        self.store.local_path(&self.path).is_some()
    }

    /// Opens the file and reads its footer.
    pub(super) async fn open(&self, page_index: PageIndex) -> Result<ParquetFile> {
        ParquetFile::open(&self.store, &self.path, self.size, page_index).await
    }
}
