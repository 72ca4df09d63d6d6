//! Transactions: the reads and writes on top of a snapshot become one commit, or none.
//!
//! A [`Transaction`] records its read set, which is checked against the commits of other writers,
//! and a draft of its actions. `commit` writes the version. If other writers committed first, it
//! rebases the transaction on their commits and tries the next version; `lakebed_core::commit`
//! decides about conflicts. `write` writes the data files before the commit.

mod application;
mod commit;
mod committed;
mod group;
mod partitions;
mod read_set;
pub(crate) mod retry;
pub(crate) mod staged;
mod updated_rows;
mod vector_file;
mod vectors;
mod winners;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lakebed_core::action::{Add, Cdc, DomainMetadata, Metadata, Protocol, SetTransaction};
use lakebed_core::commit::base::{Base, ROW_TRACKING_DOMAIN};
use lakebed_core::commit::copied::CopiedFiles;
use lakebed_core::commit::draft::{Draft, Removal};
use lakebed_core::commit::info::{IDENTITY_ONLY_TAG, ROW_TRACKING_PRESERVED_TAG};
use lakebed_core::feature::upgrade::upgrade;
use lakebed_core::feature::{check_write, supported_features};
use lakebed_core::log::files::FileBatch;
use lakebed_core::path::LogPath;
use lakebed_core::property::TableProperties;
use lakebed_io::env::Env;
use lakebed_io::store::{Store, Unflushed};

use crate::checkpoint::CheckpointAhead;
use crate::runtime::spool::Spooled;
use crate::snapshot::commit_info;
use crate::upkeep::UpkeepOptions;
use crate::{Result, Snapshot};

pub(crate) use application::Standing;

pub use application::{Application, Batch, OtherApplication};
pub use committed::Committed;
pub use lakebed_core::commit::info::Operation;
pub use lakebed_core::commit::info_entries::InfoEntries;
pub use partitions::Partitions;
pub use read_set::ReadSet;
pub(crate) use updated_rows::UpdatedRows;
use vector_file::VectorFile;
pub use vectors::Noted;

/// The default time limit of a commit while other writers take its version first.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);

/// Changes to a table that become one version, all or nothing.
#[derive(Debug)]
pub struct Transaction {
    store: Store,
    env: Env,
    /// The snapshot on which the transaction is based. It is `None` while the table does not exist.
    snapshot: Option<Snapshot>,
    base: Base,
    draft: Draft,
    read: ReadSet,
    /// Whether some of the added files are in the table already.
    adds_again: bool,
    /// The lines of files of another table.
    copied_lines: Spooled,
    /// The checkpoint of the new version, if it was begun. A lock is necessary because threads cannot
    /// share it.
    checkpoint: Mutex<Option<Box<CheckpointAhead>>>,
    /// Files that the commit has to wait for until they are flushed to disk.
    unflushed: Vec<Unflushed>,
    /// Data files and change data files that were written for this transaction. They are kept only for
    /// an operation of a larger transaction, which deletes them if it fails.
    written: Vec<Add>,
    /// Files with deletion vectors that were written for this transaction.
    vector_files: Vec<VectorFile>,
    /// The rows that an operation of a larger transaction updated.
    updated: Option<Arc<UpdatedRows>>,
    settings: CommitSettings,
}

/// Options of a commit.
#[derive(Debug, Clone)]
pub struct CommitSettings {
    /// Metadata of the caller, kept in the history.
    pub user_metadata: Option<String>,
    /// Entries of the caller in `commitInfo`, beside those that lakebed records.
    pub commit_info: InfoEntries,
    /// Whether a checkpoint and a cleanup of the log may follow the commit.
    pub upkeep: UpkeepOptions,
    /// The time limit for the commit while other writers take its version first.
    pub timeout: Duration,
    /// Tags of the commit, for other writers.
    pub tags: BTreeMap<String, String>,
}

impl Default for CommitSettings {
    fn default() -> Self {
        Self {
            user_metadata: None,
            commit_info: InfoEntries::default(),
            upkeep: UpkeepOptions::default(),
            timeout: DEFAULT_TIMEOUT,
            tags: BTreeMap::new(),
        }
    }
}

impl CommitSettings {
    /// Returns the settings of a caller that may leave the time limit to the default.
    pub(crate) fn of(
        user_metadata: Option<&String>,
        commit_info: &InfoEntries,
        upkeep: UpkeepOptions,
        timeout: Option<Duration>,
    ) -> Self {
        Self {
            user_metadata: user_metadata.cloned(),
            commit_info: commit_info.clone(),
            upkeep,
            timeout: timeout.unwrap_or(DEFAULT_TIMEOUT),
            ..Self::default()
        }
    }
}

