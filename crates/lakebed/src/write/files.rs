//! Rows become data files: with statistics, of about the wished size, one partition a file, within bounded memory.
//!
//! A table without partitions is written straight through: each batch is encoded column by column on all cores. With partitions, batches
//! are gathered in a [`Window`](super::partition::Window) first; then each partition is encoded on a core of its own. Files that a failed
//! write leaves are deleted, or are named by nobody. Read [`FileSink::write`].

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use futures::future::try_join_all;
use futures::{StreamExt, TryStreamExt, stream};
use lakebed_core::action::{Add, Cdc};
use lakebed_core::path::FilePath;
use lakebed_core::stats::StatsCollector;
use lakebed_io::env::Env;
use lakebed_io::parquet::Cores;
use lakebed_io::parquet::write::{ParquetWriter, WriteOptions};
use lakebed_io::store::{Store, Unflushed};

use super::fit::stored_batch;
use super::partition::{Part, Sorted, Sorter, Window};
use super::place::{PartitionTexts, Places, as_uri, partition_values};
use super::rules::{Contents, FileLayout, WriteRules};
use super::sample::sample;
use crate::memory::{MemoryBudget, Reservation};
use crate::{Error, Result};

/// Of the memory budget, what a window may hold.
const WINDOW_SHARE: u64 = 4;
/// More files of partitions are not kept open between windows.
const MOST_OPEN: usize = 200;
/// Files that are brought to their end side by side.
const FINISHED_AT_ONCE: usize = 8;

/// For fewer rows than this it does not pay to change threads, or to look at a sample of them.
const FEW_ROWS: usize = 8192;

/// How to write files.
#[derive(Debug, Clone)]
pub struct FileOptions {
    /// About how large files become.
    pub target_size_bytes: u64,
    /// How they are encoded.
    pub parquet: WriteOptions,
    /// What they hold.
    pub contents: Contents,
}

/// Where rows go.
pub struct FileSink {
    shared: Arc<Shared>,
    /// Where rows belong to several partitions.
    partitioning: Option<Partitioning>,
    /// Else where they all belong.
    partition: PartitionTexts,
    reserved: Reservation,
    window_bytes: u64,
    open: HashMap<PartitionTexts, OpenFile>,
    written: Vec<WrittenFile>,
    next_number: u64,
}

/// Rows on their way to their partitions.
struct Partitioning {
    sorter: Arc<Sorter>,
    window: Window,
}

/// What every file needs to know.
struct Shared {
    store: Store,
    env: Env,
    rules: Arc<WriteRules>,
    layout: FileLayout,
    options: FileOptions,
    places: Places,
    cores: Cores,
}

/// A file that takes more rows.
struct OpenFile {
    name: String,
    partition: PartitionTexts,
    writer: ParquetWriter,
    /// Files of changes have none.
    stats: Option<StatsCollector>,
}

/// A file that is there, though no commit names it yet.
#[derive(Debug, Clone)]
pub struct WrittenFile {
    /// Its action.
    pub add: Add,
    /// What to wait for until it is safe.
    pub unflushed: Unflushed,
}

impl WrittenFile {
    /// The action of a file of changes.
    pub fn to_cdc(&self) -> Cdc {
        let Add { path, partition_values, size, .. } = self.add.clone();
        Cdc { path, partition_values, size, data_change: false, tags: None }
    }

    /// A file that is safe already.
    pub fn safe(add: Add) -> Self {
        Self { add, unflushed: Unflushed::safe() }
    }
}

impl FileSink {
    /// Into the folder of a table.
    pub fn new(store: Store, env: Env, rules: Arc<WriteRules>, options: FileOptions) -> Result<Self> {
        let partitioning = match rules.partition_columns.is_empty() {
            true => None,
            false => {
                let sorter = Arc::new(Sorter::new(Arc::clone(&rules))?);
                Some(Partitioning { sorter, window: Window::new(Arc::clone(&rules)) })
            }
        };
        let budget = MemoryBudget::of_process();
        let places = Places::new(&rules, &options, &env);
        let layout = rules.layout(options.contents)?;
        let shared = Shared { store, env, rules, layout, options, places, cores: Cores::new() };
        Ok(Self {
            shared: Arc::new(shared),
            partitioning,
            partition: PartitionTexts::new(),
            window_bytes: budget.limit_bytes() / WINDOW_SHARE,
            reserved: budget.reserve_now(0),
            open: HashMap::new(),
            written: Vec::new(),
            next_number: 0,
        })
    }

    /// The same for rows that all belong to one partition, whose values the log spells so.
    #[must_use]
    pub fn of_partition(self, partition: PartitionTexts) -> Self {
        Self { partitioning: None, partition, ..self }
    }

    /// About how large files become.
    pub fn target_size_bytes(&self) -> u64 {
        self.shared.options.target_size_bytes
    }

