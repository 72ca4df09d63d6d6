//! Writes rows to data files with statistics. A file has about the target size and rows of one
//! partition, and memory is bounded.
//!
//! Without partitions, each batch is encoded at once, column by column on all cores. With
//! partitions, batches are first gathered in a [`Window`](super::partition::Window). Then each
//! partition is encoded on a core of its own. If there are very many partitions, their rows are
//! spilled to the [`Overflow`](super::overflow::Overflow) instead. The files of a failed write are
//! deleted, or no commit names them. Begin with [`FileSink::write`].

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::RecordBatch;
use futures::future::try_join_all;
use futures::{StreamExt, stream};
use lakebed_core::path::FilePath;
use lakebed_io::env::Env;
use lakebed_io::parquet::Cores;
use lakebed_io::store::Store;

use super::convert::stored_batch;
use super::data_file::{FEW_ROWS, OpenFile, Outcome, PartitionFiles, Shared, WrittenFile};
use super::file_names::{FileNames, PartitionTexts};
use super::file_options::FileOptions;
use super::overflow::{MOST_OPEN, Overflow, SpilledRows};
use super::partition::{Gathering, Sorted, Sorter, Window};
use super::rules::WriteRules;
use super::sample::sample;
use crate::runtime::memory::{MemoryBudget, Reservation};
use crate::{Error, ErrorKind, Result};

/// The memory budget is divided by this number for a window.
const WINDOW_SHARE: u64 = 4;
/// The minimum size at which a row group ends.
const LEAST_ROW_GROUP_BYTES: u64 = 8 << 20;
/// The number of files that are completed concurrently.
const FINISHED_AT_ONCE: usize = 8;

/// The writer of data files.
pub struct FileSink {
    shared: Arc<Shared>,
    /// The state for rows of several partitions.
    partitioning: Option<Partitioning>,
    /// The partition of all rows, if there is only one.
    partition: PartitionTexts,
    reserved: Reservation,
    window_bytes: u64,
    open: HashMap<PartitionTexts, OpenFile>,
    written: Vec<WrittenFile>,
    next_number: u64,
}

/// The rows that are not yet written to their partitions.
struct Partitioning {
    sorter: Arc<Sorter>,
    window: Window,
    /// The spilled rows. It is `None` if the table does not allow its rows to be spilled.
    overflow: Option<Overflow>,
}

/// The rows of one partition to write now. Spilled rows come first.
struct PendingPartition {
    files: PartitionFiles,
    spilled: SpilledRows,
    rows: Option<Gathering>,
}

impl FileSink {
    /// Returns a writer into the folder of a table.
    pub fn new(store: Store, env: Env, rules: Arc<WriteRules>, options: FileOptions) -> Result<Self> {
        let budget = MemoryBudget::of_process();
        let window_bytes = budget.limit_bytes() / WINDOW_SHARE;
        let (names, cores) = (FileNames::new(&rules, &options, &env), Cores::new());
        let layout = rules.layout(options.contents)?;
        let layout = if options.is_moving { rules.moving(layout) } else { layout };
        let row_group_bytes = (budget.limit_bytes() / (cores.count() as u64 * 2)).max(LEAST_ROW_GROUP_BYTES);
        let shared = Shared { store, env, rules, layout, options, names, cores, row_group_bytes };
        let partitioning = match shared.rules.partition_columns.is_empty() {
            true => None,
            false => {
                let sorter = Arc::new(Sorter::new(Arc::clone(&shared.rules))?);
                let optimizes = shared.rules.properties.optimize_write != Some(false);
                let overflow = optimizes.then(|| Overflow::new(&shared, window_bytes));
                Some(Partitioning { sorter, window: Window::default(), overflow })
            }
        };
        Ok(Self {
            shared: Arc::new(shared),
            partitioning,
            partition: PartitionTexts::new(),
            window_bytes,
            reserved: budget.reserve_now(0),
            open: HashMap::new(),
            written: Vec::new(),
            next_number: 0,
        })
    }

