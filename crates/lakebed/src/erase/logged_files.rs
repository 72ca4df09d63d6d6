//! The files that commits name, as batches.

use std::borrow::Cow;

use futures::{Stream, StreamExt, TryStreamExt};
use lakebed_core::action::json::{AddRef, DvRef, FileLine, Line, RemoveRef, each_line};
use lakebed_core::action::{Action, Cdc, Metadata, Protocol};
use lakebed_core::log::builder::FileBatchBuilder;
use lakebed_core::log::files::FileBatch;
use lakebed_core::path::LogPath;
use lakebed_io::log::{self, CommitPart};
use lakebed_io::store::Store;

use super::placeholder;
use crate::snapshot::runs_at_once;
use crate::{Error, Result};

/// Why a commit names a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Naming {
    /// It adds the data file.
    Added,
    /// It removes the data file.
    Removed,
    /// It has the change data file.
    Changes,
}

/// A part of a commit.
pub(super) struct LoggedFiles {
    pub(super) version: u64,
    /// Whether this is the last part of the commit.
    pub(super) is_last: bool,
    pub(super) files: Vec<(Naming, FileBatch)>,
    /// The metadata that the commit sets.
    pub(super) metadata: Option<Metadata>,
    /// The operation of the commit.
    pub(super) operation: Option<String>,
    /// Whether an erase has put the commit in the place of another one.
    pub(super) is_placeholder: bool,
}

/// Reads these commits in their order.
pub(super) fn read(store: &Store, commits: &[LogPath]) -> impl Stream<Item = Result<LoggedFiles>> + Send + use<> {
    let parse = |part: CommitPart| async move {
        let work = tokio::task::spawn_blocking(move || LoggedFiles::parse(&part));
        work.await.map_err(|error| Error::internal("reading commits").with_source(error))?
    };
    log::read_commits(store, commits).map_ok(parse).try_buffered(runs_at_once()).boxed()
}

impl LoggedFiles {
    fn parse(part: &CommitPart) -> Result<Self> {
        let version = LogPath::parse(&part.name).map_or(0, |path| path.version);
        let mut found =
            Self { version, is_last: part.is_last, files: Vec::new(), metadata: None, operation: None, is_placeholder: false };
        let mut builders = [Naming::Added, Naming::Removed, Naming::Changes].map(Batches::new);
        each_line(part.part(), |line| {
            let [added, removed, changes] = &mut builders;
            match line {
                Line::File(FileLine::Add(add)) => added.append(&add, &mut found.files),
                Line::File(FileLine::Remove(remove)) => removed.append(&of_removed(remove), &mut found.files),
                Line::Other(Action::Cdc(cdc)) => changes.append(&of_changes(cdc), &mut found.files),
                Line::Other(Action::Metadata(metadata)) => {
                    found.metadata = Some(metadata);
                    Ok(())
                }
                Line::Other(Action::Protocol(protocol)) => {
                    found.is_placeholder |= is_placeholder(&protocol);
                    Ok(())
                }
                Line::Other(Action::CommitInfo(info)) => {
                    found.operation = info.text("operation").map(str::to_owned);
                    Ok(())
                }
                Line::Other(_) | Line::Nothing => Ok(()),
            }
        })?;
        for batches in builders {
            batches.finish(&mut found.files)?;
        }
        Ok(found)
    }
}

fn is_placeholder(protocol: &Protocol) -> bool {
    protocol.reader_features.iter().flatten().any(|feature| feature == placeholder::FEATURE)
}

/// Files of one naming on their way into batches.
struct Batches {
    naming: Naming,
    builder: FileBatchBuilder,
    is_empty: bool,
}

impl Batches {
    fn new(naming: Naming) -> Self {
        Self { naming, builder: FileBatchBuilder::default(), is_empty: true }
    }

    fn append(&mut self, file: &AddRef<'_>, full: &mut Vec<(Naming, FileBatch)>) -> Result<()> {
        if self.builder.is_full() {
            full.push((self.naming, std::mem::take(&mut self.builder).finish()?));
        }
        self.is_empty = false;
        self.builder.append(file)
    }

    fn finish(self, full: &mut Vec<(Naming, FileBatch)>) -> Result<()> {
        if !self.is_empty {
            full.push((self.naming, self.builder.finish()?));
        }
        Ok(())
    }
}

fn of_removed(remove: RemoveRef<'_>) -> AddRef<'_> {
    AddRef {
        path: remove.path,
        partition_values: remove.partition_values.unwrap_or_default(),
        size: remove.size.unwrap_or(0),
        // The time of the removal, which is the only time that the action has.
        modification_time: remove.deletion_timestamp.unwrap_or(0),
        data_change: remove.data_change,
        stats: remove.stats,
        tags: None,
        deletion_vector: remove.deletion_vector,
        base_row_id: remove.base_row_id,
        default_row_commit_version: remove.default_row_commit_version,
        clustering_provider: None,
    }
}

fn of_changes(cdc: Cdc) -> AddRef<'static> {
    let texts = |(key, value): (String, Option<String>)| (Cow::Owned(key), value.map(Cow::Owned));
    AddRef {
        path: Cow::Owned(cdc.path),
        partition_values: cdc.partition_values.into_iter().map(texts).collect(),
        size: cdc.size,
        modification_time: 0,
        data_change: false,
        stats: None,
        tags: None,
        deletion_vector: None::<DvRef<'static>>,
        base_row_id: None,
        default_row_commit_version: None,
        clustering_provider: None,
    }
}
