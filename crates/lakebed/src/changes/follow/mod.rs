//! Follows a table as a stream does: batch by batch from offset to offset, like Delta Spark's
//! streaming source.
//!
//! A new stream returns the existing rows (`initial_files`), then the rows of each commit.
//! [`Follow::latest_offset`] decides where a batch ends (`admission`), and [`Follow::tasks`]
//! returns the tasks of the batch (`batch`). Both apply the same rules to commits (`commit_rules`),
//! and the same offsets always give the same tasks. A stream reads with one schema (`schema`). It
//! may keep its schemas in a log (`tracking`, `stream_schema`, `evolution`). Only the last offset
//! has to be remembered.

mod admission;
mod batch;
mod commit_rules;
mod evolution;
mod initial_files;
mod initial_offset;
mod offset;
mod options;
mod schema;
mod stream_schema;
mod tracking;

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_schema::SchemaRef;
use lakebed_core::schema::StructType;
use tokio::sync::{Mutex, OnceCell};

use self::admission::{BatchWalk, FeedCommit};
use self::initial_files::InitialFiles;
use self::schema::check_table;
use self::stream_schema::StreamSchema;
use super::commits::{Commit, CommitReadOptions, Commits, NONE};
use super::feed::{changes_nothing, feed_columns, with_feed_columns};
use crate::scan::ScanSpec;
use crate::{Result, Snapshot, Table};

pub use admission::ReadLimits;
pub use offset::{Offset, Position};
pub use options::{Allowed, FollowOptions, Start};

/// A stream of a table's rows, or of its changes. It reads with the schema with which it was
/// opened.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> lakebed::Result<()> {
/// use lakebed::changes::FollowOptions;
///
/// let url = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/trips");
/// let table = lakebed::Table::at(url).open().await?;
/// let follow = table.follow(FollowOptions::default()).await?;
/// let start = follow.initial_offset().await?;
/// let end = follow.latest_offset(Some(&start), &follow.limits()).await?.unwrap_or(start.clone());
/// let tasks = follow.tasks(Some(&start), &end, 128 << 20).await?;
/// assert!(!tasks.is_empty());
/// # Ok(())
/// # }
/// ```
pub struct Follow {
    table: Table,
    options: FollowOptions,
    /// The table at the time when the stream was opened.
    snapshot: Snapshot,
    stream_schema: StreamSchema,
    /// The specification of the scan of files.
    spec: ScanSpec,
    progress: FollowProgress,
}

/// The steps of a stream that are done once, and the files that it keeps while it needs them.
#[derive(Default)]
struct FollowProgress {
    start: OnceCell<Offset>,
    initial_files: Mutex<Option<Arc<InitialFiles>>>,
    has_checked_start: AtomicBool,
    /// Whether a batch has been requested.
    has_begun: AtomicBool,
}

impl Table {
    /// Follows the table from its current rows, or from the start that the options set.
    pub async fn follow(&self, options: FollowOptions) -> Result<Follow> {
        let snapshot = self.snapshot().await?;
        let stream_schema = StreamSchema::load(&snapshot, &options).await?;
        let schema = &stream_schema.schema;
        let spec = ScanSpec {
            table_url: snapshot.url().to_owned(),
            schema: schema.columns.clone(),
            partition_columns: schema.metadata.partition_columns.clone(),
            mapping_mode: schema.mode(),
            now_ms: snapshot.env().now_ms(),
            row_columns: if options.read_change_feed { feed_columns() } else { Vec::new() },
            clone_sources: snapshot.store().followed_urls(),
            ..ScanSpec::default()
        };
        // A table can have columns with the names of feed columns. Such a feed cannot return both.
        spec.output_schema()?;
        Ok(Follow { table: self.clone(), options, snapshot, stream_schema, spec, progress: FollowProgress::default() })
    }
}

impl Follow {
    /// Returns the schema of the rows that tasks return.
    pub fn schema(&self) -> Result<SchemaRef> {
        self.spec.output_schema()
    }

    /// Returns the schema with Delta's types and with column metadata.
    pub fn delta_schema(&self) -> StructType {
        let columns = &self.stream_schema.schema.columns;
        if self.options.read_change_feed { with_feed_columns(columns) } else { columns.clone() }
    }

    /// Returns the version of the table at the time when the stream was opened.
    pub fn version(&self) -> u64 {
        self.snapshot.version()
    }

    /// Returns the limits of a batch that the options set.
    pub fn limits(&self) -> ReadLimits {
        self.options.limits()
    }

    /// Returns the offset before everything that a new stream reads.
    pub async fn initial_offset(&self) -> Result<Offset> {
        let start = self.progress.start.get_or_try_init(|| initial_offset::initial_offset(&self.snapshot, self.options.start));
        start.await.cloned()
    }

