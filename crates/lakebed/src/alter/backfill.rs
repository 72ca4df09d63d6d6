//! Gives row ids to the files of a table that gets row tracking. PROTOCOL "Row Tracking": all files
//! must have them before the property is set.
//!
//! The protocol is raised first, so that files of other writers get row ids from then on. Then the
//! files without row ids are added to the log again, some thousand in each commit. Begin with
//! [`backfill`].

use futures::TryStreamExt;
use lakebed_core::action::{Add, Protocol};
use lakebed_core::commit::info::Operation;
use lakebed_core::error::ConflictKind;
use lakebed_core::feature::supported_features;
use lakebed_core::feature::upgrade::upgrade;
use serde_json::{Value, json};

use crate::scan::plan::{Plan, PlanOptions};
use crate::transaction::retry::{Retry, Retryable};
use crate::transaction::{CommitSettings, Committed, Transaction};
use crate::{Error, Result, Snapshot, Table};

/// The most files of one commit, as in Delta Spark.
const FILES_AT_ONCE: usize = 100_000;

/// Gives row ids to all files without them. Returns the newest snapshot if anything was committed.
pub(super) async fn backfill(table: &Table, snapshot: &Snapshot, settings: &CommitSettings) -> Result<Option<Snapshot>> {
    table.refuse_in_transaction("giving row ids to the files that the table has")?;
    let retryable = Retryable::of([
        ConflictKind::ProtocolChanged,
        ConflictKind::MetadataChanged,
        ConflictKind::ConcurrentAppend,
        ConflictKind::ConcurrentDeleteRead,
    ]);
    let mut retry = Retry::new(table.env(), settings, retryable);
    let (mut newest, mut committed) = (snapshot.clone(), false);
    loop {
        match step(table, &newest, settings).await {
            Ok(None) => return Ok(committed.then_some(newest)),
            Ok(Some(version)) => {
                committed = true;
                newest = version;
            }
            Err(error) => {
                retry.again(error).await?;
                newest = table.snapshot().await?.by_log().await?;
            }
        }
    }
}

/// Commits the next step, if there is one: the protocol, or row ids of some files.
async fn step(table: &Table, snapshot: &Snapshot, settings: &CommitSettings) -> Result<Option<Snapshot>> {
    let mut transaction = Transaction::begin(snapshot, settings.clone()).await?;
    if !supported_features(snapshot.protocol()).contains(&"rowTracking") {
        let Some(protocol) = upgrade(snapshot.protocol(), ["rowTracking"])? else { return Ok(None) };
        let operation = Operation::new("UPGRADE PROTOCOL").with("newProtocol", in_history(&protocol).to_string());
        transaction.set_protocol(protocol);
        return commit(table, transaction, operation).await.map(Some);
    }
    let files = files_without_row_ids(snapshot).await?;
    if files.is_empty() {
        return Ok(None);
    }
    transaction.add_again(files);
    commit(table, transaction, Operation::new("ROW TRACKING BACKFILL").with("batchId", "0")).await.map(Some)
}

async fn commit(table: &Table, transaction: Transaction, operation: Operation) -> Result<Snapshot> {
    let Committed { version, snapshot, .. } = transaction.commit(operation).await?;
    let snapshot = match snapshot {
        Some(snapshot) => snapshot,
        None => table.snapshot_at(version).await?,
    };
    table.keep(&snapshot).await;
    Ok(snapshot)
}

/// Returns files that have no row ids, at most as many as one commit takes.
async fn files_without_row_ids(snapshot: &Snapshot) -> Result<Vec<Add>> {
    let plan = Plan::new(snapshot, None, PlanOptions { whole_actions: true, ..PlanOptions::default() })?;
    let mut batches = plan.files();
    let mut files = Vec::new();
    while let Some(batch) = batches.try_next().await? {
        for add in batch.to_adds()?.into_iter().filter(|add| add.base_row_id.is_none()) {
            if add.num_records().is_none() {
                return Err(Error::invalid_input(format!(
                    "{}: row ids need the number of rows of each file, and the log does not have that of {}; optimize the table \
                     with statistics first",
                    snapshot.url(),
                    add.path
                )));
            }
            files.push(Add { data_change: false, ..add });
            if files.len() == FILES_AT_ONCE {
                return Ok(files);
            }
        }
    }
    Ok(files)
}

/// Returns a protocol as Delta Spark writes it to the history.
fn in_history(protocol: &Protocol) -> Value {
    json!({
        "minReaderVersion": protocol.min_reader_version,
        "minWriterVersion": protocol.min_writer_version,
        "readerFeatures": protocol.reader_features,
        "writerFeatures": protocol.writer_features,
    })
}
