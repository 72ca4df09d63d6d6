//! The commits behind a version, one by one, with what they change.
//!
//! Of a commit that is large only what is asked for is kept: the sizes of its files, and of some of them the actions. A log is listed
//! in pieces, so that what lies far ahead costs nothing.

use std::collections::VecDeque;
use std::ops::{Range, RangeInclusive};

use futures::TryStreamExt;
use futures::stream::BoxStream;
use lakebed_core::action::json::{AddRef, FileLine, Line, RemoveRef, each_line};
use lakebed_core::action::{Action, Add, Cdc, CommitInfo, Metadata, Protocol, Remove};
use lakebed_core::path::LogPath;
use lakebed_io::log::{self, CommitPart, ListedLogFile};
use lakebed_io::store::Store;
use regex::Regex;

use crate::scan::{FileRows, ScanFile};
use crate::{Error, ErrorKind, Result};

/// The times of files are made increasing from so many versions back, as in Delta Spark.
const VERSIONS_BEFORE: u64 = 100;

/// What a reader of commits wants.
#[derive(Clone)]
pub(super) struct CommitReadOptions {
    /// Rows are changes: files that are removed have a place in the order, too, and files of changed rows stand for all others.
    pub(super) feed: bool,
    /// The partition columns of the table, by their physical names.
    pub(super) partition_columns: Vec<String>,
    /// Files whose path holds a match are left out.
    pub(super) exclude: Option<Regex>,
    /// Of which files the actions are kept: from a place in a version up to one in another.
    pub(super) keep: Range<(u64, u64)>,
    /// Commits that are gone are passed over.
    pub(super) tolerate_loss: bool,
}

/// No file at all, or every file.
pub(super) const NONE: Range<(u64, u64)> = (0, 0)..(0, 0);
pub(super) const ALL: Range<(u64, u64)> = (0, 0)..(u64::MAX, u64::MAX);

/// What a commit says of changes.
#[derive(Default)]
pub(super) struct Commit {
    pub(super) version: u64,
    /// Of its file, adjusted.
    file_time_ms: i64,
    pub(super) info: Option<CommitInfo>,
    pub(super) metadata: Option<Metadata>,
    pub(super) protocol: Option<Protocol>,
    /// Whether it adds a file with rows that are new.
    pub(super) adds_rows: bool,
    /// A file that it removes with its rows.
    pub(super) removed: Option<String>,
    /// Whether it has any file, be it only moved.
    pub(super) has_files: bool,
    /// The files whose rows it adds, in a feed also those whose rows it removes.
    pub(super) files: CommitFiles,
    /// The files of changed rows.
    pub(super) cdc: CommitFiles,
}

/// Files of a commit in the order of its lines.
#[derive(Default)]
pub(super) struct CommitFiles {
    pub(super) sizes: Vec<FileSize>,
    pub(super) kept: Vec<KeptFile>,
    pub(super) have_vectors: bool,
}

/// What counts of a file when a batch is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileSize {
    pub(super) size: u64,
    /// It has a place in the order, but is left out.
    pub(super) is_excluded: bool,
}

/// A file of which the action is kept.
pub(super) struct KeptFile {
    pub(super) is_removal: bool,
    pub(super) file: ScanFile,
}

impl Commit {
    /// When it was made, in milliseconds since the epoch.
    pub(super) fn timestamp_ms(&self) -> i64 {
        self.info.as_ref().and_then(CommitInfo::in_commit_timestamp).unwrap_or(self.file_time_ms)
    }

