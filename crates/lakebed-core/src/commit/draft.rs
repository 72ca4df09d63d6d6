//! The changes of a transaction, and the lines of the commit that makes them on top of a version.
//!
//! A draft has no version. Everything that depends on the version or on values that other commits
//! assigned (row ids, commit versions of rows, in-commit timestamps) is decided each time
//! [`Draft::render`] is called, so that a retry after a conflict needs no corrections.

use std::collections::HashMap;
use std::sync::Arc;

use crate::action::{Action, Add, Cdc, DeletionVectorDescriptor, DomainMetadata, Metadata, Protocol, Remove, SetTransaction};
use crate::dv::DeletionVector;
use crate::error::ConflictKind;
use crate::feature::downgrade::{CHECKPOINT_PROTECTION, PROTECTED_BEFORE};
use crate::feature::supported_features;
use crate::log::files::{FileBatch, column};
use crate::property::{IsolationLevel, TableProperties};
use crate::{Error, ErrorKind, Result};

use super::base::Base;
use super::copied::CopiedFiles;
use super::info::{Operation, Provenance, commit_info};
use super::reads::Reads;
use super::row_ids::{self, RowIds};

/// The properties that record the beginning of in-commit timestamps, if the table did not have them
/// from its first version.
const ENABLEMENT: [&str; 2] = ["delta.inCommitTimestampEnablementVersion", "delta.inCommitTimestampEnablementTimestamp"];

/// The changes that a transaction makes.
#[derive(Debug, Clone, Default)]
pub struct Draft {
    /// The new protocol.
    pub protocol: Option<Protocol>,
    /// The new metadata: schema, partitioning and properties.
    pub metadata: Option<Metadata>,
    /// Files that are added to the table. Files without row ids get new ones.
    pub adds: Vec<Add>,
    /// Files of an older version that come back to the table in the form in which that version had
    /// them. A file that the table has with another deletion vector is among `removes`, too.
    pub restored: Vec<FileBatch>,
    /// Files of another table that are added to the table. The draft has no other new files then.
    pub copied: Option<CopiedFiles>,
    /// Files that are removed from the table.
    pub removes: Vec<Removal>,
    /// Tombstones of files that no `add` names: files with deletion vectors. Vacuums of writers
    /// that know no deletion vectors keep these files for the retention period.
    pub tombstones: Vec<String>,
    /// Files that lose rows.
    pub vectors: Vec<VectorChange>,
    /// Change data files.
    pub cdc: Vec<Cdc>,
    /// The new transaction identifiers of applications.
    pub transactions: Vec<SetTransaction>,
    /// Domain metadata by name.
    pub domains: Vec<DomainMetadata>,
}

/// Files that are removed from the table, in the form in which the table has them.
#[derive(Debug, Clone)]
pub struct Removal {
    /// The files.
    pub files: FileBatch,
    /// False if the rows of the files stay in the table.
    pub data_change: bool,
}

/// A file that stays, with more of its rows deleted.
#[derive(Debug, Clone)]
pub struct VectorChange {
    /// The file in the form in which the table has it, with the statistics that it keeps.
    pub before: Add,
    /// The deletion vector of the file after the change.
    pub after: DeletionVectorDescriptor,
    /// The rows that this change deletes. Rows that were deleted before are not included.
    pub deleted: DeletionVector,
}

/// A commit that is ready to be written.
#[derive(Debug, Clone)]
pub struct Rendered {
    /// The version of the commit.
    pub version: u64,
    /// The lines of its file, without those of copied files.
    pub bytes: Vec<u8>,
}

impl Draft {
    /// Returns whether the draft changes nothing.
    pub fn is_empty(&self) -> bool {
        let has_actions = self.protocol.is_some() || self.metadata.is_some() || self.has_file_actions() || !self.cdc.is_empty();
        !has_actions && self.transactions.is_empty() && self.domains.is_empty() && self.tombstones.is_empty()
    }

    /// Returns whether files are added or removed.
    pub fn has_file_actions(&self) -> bool {
        let removes = self.removes.iter().any(|removal| !removal.files.is_empty());
        !self.adds.is_empty() || self.copied.is_some() || !self.vectors.is_empty() || removes || self.restores()
    }

    fn restores(&self) -> bool {
        self.restored.iter().any(|files| !files.is_empty())
    }

    /// Returns whether nothing was read and files are only added. The changes of other transactions
    /// do not matter in this case.
    pub fn is_blind_append(&self, reads: &Reads) -> bool {
        let removes = self.removes.iter().any(|removal| !removal.files.is_empty()) || !self.vectors.is_empty();
        !removes && self.tombstones.is_empty() && self.copied.is_none() && self.cdc.is_empty() && !reads.is_of_data()
    }

