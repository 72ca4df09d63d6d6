//! The files that a vacuum keeps: the data files and deletion vector files of a version, of the
//! tombstones within the retention period, and of the older versions that tags or the caller name.
//!
//! A file is stored as a hash of its path below the table, 16 bytes for each. The location of an
//! absolute path cannot be compared for sure, because one store has many names: mounts, links and
//! other endpoints. So an absolute path keeps every file below the table with the same file name.
//! File names are generated to be unique, so this keeps no other file.

use std::collections::{BTreeSet, HashSet};
use std::pin::pin;

use arrow_array::RecordBatch;
use futures::{Stream, StreamExt, TryStreamExt};
use lakebed_core::action::DeletionVectorDescriptor;
use lakebed_core::action::json::{CommitLines, FileLine, Line, each_line};
use lakebed_core::dv::{self, DvLocation};
use lakebed_core::log::checkpoint::columns;
use lakebed_core::log::checkpoint::write::old_tombstones;
use lakebed_core::log::files::{FileBatch, FileKey};
use lakebed_core::path::{FilePath, LogPath};
use lakebed_io::log::{self, CommitPart};
use lakebed_io::{checkpoint, store::Store};

use super::retention::Retention;
use crate::scan::plan::{Plan, PlanOptions};
use crate::snapshot::{load, runs_at_once};
use crate::tags::Tag;
use crate::{Error, ErrorKind, Result, Snapshot};

/// The columns of a tombstone that determine which files it keeps.
const TOMBSTONES: columns::Columns = &[&["remove", "path"], &["remove", "deletionTimestamp"], &["remove", "deletionVector"]];

/// The files that a vacuum keeps.
pub(super) struct RetainedFiles {
    retention: Retention,
    /// The id and the version of the table from which the files were collected.
    table_id: String,
    version: u64,
    paths: HashSet<FileKey>,
    /// The file names of absolute paths.
    names: HashSet<FileKey>,
    /// The older versions that the caller keeps.
    wanted: BTreeSet<u64>,
    /// The older versions whose files were collected.
    pinned: BTreeSet<u64>,
}

impl RetainedFiles {
    /// Collects the files that a version, its tags, these versions and the retention period keep.
    pub(super) async fn read(snapshot: &Snapshot, retention: Retention, wanted: &BTreeSet<u64>) -> Result<Self> {
        let (table_id, version) = (snapshot.metadata().id.clone(), snapshot.version());
        let mut kept = Self {
            retention,
            table_id,
            version,
            paths: HashSet::new(),
            names: HashSet::new(),
            wanted: wanted.clone(),
            pinned: BTreeSet::new(),
        };
        kept.take_version(snapshot).await?;
        kept.take_pinned(snapshot).await?;
        Ok(kept)
    }

    /// Returns whether a file is kept. `path` is below the table.
    pub(super) fn holds(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        self.paths.contains(&FileKey::new(path, None))
            || (!self.names.is_empty() && self.names.contains(&FileKey::new(name, None)))
    }

    /// Adds the files that commits since then name, up to this version.
    pub(super) async fn catch_up(&mut self, snapshot: &Snapshot) -> Result<()> {
        if snapshot.version() == self.version && snapshot.metadata().id == self.table_id {
            return Ok(());
        }
        let newer: Vec<LogPath> = (self.version + 1..=snapshot.version()).map(LogPath::commit).collect();
        let is_same = snapshot.metadata().id == self.table_id && !newer.is_empty();
        let taken = if is_same { self.take_commits(snapshot.store(), &newer, RetainingActions::All).await } else { Ok(()) };
        match taken {
            Ok(()) if is_same => {}
            Err(error) if !error.is_not_found() => return Err(error),
            // The commits are missing, or the table was replaced by another one.
            _ => self.take_version(snapshot).await?,
        }
        (self.table_id, self.version) = (snapshot.metadata().id.clone(), snapshot.version());
        self.take_pinned(snapshot).await
    }

