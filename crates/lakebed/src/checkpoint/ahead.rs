//! The checkpoint of a table's first version, written while the files of the version are collected.
//!
//! The commit of a clone may have a million files. A checkpoint after it would have to read and parse
//! all of them again, so their rows are encoded on the way. The checkpoint is invisible until the
//! version exists. V2 checkpoints are written after the commit, because the names of their sidecars
//! are visible at once.

use std::fmt;
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::FuturesOrdered;
use lakebed_core::action::{Action, Metadata, Protocol};
use lakebed_core::log::checkpoint::write::{CheckpointRows, TableHead};
use lakebed_core::log::files::FileBatch;
use lakebed_core::path::checkpoint_name;
use lakebed_core::property::TableProperties;
use lakebed_io::checkpoint::CheckpointFile;
use lakebed_io::store::{Existing, Store};

use super::classic::publish;
use super::state::{CheckpointGroup, EncodingGroup, encoded, groups_at_once};
use super::v2;
use super::written::{WrittenCheckpoint, WrittenCounts};
use crate::{Error, Result, Snapshot};

/// The only version whose state is known before its commit: it has no files but the new ones.
const FIRST_VERSION: u64 = 0;

/// A checkpoint of a version that does not exist yet.
pub(crate) struct CheckpointAhead {
    store: Store,
    protocol: Protocol,
    metadata: Metadata,
    rows: Arc<CheckpointRows>,
    /// The file, from the first full group on. Small tables need no checkpoint.
    file: Option<CheckpointFile>,
    group: CheckpointGroup,
    encoding: FuturesOrdered<EncodingGroup>,
    summary: WrittenCounts,
}

impl CheckpointAhead {
    /// Begins a checkpoint of the first version of a table. `clustering` has the physical paths of
    /// its clustering columns. Returns `None` if the table has V2 checkpoints.
    pub(crate) fn begin(
        store: &Store,
        protocol: &Protocol,
        metadata: &Metadata,
        clustering: &[Vec<String>],
    ) -> Result<Option<Self>> {
        let properties = TableProperties::parse(&metadata.configuration)?;
        if v2::are_written(protocol, &properties) {
            return Ok(None);
        }
        let schema = lakebed_core::schema::parse(&metadata.schema_string)?;
        let table = TableHead { protocol, metadata, schema: &schema, properties: &properties };
        Ok(Some(Self {
            store: store.clone(),
            protocol: protocol.clone(),
            metadata: metadata.clone(),
            rows: Arc::new(CheckpointRows::new(table, clustering)?),
            file: None,
            group: CheckpointGroup::default(),
            encoding: FuturesOrdered::new(),
            summary: WrittenCounts::default(),
        }))
    }

    /// Adds files of the version, in the form in which its commit has them.
    pub(crate) async fn push(&mut self, files: FileBatch) -> Result<()> {
        self.group.push_files(files);
        if self.group.is_full() { self.begin_group().await } else { Ok(()) }
    }

    /// Ends the checkpoint of this version, which has this number of files and these other actions,
    /// and makes it visible.
    pub(super) async fn finish(mut self, snapshot: &Snapshot, others: &[Action], files: u64) -> Result<WrittenCheckpoint> {
        match self.finish_rows(snapshot, others, files).await.and_then(|()| self.file.take().ok_or_else(without_rows)) {
            Ok(file) => {
                let name = checkpoint_name(FIRST_VERSION);
                let path = self.store.log_path(&name)?;
                publish(&self.store, file, (name, path), self.summary).await
            }
            Err(error) => {
                self.abort().await;
                Err(error)
            }
        }
    }

    async fn finish_rows(&mut self, snapshot: &Snapshot, others: &[Action], files: u64) -> Result<()> {
        let is_same =
            snapshot.version() == FIRST_VERSION && *snapshot.protocol() == self.protocol && *snapshot.metadata() == self.metadata;
        if !is_same {
            return Err(Error::internal("the checkpoint was begun for another definition of the table"));
        }
        self.group.push_others(self.rows.others(others)?);
        self.begin_group().await?;
        while self.append_group().await? {}
        match self.summary.counts.get("add") {
            Some(found) if *found == files => Ok(()),
            found => Err(Error::internal(format!("the checkpoint was begun with {found:?} files, but the version has {files}"))),
        }
    }

    /// Removes the checkpoint.
    pub(crate) async fn abort(self) {
        if let Some(file) = self.file {
            file.abort().await;
        }
    }

    /// Encodes the collected rows, after it has waited until few other groups are encoded.
    async fn begin_group(&mut self) -> Result<()> {
        while self.encoding.len() >= groups_at_once() {
            self.append_group().await?;
        }
        let encoders = match &self.file {
            Some(file) => file.encoders(),
            None => {
                let path = self.store.log_path(&checkpoint_name(FIRST_VERSION))?;
                let begun = CheckpointFile::begin(&self.store, &path, self.rows.classic_schema(), Existing::Replace).await?;
                self.file.insert(begun).encoders()
            }
        };
        let group = std::mem::take(&mut self.group);
        self.encoding.push_back(group.begin_encoding(Arc::clone(&self.rows), encoders.begin()?));
        Ok(())
    }

    /// Appends the first of the encoded groups to the file. Returns whether there was one.
    async fn append_group(&mut self) -> Result<bool> {
        let Some(done) = self.encoding.next().await else { return Ok(false) };
        let (row_group, counts) = encoded(done)?;
        self.summary.add(&counts);
        match &mut self.file {
            Some(file) => file.append(row_group).await?,
            None => return Err(without_rows()),
        }
        Ok(true)
    }
}

impl fmt::Debug for CheckpointAhead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckpointAhead").finish_non_exhaustive()
    }
}

fn without_rows() -> Error {
    Error::internal("a checkpoint was begun without its file")
}