impl Transaction {
    /// Begins a transaction on top of a snapshot. It is an error, before anything is written, if
    /// lakebed cannot write the table correctly.
    pub async fn begin(snapshot: &Snapshot, settings: CommitSettings) -> Result<Self> {
        check_write(snapshot.protocol(), snapshot.url())?;
        snapshot.properties().check_readable().map_err(|error| error.within(snapshot.url()))?;
        Ok(Self {
            store: snapshot.store().clone(),
            env: snapshot.env().clone(),
            base: base_of(snapshot).await?,
            snapshot: Some(snapshot.clone()),
            draft: Draft::default(),
            read: ReadSet::default(),
            adds_again: false,
            copied_lines: Spooled::default(),
            checkpoint: Mutex::default(),
            unflushed: Vec::new(),
            written: Vec::new(),
            vector_files: Vec::new(),
            updated: None,
            settings,
        })
    }

    /// Begins a transaction that creates a table where there is none.
    pub fn create(store: Store, env: Env, protocol: Protocol, metadata: Metadata, settings: CommitSettings) -> Result<Self> {
        check_write(&protocol, store.url())?;
        let base = Base::of_nothing(protocol.clone(), metadata.clone())?;
        let draft = Draft { protocol: Some(protocol), metadata: Some(metadata), ..Draft::default() };
        Ok(Self {
            store,
            env,
            snapshot: None,
            base,
            draft,
            read: ReadSet::default(),
            adds_again: false,
            copied_lines: Spooled::default(),
            checkpoint: Mutex::default(),
            unflushed: Vec::new(),
            written: Vec::new(),
            vector_files: Vec::new(),
            updated: None,
            settings,
        })
    }

    /// Returns the snapshot on which the transaction is based, or `None` while the table does not
    /// exist.
    pub fn snapshot(&self) -> Option<&Snapshot> {
        self.snapshot.as_ref()
    }

    /// Returns the store of the table.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the read set of this transaction, as far as it is known.
    pub fn read(&mut self) -> &mut ReadSet {
        &mut self.read
    }

    /// Adds new files.
    pub fn add(&mut self, files: impl IntoIterator<Item = Add>) {
        self.draft.adds.extend(files);
    }

    /// Adds files again that the table has, with other facts about them: row ids or statistics.
    pub fn add_again(&mut self, files: impl IntoIterator<Item = Add>) {
        let before = self.draft.adds.len();
        self.draft.adds.extend(files);
        self.adds_again |= self.draft.adds.len() > before;
    }

    /// Adds a new file that may not be flushed to disk yet. The commit waits for that.
    pub fn add_unflushed(&mut self, file: Add, unflushed: Unflushed) {
        if self.is_operation() {
            self.written.push(file.clone());
        }
        self.draft.adds.push(file);
        self.unflushed.push(unflushed);
    }

    /// Returns whether this is an operation of a transaction with several operations.
    fn is_operation(&self) -> bool {
        self.snapshot.as_ref().is_some_and(Snapshot::is_pending)
    }

    /// Begins a collection of files that the new version takes over from another table.
    pub fn copied_files(&self) -> Result<CopiedFiles> {
        let properties = TableProperties::parse(&self.metadata().configuration)?;
        Ok(CopiedFiles::new(&self.base, self.protocol(), &properties))
    }

    /// Adds files of another table, with their lines, and the checkpoint that has them if it was
    /// begun.
    pub(crate) fn take_over(&mut self, files: CopiedFiles, lines: Spooled, checkpoint: Option<CheckpointAhead>) {
        self.draft.copied = Some(files);
        self.copied_lines = lines;
        self.checkpoint = Mutex::new(checkpoint.map(Box::new));
    }

