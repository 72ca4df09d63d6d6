//! Reads the footers of the files of a conversion.

use futures::{StreamExt, TryStreamExt, stream};
use lakebed_io::parquet::{PageIndex, ParquetFile};

use super::listing::ListedFile;
use super::source::Request;
use crate::file_progress::Reporter;
use crate::{Error, Result};

/// The number of footers that are read at the same time.
const FOOTERS: usize = 64;

/// Returns the footers of these files. `advice` tells what to do with a file that is not Parquet.
pub(super) async fn read_footers(request: &Request<'_>, files: &[ListedFile], advice: &str) -> Result<Vec<ParquetFile>> {
    let store = request.store;
    let total_bytes = files.iter().map(|file| file.size).sum();
    let reporter = &Reporter::new(request.watcher.clone(), files.len() as u64, total_bytes);
    let opening = files.iter().map(|file| async move {
        let opened = ParquetFile::open(store, &file.path, Some(file.size), PageIndex::Skip).await;
        reporter.done(file.size);
        opened.map_err(|error| match error.is_corrupt() {
            true => Error::invalid_input(format!(
                "{}: this is not a Parquet file ({}): {advice}",
                store.describe(&file.path),
                error.message()
            )),
            false => error,
        })
    });
    // The collection makes the futures owned, so that they may be polled in any order.
    stream::iter(opening.collect::<Vec<_>>()).buffered(FOOTERS).try_collect().await
}
