//! Decodes row groups of one file into Arrow batches.
//!
//! The decoder requests byte ranges. They are fetched without holding a core, and decoding runs on
//! a thread for blocking work. A [`Decoding`] is sequential, and [`ParquetFile::read`] decodes
//! several row groups at once. `dictionary_keys` reads columns as keys into dictionaries, which the
//! decoder cannot do.

mod dictionary_keys;
mod options;

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use arrow_array::RecordBatch;
use bytes::Bytes;
use parquet::DecodeResult;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::arrow::push_decoder::{ParquetPushDecoder, ParquetPushDecoderBuilder};
use tokio::sync::Semaphore;

use lakebed_core::{Error, Result};

use self::dictionary_keys::{KeyColumns, KeyReader};
pub use self::options::{FilterSource, ReadOptions};
use super::file::ParquetFile;
use super::order::{InOrder, in_order};
use super::row_slices::{Slice, slices};
use crate::at::At;

const DEFAULT_BATCH_ROWS: usize = 8192;

/// Permits to compute, one for each core. Clones are cheap and share the permits.
#[derive(Clone)]
pub struct Cores {
    permits: Arc<Semaphore>,
    count: usize,
}

impl Cores {
    /// Returns all cores that this process may use.
    pub fn new() -> Self {
        Self::of(std::thread::available_parallelism().map_or(1, std::num::NonZero::get))
    }

    /// Creates this many permits.
    pub fn of(count: usize) -> Self {
        let count = count.clamp(1, Semaphore::MAX_PERMITS);
        Self { permits: Arc::new(Semaphore::new(count)), count }
    }

    /// Returns the number of permits.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Runs work on a thread for blocking work, once a core is free. `place` names the subject if
    /// the work panics.
    pub async fn compute<T, F>(&self, place: &str, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce() -> Result<T> + Send + 'static,
    {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let permit = permit.map_err(|_| Error::internal("the semaphore of a stream was closed"))?;
        let task = tokio::task::spawn_blocking(move || {
            let result = work();
            drop(permit);
            result
        });
        match task.await {
            Ok(result) => result,
            // Decoding uses positions in bytes that another writer wrote.
            Err(error) if error.is_panic() => Err(Error::corrupt(place, "its bytes cannot be decoded").with_source(error)),
            Err(error) => Err(error).at(place),
        }
    }
}

impl Default for Cores {
    fn default() -> Self {
        Self::new()
    }
}

/// Row groups of a file that are to be decoded.
pub struct Decoding {
    file: ParquetFile,
    decoder: ParquetPushDecoder,
    /// The columns that the decoder leaves out, and the options for decoding all columns.
    keyed: Option<(KeyColumns, ReadOptions)>,
}

impl ParquetFile {
    /// Prepares to decode the rows of `options`, in order.
    pub fn decode(&self, mut options: ReadOptions) -> Result<Decoding> {
        let metadata = match options.metadata.take() {
            Some(metadata) => metadata,
            None => self.reader_metadata(None, ArrowReaderOptions::new())?,
        };
        let Some(wanted) = KeyColumns::of(&metadata, &options) else {
            return Ok(Decoding { file: self.clone(), decoder: self.decoder(metadata, options)?, keyed: None });
        };
        options.metadata = Some(metadata.clone());
        let mut others = options.projection.clone().unwrap_or_else(ProjectionMask::all);
        let leaves = metadata.parquet_schema().num_columns();
        let is_other = |leaf: &usize| others.leaf_included(*leaf) && !wanted.leaves().any(|keyed| keyed == *leaf);
        others = ProjectionMask::leaves(metadata.parquet_schema(), (0..leaves).filter(is_other));
        let decoder = self.decoder(metadata, ReadOptions { projection: Some(others), ..options.clone() })?;
        Ok(Decoding { file: self.clone(), decoder, keyed: Some((wanted, options)) })
    }

    fn decoder(&self, metadata: ArrowReaderMetadata, options: ReadOptions) -> Result<ParquetPushDecoder> {
        let mut builder = ParquetPushDecoderBuilder::new_with_metadata(metadata)
            .with_batch_size(options.batch_rows.unwrap_or(DEFAULT_BATCH_ROWS).max(1))
            .with_row_selection_policy(options.selection_policy);
        if let Some(projection) = options.projection {
            builder = builder.with_projection(projection);
        }
        if let Some(row_groups) = options.row_groups {
            let count = self.metadata.num_row_groups();
            if row_groups.iter().any(|index| *index >= count) {
                return Err(Error::internal(format!("{}: a row group was requested beyond the last of {count}", self.name())));
            }
            builder = builder.with_row_groups(row_groups);
        }
        if let Some(selection) = options.selection {
            builder = builder.with_row_selection(selection);
        }
        if let Some(filter) = options.filter {
            builder = builder.with_row_filter(filter());
        }
        if let Some(limit) = options.limit {
            builder = builder.with_limit(limit);
        }
        builder.build().at(self.name())
    }