    fn take_checkpoint(&mut self) -> Option<Box<CheckpointAhead>> {
        self.checkpoint.get_mut().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Removes files from the table. `data_change` is false when their rows stay in the table.
    pub fn remove(&mut self, files: FileBatch, data_change: bool) {
        self.draft.removes.push(Removal { files, data_change });
    }

    /// Adds tombstones of files that are no data files. A vacuum keeps these files for the retention
    /// period.
    pub(crate) fn keep_files(&mut self, paths: impl IntoIterator<Item = String>) {
        self.draft.tombstones.extend(paths);
    }

    /// Adds files of an older version back, in the form in which that version had them.
    pub fn restore(&mut self, files: FileBatch) {
        self.draft.restored.push(files);
    }

    /// Adds a change data file that may not be flushed to disk yet. The commit waits for that.
    pub fn add_changes(&mut self, file: Cdc, unflushed: Unflushed) {
        if self.is_operation() {
            let Cdc { path, partition_values, size, .. } = file.clone();
            self.written.push(Add { path, partition_values, size, ..Add::default() });
        }
        self.draft.cdc.push(file);
        self.unflushed.push(unflushed);
    }

    /// Replaces all change data files, and returns those that were replaced.
    pub(crate) fn replace_changes(&mut self, files: impl IntoIterator<Item = (Cdc, Unflushed)>) -> Vec<Cdc> {
        let replaced = std::mem::take(&mut self.draft.cdc);
        files.into_iter().for_each(|(file, unflushed)| self.add_changes(file, unflushed));
        replaced
    }

    /// Keeps the rows that were updated, for the change data feed of a larger transaction.
    pub(crate) fn set_updated(&mut self, updated: Arc<UpdatedRows>) {
        self.updated = Some(updated);
    }

    /// Sets new metadata, such as another schema or other properties.
    pub fn set_metadata(&mut self, metadata: Metadata) {
        self.draft.metadata = Some(metadata);
    }

    /// Sets another protocol.
    pub fn set_protocol(&mut self, protocol: Protocol) {
        self.draft.protocol = Some(protocol);
    }

    /// Raises the protocol to one with all features of the table and of `wanted`.
    pub fn raise_protocol(&mut self, wanted: &Protocol) -> Result<()> {
        let raised = upgrade(self.protocol(), supported_features(wanted))?;
        if let Some(raised) = raised {
            self.set_protocol(raised);
        }
        Ok(())
    }

    /// Sets an application's number of its last write.
    pub fn set_application(&mut self, app_id: &str, version: i64) {
        let last_updated = Some(self.env.now_ms());
        self.draft.transactions.push(SetTransaction { app_id: app_id.to_owned(), version, last_updated });
    }

    /// Sets a domain: configuration under a name.
    pub fn set_domain(&mut self, domain: DomainMetadata) {
        self.draft.domains.retain(|other| other.domain != domain.domain);
        self.draft.domains.push(domain);
    }

    /// Declares that the metadata changes only in the high water marks of identity columns. Other
    /// writers may ignore such a change.
    pub fn mark_identity_only(&mut self) {
        self.settings.tags.insert(IDENTITY_ONLY_TAG.to_owned(), "true".to_owned());
    }

    /// Declares that rows keep their row ids when they move to other files, if the table tracks
    /// rows.
    pub fn keep_row_ids(&mut self) {
        if self.base.properties.row_tracking {
            self.settings.tags.insert(ROW_TRACKING_PRESERVED_TAG.to_owned(), "true".to_owned());
        }
    }

    /// Returns the metadata as it will be after the commit.
    pub fn metadata(&self) -> &Metadata {
        self.draft.metadata.as_ref().unwrap_or(&self.base.metadata)
    }

    /// Returns the protocol as it will be after the commit.
    pub fn protocol(&self) -> &Protocol {
        self.draft.protocol.as_ref().unwrap_or(&self.base.protocol)
    }

    /// Returns the draft of the commit so far.
    pub fn draft(&self) -> &Draft {
        &self.draft
    }
}

async fn base_of(snapshot: &Snapshot) -> Result<Base> {
    if snapshot.is_pending() {
        // Row ids and timestamps are decided when the whole transaction is committed.
        return Base::of_version(snapshot.version(), snapshot.protocol().clone(), snapshot.metadata().clone(), None, None);
    }
    let has_row_ids = snapshot.protocol().writer_features.iter().flatten().any(|feature| feature == "rowTracking");
    let domain = if has_row_ids { snapshot.domain_metadata(ROW_TRACKING_DOMAIN).await? } else { None };
    let timestamp = if snapshot.properties().in_commit_timestamps { in_commit_timestamp(snapshot).await? } else { None };
    Base::of_version(snapshot.version(), snapshot.protocol().clone(), snapshot.metadata().clone(), domain.as_ref(), timestamp)
}

async fn in_commit_timestamp(snapshot: &Snapshot) -> Result<Option<i64>> {
    let told = snapshot.checksum().and_then(|checksum| checksum.in_commit_timestamp);
    // Every later commit has a later timestamp. So a timestamp that lies in the future is not taken
    // from a checksum alone.
    if let Some(timestamp) = told.filter(|told| *told <= snapshot.env().now_ms()) {
        return Ok(Some(timestamp));
    }
    let info = commit_info(snapshot.store(), &LogPath::commit(snapshot.version())).await?;
    Ok(info.and_then(|info| info.in_commit_timestamp()))
}