    /// Takes rows with the columns of the table. A file may end after them, not among them.
    pub async fn write(&mut self, batches: Vec<RecordBatch>) -> Result<()> {
        let batches: Vec<RecordBatch> = batches.into_iter().filter(|rows| rows.num_rows() > 0).collect();
        let Some(partitioning) = &self.partitioning else {
            let stored = |rows| stored_batch(rows, &self.shared.layout);
            let stored = batches.iter().map(stored).collect::<Result<Vec<_>>>()?;
            return if stored.is_empty() { Ok(()) } else { self.write_through(stored).await };
        };
        let sorted = batches.into_iter().map(|rows| sorted(&self.shared, &partitioning.sorter, rows));
        for sorted in try_join_all(sorted).await? {
            let Some(Partitioning { window, .. }) = &mut self.partitioning else { break };
            window.push(sorted)?;
            self.reserved.grow_to(window.bytes());
            if window.bytes() >= self.window_bytes {
                self.empty_window().await?;
            }
        }
        Ok(())
    }

    /// Ends all files and tells them.
    pub async fn finish(mut self) -> Result<Vec<WrittenFile>> {
        let ended = match self.empty_window().await {
            Ok(()) => self.end_all().await,
            Err(error) => Err(error),
        };
        match ended {
            Ok(()) => Ok(self.written),
            Err(error) => {
                self.abort().await;
                Err(error)
            }
        }
    }

    /// Takes back all that was written.
    pub async fn abort(self) {
        let open: Vec<OpenFile> = self.open.into_values().collect();
        stream::iter(open).for_each_concurrent(FINISHED_AT_ONCE, |file| file.writer.abort()).await;
        delete_written(&self.shared.store, &self.written).await;
    }

    async fn write_through(&mut self, batches: Vec<RecordBatch>) -> Result<()> {
        let rows = batches.iter().map(RecordBatch::num_rows).sum();
        let is_small = rows < FEW_ROWS;
        let mut file = match self.open.remove(&self.partition) {
            Some(file) => file,
            None => {
                let number = self.take_number();
                let usual = self.shared.options.parquet.clone();
                let options = if is_small { usual } else { usual.suited_to(&sample(&batches)?, rows) };
                OpenFile::create(&self.shared, options, self.partition.clone(), number).await?
            }
        };
        let (mut stats, counted) = (file.stats, batches.clone());
        let collecting = async {
            let collect = move || {
                if let Some(stats) = &mut stats {
                    counted.iter().try_for_each(|rows| stats.update(rows))?;
                }
                Ok(stats)
            };
            if is_small { collect() } else { self.shared.cores.compute("collecting statistics", collect).await }
        };
        // First what one core does alone; the others begin to encode.
        let (collected, encoded) = futures::join!(collecting, file.writer.write(batches, &self.shared.cores));
        encoded?;
        let file = OpenFile { stats: collected?, ..file };
        if file.writer.size_bytes() >= self.shared.options.target_size_bytes {
            self.written.push(file.finish(&self.shared).await?);
        } else {
            self.open.insert(self.partition.clone(), file);
        }
        Ok(())
    }

    /// Writes the partitions of the window, several at a time.
    async fn empty_window(&mut self) -> Result<()> {
        let Some(Partitioning { window, .. }) = self.partitioning.as_mut().filter(|all| !all.window.is_empty()) else {
            return Ok(());
        };
        let window = std::mem::replace(window, Window::new(Arc::clone(&self.shared.rules)));
        let parts = window.parts();
        let window = Arc::new(window);
        let mut jobs = Vec::with_capacity(parts.len());
        for part in parts {
            let file = self.open.remove(&part.partition);
            jobs.push((part, file, self.take_number()));
        }
        let shared = &self.shared;
        let work = |(part, file, number)| write_part(Arc::clone(shared), Arc::clone(&window), part, file, number);
        let mut done = stream::iter(jobs).map(work).buffer_unordered(shared.cores.count() * 2);
        let mut failed = None;
        while let Some(outcome) = done.next().await {
            match outcome {
                Ok(Outcome { finished, open }) => {
                    self.written.extend(finished);
                    self.open.extend(open.map(|file| (file.partition.clone(), file)));
                }
                Err(error) => failed = failed.or(Some(error)),
            }
            if failed.is_some() {
                break;
            }
        }
        drop(done);
        self.reserved = MemoryBudget::of_process().reserve_now(0);
        match failed {
            Some(error) => Err(error),
            None if self.open.len() > MOST_OPEN => self.end_all().await,
            None => Ok(()),
        }
    }

    async fn end_all(&mut self) -> Result<()> {
        let open: Vec<OpenFile> = self.open.drain().map(|(_, file)| file).collect();
        let shared = &self.shared;
        let finish = |file: OpenFile| file.finish(shared);
        let finished: Vec<WrittenFile> = stream::iter(open).map(finish).buffer_unordered(FINISHED_AT_ONCE).try_collect().await?;
        self.written.extend(finished);
        Ok(())
    }

    fn take_number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number - 1
    }
}