    /// Takes what some of its lines say.
    fn take(&mut self, part: &CommitPart, wanted: &CommitReadOptions) -> Result<()> {
        let choice = FileChoice { exclude: wanted.exclude.as_ref(), keep: &wanted.keep, version: self.version };
        each_line(part.part(), |line| {
            self.has_files |= matches!(line, Line::File(_) | Line::Other(Action::Cdc(_)));
            match line {
                Line::File(FileLine::Add(add)) if add.data_change => {
                    self.adds_rows = true;
                    self.files.have_vectors |= add.deletion_vector.is_some();
                    if self.files.count(&add.path, add.size, &choice)? {
                        self.files.kept.push(KeptFile { is_removal: false, file: added(add)? });
                    }
                }
                Line::File(FileLine::Remove(remove)) if remove.data_change => {
                    self.removed.get_or_insert_with(|| remove.path.clone().into_owned());
                    self.files.have_vectors |= wanted.feed && remove.deletion_vector.is_some();
                    if wanted.feed && self.files.count(&remove.path, remove.size.unwrap_or(0), &choice)? {
                        self.files.kept.push(KeptFile { is_removal: true, file: removed(remove, &wanted.partition_columns) });
                    }
                }
                Line::Other(Action::Cdc(cdc)) => {
                    if wanted.feed && self.cdc.count(&cdc.path, cdc.size, &choice)? {
                        self.cdc.kept.push(KeptFile { is_removal: false, file: changed(cdc) });
                    }
                }
                Line::Other(Action::Metadata(metadata)) => self.metadata = Some(metadata),
                Line::Other(Action::Protocol(protocol)) => self.protocol = Some(protocol),
                Line::Other(Action::CommitInfo(info)) => self.info = Some(info),
                Line::File(_) | Line::Other(_) | Line::Nothing => {}
            }
            Ok(())
        })
    }
}

/// Which files of a commit are chosen.
struct FileChoice<'a> {
    exclude: Option<&'a Regex>,
    keep: &'a Range<(u64, u64)>,
    version: u64,
}

impl CommitFiles {
    /// Gives a file the next place; whether its action is to be kept.
    fn count(&mut self, path: &str, size: i64, choice: &FileChoice<'_>) -> Result<bool> {
        let size = u64::try_from(size).map_err(|_| Error::corrupt(path, format!("the log says that its size is {size}")))?;
        let is_excluded = choice.exclude.is_some_and(|exclude| exclude.is_match(path));
        let place = self.sizes.len() as u64;
        self.sizes.push(FileSize { size, is_excluded });
        Ok(!is_excluded && choice.keep.contains(&(choice.version, place)))
    }
}

fn added(add: AddRef<'_>) -> Result<ScanFile> {
    let add = Add::from(add);
    let num_records = add.num_records().and_then(|rows| u64::try_from(rows).ok());
    ScanFile::new(add, num_records)
}

/// Its partition values are needed only in tables that are partitioned; reading finds out whether they are there. Where they are, Delta Spark
/// leaves out those that are null.
fn removed(remove: RemoveRef<'_>, partition_columns: &[String]) -> ScanFile {
    let mut remove = Remove::from(remove);
    if let Some(values) = &mut remove.partition_values {
        for column in partition_columns {
            values.entry(column.clone()).or_default();
        }
    }
    ScanFile {
        path: remove.path,
        size: remove.size.and_then(|size| u64::try_from(size).ok()).unwrap_or(0),
        partition_values: remove.partition_values.unwrap_or_default(),
        deletion_vector: remove.deletion_vector.map(FileRows::Stored),
        base_row_id: remove.base_row_id,
        default_row_commit_version: remove.default_row_commit_version,
        ..ScanFile::default()
    }
}

fn changed(cdc: Cdc) -> ScanFile {
    ScanFile {
        path: cdc.path,
        size: u64::try_from(cdc.size).unwrap_or(0),
        partition_values: cdc.partition_values,
        ..ScanFile::default()
    }
}

/// The commits from a version on, oldest first.
pub(super) struct Commits {
    store: Store,
    wanted: CommitReadOptions,
    /// The version that comes now.
    next: u64,
    /// The last that is wanted.
    last: u64,
    /// Files of commits that were listed, and are being read.
    listed: VecDeque<ListedLogFile>,
    parts: BoxStream<'static, Result<CommitPart>>,
    /// Whether the log ends with those.
    is_end: bool,
    /// Of the newest file that was listed, adjusted.
    newest_time_ms: Option<i64>,
}

