//! Deleted rows by the names of their files: the form in which another process gives them, and the
//! files of a snapshot that have these names.
//!
//! Begin with [`DeletedRows::resolve`].

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use futures::{StreamExt, TryStreamExt};
use lakebed_core::dv::DeletionVector;
use lakebed_core::log::files::FileBatch;

use super::deleted::{DeletedRows, NamedRows, PartOfFile};
use crate::scan::plan::{Plan, PlanOptions};
use crate::{Error, Result, Snapshot};

impl NamedRows {
    /// Adds other deleted rows of the same file.
    fn join(&mut self, other: Self) -> Result<()> {
        if self.vector != other.vector {
            return Err(Error::invalid_input(format!(
                "{}: deleted rows of this file come from two versions of the table, with different deletion vectors",
                self.path
            )));
        }
        self.rows = self.rows.take().zip(other.rows).map(|(rows, more)| rows.union(&more));
        Ok(())
    }
}

impl DeletedRows {
    /// Returns all rows by the names of their files.
    pub(crate) fn to_named(&self) -> Result<Vec<NamedRows>> {
        let mut named = self.named.clone();
        for files in &self.whole {
            for row in 0..files.len() {
                named.push(named_rows(files, row, None)?);
            }
        }
        for part in &self.parts {
            named.push(named_rows(&part.file, 0, Some(part.rows.clone()))?);
        }
        Ok(named)
    }

    /// Finds the files of the rows that other processes named. A file that is not in the snapshot,
    /// or that has another deletion vector there, is an error.
    pub(crate) async fn resolve(mut self, snapshot: &Snapshot) -> Result<Self> {
        let mut named = by_path(std::mem::take(&mut self.named)).map_err(|error| error.within(snapshot.url()))?;
        if named.is_empty() {
            return Ok(self);
        }
        let options = PlanOptions { whole_actions: true, row_counts: true, ..PlanOptions::default() };
        let mut files = Plan::new(snapshot, None, options)?.files().boxed();
        let mut found = Self::default();
        while !named.is_empty()
            && let Some(batch) = files.try_next().await?
        {
            found.take_files(&mut named, &batch).map_err(|error| error.within(snapshot.url()))?;
        }
        if let Some(missing) = named.keys().min() {
            let (url, version) = (snapshot.url(), snapshot.version());
            return Err(Error::invalid_input(format!(
                "{url}: rows of {missing} are to be deleted, but version {version} does not have this file"
            )));
        }
        self.join(found);
        Ok(self)
    }

    /// Takes the files of this batch that have named rows. Their rows are removed from `named`.
    fn take_files(&mut self, named: &mut HashMap<String, NamedRows>, batch: &FileBatch) -> Result<()> {
        let (paths, mut whole) = (batch.paths()?, Vec::new());
        for row in 0..batch.len() {
            let Some(NamedRows { path, vector, rows }) = named.remove(paths.value(row)) else { continue };
            let file = batch.slice(row, 1);
            if named_rows(&file, 0, None)?.vector != vector {
                return Err(Error::invalid_input(format!(
                    "{path}: rows are to be deleted, but the file has another deletion vector than it had when it was read"
                )));
            }
            let Some(rows) = rows else {
                whole.push(row);
                continue;
            };
            let add = file.to_adds()?.pop().ok_or_else(|| Error::internal("a file has no action"))?;
            let count = add.num_records().and_then(|count| u64::try_from(count).ok());
            if let (Some(last), Some(count)) = (rows.last(), count)
                && last >= count
            {
                return Err(Error::invalid_input(format!("{path}: row {last} is to be deleted, but the file has {count} rows")));
            }
            self.parts.push(PartOfFile { file, add, rows });
        }
        if !whole.is_empty() {
            self.whole.push(batch.take(&whole)?);
        }
        Ok(())
    }
}

fn named_rows(files: &FileBatch, row: usize, rows: Option<DeletionVector>) -> Result<NamedRows> {
    let vector = files.deletion_vector(row)?.map(|vector| vector.unique_id());
    Ok(NamedRows { path: files.paths()?.value(row).to_owned(), vector, rows })
}

/// Returns the rows by path. Rows of one file that several processes named are joined.
fn by_path(named: Vec<NamedRows>) -> Result<HashMap<String, NamedRows>> {
    let mut by_path: HashMap<String, NamedRows> = HashMap::with_capacity(named.len());
    for rows in named {
        match by_path.entry(rows.path.clone()) {
            Entry::Occupied(mut known) => known.get_mut().join(rows)?,
            Entry::Vacant(place) => {
                place.insert(rows);
            }
        }
    }
    Ok(by_path)
}