    /// Sets one partition for all rows, with its values as the log spells them.
    #[must_use]
    pub fn of_partition(self, partition: PartitionTexts) -> Self {
        Self { partitioning: None, partition, ..self }
    }

    /// Sets another size of windows.
    #[cfg(test)]
    pub(super) fn with_windows(mut self, window_bytes: u64) -> Self {
        self.window_bytes = window_bytes;
        if let Some(overflow) = self.partitioning.as_mut().and_then(|all| all.overflow.as_mut()) {
            *overflow = Overflow::new(&self.shared, window_bytes);
        }
        self
    }

    /// Returns whether rows are spilled.
    #[cfg(test)]
    pub(super) fn has_spilled(&self) -> bool {
        self.partitioning.as_ref().and_then(|all| all.overflow.as_ref()).is_some_and(|overflow| !overflow.is_empty())
    }

    /// Returns the approximate size of a file.
    pub fn target_file_size_bytes(&self) -> u64 {
        self.shared.options.target_file_size_bytes
    }

    /// Writes rows with the columns of the table. A file may end after these rows, and not among
    /// them.
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
            window.push(sorted);
            self.reserved.grow_to(window.bytes());
            if window.bytes() >= self.window_bytes {
                self.empty_window(false).await?;
            }
        }
        Ok(())
    }

    /// Ends all files and returns them.
    pub async fn finish(mut self) -> Result<Vec<WrittenFile>> {
        match self.empty_window(true).await {
            Ok(()) => Ok(self.written),
            Err(error) => {
                self.abort().await;
                Err(error)
            }
        }
    }

    /// Ends all files after the work that wrote them. If the work failed, deletes all that was
    /// written.
    pub async fn finish_after<T>(self, outcome: Result<T>) -> Result<(T, Vec<WrittenFile>)> {
        match outcome {
            Ok(value) => Ok((value, self.finish().await?)),
            Err(error) => {
                self.abort().await;
                Err(error)
            }
        }
    }

    /// Deletes all that was written.
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
        file = file.write(batches, &self.shared.cores).await?;
        if file.writer.size_bytes() >= self.shared.options.target_file_size_bytes {
            self.written.push(file.finish(&self.shared).await?);
        } else {
            self.open.insert(self.partition.clone(), file);
        }
        Ok(())
    }

    /// Writes the rows of the window, several partitions at a time. At the end, writes the spilled
    /// rows too and ends all files.
    async fn empty_window(&mut self, is_last: bool) -> Result<()> {
        let mut pending = self.pending(is_last).await?;
        let idle: Vec<PartitionTexts> = self.open.keys().cloned().collect();
        if is_last {
            pending.extend(self.without_rows(&idle));
        }
        self.work(pending, is_last).await?;
        self.reserved = MemoryBudget::of_process().reserve_now(0);
        if self.open.len() > MOST_OPEN {
            let idle = self.without_rows(&idle);
            self.work(idle, true).await?;
        }
        if self.open.len() > MOST_OPEN {
            let all: Vec<PartitionTexts> = self.open.keys().cloned().collect();
            let all = self.without_rows(&all);
            self.work(all, true).await?;
        }
        Ok(())
    }

    /// Returns the rows to write now.
    async fn pending(&mut self, is_last: bool) -> Result<Vec<PendingPartition>> {
        let Some(Partitioning { window, overflow, .. }) = &mut self.partitioning else { return Ok(Vec::new()) };
        let mut parts = std::mem::take(window).into_parts();
        if let Some(overflow) = overflow.as_mut().filter(|_| !is_last) {
            let (waiting, others) = overflow.divide(parts, &self.open);
            overflow.spill(&self.shared, waiting).await?;
            parts = others;
        }
        let mut found = Vec::with_capacity(parts.len());
        for part in parts {
            let spilled = overflow.as_mut().and_then(|overflow| overflow.take(&part.partition)).unwrap_or_default();
            found.push((spilled, Some(part.rows), part.partition));
        }
        if let Some(overflow) = overflow.as_mut().filter(|_| is_last) {
            found.extend(overflow.take_all().into_iter().map(|(partition, spilled)| (spilled, None, partition)));
        }
        let pending = |(spilled, rows, partition)| self.pending_partition(partition, spilled, rows);
        Ok(found.into_iter().map(pending).collect())
    }

    fn pending_partition(
        &mut self,
        partition: PartitionTexts,
        spilled: SpilledRows,
        rows: Option<Gathering>,
    ) -> PendingPartition {
        let (open, number) = (self.open.remove(&partition), self.take_number());
        let expected_rows = spilled.rows() + rows.as_ref().map_or(0, Gathering::rows);
        let files = PartitionFiles::new(&self.shared, partition, open, number).expecting(expected_rows);
        PendingPartition { files, spilled, rows }
    }

    /// Returns the partitions as pending ones without rows.
    fn without_rows(&mut self, partitions: &[PartitionTexts]) -> Vec<PendingPartition> {
        partitions.iter().map(|partition| self.pending_partition(partition.clone(), SpilledRows::default(), None)).collect()
    }

    /// Writes the partitions concurrently. After an error, all writes that have begun still
    /// complete, and their files are added to the lists.
    async fn work(&mut self, pending: Vec<PendingPartition>, ends: bool) -> Result<()> {
        let Self { shared, partitioning, open, written, .. } = self;
        let overflow = partitioning.as_ref().and_then(|all| all.overflow.as_ref());
        let is_failed = AtomicBool::new(false);
        let goes_on = || !is_failed.load(Ordering::Relaxed);
        let write = async |one: PendingPartition| if goes_on() { one.write(overflow).await } else { one.files.left() };
        let end = async |outcome: Outcome| if ends && goes_on() { outcome.ended(shared).await } else { outcome };
        let written_parts = stream::iter(pending).map(write).buffer_unordered(shared.cores.count() * 2);
        let mut done = written_parts.map(end).buffer_unordered(FINISHED_AT_ONCE);
        let mut failed = None;
        while let Some(outcome) = done.next().await {
            written.extend(outcome.finished);
            match outcome.open {
                Ok(file) => open.extend(file.map(|file| (file.partition.clone(), file))),
                Err(error) => {
                    is_failed.store(true, Ordering::Relaxed);
                    failed = failed.or(Some(error));
                }
            }
        }
        failed.map_or(Ok(()), Err)
    }

    fn take_number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number - 1
    }
}

