//! Rows by the partition they belong to.
//!
//! A [`Window`] keeps batches as they came until there are enough of them, and of each row only a number; its partitions are then gathered
//! one by one. So rows are copied once, few files are open at a time, and data that comes sorted is not copied at all.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow_row::{RowConverter, SortField};
use arrow_select::interleave::interleave_record_batch;
use arrow_select::take::take_record_batch;
use lakebed_core::value::print_partition_column;

use super::place::PartitionTexts;
use super::rules::WriteRules;
use super::sample::evenly;
use crate::Result;

/// Where a batch gives fewer rows of a partition than this, all batches are gathered from at once.
const FEW_ROWS: usize = 64;

/// Puts the rows of batches in the order of their partitions.
pub(super) struct Sorter {
    rules: Arc<WriteRules>,
    rows: RowConverter,
}

/// A batch, and its rows in the order of their partitions.
pub(super) struct Sorted {
    /// With the columns of a file.
    batch: RecordBatch,
    order: Vec<u32>,
    /// For each partition in the batch where its rows begin in the order.
    runs: Vec<Run>,
    /// The partition columns.
    columns: Vec<ArrayRef>,
    /// The partitions in the batch: their keys, and the first row of each.
    keys: Vec<(Box<[u8]>, u32)>,
}

/// Rows of one partition that lie together in an order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    pub(crate) partition: u32,
    pub(crate) start: usize,
    pub(crate) rows: usize,
}

/// Batches whose partitions are known.
pub(super) struct Window {
    rules: Arc<WriteRules>,
    ids: HashMap<Box<[u8]>, u32>,
    partitions: Vec<PartitionTexts>,
    batches: Vec<Sorted>,
    bytes: u64,
}

/// The rows of one partition.
pub(super) struct Part {
    pub(super) partition: PartitionTexts,
    /// The number of the partition in the window.
    id: u32,
}

/// The rows of one partition as they are taken out of a window, piece by piece: what is taken is encoded while it is in the caches.
pub(super) struct Gathering {
    window: Arc<Window>,
    /// Where they stand: batch and run.
    runs: Vec<(usize, Run)>,
    rows: usize,
    /// How many runs are taken.
    done: usize,
}

impl Sorter {
    pub(super) fn new(rules: Arc<WriteRules>) -> Result<Self> {
        let fields = rules.partition_columns.iter().map(|column| {
            let field = rules.arrow_schema.field(column.index);
            SortField::new(field.data_type().clone())
        });
        let rows = RowConverter::new(fields.collect())?;
        Ok(Self { rules, rows })
    }

    /// `table` has the columns of the table, `file` those of a file.
    pub(super) fn sort(&self, table: &RecordBatch, file: RecordBatch) -> Result<Sorted> {
        let columns: Vec<ArrayRef> =
            self.rules.partition_columns.iter().map(|column| table.column(column.index).clone()).collect();
        let rows = self.rows.convert_columns(&columns)?;
        let mut partitions: HashMap<&[u8], u32> = HashMap::new();
        let mut keys = Vec::new();
        let mut ids = Vec::with_capacity(table.num_rows());
        let mut last: Option<(usize, u32)> = None;
        for row in 0..table.num_rows() {
            let key = rows.row(row);
            // Neighbours mostly belong together.
            let id = match last {
                Some((before, id)) if rows.row(before) == key => id,
                _ => *partitions.entry(key.data()).or_insert_with(|| {
                    keys.push((key.data().into(), row as u32));
                    keys.len() as u32 - 1
                }),
            };
            last = Some((row, id));
            ids.push(id);
        }
        let (order, runs) = in_order(&ids, keys.len());
        Ok(Sorted { batch: file, order, runs, columns, keys })
    }
}

impl Window {
    pub(super) fn new(rules: Arc<WriteRules>) -> Self {
        Self { rules, ids: HashMap::new(), partitions: Vec::new(), batches: Vec::new(), bytes: 0 }
    }

    /// Adds a batch: its partitions get the numbers that they have in the window.
    pub(super) fn push(&mut self, mut sorted: Sorted) -> Result<()> {
        let (mut ids, mut new_rows) = (Vec::with_capacity(sorted.keys.len()), Vec::new());
        for (key, row) in std::mem::take(&mut sorted.keys) {
            let next = (self.partitions.len() + new_rows.len()) as u32;
            let id = *self.ids.entry(key).or_insert(next);
            if id == next {
                new_rows.push(row);
            }
            ids.push(id);
        }
        self.name_partitions(&std::mem::take(&mut sorted.columns), new_rows)?;
        for run in &mut sorted.runs {
            run.partition = ids[run.partition as usize];
        }
        sorted.runs.sort_unstable_by_key(|run| run.partition);
        self.bytes += size_bytes(&sorted.batch);
        self.batches.push(sorted);
        Ok(())
    }

