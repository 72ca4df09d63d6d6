//! The state of a version in a few numbers, to compare the state that a checkpoint has with the one
//! that commits have.

use std::collections::BTreeMap;
use std::pin::pin;

use arrow_array::Array;
use futures::TryStreamExt;
use lakebed_core::action::{Action, Metadata, Protocol};
use lakebed_core::commit::row_ids;
use lakebed_core::log::checksum::{Tally, VersionChecksum, metadata_difference, protocol_difference};
use lakebed_core::log::files::{FileBatch, column};
use lakebed_core::path::LogPath;
use twox_hash::XxHash3_128;

use crate::checkpoint::other_actions;
use crate::scan::plan::{Plan, PlanOptions};
use crate::snapshot::commit_info;
use crate::{Result, Snapshot};

/// The state of a version in a few numbers.
pub(crate) struct StateDigest {
    /// The number of data files.
    pub(crate) files: u64,
    /// The sum of hashes of all file actions. Its value does not depend on their order.
    sum: u128,
    tally: Tally,
    protocol: Protocol,
    metadata: Metadata,
    others: Vec<Action>,
}

impl StateDigest {
    /// Reads the state of a version from exactly the files of the log that the snapshot names.
    /// `visit` is called with each batch of files.
    pub(crate) async fn read(snapshot: &Snapshot, mut visit: impl FnMut(&FileBatch) -> Result<()>) -> Result<Self> {
        let mut digest = Self {
            files: 0,
            sum: 0,
            tally: Tally::default(),
            protocol: snapshot.protocol().clone(),
            metadata: snapshot.metadata().clone(),
            others: other_actions(snapshot).await?,
        };
        let partitions = snapshot.physical_partition_columns();
        let options = PlanOptions { row_counts: true, ..PlanOptions::default() };
        let mut files = pin!(Plan::new(snapshot, None, options)?.files_as_logged());
        while let Some(batch) = files.try_next().await? {
            digest.files += batch.len() as u64;
            digest.tally.add_files(&batch)?;
            digest.sum = digest.sum.wrapping_add(sum_of(&batch, &partitions)?);
            visit(&batch)?;
        }
        Ok(digest)
    }

    /// Returns how this state differs from the state that commits have, if it does.
    pub(crate) fn difference(&self, commits: &Self) -> Option<String> {
        if let Some(what) = protocol_difference(&self.protocol, &commits.protocol) {
            return Some(format!("it has a different {what}"));
        }
        if let Some(what) = metadata_difference(&self.metadata, &commits.metadata) {
            return Some(format!("it has a different {what}"));
        }
        if self.files != commits.files {
            return Some(format!("it has {} files, but the commits have {}", self.files, commits.files));
        }
        if self.sum != commits.sum {
            return Some("it has the same number of files, but not the same files".to_owned());
        }
        if transactions(&self.others) != transactions(&commits.others) {
            return Some("it has different transaction identifiers".to_owned());
        }
        (domains(&self.others) != domains(&commits.others)).then(|| "it has different domain metadata".to_owned())
    }

    /// Returns the high-water mark of row ids.
    pub(crate) fn row_id_mark(&self) -> Result<i64> {
        let domain = self.others.iter().find_map(|action| match action {
            Action::DomainMetadata(domain) if domain.domain == row_ids::DOMAIN => Some(domain),
            _ => None,
        });
        row_ids::high_water_mark(domain)
    }

    /// Returns the checksum of this state, as far as it can be computed.
    pub(crate) async fn checksum(&self, snapshot: &Snapshot) -> Option<VersionChecksum> {
        let info = commit_info(snapshot.store(), &LogPath::commit(snapshot.version())).await.ok().flatten();
        let (mut transactions, mut domains) = (Vec::new(), Vec::new());
        for action in &self.others {
            match action {
                Action::SetTransaction(txn) => transactions.push(txn.clone()),
                Action::DomainMetadata(domain) => domains.push(domain.clone()),
                _ => {}
            }
        }
        let head = (self.protocol.clone(), self.metadata.clone());
        VersionChecksum::of_state(self.tally.clone(), head, (Some(transactions), Some(domains)), info.as_ref())
    }
}

/// Returns the sum of hashes of the file actions in a batch.
fn sum_of(batch: &FileBatch, partitions: &[String]) -> Result<u128> {
    let (paths, sizes, row_ids) = (batch.paths()?, batch.longs(column::SIZE)?, batch.longs(column::BASE_ROW_ID)?);
    let values = partitions.iter().map(|name| batch.partition_texts(name)).collect::<Result<Vec<_>>>()?;
    let rows = batch.row_counts()?;
    let mut sum: u128 = 0;
    let mut text = Vec::new();
    for row in 0..batch.len() {
        text.clear();
        text.extend_from_slice(paths.value(row).as_bytes());
        text.push(0xFF);
        if let Some(vector) = batch.deletion_vector(row)? {
            text.extend_from_slice(vector.unique_id().as_bytes());
            text.extend_from_slice(&vector.cardinality.to_le_bytes());
        }
        for number in [&sizes, &row_ids, &rows] {
            text.push(0xFF);
            if number.is_valid(row) {
                text.extend_from_slice(&number.value(row).to_le_bytes());
            }
        }
        for texts in &values {
            text.push(0xFF);
            // PROTOCOL "Partition Value Serialization": an empty string stands for null.
            if texts.is_valid(row) {
                text.extend_from_slice(texts.value(row).as_bytes());
            }
        }
        sum = sum.wrapping_add(XxHash3_128::oneshot(&text));
    }
    Ok(sum)
}

fn transactions(others: &[Action]) -> BTreeMap<&str, i64> {
    let mut found = BTreeMap::new();
    for action in others {
        if let Action::SetTransaction(txn) = action {
            found.insert(txn.app_id.as_str(), txn.version);
        }
    }
    found
}

fn domains(others: &[Action]) -> BTreeMap<&str, &str> {
    let mut found = BTreeMap::new();
    for action in others {
        if let Action::DomainMetadata(domain) = action
            && !domain.removed
        {
            found.insert(domain.domain.as_str(), domain.configuration.as_str());
        }
    }
    found
}