impl Commits {
    /// The commits of these versions, as far as they are there.
    pub(super) fn new(store: &Store, wanted: CommitReadOptions, versions: RangeInclusive<u64>) -> Self {
        let (next, last) = versions.into_inner();
        let parts = Box::pin(futures::stream::empty());
        Self { store: store.clone(), wanted, next, last, listed: VecDeque::new(), parts, is_end: false, newest_time_ms: None }
    }

    /// The version that comes now.
    pub(super) fn version(&self) -> u64 {
        self.next
    }

    /// The next commit; None at the end of the log, or behind the last one that is wanted.
    pub(super) async fn next(&mut self) -> Result<Option<Commit>> {
        while self.listed.is_empty() && self.next <= self.last && !self.is_end {
            self.list().await?;
        }
        let Some(file) = self.listed.pop_front() else { return Ok(None) };
        let version = file.path.version;
        if version > self.next && !self.wanted.tolerate_loss {
            return Err(lost(&self.store, self.next));
        }
        if version > self.next {
            tracing::warn!(
                table = self.store.url(),
                "{}: commits {}..{version} are gone and passed over",
                self.store.url(),
                self.next
            );
        }
        self.next = version + 1;
        let mut commit = Commit { version, file_time_ms: file.modified_ms, ..Commit::default() };
        loop {
            let part = self.parts.try_next().await.map_err(|error| self.explained(error, version))?;
            let part = part.ok_or_else(|| Error::internal(format!("{}: a commit without an end", file.path.name)))?;
            let wanted = self.wanted.clone();
            let is_last = part.is_last;
            let work = tokio::task::spawn_blocking(move || commit.take(&part, &wanted).map(|()| commit));
            commit = work.await.map_err(|error| Error::internal("reading a commit").with_source(error))??;
            if is_last {
                return Ok(Some(commit));
            }
        }
    }

    /// Lists some commits and begins to read them.
    async fn list(&mut self) -> Result<()> {
        // The times of files depend on those of the files before them.
        let is_first = self.newest_time_ms.is_none();
        let before = if self.wanted.feed && is_first { VERSIONS_BEFORE } else { 1 };
        let (mut found, is_all) = log::list_commits(&self.store, self.next.saturating_sub(before)).await?;
        // The version before this one was there once.
        if is_all && found.last().is_none_or(|file| file.path.version + 1 < self.next) && !self.wanted.tolerate_loss {
            return Err(self.went_back());
        }
        self.is_end = is_all;
        for file in &mut found {
            file.modified_ms = file.modified_ms.max(self.newest_time_ms.map_or(i64::MIN, |time| time.saturating_add(1)));
            self.newest_time_ms = Some(file.modified_ms);
        }
        found.retain(|file| (self.next..=self.last).contains(&file.path.version));
        if found.is_empty() && !self.is_end {
            // The files of a checkpoint filled what was listed: the same request would say the same again.
            let rest = log::list_log(&self.store, Some(self.next)).await?;
            found.extend(rest.into_iter().filter(|file| file.path.is_commit() && file.path.version <= self.last));
            self.is_end = true;
        }
        let paths: Vec<LogPath> = found.iter().map(|file| file.path.clone()).collect();
        self.parts = Box::pin(log::read_commits(&self.store, &paths));
        self.listed = found.into();
        Ok(())
    }

    fn went_back(&self) -> Error {
        let message = format!(
            "{}: everything up to version {} was read, but the log has neither that version nor a later one: the table was put back to an older \
             state, whose next versions are others. Begin anew, with a new checkpoint",
            self.store.url(),
            self.next.saturating_sub(1)
        );
        Error::new(ErrorKind::VersionNotFound, message)
    }

    fn explained(&self, error: Error, version: u64) -> Error {
        if error.is_not_found() { lost(&self.store, version).with_source(error) } else { error }
    }
}

/// A commit that must be there is not.
pub(super) fn lost(store: &Store, version: u64) -> Error {
    let message = format!(
        "{}: the commit of version {version} is gone. If nobody deleted it, the reader was slower than the log is kept \
         (delta.logRetentionDuration): read changes from a later version on; a stream begins anew with a new checkpoint, or goes on without \
         what is lost with the option failOnDataLoss=false",
        store.url()
    );
    Error::new(ErrorKind::VersionNotFound, message)
}
