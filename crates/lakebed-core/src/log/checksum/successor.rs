//! The checksum of a version out of that of the version before and the commit between them.
//!
//! A wrong checksum makes Delta Spark refuse the table, so there is none rather than one that is
//! guessed.

use std::collections::{BTreeMap, HashSet};

use super::tally::{Tally, may_have_vectors};
use super::{MAX_LISTED, VersionChecksum};
use crate::Result;
use crate::action::json::{CommitLines, FileLine, Line, each_line};
use crate::action::{Action, CommitInfo, DomainMetadata, Metadata, Protocol, SetTransaction};
use crate::log::files::FileKey;
use crate::property::TableProperties;

/// What is known of the commit besides its lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileChanges {
    /// Its writer knows that every file that it adds was not in the table, and that every file that
    /// it removes was.
    Exact,
    /// It may add a file that is in the table already, or remove one that is not: then sums cannot
    /// be carried on.
    Unknown,
}

/// A checksum in the making: shown all lines of one commit, it gives the checksum of the version
/// that the commit made.
pub struct Successor {
    changes: FileChanges,
    state: State,
    tally: Tally,
    /// The files that the commit names: a file that comes twice makes the order of lines count,
    /// which they do not have.
    touched: HashSet<FileKey>,
    is_known: bool,
}

/// Everything but sums.
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
    /// After no version: the commit of version 0 is to come.
    pub fn of_nothing() -> Self {
        let state = State { transactions: Some(BTreeMap::new()), domains: Some(BTreeMap::new()), ..State::default() };
        Self::new(FileChanges::Exact, state, Tally::default())
    }

    /// After the version with this checksum.
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

    /// Takes lines of the commit.
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

    fn touch(&mut self, path: &str, dv_id: Option<String>) {
        let is_new = self.touched.insert(FileKey::new(path, dv_id.as_deref()));
        self.is_known &= is_new && self.changes == FileChanges::Exact;
    }

    /// The checksum of the new version, if it can be known.
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

/// What a transaction of such a table says may be forgotten between the commit and its reader:
/// Delta Spark does not list them then.
pub(super) fn forgets_transactions(metadata: &Metadata) -> bool {
    TableProperties::parse(&metadata.configuration).map_or(true, |properties| properties.set_transaction_retention_ms.is_some())
}

impl VersionChecksum {
    /// The checksum of a version from its whole state; `info` is its commit's. Nothing if the state
    /// cannot be that of a table.
    ///
    /// Of transactions and domains `None` means that they are not known.
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
