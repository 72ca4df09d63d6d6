//! Whether the deletion vectors of files are lost.

use futures::{StreamExt, TryStreamExt, stream};
use lakebed_core::log::files::{FileBatch, column};

use crate::check::{VectorState, damage};
use crate::scan::read::footer::FooterReader;
use crate::{Result, Snapshot};

/// The number of deletion vectors that are read at a time.
const AT_ONCE: usize = 16;

/// Returns for each file whether its deletion vector cannot be read, or does not fit the file.
pub(super) async fn are_lost(snapshot: &Snapshot, batch: &FileBatch) -> Result<Vec<bool>> {
    let footers = FooterReader::new(snapshot, Vec::new())?;
    let (paths, sizes) = (batch.paths()?, batch.longs(column::SIZE)?);
    let look = |row: usize| {
        let (footers, path, size) = (&footers, paths.value(row), u64::try_from(sizes.value(row)).ok());
        async move {
            // A descriptor that is not valid names no deletion vector that could be read.
            let Ok(vector) = batch.deletion_vector(row) else { return Ok(true) };
            let Some(vector) = vector else { return Ok(false) };
            let rows = damage(footers.open(path, size).await)?.ok().map(|footer| footer.num_rows());
            Ok(VectorState::read(snapshot.store(), &vector, rows).await? != VectorState::Sound)
        }
    };
    stream::iter((0..batch.len()).map(look)).buffered(AT_ONCE).try_collect().await
}