/// Deletes files that no commit names. What cannot be deleted is harmless.
pub async fn delete_written(store: &Store, files: &[WrittenFile]) {
    let path = |file: &WrittenFile| match FilePath::parse(&file.add.path).ok()? {
        FilePath::Relative(name) => store.path_of(&name).ok(),
        FilePath::Absolute(_) => None,
    };
    let paths: Vec<_> = files.iter().filter_map(path).collect();
    if let Err(error) = store.delete(&paths).await {
        tracing::warn!(table = store.url(), "files of a failed write could not be deleted: {error}");
    }
}

/// What became of the rows of a partition.
struct Outcome {
    finished: Vec<WrittenFile>,
    open: Option<OpenFile>,
}

/// The rows of a batch in the order of their partitions.
async fn sorted(shared: &Arc<Shared>, sorter: &Arc<Sorter>, rows: RecordBatch) -> Result<Sorted> {
    let is_small = rows.num_rows() < FEW_ROWS;
    let (cores, sorter) = (&shared.cores, Arc::clone(sorter));
    let shared = Arc::clone(shared);
    let sort = move || sorter.sort(&rows, stored_batch(&rows, &shared.layout)?);
    if is_small { sort() } else { cores.compute("sorting by partition", sort).await }
}

/// Writes the rows of one partition, on one core; files that become large enough are ended.
async fn write_part(
    shared: Arc<Shared>,
    window: Arc<Window>,
    part: Part,
    file: Option<OpenFile>,
    number: u64,
) -> Result<Outcome> {
    let (mut finished, mut gathering) = (Vec::new(), window.gather(&part));
    let mut file = match file {
        Some(file) => file,
        None => {
            let mut options = shared.options.parquet.clone();
            if gathering.rows() >= FEW_ROWS {
                let suited = move || Ok((options.suited_to(&gathering.sample()?, gathering.rows()), gathering));
                (options, gathering) = shared.cores.compute("sampling a partition", suited).await?;
            }
            OpenFile::create(&shared, options, part.partition.clone(), number).await?
        }
    };
    let target_size_bytes = shared.options.target_size_bytes;
    loop {
        let encode = move || {
            while file.writer.size_bytes() < target_size_bytes {
                let Some(batch) = gathering.next()? else { return Ok((file, None)) };
                if let Some(stats) = &mut file.stats {
                    stats.update(&batch)?;
                }
                file.writer.write_here(&batch)?;
            }
            Ok((file, Some(gathering)))
        };
        let (encoded, rest) = shared.cores.compute("encoding a partition", encode).await?;
        file = encoded;
        file.writer.send().await?;
        if file.writer.size_bytes() >= target_size_bytes {
            let options = file.writer.options().clone();
            finished.push(file.finish(&shared).await?);
            file = OpenFile::create(&shared, options, part.partition.clone(), number).await?;
        }
        match rest {
            Some(rest) => gathering = rest,
            None => break,
        }
    }
    if file.writer.rows() == 0 {
        file.writer.abort().await;
        return Ok(Outcome { finished, open: None });
    }
    // What stays open has nothing in memory but what its row groups are.
    let close = move || {
        file.writer.end_row_group_here()?;
        Ok(file)
    };
    let mut file = shared.cores.compute("encoding a partition", close).await?;
    file.writer.send().await?;
    Ok(Outcome { finished, open: Some(file) })
}

impl OpenFile {
    async fn create(shared: &Shared, options: WriteOptions, partition: PartitionTexts, number: u64) -> Result<Self> {
        let name = shared.places.next(&shared.rules, &partition, number);
        let path = shared.store.path_of(&name)?;
        let schema = Arc::clone(&shared.layout.schema);
        let writer = ParquetWriter::create(&shared.store, &path, schema, options).await?;
        let has_stats = shared.options.contents != Contents::Changes;
        let stats = has_stats.then(|| StatsCollector::new(Arc::clone(&shared.rules.stats)));
        Ok(Self { name, partition, writer, stats })
    }

    async fn finish(self, shared: &Shared) -> Result<WrittenFile> {
        let rows = self.writer.rows();
        let (size, unflushed) = self.writer.finish(&shared.cores).await?;
        let stats = self.stats.map(StatsCollector::finish);
        if let Some(stats) = stats.as_ref().filter(|stats| u64::try_from(stats.num_records) != Ok(rows)) {
            return Err(Error::internal(format!("{}: {rows} rows, but statistics of {}", self.name, stats.num_records)));
        }
        let add = Add {
            path: as_uri(&self.name),
            partition_values: partition_values(&shared.rules, &self.partition),
            size: i64::try_from(size).unwrap_or(i64::MAX),
            modification_time: shared.env.now_ms(),
            data_change: true,
            stats: stats.map(|stats| stats.json),
            tags: None,
            deletion_vector: None,
            base_row_id: None,
            default_row_commit_version: None,
            clustering_provider: None,
        };
        Ok(WrittenFile { add, unflushed })
    }
}
