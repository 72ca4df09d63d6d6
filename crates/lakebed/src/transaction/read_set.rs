//! What a transaction read. The commits of other writers that touch it conflict with the transaction.

use std::sync::Arc;

use lakebed_core::commit::reads::Reads;
use lakebed_core::log::files::FileBatch;
use lakebed_expr::prune::Pruner;

use super::partitions::Partitions;
use crate::Result;
use crate::scan::plan::may_match;

/// What was read of a version: the whole table, rows by predicates, files.
#[derive(Debug, Default)]
pub struct ReadSet {
    pub(super) reads: Reads,
    pub(super) predicates: Vec<ReadPredicate>,
}

/// A predicate by which rows were read.
#[derive(Debug)]
pub(super) enum ReadPredicate {
    Filter(Arc<Pruner>),
    Partitions(Partitions),
}

impl ReadSet {
    /// All rows were read, or all files are replaced. Any change of another writer touches that.
    pub fn all(&mut self) {
        self.reads.whole_table();
    }

    /// The rows that a filter matches were read, also those that do not exist.
    pub fn matching(&mut self, pruner: Arc<Pruner>) {
        self.reads.by_predicate();
        self.predicates.push(ReadPredicate::Filter(pruner));
    }

    /// All rows of some partitions were read, also those that do not exist.
    pub fn partitions(&mut self, partitions: Partitions) {
        self.reads.by_predicate();
        self.predicates.push(ReadPredicate::Partitions(partitions));
    }

    /// These files were read.
    pub fn files(&mut self, files: &FileBatch) -> Result<()> {
        self.reads.files(files)
    }

    /// The work depends on rows of these files which it does not change, such as a merge that inserts what it does not find.
    /// Otherwise, deletions of other writers in the same files are no conflict.
    pub fn staying_rows(&mut self) {
        self.reads.staying_rows();
    }

    /// The work depends on the last transaction identifier of an application.
    pub fn application(&mut self, app_id: &str) {
        self.reads.application(app_id);
    }

    /// Adds what other work of the same transaction read.
    pub fn extend(&mut self, other: Self) {
        self.reads.extend(other.reads);
        self.predicates.extend(other.predicates);
    }
}

impl ReadPredicate {
    /// Whether any of these files may hold rows that were read.
    pub(super) fn may_match(&self, files: &FileBatch) -> Result<bool> {
        match self {
            Self::Filter(pruner) => Ok(may_match(pruner, files)?.has_true()),
            Self::Partitions(partitions) => partitions.may_hold(files),
        }
    }
}
