//! What a transaction read of the table, as far as files go. The predicates by which it read stay
//! with who can evaluate them.

use std::collections::{BTreeSet, HashSet};

use crate::Result;
use crate::log::files::{FileBatch, FileKey};

/// What was read.
#[derive(Debug, Clone, Default)]
pub struct Reads {
    whole_table: bool,
    by_predicate: bool,
    /// What is done depends on rows that stay.
    by_staying: bool,
    paths: HashSet<FileKey>,
    app_ids: BTreeSet<String>,
}

impl Reads {
    /// All rows were read, whatever the files: any change of another is a conflict.
    pub fn whole_table(&mut self) {
        self.whole_table = true;
    }

    /// Rows were asked for by a predicate, whether any were found or not.
    pub fn by_predicate(&mut self) {
        self.by_predicate = true;
    }

    /// These files were read.
    pub fn files(&mut self, files: &FileBatch) -> Result<()> {
        self.paths.extend(files.paths()?.iter().flatten().map(path_key));
        Ok(())
    }

    /// Adds what other work of the same transaction read.
    pub fn extend(&mut self, other: Self) {
        self.whole_table |= other.whole_table;
        self.by_predicate |= other.by_predicate;
        self.by_staying |= other.by_staying;
        self.paths.extend(other.paths);
        self.app_ids.extend(other.app_ids);
    }

    /// These files were read too.
    pub(super) fn keys(&mut self, files: impl IntoIterator<Item = FileKey>) {
        self.paths.extend(files);
    }

    /// What is done depends on rows of the files read that it leaves as they are.
    pub fn staying_rows(&mut self) {
        self.by_staying = true;
    }

    /// Whether somebody else's changes in a file of which rows are deleted here do not matter as
    /// long as they concern other rows.
    pub(super) fn is_of_deleted_rows_alone(&self) -> bool {
        !self.whole_table && !self.by_staying
    }

    /// It was looked how far this application has come.
    pub fn application(&mut self, app_id: &str) {
        self.app_ids.insert(app_id.to_owned());
    }

    /// Whether all rows were read.
    pub fn is_whole_table(&self) -> bool {
        self.whole_table
    }

    /// Whether any data was read; what others add is then of interest.
    pub fn is_of_data(&self) -> bool {
        self.whole_table || self.by_predicate || !self.paths.is_empty()
    }

    /// Whether the file with this path was read, with whatever deletion vector.
    pub(super) fn has_key(&self, path: &FileKey) -> bool {
        self.paths.contains(path)
    }

    /// Whether it was looked how far this application has come.
    pub fn has_application(&self, app_id: &str) -> bool {
        self.app_ids.contains(app_id)
    }
}

/// A file by its path alone.
pub(super) fn path_key(path: &str) -> FileKey {
    FileKey::new(path, None)
}
