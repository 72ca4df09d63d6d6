//! Counts the rows of a checkpoint file by reading it. This proves that it can be read before a
//! hint names it.

use std::collections::BTreeMap;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use futures::TryStreamExt;
use lakebed_core::error::{Error, Result};
use lakebed_core::log::checkpoint::columns;
use object_store::path::Path;

use super::{projection, unless_replaced};
use crate::parquet::{Cores, PageIndex, ParquetFile, ReadOptions};
use crate::store::Store;

/// For each kind of action, a leaf that is never null in it.
const TELLERS: columns::Columns = &[
    &["txn", "appId"],
    &["add", "size"],
    &["remove", "path"],
    &["metaData", "id"],
    &["protocol", "minReaderVersion"],
    &["domainMetadata", "domain"],
    &["checkpointMetadata", "version"],
    &["sidecar", "path"],
];

/// The number of rows that fill each column. Columns without values are left out.
pub type RowCounts = BTreeMap<String, u64>;

/// Reads a checkpoint file to its end and counts its rows.
pub async fn count_rows(store: &Store, path: &Path) -> Result<RowCounts> {
    unless_replaced(|| count_now(store, path)).await
}

async fn count_now(store: &Store, path: &Path) -> Result<RowCounts> {
    let file = ParquetFile::open_replaceable(store, path, None, PageIndex::Skip).await?;
    let mask = projection(&file, |leaf| columns::hold(TELLERS, leaf.path().parts()));
    let options = ReadOptions { projection: Some(mask), ..ReadOptions::default() };
    let mut batches = file.read(options, &Cores::new())?;
    let mut counts = RowCounts::new();
    while let Some(batch) = batches.try_next().await? {
        for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
            let leaf = column.as_struct_opt().and_then(|action| action.columns().first());
            let leaf =
                leaf.ok_or_else(|| Error::corrupt(file.name(), format!("column {} is not a struct array", field.name())))?;
            let filled = (leaf.len() - leaf.null_count()) as u64;
            if filled > 0 {
                *counts.entry(field.name().clone()).or_default() += filled;
            }
        }
    }
    Ok(counts)
}
