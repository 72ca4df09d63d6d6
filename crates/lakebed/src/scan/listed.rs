//! Files of a table as its log lists them.

use lakebed_core::log::files::{FileBatch, column};
use lakebed_core::path::FilePath;
use lakebed_io::parquet::{PageIndex, ParquetFile};
use lakebed_io::store::Store;
use object_store::path::Path;

use crate::Result;

/// Where a file is.
pub(super) struct Listed {
    store: Store,
    path: Path,
    /// If the log knows it.
    size: Option<u64>,
}

impl Listed {
    /// The file of this path, as the log spells it.
    pub(super) fn new(table: &Store, path: &str, size: Option<u64>) -> Result<Self> {
        let (store, path) = table.resolve(&FilePath::parse(path)?)?;
        // Some writers do not know the size and put 0.
        Ok(Self { store, path, size: size.filter(|size| *size > 0) })
    }

    /// The file of a row.
    pub(super) fn of(table: &Store, batch: &FileBatch, row: usize) -> Result<Self> {
        let size = batch.longs(column::SIZE)?.value(row);
        Self::new(table, batch.paths()?.value(row), u64::try_from(size).ok())
    }

    /// Whether it is in a file system of this machine.
    pub(super) fn is_local(&self) -> bool {
        self.store.local_path(&self.path).is_some()
    }

    /// Reads its footer.
    pub(super) async fn open(&self, page_index: PageIndex) -> Result<ParquetFile> {
        ParquetFile::open(&self.store, &self.path, self.size, page_index).await
    }
}