    /// Returns the isolation level. Commits that only move rows need not consider rows that other
    /// commits add.
    pub fn isolation(&self, of_table: IsolationLevel) -> IsolationLevel {
        let others = self.protocol.is_some() || self.metadata.is_some() || !self.transactions.is_empty();
        let domains = self.domains.iter().any(|domain| domain.domain != row_ids::DOMAIN);
        if others || domains || self.changes_data() { of_table } else { IsolationLevel::SnapshotIsolation }
    }

    /// Returns whether rows of the table change.
    pub fn changes_data(&self) -> bool {
        !self.vectors.is_empty()
            || self.restores()
            || self.copied.is_some()
            || self.adds.iter().any(|add| add.data_change)
            || self.removes.iter().any(|removal| removal.data_change && !removal.files.is_empty())
    }

    /// Returns the paths of the removed files. Files with changed deletion vectors are included.
    pub fn removed_paths(&self) -> Result<Vec<&str>> {
        let mut paths: Vec<&str> = self.vectors.iter().map(|change| change.before.path.as_str()).collect();
        for removal in &self.removes {
            paths.extend(removal.files.paths()?.iter().flatten());
        }
        Ok(paths)
    }

    /// Returns the commit that makes these changes on top of `base`.
    pub fn render(&self, base: &Base, operation: &Operation, told: &Provenance, now_ms: i64) -> Result<Rendered> {
        self.rendered(base, operation, told, now_ms, true)
    }

    /// Returns the commit as a transaction reads it before it ends. New rows have no row ids yet:
    /// the commit assigns them, above those of commits that come first.
    pub fn render_pending(&self, base: &Base, now_ms: i64) -> Result<Rendered> {
        self.rendered(base, &Operation::default(), &Provenance::default(), now_ms, false)
    }

    fn rendered(
        &self,
        base: &Base,
        operation: &Operation,
        told: &Provenance,
        now_ms: i64,
        gives_row_ids: bool,
    ) -> Result<Rendered> {
        let version = base.next_version();
        let mut lines = Lines::default();
        let features = supported_features(self.protocol.as_ref().unwrap_or(&base.protocol));
        let after = self.properties_after(base)?;
        let timestamp = after.in_commit_timestamps.then(|| in_commit_timestamp(base, now_ms));
        lines.push(Action::CommitInfo(commit_info(operation, told, now_ms, timestamp)))?;
        if let Some(protocol) = &self.protocol {
            lines.push(Action::Protocol(protocol.clone()))?;
        }
        if let Some(metadata) = &self.metadata {
            let mut metadata = with_history(metadata, base, version, timestamp);
            // The property ends only with its feature.
            if features.contains(&CHECKPOINT_PROTECTION) || !supported_features(&base.protocol).contains(&CHECKPOINT_PROTECTION) {
                keep_property(&mut metadata.configuration, PROTECTED_BEFORE, base);
            }
            lines.push(Action::Metadata(metadata))?;
        }
        for transaction in &self.transactions {
            lines.push(Action::SetTransaction(transaction.clone()))?;
        }
        let tracks_rows = row_ids::are_given(self.protocol.as_ref().unwrap_or(&base.protocol), &after);
        let mut row_ids = (gives_row_ids && tracks_rows).then(|| RowIds::above(base.row_id_high_water_mark, version));
        if let Some(copied) = &self.copied {
            if !copied.may_be_in(version) {
                return Err(begin_again(version));
            }
            row_ids = copied.row_ids().cloned();
        }
        for add in &self.adds {
            lines.push(Action::Add(with_row_ids(add, row_ids.as_mut())?))?;
        }
        for files in &self.restored {
            for add in files.to_adds()? {
                let mut add = Add { data_change: true, ..add };
                if !features.contains(&"rowTracking") {
                    // The row ids of an older version mean nothing after row tracking was dropped.
                    (add.base_row_id, add.default_row_commit_version) = (None, None);
                }
                lines.push(Action::Add(with_row_ids(&add, row_ids.as_mut())?))?;
            }
        }
        for change in &self.vectors {
            lines.push(Action::Remove(remove(change.before.clone(), now_ms, true)))?;
            lines.push(Action::Add(with_row_ids(&change.after(), row_ids.as_mut())?))?;
        }
        self.push_removals(now_ms, &mut lines)?;
        for cdc in &self.cdc {
            lines.push(Action::Cdc(cdc.clone()))?;
        }
        for domain in &self.domains {
            lines.push(Action::DomainMetadata(domain.clone()))?;
        }
        if let Some(mark) = row_ids.map(|ids| ids.high_water_mark()).filter(|mark| *mark > base.row_id_high_water_mark) {
            lines.push(Action::DomainMetadata(row_ids::domain(mark)?))?;
        }
        Ok(Rendered { version, bytes: lines.0 })
    }