    /// Adds the files of the older versions that tags or the caller name.
    ///
    /// # Errors
    /// If one of them cannot be read, because its files are unknown then.
    async fn take_pinned(&mut self, snapshot: &Snapshot) -> Result<()> {
        let tags = snapshot.tags()?;
        let wanted: BTreeSet<u64> = self.wanted.iter().copied().chain(tags.iter().map(|tag| tag.version)).collect();
        for version in wanted {
            if version == snapshot.version() || !self.pinned.insert(version) {
                continue;
            }
            let older = load(snapshot.store().clone(), snapshot.env().clone(), Some(version)).await;
            let older = older.map_err(|error| cannot_keep(snapshot, &tags, version, &error))?.by_log().await?;
            self.take_files_of(&older).await?;
        }
        Ok(())
    }

    async fn take_files_of(&mut self, snapshot: &Snapshot) -> Result<()> {
        let mut files = Plan::new(snapshot, None, PlanOptions::default())?.files();
        while let Some(batch) = files.try_next().await? {
            self.take_files(&batch)?;
        }
        Ok(())
    }

    async fn take_version(&mut self, snapshot: &Snapshot) -> Result<()> {
        self.take_files_of(snapshot).await?;
        let mut log = snapshot.readable_log().await?;
        while let Err(error) = self.take_tombstones(log.snapshot()).await {
            log.mend(error).await?;
        }
        if self.retention.exceeds_memory_of(snapshot) { self.take_forgotten(snapshot).await } else { Ok(()) }
    }

    fn take_files(&mut self, batch: &FileBatch) -> Result<()> {
        for (row, path) in batch.paths()?.iter().enumerate() {
            let vector = batch.deletion_vector(row)?;
            self.take(path.unwrap_or_default(), vector.as_ref())?;
        }
        Ok(())
    }

    /// Adds the tombstones within the retention period that the version still has.
    async fn take_tombstones(&mut self, snapshot: &Snapshot) -> Result<()> {
        let layers = snapshot.layers().await?;
        let store = snapshot.store();
        if !layers.hides_nothing() {
            self.take_commits(store, &snapshot.segment().commits, RetainingActions::Tombstones).await?;
        }
        let Some(files) = &snapshot.segment().checkpoint else { return Ok(()) };
        let content = checkpoint::open(store, files).await?;
        if let Some((name, bytes)) = &content.json {
            let named = named_in(CommitLines::whole(bytes, name), RetainingActions::Tombstones, self.retention.cutoff_ms)?;
            self.extend(named);
        }
        for part in &content.parts {
            let Some(mut batches) = checkpoint::read_removes(part, TOMBSTONES)? else { continue };
            while let Some(batch) = batches.try_next().await? {
                let batch: RecordBatch = old_tombstones(&batch, layers, self.retention.cutoff_ms.saturating_sub(1))?;
                self.take_files(&FileBatch::new(batch)?)?;
            }
        }
        Ok(())
    }

    /// Adds the files that left the table within a retention period that is longer than the
    /// table's. Only the commits since then contain them.
    async fn take_forgotten(&mut self, snapshot: &Snapshot) -> Result<()> {
        let listed = log::list_log(snapshot.store(), None).await?;
        let before = snapshot.newest_until(&listed, self.retention.cutoff_ms.saturating_sub(1)).await?;
        let first = before.map_or(0, |before| before + 1);
        let wanted = first..=snapshot.version();
        let there: HashSet<u64> = listed.iter().filter(|file| file.path.is_commit()).map(|file| file.path.version).collect();
        if wanted.clone().any(|version| !there.contains(&version)) {
            return Err(self.forgotten(snapshot));
        }
        let commits: Vec<LogPath> = wanted.map(LogPath::commit).collect();
        match self.take_commits(snapshot.store(), &commits, RetainingActions::RemovedFiles).await {
            Err(error) if error.is_not_found() => Err(self.forgotten(snapshot).with_source(error)),
            taken => taken,
        }
    }

    fn forgotten(&self, snapshot: &Snapshot) -> Error {
        let hour = 3_600_000;
        let message = format!(
            "{}: a retention of {} hours is longer than the {} hours for which the table keeps tombstones \
             (delta.deletedFileRetentionDuration), and the commits that would list the removed files no longer exist, so lakebed \
             cannot decide which files to keep. Vacuum with a retention of at most the table's; for the future, set that \
             property, and delta.logRetentionDuration, to the retention that you need",
            snapshot.url(),
            self.retention.retention_ms / hour,
            snapshot.properties().deleted_file_retention_ms / hour,
        );
        Error::new(ErrorKind::VersionNotFound, message)
    }

