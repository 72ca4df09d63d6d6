//! The read set of a transaction. A commit of another writer that touches it conflicts with the
//! transaction.

use std::sync::Arc;

use lakebed_core::commit::reads::Reads;
use lakebed_core::log::files::FileBatch;
use lakebed_expr::prune::Pruner;

use super::partitions::Partitions;
use crate::Result;
use crate::scan::plan::may_match;

/// The read set of a version: the whole table, rows by predicates, and files.
#[derive(Debug, Clone, Default)]
pub struct ReadSet {
    pub(super) reads: Reads,
    pub(super) predicates: Vec<ReadPredicate>,
}

/// A predicate by which rows were read.
#[derive(Debug, Clone)]
pub(super) enum ReadPredicate {
    Filter(Arc<Pruner>),
    Partitions(Partitions),
}

impl ReadSet {
    /// Records that all rows were read, or that all files are replaced. Any change of another
    /// writer conflicts with that.
    pub fn all(&mut self) {
        self.reads.whole_table();
    }

    /// Records that the list of the table's files was read. Any commit of another writer that adds
    /// or removes files conflicts with that, even if no row changes.
    pub fn list_of_files(&mut self) {
        self.reads.list_of_files();
    }

    /// Records that the rows that a filter matches were read. Rows that other writers add later
    /// count too.
    pub fn matching(&mut self, pruner: Arc<Pruner>) {
        self.reads.by_predicate();
        self.predicates.push(ReadPredicate::Filter(pruner));
    }

    /// Records that all rows of some partitions were read. Rows that other writers add later count
    /// too.
    pub fn partitions(&mut self, partitions: Partitions) {
        self.reads.by_predicate();
        self.predicates.push(ReadPredicate::Partitions(partitions));
    }

    /// Records that these files were read.
    pub fn files(&mut self, files: &FileBatch) -> Result<()> {
        self.reads.files(files)
    }

    /// Records that the work depends on rows of these files that it does not change. An example is
    /// a merge that inserts source rows without a match. Otherwise, deletions of other writers in
    /// the same files are no conflict.
    pub fn staying_rows(&mut self) {
        self.reads.staying_rows();
    }

    /// Records that the work depends on the last transaction identifier of an application.
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
    /// Returns whether any of these files may hold rows that were read.
    pub(super) fn may_match(&self, files: &FileBatch) -> Result<bool> {
        match self {
            Self::Filter(pruner) => Ok(may_match(pruner, files)?.has_true()),
            Self::Partitions(partitions) => partitions.may_hold(files),
        }
    }
}