    fn push_removals(&self, now_ms: i64, lines: &mut Lines) -> Result<()> {
        for removal in &self.removes {
            for add in removal.files.to_adds()? {
                lines.push(Action::Remove(remove(add, now_ms, removal.data_change)))?;
            }
        }
        for path in &self.tombstones {
            lines.push(Action::Remove(tombstone(path, now_ms)))?;
        }
        Ok(())
    }

    /// Returns the properties that are valid after this commit.
    fn properties_after(&self, base: &Base) -> Result<TableProperties> {
        match &self.metadata {
            Some(metadata) => TableProperties::parse(&metadata.configuration),
            None => Ok(base.properties.clone()),
        }
    }
}

impl VectorChange {
    /// Returns the file after the change. After it, the bounds in its statistics are no longer
    /// tight.
    pub fn after(&self) -> Add {
        Add { deletion_vector: Some(self.after.clone()), data_change: true, ..self.before.clone() }
    }
}

#[derive(Default)]
struct Lines(Vec<u8>);

impl Lines {
    fn push(&mut self, action: Action) -> Result<()> {
        action.write_line(&mut self.0)
    }
}

/// Returns the error for row ids that were given for another version.
fn begin_again(version: u64) -> Error {
    let kind = ErrorKind::CommitConflict {
        kind: ConflictKind::ConcurrentAppend,
        winner_version: version.saturating_sub(1),
        retryable: true,
    };
    Error::new(kind, "another writer committed first, and row ids must be given anew; nothing was committed, try again")
}

/// Returns the in-commit timestamp of the commit. PROTOCOL "In-Commit Timestamps": the timestamp is
/// later than that of the previous version.
fn in_commit_timestamp(base: &Base, now_ms: i64) -> i64 {
    base.in_commit_timestamp.map_or(now_ms, |before| now_ms.max(before.saturating_add(1)))
}

/// Returns metadata with the properties that tell since when the table has in-commit timestamps.
fn with_history(metadata: &Metadata, base: &Base, version: u64, in_commit_timestamp: Option<i64>) -> Metadata {
    let mut metadata = metadata.clone();
    let configuration = &mut metadata.configuration;
    match (in_commit_timestamp, base.version) {
        (Some(_), Some(_)) if base.properties.in_commit_timestamps => {
            ENABLEMENT.iter().for_each(|name| keep_property(configuration, name, base));
        }
        (Some(timestamp), Some(_)) => {
            let values = [version.to_string(), timestamp.to_string()];
            configuration.extend(ENABLEMENT.map(str::to_owned).into_iter().zip(values.map(Some)));
        }
        _ => {}
    }
    metadata
}

/// Keeps a property, unless the new configuration has its own value.
fn keep_property(configuration: &mut HashMap<String, Option<String>>, name: &str, base: &Base) {
    if let (None, Some(value)) = (configuration.get(name), base.metadata.configuration.get(name)) {
        configuration.insert(name.to_owned(), value.clone());
    }
}

fn with_row_ids(add: &Add, row_ids: Option<&mut RowIds>) -> Result<Add> {
    let Some(row_ids) = row_ids else { return Ok(add.clone()) };
    let (base_row_id, version) = row_ids.give(add)?;
    Ok(Add { base_row_id: Some(base_row_id), default_row_commit_version: Some(version), ..add.clone() })
}

/// Returns the tombstone of a file. It keeps the facts about the file that change feeds and row
/// tracking need.
fn remove(add: Add, now_ms: i64, data_change: bool) -> Remove {
    Remove {
        path: add.path,
        deletion_timestamp: Some(now_ms),
        data_change,
        extended_file_metadata: Some(true),
        partition_values: Some(add.partition_values),
        size: Some(add.size),
        stats: None,
        tags: add.tags,
        deletion_vector: add.deletion_vector,
        base_row_id: add.base_row_id,
        default_row_commit_version: add.default_row_commit_version,
    }
}

/// Returns the tombstone of a file that is no data file.
fn tombstone(path: &str, now_ms: i64) -> Remove {
    Remove {
        path: path.to_owned(),
        deletion_timestamp: Some(now_ms),
        data_change: false,
        extended_file_metadata: None,
        partition_values: None,
        size: None,
        stats: None,
        tags: None,
        deletion_vector: None,
        base_row_id: None,
        default_row_commit_version: None,
    }
}

impl FileBatch {
    /// Returns the files as actions.
    pub fn to_adds(&self) -> Result<Vec<Add>> {
        // An action has its statistics as JSON.
        let files = match self.column(column::STATS_PARSED) {
            Some(_) => self.with_column(column::STATS, Arc::new(self.stat_texts()?))?,
            None => self.clone(),
        };
        let actions = crate::log::checkpoint::file_actions(&files.as_checkpoint()?, "_delta_log")?;
        actions
            .into_iter()
            .map(|action| match action {
                Action::Add(add) => Ok(add),
                _ => Err(Error::internal("a batch of files with other actions")),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