    /// The texts of partitions that were not met before, of each by one of its rows.
    fn name_partitions(&mut self, columns: &[ArrayRef], rows: Vec<u32>) -> Result<()> {
        let rows = UInt32Array::from(rows);
        let mut texts = Vec::with_capacity(columns.len());
        for (array, column) in columns.iter().zip(&self.rules.partition_columns) {
            let values = arrow_select::take::take(array, &rows, None)?;
            texts.push(print_partition_column(values.as_ref(), column.data_type).map_err(|error| error.within(&column.name))?);
        }
        for row in 0..rows.len() {
            let text = |column: &arrow_array::StringArray| column.is_valid(row).then(|| column.value(row).to_owned());
            self.partitions.push(texts.iter().map(text).collect());
        }
        Ok(())
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    /// The partitions in it. Two of them may have the same texts, as null and the empty text do.
    pub(super) fn parts(&self) -> Vec<Part> {
        let parts = self.partitions.iter().enumerate();
        parts.map(|(id, partition)| Part { partition: partition.clone(), id: id as u32 }).collect()
    }

    /// The rows of a partition.
    pub(super) fn gather(self: &Arc<Self>, part: &Part) -> Gathering {
        let found =
            |sorted: &Sorted| sorted.runs.binary_search_by_key(&part.id, |run| run.partition).ok().map(|at| sorted.runs[at]);
        let runs = self.batches.iter().enumerate().filter_map(|(batch, sorted)| Some((batch, found(sorted)?)));
        let runs: Vec<(usize, Run)> = runs.collect();
        let rows = runs.iter().map(|(_, run)| run.rows).sum();
        Gathering { window: Arc::clone(self), runs, rows, done: 0 }
    }
}

impl Gathering {
    /// The next rows, in the order in which they came.
    pub(super) fn next(&mut self) -> Result<Option<RecordBatch>> {
        let Some((batch, run)) = self.runs.get(self.done).copied() else { return Ok(None) };
        if self.done == 0 && self.runs.len() > 1 && self.rows / self.runs.len() < FEW_ROWS {
            self.done = self.runs.len();
            let runs = self.runs.iter().enumerate();
            let all = runs.flat_map(|(place, (_, run))| (0..run.rows).map(move |row| (place, row)));
            return Ok(Some(self.pick(all.collect())?));
        }
        self.done += 1;
        Ok(Some(self.window.batches[batch].take(run)?))
    }

    /// How many rows they are.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Some of the rows, evenly from all of them.
    pub(super) fn sample(&self) -> Result<RecordBatch> {
        self.pick(evenly(self.runs.iter().map(|(_, run)| run.rows)))
    }

    /// The rows in these places: of which run, and which of its rows.
    fn pick(&self, mut places: Vec<(usize, usize)>) -> Result<RecordBatch> {
        let batches: Vec<&RecordBatch> = self.runs.iter().map(|(batch, _)| &self.window.batches[*batch].batch).collect();
        for (place, row) in &mut places {
            let (batch, run) = self.runs[*place];
            *row = self.window.batches[batch].order[run.start + *row] as usize;
        }
        Ok(interleave_record_batch(&batches, &places)?)
    }
}

impl Sorted {
    fn take(&self, run: Run) -> Result<RecordBatch> {
        let rows = self.order.get(run.start..run.start + run.rows).unwrap_or_default();
        let (first, last) = (rows.first().copied().unwrap_or(0), rows.last().copied().unwrap_or(0));
        // The order keeps rows of one partition ascending, so these are neighbours.
        if (last - first) as usize + 1 == run.rows {
            return Ok(self.batch.slice(first as usize, run.rows));
        }
        Ok(take_record_batch(&self.batch, &UInt32Array::from(rows.to_vec()))?)
    }
}

/// Counts, then places: rows of one partition stay in their order.
pub(crate) fn in_order(ids: &[u32], partitions: usize) -> (Vec<u32>, Vec<Run>) {
    let mut ends = vec![0_usize; partitions];
    for id in ids {
        ends[*id as usize] += 1;
    }
    let mut runs = Vec::with_capacity(partitions);
    let mut start = 0;
    for (partition, rows) in ends.iter_mut().enumerate() {
        runs.push(Run { partition: partition as u32, start, rows: *rows });
        let next = start + *rows;
        *rows = start;
        start = next;
    }
    let mut order = vec![0_u32; ids.len()];
    for (row, id) in ids.iter().enumerate() {
        let place = &mut ends[*id as usize];
        order[*place] = row as u32;
        *place += 1;
    }
    (order, runs)
}

/// How much memory the rows of a batch take, without what else lies in its buffers.
pub(crate) fn size_bytes(batch: &RecordBatch) -> u64 {
    let of_column = |array: &ArrayRef| array.to_data().get_slice_memory_size().unwrap_or_else(|_| array.get_array_memory_size());
    batch.columns().iter().map(of_column).sum::<usize>() as u64
}
