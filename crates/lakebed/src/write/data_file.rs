//! Data files with statistics, written one at a time per partition. The next file begins when the
//! current one is large enough.
//!
//! Begin with [`PartitionFiles::write`].

use std::sync::Arc;

use arrow_array::RecordBatch;
use lakebed_core::action::{Add, Cdc};
use lakebed_core::stats::StatsCollector;
use lakebed_io::env::Env;
use lakebed_io::parquet::Cores;
use lakebed_io::parquet::write::{ParquetWriter, WriteOptions};
use lakebed_io::store::{Store, Unflushed};

use super::file_names::{FileNames, PartitionTexts, as_uri, partition_values};
use super::file_options::FileOptions;
use super::partition::Gathering;
use super::rules::{Contents, FileLayout, WriteRules};
use crate::{Error, Result};

/// Fewer rows than this are not worth a change of threads, or a sample.
pub(super) const FEW_ROWS: usize = 8192;

/// A complete file that no commit names yet.
#[derive(Debug, Clone)]
pub struct WrittenFile {
    /// The `add` action of the file.
    pub add: Add,
    /// The flush to disk that the commit waits for.
    pub unflushed: Unflushed,
}

/// The settings that all files of a write share.
pub(super) struct Shared {
    pub(super) store: Store,
    pub(super) env: Env,
    pub(super) rules: Arc<WriteRules>,
    pub(super) layout: FileLayout,
    pub(super) options: FileOptions,
    pub(super) names: FileNames,
    pub(super) cores: Cores,
    /// The memory of a row group on one core, above which the row group ends.
    pub(super) row_group_bytes: u64,
}

/// A file to which rows are still added.
pub(super) struct OpenFile {
    name: String,
    pub(super) partition: PartitionTexts,
    pub(super) writer: ParquetWriter,
    /// The statistics. Change data files have none.
    stats: Option<StatsCollector>,
}

/// The files of one partition, written on one core.
pub(super) struct PartitionFiles {
    shared: Arc<Shared>,
    partition: PartitionTexts,
    number: u64,
    /// The expected number of rows, as far as that is known.
    expected_rows: usize,
    open: Option<OpenFile>,
    /// The encoding of the files after the first one.
    options: Option<WriteOptions>,
    finished: Vec<WrittenFile>,
}

/// The files of a partition after a write. After an error, files may have been finished all the
/// same.
pub(super) struct Outcome {
    pub(super) finished: Vec<WrittenFile>,
    pub(super) open: Result<Option<OpenFile>>,
}

impl WrittenFile {
    /// Returns the action of a change data file.
    pub fn to_cdc(&self) -> Cdc {
        let Add { path, partition_values, size, .. } = self.add.clone();
        Cdc { path, partition_values, size, data_change: false, tags: None }
    }

    /// Returns a change data file that is flushed to disk already.
    pub fn of_changes(Cdc { path, partition_values, size, .. }: Cdc) -> Self {
        Self::safe(Add { path, partition_values, size, ..Add::default() })
    }

    /// Returns a file that is flushed to disk already.
    pub fn safe(add: Add) -> Self {
        Self { add, unflushed: Unflushed::safe() }
    }
}

impl Shared {
    /// Returns the encoding for files of rows that begin with these rows.
    async fn suited(&self, rows: Gathering, expected_rows: usize) -> Result<(WriteOptions, Gathering)> {
        let options = self.options.parquet.clone();
        if expected_rows < FEW_ROWS {
            return Ok((options, rows));
        }
        let suited = move || Ok((options.suited_to(&rows.sample()?, expected_rows), rows));
        self.cores.compute("sampling a partition", suited).await
    }
}

impl PartitionFiles {
    /// Returns the files of this partition, with its open file if there is one.
    pub(super) fn new(shared: &Arc<Shared>, partition: PartitionTexts, open: Option<OpenFile>, number: u64) -> Self {
        Self { shared: Arc::clone(shared), partition, number, expected_rows: 0, open, options: None, finished: Vec::new() }
    }

    /// Sets the expected number of rows.
    pub(super) fn expecting(self, expected_rows: usize) -> Self {
        Self { expected_rows, ..self }
    }