impl PendingPartition {
    async fn write(mut self, overflow: Option<&Overflow>) -> Outcome {
        let written = self.write_rows(overflow).await;
        self.files.outcome(written).await
    }

    async fn write_rows(&mut self, overflow: Option<&Overflow>) -> Result<()> {
        if let Some(overflow) = overflow {
            while let Some((rows, _reserved)) = overflow.next(&mut self.spilled).await? {
                self.files.write(rows).await?;
            }
        }
        match self.rows.take() {
            Some(rows) => self.files.write(rows).await,
            None => Ok(()),
        }
    }
}

/// Deletes files that no commit names. A file that cannot be deleted is harmless.
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

/// Returns the rows of a batch in the order of their partitions.
async fn sorted(shared: &Arc<Shared>, sorter: &Arc<Sorter>, rows: RecordBatch) -> Result<Sorted> {
    let is_small = rows.num_rows() < FEW_ROWS;
    let (cores, sorter) = (&shared.cores, Arc::clone(sorter));
    let shared = Arc::clone(shared);
    let sort = move || sorter.sort(&rows, stored_batch(&rows, &shared.layout)?);
    if is_small { sort() } else { cores.compute("sorting by partition", sort).await }
}

/// Deletes the files of a failed commit, unless the commit may exist, because then it may name
/// them.
pub(crate) async fn take_back(store: &Store, written: &[WrittenFile], error: &Error) {
    if !matches!(error.kind(), ErrorKind::CommitUnknown { .. }) {
        delete_written(store, written).await;
    }
}
