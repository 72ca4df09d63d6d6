//! The checksum of a version, computed from the checksum of the previous version and the commit
//! between them.
//!
//! Delta Spark refuses a table with a wrong checksum, so an uncertain value is left out.

use std::collections::{BTreeMap, HashSet};

use super::tally::{Tally, may_have_vectors};
use super::{MAX_LISTED, VersionChecksum};
use crate::Result;
use crate::action::json::{CommitLines, FileLine, Line, each_line};
use crate::action::{Action, CommitInfo, DomainMetadata, Metadata, Protocol, SetTransaction};
use crate::log::files::FileKey;
use crate::property::TableProperties;

/// Facts about the commit that its lines do not show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileChanges {
    /// No added file was in the table before, and every removed file was. The writer has made sure
    /// of this.
    Exact,
    /// The commit may add a file that is already in the table, or remove one that is not. Then the
    /// sums cannot be continued.
    Unknown,
}

/// Computes the checksum of the version that a commit creates. It must read all lines of the
/// commit.
pub struct Successor {
    changes: FileChanges,
    state: State,
    tally: Tally,
    /// The files that the commit names. If a file occurs twice, the result would depend on the
    /// order of lines, which has no meaning.
    touched: HashSet<FileKey>,
    is_known: bool,
}

/// The state except the sums.
#[derive(Default)]
struct State {
    protocol: Option<Protocol>,
    metadata: Option<Metadata>,
    transactions: Option<BTreeMap<String, SetTransaction>>,
    domains: Option<BTreeMap<String, DomainMetadata>>,
    had_retention: bool,
    info: Option<CommitInfo>,
}

impl Successor {
    /// Starts before version 0, so the commit of version 0 is next.
    pub fn of_nothing() -> Self {
        let state = State { transactions: Some(BTreeMap::new()), domains: Some(BTreeMap::new()), ..State::default() };
        Self::new(FileChanges::Exact, state, Tally::default())
    }

    /// Starts after the version with this checksum.
    pub fn of(previous: &VersionChecksum, changes: FileChanges) -> Self {
        let transactions = previous.set_transactions.as_ref();
        let domains = previous.domain_metadata.as_ref();
        let state = State {
            protocol: Some(previous.protocol.clone()),
            metadata: Some(previous.metadata.clone()),
            transactions: transactions.map(|all| all.iter().map(|txn| (txn.app_id.clone(), txn.clone())).collect()),
            domains: domains.map(|all| all.iter().map(|domain| (domain.domain.clone(), domain.clone())).collect()),
            had_retention: forgets_transactions(&previous.metadata),
            info: None,
        };
        Self::new(changes, state, Tally::of(previous))
    }

    fn new(changes: FileChanges, state: State, tally: Tally) -> Self {
        Self { changes, state, tally, touched: HashSet::new(), is_known: true }
    }

    /// Reads lines of the commit.
    pub fn read(&mut self, part: CommitLines<'_>) -> Result<()> {
        each_line(part, |line| {
            match line {
                Line::File(FileLine::Add(add)) => {
                    let vector = add.deletion_vector.as_ref();
                    self.touch(&add.path, vector.map(|dv| dv.unique_id()));
                    self.tally.count(add.size, vector.map(|dv| dv.cardinality), 1);
                }
                Line::File(FileLine::Remove(remove)) => {
                    let vector = remove.deletion_vector.as_ref();
                    self.touch(&remove.path, vector.map(|dv| dv.unique_id()));
                    self.is_known &= remove.size.is_some();
                    self.tally.count(remove.size.unwrap_or(0), vector.map(|dv| dv.cardinality), -1);
                }
                Line::Other(action) => self.state.set(action),
                Line::Nothing => {}
            }
            Ok(())
        })
    }

    /// Adds files that the commit adds in lines that are not read: their keys, and the sums over them.
    pub fn add_files(&mut self, keys: &[FileKey], sums: &Tally) {
        keys.iter().for_each(|key| self.touch_key(*key));
        self.tally.merge(sums);
    }

    fn touch(&mut self, path: &str, dv_id: Option<String>) {
        self.touch_key(FileKey::new(path, dv_id.as_deref()));
    }

    fn touch_key(&mut self, key: FileKey) {
        let is_new = self.touched.insert(key);
        self.is_known &= is_new && self.changes == FileChanges::Exact;
    }

    /// Returns the checksum of the new version, if it can be computed.
    pub fn finish(self) -> Option<VersionChecksum> {
        if !self.is_known {
            return None;
        }
        let state = self.state;
        let transactions = state.transactions.filter(|_| !state.had_retention).map(|all| all.into_values().collect());
        let domains = state.domains.map(|all| all.into_values().collect());
        VersionChecksum::of_state(self.tally, (state.protocol?, state.metadata?), (transactions, domains), state.info.as_ref())
    }
}

impl State {
    fn set(&mut self, action: Action) {
        match action {
            Action::Protocol(protocol) => self.protocol = Some(protocol),
            Action::Metadata(metadata) => self.metadata = Some(metadata),
            Action::SetTransaction(txn) => {
                if let Some(all) = &mut self.transactions {
                    all.insert(txn.app_id.clone(), txn);
                }
            }
            Action::DomainMetadata(domain) => {
                if let Some(all) = &mut self.domains {
                    match domain.removed {
                        true => all.remove(&domain.domain),
                        false => all.insert(domain.domain.clone(), domain),
                    };
                }
            }
            Action::CommitInfo(info) => self.info = Some(info),
            Action::Add(_) | Action::Remove(_) | Action::Cdc(_) | Action::CheckpointMetadata(_) | Action::Sidecar(_) => {}
        }
    }
}

/// Returns whether transactions may expire between the commit and its reader. Delta Spark does not
/// list the transactions of such a table.
pub(super) fn forgets_transactions(metadata: &Metadata) -> bool {
    TableProperties::parse(&metadata.configuration).map_or(true, |properties| properties.set_transaction_retention_ms.is_some())
}

impl VersionChecksum {
    /// Returns the checksum of a version, computed from its whole state. `info` belongs to the
    /// version's commit. The result is `None` if no table can have this state.
    ///
    /// For transactions and domains, `None` means unknown.
    pub fn of_state(
        tally: Tally,
        (protocol, metadata): (Protocol, Metadata),
        (transactions, domains): (Option<Vec<SetTransaction>>, Option<Vec<DomainMetadata>>),
        info: Option<&CommitInfo>,
    ) -> Option<Self> {
        let properties = TableProperties::parse(&metadata.configuration).ok()?;
        let in_commit_timestamp = info.and_then(CommitInfo::in_commit_timestamp).filter(|_| properties.in_commit_timestamps);
        if !tally.is_possible() || (properties.in_commit_timestamps && in_commit_timestamp.is_none()) {
            return None;
        }
        let vectors = tally.vectors.filter(|_| may_have_vectors(&protocol));
        Some(Self {
            table_size_bytes: tally.size_bytes,
            num_files: tally.num_files,
            set_transactions: transactions.filter(|all| all.len() <= MAX_LISTED && !forgets_transactions(&metadata)),
            domain_metadata: domains.filter(|all| all.len() <= MAX_LISTED),
            metadata,
            protocol,
            in_commit_timestamp,
            txn_id: info.and_then(|info| info.text("txnId")).map(str::to_owned),
            num_deleted_records: vectors.as_ref().map(|vectors| vectors.deleted),
            num_deletion_vectors: vectors.as_ref().map(|vectors| vectors.count),
            deleted_record_counts: vectors.as_ref().and_then(|vectors| vectors.by_deleted),
            file_size_histogram: tally.sizes,
        })
    }
}