    pub(super) async fn take_commits(&mut self, store: &Store, commits: &[LogPath], which: RetainingActions) -> Result<()> {
        let cutoff_ms = self.retention.cutoff_ms;
        let mut named = pin!(named_by(log::read_commits(store, commits), which, cutoff_ms));
        while let Some(named) = named.try_next().await? {
            self.extend(named);
        }
        Ok(())
    }

    fn take(&mut self, path: &str, vector: Option<&DeletionVectorDescriptor>) -> Result<()> {
        let mut named = Vec::new();
        name(path, vector, &mut named)?;
        self.extend(named);
        Ok(())
    }

    fn extend(&mut self, named: Vec<RetainedKey>) {
        for named in named {
            match named {
                RetainedKey::Path(key) => self.paths.insert(key),
                RetainedKey::Name(key) => self.names.insert(key),
            };
        }
    }
}

fn cannot_keep(snapshot: &Snapshot, tags: &[Tag], version: u64, error: &Error) -> Error {
    let who = match tags.iter().find(|tag| tag.version == version) {
        Some(tag) => {
            format!("tag {:?} names version {version}, which cannot be read, so its files are unknown: drop the tag", tag.name)
        }
        None => format!("keep_versions names version {version}, which cannot be read"),
    };
    Error::new(error.kind().clone(), format!("{}: {who}: {}", snapshot.url(), error.message()))
}

/// The actions of a commit that keep their files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RetainingActions {
    /// Removals within the retention period.
    Tombstones,
    /// All removals, whatever their deletion timestamp.
    RemovedFiles,
    /// Additions and removals.
    All,
}

/// The key of a kept file.
enum RetainedKey {
    Path(FileKey),
    Name(FileKey),
}

fn named_by(
    parts: impl Stream<Item = Result<CommitPart>> + Send + 'static,
    which: RetainingActions,
    cutoff_ms: i64,
) -> impl Stream<Item = Result<Vec<RetainedKey>>> + Send {
    let read = move |part: CommitPart| async move {
        let work = tokio::task::spawn_blocking(move || named_in(part.part(), which, cutoff_ms));
        work.await.map_err(|error| Error::internal("reading commits").with_source(error))?
    };
    parts.map_ok(read).try_buffered(runs_at_once()).boxed()
}

fn named_in(part: CommitLines<'_>, which: RetainingActions, cutoff_ms: i64) -> Result<Vec<RetainedKey>> {
    let mut named = Vec::new();
    each_line(part, |line| match line {
        Line::File(FileLine::Add(add)) if which == RetainingActions::All => {
            let vector = add.deletion_vector.map(DeletionVectorDescriptor::from);
            name(&add.path, vector.as_ref(), &mut named)
        }
        Line::File(FileLine::Remove(remove))
            if which != RetainingActions::Tombstones || remove.deletion_timestamp.unwrap_or(0) >= cutoff_ms =>
        {
            let vector = remove.deletion_vector.map(DeletionVectorDescriptor::from);
            name(&remove.path, vector.as_ref(), &mut named)
        }
        _ => Ok(()),
    })?;
    Ok(named)
}

/// Adds the file that an action names, and the file of its deletion vector.
fn name(path: &str, vector: Option<&DeletionVectorDescriptor>, named: &mut Vec<RetainedKey>) -> Result<()> {
    named.push(key(&FilePath::parse(path)?));
    if let Some(vector) = vector
        && let DvLocation::File { path, .. } = dv::location(vector)?
    {
        named.push(key(&path));
    }
    Ok(())
}

fn key(path: &FilePath) -> RetainedKey {
    match path {
        FilePath::Relative(path) => RetainedKey::Path(FileKey::new(path, None)),
        FilePath::Absolute(absolute) => {
            let name = absolute.path.rsplit('/').next().unwrap_or_default();
            RetainedKey::Name(FileKey::new(name, None))
        }
    }
}
