//! Following a table as a stream does: batch by batch from offset to offset, as Delta Spark's streaming source.
//!
//! A new stream gives the rows that are there (`initial_files`), then those of each commit. [`Follow::latest_offset`] decides how far a batch goes
//! (`admission`), [`Follow::tasks`] what it reads (`batch`); both look at the commits with the same rules (`commit_rules`), and the same offsets
//! always give the same tasks. A stream reads with one schema (`schema`), which it may keep in a log (`tracking`, `tracked_schema`, `evolution`). Nothing has to be
//! remembered but the last offset.

mod admission;
mod batch;
mod commit_rules;
mod evolution;
mod initial_files;
mod initial_offset;
mod offset;
mod options;
mod schema;
mod tracked_schema;
mod tracking;

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_schema::SchemaRef;
use lakebed_core::action::Protocol;
use lakebed_core::schema::StructType;
use tokio::sync::{Mutex, OnceCell};

use self::admission::{BatchWalk, FeedCommit};
use self::initial_files::InitialFiles;
use self::schema::{Schema, check_table};
use self::tracking::SchemaLog;
use super::commits::{Commit, CommitReadOptions, Commits, NONE};
use super::feed::{changes_nothing, feed_columns, with_feed_columns};
use crate::scan::ScanSpec;
use crate::{Result, Snapshot, Table};

pub use admission::ReadLimits;
pub use offset::{Offset, Position};
pub use options::{Allowed, FollowOptions, Start};

/// A stream of a table's rows, or of its changes. It reads with the schema that it was opened with.
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
    /// The table as it was when the stream was opened.
    snapshot: Snapshot,
    /// What the stream reads with.
    schema: Schema,
    protocol: Protocol,
    /// How files are read.
    spec: ScanSpec,
    log: Option<Mutex<SchemaLog>>,
    /// Whether the schema came out of the log, rather than from the table.
    is_tracked: bool,
    start: OnceCell<Offset>,
    initial: Mutex<Option<Arc<InitialFiles>>>,
    has_checked_start: AtomicBool,
    /// Whether a batch has been asked for.
    has_begun: AtomicBool,
}

impl Table {
    /// Follows the table, from its rows now or from where the options say.
    pub async fn follow(&self, options: FollowOptions) -> Result<Follow> {
        let snapshot = self.snapshot().await?;
        let log = SchemaLog::open(&snapshot, &options).await?;
        let (log, tracked) = match log {
            Some(mut log) => {
                let tracked = tracked_schema::tracked_schema(&snapshot, &options, &mut log).await?;
                (Some(Mutex::new(log)), tracked)
            }
            None => (None, None),
        };
        let is_tracked = tracked.is_some();
        let (schema, protocol) = tracked.unwrap_or_else(|| (Schema::of_snapshot(&snapshot), snapshot.protocol().clone()));
        let spec = ScanSpec {
            table_url: snapshot.url().to_owned(),
            schema: schema.columns.clone(),
            partition_columns: schema.metadata.partition_columns.clone(),
            mapping_mode: schema.mode(),
            now_ms: snapshot.env().now_ms(),
            row_columns: if options.read_change_feed { feed_columns() } else { Vec::new() },
            ..ScanSpec::default()
        };
        // A table whose columns have the names of the feed's cannot be given with both.
        spec.output_schema()?;
        Ok(Follow {
            table: self.clone(),
            options,
            snapshot,
            schema,
            protocol,
            spec,
            log,
            is_tracked,
            start: OnceCell::new(),
            initial: Mutex::new(None),
            has_checked_start: AtomicBool::new(false),
            has_begun: AtomicBool::new(false),
        })
    }
}

impl Follow {
    /// The schema of what tasks give.
    pub fn schema(&self) -> Result<SchemaRef> {
        self.spec.output_schema()
    }

    /// The same with Delta's types, and with the metadata of its columns.
    pub fn delta_schema(&self) -> StructType {
        let columns = &self.schema.columns;
        if self.options.read_change_feed { with_feed_columns(columns) } else { columns.clone() }
    }

    /// The version of the table when the stream was opened.
    pub fn version(&self) -> u64 {
        self.snapshot.version()
    }

    /// How much a batch holds, as the options say.
    pub fn limits(&self) -> ReadLimits {
        self.options.limits()
    }

    /// The offset before everything that a new stream reads.
    pub async fn initial_offset(&self) -> Result<Offset> {
        let start = self.start.get_or_try_init(|| initial_offset::initial_offset(&self.snapshot, self.options.start));
        start.await.cloned()
    }

    /// The offset behind everything that is there now: where a run ends that reads what is available and no more.
    pub async fn newest_offset(&self) -> Result<Offset> {
        let latest = self.table.newer_than(&self.snapshot).await?;
        check_table(self.snapshot.url(), &self.snapshot.metadata().id, &latest.metadata().id)?;
        let version = latest.version() + 1;
        Ok(Offset { table_id: self.table_id().to_owned(), version, position: Position::Base, is_initial: false })
    }

    /// How far a batch goes that begins behind `start`, or at the beginning; `start` itself if nothing is new, None if there is nothing at all.
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
        // Where "latest" was is known only once a batch has ended there: the first one ends before anything is read.
        let is_first = !self.has_begun.swap(true, Ordering::Relaxed);
        if is_first && self.options.start == Start::Latest && self.start.get() == Some(&begin) {
            return Ok(Some(begin));
        }
        let Some(end) = self.end_of_batch(&begin, limits).await? else { return Ok(start.cloned()) };
        self.check_start(&begin).await?;
        end.check_follows(&begin)?;
        Ok(Some(end))
    }

    /// Tells that everything up to an offset is done. At a change of schema this is where the stream stops, once the new one is in its log.
    pub async fn commit(&self, end: &Offset) -> Result<()> {
        check_table(self.snapshot.url(), &end.table_id, self.table_id())?;
        if !end.is_initial {
            *self.initial.lock().await = None;
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
        // No file's action is needed yet.
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

    /// The files of the snapshot that the stream begins with; sorted once, and kept while they are needed.
    async fn initial_files(&self, version: u64) -> Result<Arc<InitialFiles>> {
        let mut initial = self.initial.lock().await;
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