    /// Decodes the rows of `options`, several row groups at once, and returns batches in the order
    /// of the file. The number of row groups in memory is at most the number of cores plus one. If
    /// the page index was read, slices of large row groups count instead. Must be called within a
    /// Tokio runtime.
    pub fn read(&self, options: ReadOptions, cores: &Cores) -> Result<InOrder<RecordBatch>> {
        let mut parts = Vec::new();
        // A selection or a limit counts rows over all row groups.
        if options.selection.is_none() && options.limit.is_none() {
            let all = || (0..self.metadata.num_row_groups()).collect();
            let row_groups = options.row_groups.clone().unwrap_or_else(all);
            for Slice { row_group, selection } in slices(&self.metadata, &row_groups, options.projection.as_ref()) {
                parts.push(self.decode(ReadOptions { row_groups: Some(vec![row_group]), selection, ..options.clone() })?);
            }
        } else {
            parts.push(self.decode(options)?);
        }
        let cores = cores.clone();
        Ok(in_order(cores.count() + 1, move |mut lanes| async move {
            for part in parts {
                let slot = lanes.slot().await?;
                let cores = cores.clone();
                lanes.start(slot, move |lane| async move { part.run(&cores, move |batch| Ok(lane.send(batch))).await });
            }
            lanes.finish().await
        }))
    }
}

impl Decoding {
    /// Passes every batch to `sink`, on a thread for blocking work, until `sink` stops it.
    pub async fn run<S>(self, cores: &Cores, sink: S) -> Result<()>
    where
        S: FnMut(RecordBatch) -> Result<ControlFlow<()>> + Send + 'static,
    {
        let Self { file, decoder, keyed } = self;
        let mut running = RunningDecoder { file, decoder, keyed: None, sink };
        let mut wanted = match keyed {
            // Without bytes, the decoder only returns the ranges that it needs. This takes no core,
            // so that fetching starts at once.
            None => running.advance()?,
            Some((columns, options)) => {
                let ranges = running.ranges_of(&columns)?;
                let bytes = running.file.source.read(ranges.clone()).await?;
                let open = move |running: &mut RunningDecoder<S>| running.open(columns, options, ranges, bytes);
                let (same, wanted) = running.go_on(cores, open).await?;
                running = same;
                wanted
            }
        };
        while let Some(ranges) = wanted {
            let bytes = if ranges.is_empty() { Vec::new() } else { running.file.source.read(ranges.clone()).await? };
            let push = move |running: &mut RunningDecoder<S>| running.decoder.push_ranges(ranges, bytes).at(running.file.name());
            (running, wanted) = running.go_on(cores, push).await?;
        }
        Ok(())
    }
}

/// A [`Decoding`] that is running.
struct RunningDecoder<S> {
    file: ParquetFile,
    decoder: ParquetPushDecoder,
    keyed: Option<KeyReader>,
    sink: S,
}

impl<S> RunningDecoder<S>
where
    S: FnMut(RecordBatch) -> Result<ControlFlow<()>>,
{
    /// Runs `first` on a core and then decodes until bytes are missing. Returns the missing ranges.
    async fn go_on<F>(mut self, cores: &Cores, first: F) -> Result<(Self, Option<Vec<Range<u64>>>)>
    where
        S: Send + 'static,
        F: FnOnce(&mut Self) -> Result<()> + Send + 'static,
    {
        let name = self.file.name().to_owned();
        let work = move || {
            first(&mut self)?;
            let wanted = self.advance()?;
            Ok((self, wanted))
        };
        cores.compute(&name, work).await
    }

    /// Returns the ranges of the columns that are read as keys, followed by the first ranges of the
    /// other columns' decoder.
    fn ranges_of(&mut self, wanted: &KeyColumns) -> Result<Vec<Range<u64>>> {
        let mut ranges = wanted.ranges(&self.file.metadata);
        if !wanted.are_all()
            && let DecodeResult::NeedsData(others) = self.decoder.try_decode().at(self.file.name())?
        {
            ranges.extend(others);
        }
        Ok(ranges)
    }

    /// Opens the columns that are read as keys, given the bytes of all these ranges. If one of them
    /// is unusual, a decoder reads all columns.
    fn open(
        &mut self,
        wanted: KeyColumns,
        options: ReadOptions,
        mut ranges: Vec<Range<u64>>,
        mut bytes: Vec<Bytes>,
    ) -> Result<()> {
        let keyed_count = wanted.leaves().count();
        let (others, of_others) = (ranges.split_off(keyed_count), bytes.split_off(keyed_count));
        self.keyed = KeyReader::open(wanted, bytes, &self.file.metadata).map_err(|error| error.within(self.file.name()))?;
        if self.keyed.is_some() {
            return self.decoder.push_ranges(others, of_others).at(self.file.name());
        }
        let metadata = options.metadata.clone().ok_or_else(|| Error::internal("columns were selected without metadata"))?;
        self.decoder = self.file.decoder(metadata, options)?;
        Ok(())
    }

    /// Decodes until bytes are missing, and returns their ranges, or until the rows end.
    fn advance(&mut self) -> Result<Option<Vec<Range<u64>>>> {
        loop {
            match self.decoder.try_decode().at(self.file.name())? {
                DecodeResult::NeedsData(ranges) => return Ok(Some(ranges)),
                DecodeResult::Data(batch) => {
                    let batch = match &mut self.keyed {
                        Some(keyed) => keyed.join(&batch).map_err(|error| error.within(self.file.name()))?,
                        None => batch,
                    };
                    if (self.sink)(batch)?.is_break() {
                        return Ok(None);
                    }
                }
                DecodeResult::Finished => return Ok(None),
            }
        }
    }
}