    /// Writes rows, and ends files that are large enough.
    pub(super) async fn write(&mut self, mut rows: Gathering) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        let (target_file_size_bytes, row_group_bytes) = (shared.options.target_file_size_bytes, shared.row_group_bytes);
        while !rows.is_done() {
            let mut file = match self.open.take() {
                Some(file) => file,
                None => {
                    let options = match self.options.take() {
                        Some(options) => options,
                        None => {
                            let (options, same) = shared.suited(rows, self.expected_rows).await?;
                            rows = same;
                            options
                        }
                    };
                    OpenFile::create(&shared, options, self.partition.clone(), self.number).await?
                }
            };
            let encode = move || {
                while file.writer.size_bytes() < target_file_size_bytes {
                    let Some(batch) = rows.next()? else { break };
                    if let Some(stats) = &mut file.stats {
                        stats.update(&batch)?;
                    }
                    file.writer.write_here(&batch)?;
                    if file.writer.memory_bytes() > row_group_bytes {
                        file.writer.end_row_group_here()?;
                    }
                }
                Ok((file, rows))
            };
            let (mut encoded, left) = shared.cores.compute("encoding a partition", encode).await?;
            rows = left;
            encoded.writer.send().await?;
            if encoded.writer.size_bytes() >= target_file_size_bytes {
                self.options = Some(encoded.writer.options().clone());
                self.finished.push(encoded.finish(&shared).await?);
            } else {
                self.open = Some(encoded);
            }
        }
        Ok(())
    }

    /// Returns the files if nothing is written.
    pub(super) fn left(self) -> Outcome {
        Outcome { finished: self.finished, open: Ok(self.open) }
    }

    /// Returns the files after a write, or its error. A file that stays open keeps only the
    /// metadata of its row groups in memory.
    pub(super) async fn outcome(mut self, written: Result<()>) -> Outcome {
        let open = match (written, self.open.take()) {
            (Ok(()), Some(file)) => file.between_row_groups(&self.shared.cores).await.map(Some),
            (Ok(()), None) => Ok(None),
            (Err(error), open) => {
                if let Some(file) = open {
                    file.writer.abort().await;
                }
                Err(error)
            }
        };
        Outcome { finished: self.finished, open }
    }
}

impl Outcome {
    /// Ends the open file, if there is one.
    pub(super) async fn ended(self, shared: &Shared) -> Self {
        let Self { mut finished, open } = self;
        let ended = match open {
            Ok(Some(file)) => file.finish(shared).await.map(|file| finished.push(file)),
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        Self { finished, open: ended.map(|()| None) }
    }
}

impl OpenFile {
    pub(super) async fn create(shared: &Shared, options: WriteOptions, partition: PartitionTexts, number: u64) -> Result<Self> {
        let name = shared.names.next(&shared.rules, &partition, number);
        let path = shared.store.path_of(&name)?;
        let schema = Arc::clone(&shared.layout.schema);
        let writer = ParquetWriter::create(&shared.store, &path, schema, options).await?;
        let has_stats = shared.options.contents != Contents::Changes;
        let stats = has_stats.then(|| StatsCollector::new(Arc::clone(&shared.rules.stats)));
        Ok(Self { name, partition, writer, stats })
    }

    /// Writes rows on all cores.
    pub(super) async fn write(mut self, batches: Vec<RecordBatch>, cores: &Cores) -> Result<Self> {
        let is_small = batches.iter().map(RecordBatch::num_rows).sum::<usize>() < FEW_ROWS;
        let (mut stats, counted) = (self.stats, batches.clone());
        let collecting = async {
            let collect = move || {
                if let Some(stats) = &mut stats {
                    counted.iter().try_for_each(|rows| stats.update(rows))?;
                }
                Ok(stats)
            };
            if is_small { collect() } else { cores.compute("collecting statistics", collect).await }
        };
        // The statistics are collected on one core, while the other cores begin to encode.
        let (collected, encoded) = futures::join!(collecting, self.writer.write(batches, cores));
        encoded?;
        Ok(Self { stats: collected?, ..self })
    }

    async fn between_row_groups(mut self, cores: &Cores) -> Result<Self> {
        let close = move || {
            self.writer.end_row_group_here()?;
            Ok(self)
        };
        let mut closed = cores.compute("encoding a partition", close).await?;
        closed.writer.send().await?;
        Ok(closed)
    }

    pub(super) async fn finish(self, shared: &Shared) -> Result<WrittenFile> {
        let rows = self.writer.rows();
        let (size, unflushed) = self.writer.finish(&shared.cores).await?;
        let stats = self.stats.map(StatsCollector::finish);
        if let Some(stats) = stats.as_ref().filter(|stats| u64::try_from(stats.num_records) != Ok(rows)) {
            return Err(Error::internal(format!("{}: {rows} rows, but statistics of {} rows", self.name, stats.num_records)));
        }
        let add = Add {
            path: as_uri(&self.name),
            partition_values: partition_values(&shared.rules, &self.partition),
            size: i64::try_from(size).unwrap_or(i64::MAX),
            modification_time: shared.env.now_ms(),
            data_change: true,
            tags: stats.as_ref().and_then(|_| shared.rules.stats.tags()),
            stats: stats.map(|stats| stats.json),
            deletion_vector: None,
            base_row_id: None,
            default_row_commit_version: None,
            clustering_provider: None,
        };
        Ok(WrittenFile { add, unflushed })
    }
}
