//! Tombstones of the files of deletion vectors.
//!
//! Older versions still have deletion vectors. A vacuum keeps their files as long as it keeps the
//! data files, but a writer that knows no deletion vectors does not know these files. It does know
//! tombstones. So each of the files gets one, as in Delta Spark.

use std::collections::{BTreeSet, HashSet};

use futures::TryStreamExt;
use lakebed_core::action::{DeletionVectorDescriptor, DvStorage};
use lakebed_core::commit::info::Operation;
use lakebed_core::dv::{self, DvLocation};
use lakebed_core::path::FilePath;

use super::steps::Steps;
use crate::checkpoint::tombstones;
use crate::transaction::Transaction;
use crate::{Result, Snapshot};

/// Commits the tombstones that are missing.
pub(super) async fn keep_files(steps: &mut Steps<'_>, snapshot: &Snapshot) -> Result<()> {
    let missing = missing(snapshot).await?;
    if missing.is_empty() {
        return Ok(());
    }
    let mut transaction = Transaction::begin(snapshot, steps.settings()).await?;
    transaction.keep_files(missing);
    steps.commit(transaction, Operation::new("Deletion Vector Tombstones")).await.map(drop)
}

/// Returns the files of deletion vectors within the retention period that have no tombstone.
async fn missing(snapshot: &Snapshot) -> Result<BTreeSet<String>> {
    let mut log = snapshot.readable_log().await?;
    loop {
        match missing_by(log.snapshot()).await {
            Err(error) => log.mend(error).await?,
            found => return found,
        }
    }
}

async fn missing_by(snapshot: &Snapshot) -> Result<BTreeSet<String>> {
    let mut batches = tombstones(snapshot).await?;
    let (mut vectors, mut kept) = (BTreeSet::new(), HashSet::new());
    while let Some(batch) = batches.try_next().await? {
        for (row, path) in batch.paths()?.iter().enumerate() {
            match batch.deletion_vector(row)? {
                Some(vector) => vectors.extend(path_of(&vector)?),
                None => drop(kept.insert(path.unwrap_or_default().to_owned())),
            }
        }
    }
    vectors.retain(|path| !kept.contains(path));
    Ok(vectors)
}

/// Returns the path of a vector's file as the log spells it.
fn path_of(vector: &DeletionVectorDescriptor) -> Result<Option<String>> {
    Ok(match (dv::location(vector)?, vector.storage_type) {
        (DvLocation::File { path: FilePath::Relative(path), .. }, _) => Some(FilePath::encode(&path)),
        (DvLocation::File { .. }, DvStorage::AbsolutePath) => Some(vector.path_or_inline_dv.clone()),
        _ => None,
    })
}
