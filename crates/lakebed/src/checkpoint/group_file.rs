//! Writes a checkpoint file with one group of rows.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use lakebed_core::log::checkpoint::write::CheckpointRows;
use lakebed_io::checkpoint::{CheckpointFile, count_rows};
use lakebed_io::store::{Existing, Store};
use object_store::path::Path;

use super::state::CheckpointGroup;
use super::written::WrittenCounts;
use crate::Result;

/// Writes a file with one group and reads it again; returns its size and the counts of its rows.
pub(super) async fn write_group(
    store: &Store,
    (path, existing): (&Path, Existing),
    (rows, schema): (Arc<CheckpointRows>, SchemaRef),
    group: CheckpointGroup,
) -> Result<(u64, WrittenCounts)> {
    let mut file = CheckpointFile::begin(store, path, schema, existing).await?;
    let encoder = file.encoders().begin()?;
    let (row_group, summary) = match group.encode(rows, encoder).await {
        Ok(encoded) => encoded,
        Err(error) => {
            file.abort().await;
            return Err(error);
        }
    };
    file.append(row_group).await?;
    let size_bytes = file.finish().await?;
    summary.check(count_rows(store, path).await, &store.describe(path))?;
    Ok((size_bytes, summary))
}