    /// Returns the offset after everything that exists now. A run that reads only the available
    /// data ends there.
    pub async fn newest_offset(&self) -> Result<Offset> {
        let latest = self.table.newer_than(&self.snapshot).await?;
        check_table(self.snapshot.url(), &self.snapshot.metadata().id, &latest.metadata().id)?;
        let version = latest.version() + 1;
        Ok(Offset { table_id: self.table_id().to_owned(), version, position: Position::Base, is_initial: false })
    }

    /// Returns the end of a batch that begins after `start`, or at the beginning of the stream.
    /// Returns `start` itself if there is nothing new, and None if there is nothing at all.
    pub async fn latest_offset(&self, start: Option<&Offset>, limits: &ReadLimits) -> Result<Option<Offset>> {
        let begin = match start {
            Some(start) => start.clone(),
            None => self.initial_offset().await?,
        };
        check_table(self.snapshot.url(), &begin.table_id, self.table_id())?;
        self.track_from(&begin).await?;
        if let Some(held) = self.held_at(&begin).await? {
            return Ok(Some(held));
        }
        // The version of "latest" is fixed only once a batch has ended there. So the first batch
        // ends before anything is read.
        let is_first = !self.progress.has_begun.swap(true, Ordering::Relaxed);
        if is_first && self.options.start == Start::Latest && self.progress.start.get() == Some(&begin) {
            return Ok(Some(begin));
        }
        let Some(end) = self.end_of_batch(&begin, limits).await? else { return Ok(start.cloned()) };
        self.check_start(&begin).await?;
        end.check_follows(&begin)?;
        Ok(Some(end))
    }

    /// Commits an offset: everything up to it is done. At a schema change, this writes the new
    /// schema to the schema log and stops the stream.
    pub async fn commit(&self, end: &Offset) -> Result<()> {
        check_table(self.snapshot.url(), &end.table_id, self.table_id())?;
        if !end.is_initial {
            *self.progress.initial_files.lock().await = None;
        }
        self.track_past(end).await
    }

    async fn end_of_batch(&self, begin: &Offset, limits: &ReadLimits) -> Result<Option<Offset>> {
        let mut walk = BatchWalk::new(begin, limits);
        let mut version = begin.version;
        if begin.is_initial {
            let files = self.initial_files(version).await?;
            if walk.pass_files(version, false, files.sizes()).is_break() {
                return Ok(walk.reached());
            }
            version += 1;
        }
        // The actions of files are not needed yet.
        let mut commits = self.commits(version..=u64::MAX, NONE);
        while !walk.is_beyond(commits.version())
            && let Some(commit) = commits.next().await?
        {
            let is_skipped = self.check_commit(&commit).await?;
            if !self.options.read_change_feed {
                let sizes = commit.files.sizes.iter().map(|file| file.size).filter(|_| !is_skipped);
                if walk.pass_files(commit.version, self.changes_schema(&commit).await?, sizes).is_break() {
                    break;
                }
            } else if !walk.has_room() || walk.pass_feed_commit(&self.feed_commit(&commit).await?).is_break() {
                break;
            }
        }
        Ok(walk.reached())
    }

    async fn feed_commit<'a>(&self, commit: &'a Commit) -> Result<FeedCommit<'a>> {
        let are_changes = !commit.cdc.sizes.is_empty();
        let files = if are_changes { &commit.cdc } else { &commit.files };
        Ok(FeedCommit {
            version: commit.version,
            files: &files.sizes,
            are_changes,
            have_vectors: files.have_vectors,
            is_skipped: !are_changes && changes_nothing(commit),
            changes_schema: self.changes_schema(commit).await?,
        })
    }

    fn commits(&self, versions: RangeInclusive<u64>, keep: Range<(u64, u64)>) -> Commits {
        let wanted = CommitReadOptions {
            feed: self.options.read_change_feed,
            partition_columns: self.snapshot.physical_partition_columns(),
            exclude: self.options.exclude.clone(),
            keep,
            tolerate_loss: self.options.tolerate_data_loss,
        };
        Commits::new(self.snapshot.store(), wanted, versions)
    }

    /// Returns the files of the initial snapshot. They are sorted once and kept while they are
    /// needed.
    async fn initial_files(&self, version: u64) -> Result<Arc<InitialFiles>> {
        let mut initial = self.progress.initial_files.lock().await;
        if let Some(files) = initial.as_ref().filter(|files| files.version == version) {
            return Ok(Arc::clone(files));
        }
        let snapshot = self.snapshot_at(version).await?;
        self.track_initial(&snapshot).await?;
        let files = Arc::new(InitialFiles::load(&snapshot).await?);
        *initial = Some(Arc::clone(&files));
        Ok(files)
    }

    async fn snapshot_at(&self, version: u64) -> Result<Snapshot> {
        if version == self.snapshot.version() { Ok(self.snapshot.clone()) } else { self.table.snapshot_at(version).await }
    }

    fn table_id(&self) -> &str {
        &self.snapshot.metadata().id
    }
}

impl std::fmt::Debug for Follow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Follow").field("url", &self.snapshot.url()).field("options", &self.options).finish_non_exhaustive()
    }
}
