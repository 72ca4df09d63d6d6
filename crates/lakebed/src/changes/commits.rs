//! Reads the commits after a version one by one, with the changes in each.
//!
//! A large commit is kept only in part: the sizes of its files, and the requested actions. The log
//! is listed in pieces, so that later commits cost nothing until they are needed.

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

use crate::scan::{FileRowTracking, FileRows, ScanFile};
use crate::{Error, ErrorKind, Result};

/// The number of earlier versions from which the times of files are made increasing, as in Delta
/// Spark.
const VERSIONS_BEFORE: u64 = 100;

/// The options for reading commits.
#[derive(Clone)]
pub(super) struct CommitReadOptions {
    /// Whether rows are changes. If true, removed files are counted in the order too, and change
    /// data files replace all other files of their commit.
    pub(super) feed: bool,
    /// The partition columns of the table, by their physical names.
    pub(super) partition_columns: Vec<String>,
    /// Files are left out if their path contains a match.
    pub(super) exclude: Option<Regex>,
    /// The range of files with kept actions, as pairs of a version and a position in it.
    pub(super) keep: Range<(u64, u64)>,
    /// Whether missing commits are skipped.
    pub(super) tolerate_loss: bool,
}

/// The ranges of no file and of every file.
pub(super) const NONE: Range<(u64, u64)> = (0, 0)..(0, 0);
pub(super) const ALL: Range<(u64, u64)> = (0, 0)..(u64::MAX, u64::MAX);

/// The changes of one commit.
#[derive(Default)]
pub(super) struct Commit {
    pub(super) version: u64,
    /// The adjusted time of the commit file.
    file_time_ms: i64,
    pub(super) info: Option<CommitInfo>,
    pub(super) metadata: Option<Metadata>,
    pub(super) protocol: Option<Protocol>,
    /// Whether the commit adds a file with new rows.
    pub(super) adds_rows: bool,
    /// The path of a file that the commit removes with its rows.
    pub(super) removed: Option<String>,
    /// Whether the commit contains any file, including files that were only rewritten.
    pub(super) has_files: bool,
    /// The files with rows that the commit adds. In a change data feed, these are also the files
    /// with rows that it removes.
    pub(super) files: CommitFiles,
    /// The change data files.
    pub(super) cdc: CommitFiles,
}

/// Files of a commit in the order of its lines.
#[derive(Default)]
pub(super) struct CommitFiles {
    pub(super) sizes: Vec<FileSize>,
    pub(super) kept: Vec<KeptFile>,
    pub(super) have_vectors: bool,
}

/// The properties of a file that matter for a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileSize {
    pub(super) size: u64,
    /// Whether the file is excluded. An excluded file still has a position in the order.
    pub(super) is_excluded: bool,
}

/// A file with a kept action.
pub(super) struct KeptFile {
    pub(super) is_removal: bool,
    pub(super) file: ScanFile,
}

impl Commit {
    /// Returns the time of the commit, in milliseconds since the epoch.
    pub(super) fn timestamp_ms(&self) -> i64 {
        self.info.as_ref().and_then(CommitInfo::in_commit_timestamp).unwrap_or(self.file_time_ms)
    }

    /// Takes over the content of some lines of the commit.
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

/// The choice of files in a commit.
struct FileChoice<'a> {
    exclude: Option<&'a Regex>,
    keep: &'a Range<(u64, u64)>,
    version: u64,
}

impl CommitFiles {
    /// Gives a file the next position; returns whether its action is kept.
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

/// Converts a removal to a file. Its partition values are needed only in partitioned tables, and
/// the reader checks whether they are present. If they are present, Delta Spark leaves out the null
/// values.
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
        row_tracking: FileRowTracking {
            base_row_id: remove.base_row_id,
            default_row_commit_version: remove.default_row_commit_version,
        },
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
    /// The next version.
    next: u64,
    /// The last requested version.
    last: u64,
    /// The listed commit files that are being read.
    listed: VecDeque<ListedLogFile>,
    parts: BoxStream<'static, Result<CommitPart>>,
    /// Whether the log ends with the listed files.
    is_end: bool,
    /// The adjusted time of the newest listed file.
    newest_time_ms: Option<i64>,
}

impl Commits {
    /// Creates a reader of the commits of these versions, as far as the log has them.
    pub(super) fn new(store: &Store, wanted: CommitReadOptions, versions: RangeInclusive<u64>) -> Self {
        let (next, last) = versions.into_inner();
        let parts = Box::pin(futures::stream::empty());
        Self { store: store.clone(), wanted, next, last, listed: VecDeque::new(), parts, is_end: false, newest_time_ms: None }
    }

    /// Returns the next version.
    pub(super) fn version(&self) -> u64 {
        self.next
    }

    /// Returns the next commit; None at the end of the log, or after the last requested version.
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
                "{}: the commits {}..{version} no longer exist and are skipped",
                self.store.url(),
                self.next
            );
        }
        self.next = version + 1;
        let mut commit = Commit { version, file_time_ms: file.modified_ms, ..Commit::default() };
        loop {
            let part = self.parts.try_next().await.map_err(|error| self.explained(error, version))?;
            let part = part.ok_or_else(|| Error::internal(format!("{}: a commit has no end", file.path.name)))?;
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
        // The adjusted times of files depend on the files before them.
        let is_first = self.newest_time_ms.is_none();
        let before = if self.wanted.feed && is_first { VERSIONS_BEFORE } else { 1 };
        let (mut found, is_all) = log::list_commits(&self.store, self.next.saturating_sub(before)).await?;
        // The reader has already seen the version before this one, so its commit must exist.
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
            // The files of a checkpoint filled the listing. The same request would return the same
            // files again.
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
            "{}: the stream has read version {}, but the newest version in the log is older: the table was reset to an older \
             state, and its next versions have other content. Start again with a new checkpoint",
            self.store.url(),
            self.next.saturating_sub(1)
        );
        Error::new(ErrorKind::VersionNotFound, message)
    }

    fn explained(&self, error: Error, version: u64) -> Error {
        if error.is_not_found() { lost(&self.store, version).with_source(error) } else { error }
    }
}

/// Returns the error for a missing commit.
pub(super) fn lost(store: &Store, version: u64) -> Error {
    let message = format!(
        "{}: the commit of version {version} no longer exists. If nobody deleted it, the reader is slower than the time for \
         which the log is kept (delta.logRetentionDuration): read changes from a later version. A stream can start again with a \
         new checkpoint, or skip what is lost with the option failOnDataLoss=false",
        store.url()
    );
    Error::new(ErrorKind::VersionNotFound, message)
}
