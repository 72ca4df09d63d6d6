//! The read set of a transaction, as far as it concerns files. The predicates of the reads are kept
//! by the code that can evaluate them.

use std::collections::{BTreeSet, HashSet};

use crate::Result;
use crate::log::files::{FileBatch, FileKey};

/// The read set of a transaction.
#[derive(Debug, Clone, Default)]
pub struct Reads {
    whole_table: bool,
    /// Whether the effects depend on the list of files, and not only on their rows.
    list_of_files: bool,
    by_predicate: bool,
    /// Whether the effects depend on rows that stay.
    by_staying: bool,
    paths: HashSet<FileKey>,
    app_ids: BTreeSet<String>,
}

impl Reads {
    /// Records that all rows were read, in all files. Every change of another transaction is then a
    /// conflict.
    pub fn whole_table(&mut self) {
        self.whole_table = true;
    }

    /// Records that the list of the table's files was read. A commit that only rearranges rows is
    /// then a conflict, too.
    pub fn list_of_files(&mut self) {
        self.whole_table = true;
        self.list_of_files = true;
    }

    /// Returns whether the list of the table's files was read.
    pub(super) fn has_list_of_files(&self) -> bool {
        self.list_of_files
    }

    /// Records that rows were read by a predicate. This holds even if no rows were found.
    pub fn by_predicate(&mut self) {
        self.by_predicate = true;
    }

    /// Records that these files were read.
    pub fn files(&mut self, files: &FileBatch) -> Result<()> {
        self.paths.extend(files.paths()?.iter().flatten().map(path_key));
        Ok(())
    }

    /// Adds the read set of other work of the same transaction.
    pub fn extend(&mut self, other: Self) {
        self.whole_table |= other.whole_table;
        self.list_of_files |= other.list_of_files;
        self.by_predicate |= other.by_predicate;
        self.by_staying |= other.by_staying;
        self.paths.extend(other.paths);
        self.app_ids.extend(other.app_ids);
    }

    /// Records that these files were read too.
    pub(super) fn keys(&mut self, files: impl IntoIterator<Item = FileKey>) {
        self.paths.extend(files);
    }

    /// Records that the effects depend on rows of the read files that the transaction leaves as
    /// they are.
    pub fn staying_rows(&mut self) {
        self.by_staying = true;
    }

    /// Returns whether the transaction only read rows that it deletes. Then changes of other
    /// transactions in the same files do not matter, as long as they concern other rows.
    pub(super) fn is_of_deleted_rows_alone(&self) -> bool {
        !self.whole_table && !self.by_staying
    }

    /// Records that this application's transaction identifier was read.
    pub fn application(&mut self, app_id: &str) {
        self.app_ids.insert(app_id.to_owned());
    }

    /// Returns whether all rows were read.
    pub fn is_whole_table(&self) -> bool {
        self.whole_table
    }

    /// Returns whether any data was read. Rows that other transactions add matter in this case.
    pub fn is_of_data(&self) -> bool {
        self.whole_table || self.by_predicate || !self.paths.is_empty()
    }

    /// Returns whether the file with this path was read, with any deletion vector.
    pub(super) fn has_key(&self, path: &FileKey) -> bool {
        self.paths.contains(path)
    }

    /// Returns whether this application's transaction identifier was read.
    pub fn has_application(&self, app_id: &str) -> bool {
        self.app_ids.contains(app_id)
    }
}

/// Returns the key of a file by its path alone.
pub(super) fn path_key(path: &str) -> FileKey {
    FileKey::new(path, None)
}
