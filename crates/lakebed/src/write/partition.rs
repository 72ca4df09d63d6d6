//! Divides rows by their partitions.
//!
//! A [`Window`] keeps batches as they came until there are enough of them. For each row it adds
//! only a number. Its partitions are then gathered one by one. So rows are copied once, few files
//! are open at a time, and data that comes sorted is not copied at all.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, UInt32Array};
use arrow_row::{RowConverter, SortField};
use arrow_select::interleave::interleave_record_batch;
use arrow_select::take::take_record_batch;
use lakebed_core::value::print_partition_column;

use super::file_names::PartitionTexts;
use super::rules::WriteRules;
use super::sample::evenly;
use crate::Result;
use crate::runtime::size::batch_bytes;

/// If batches have fewer rows of a partition than this on average, the rows of all batches are
/// gathered at once.
const FEW_ROWS: usize = 64;

/// Sorts the rows of batches by their partitions.
pub(super) struct Sorter {
    rules: Arc<WriteRules>,
    rows: RowConverter,
}

/// A batch, and its rows in the order of their partitions.
pub(super) struct Sorted {
    /// The batch with the columns of a file.
    batch: RecordBatch,
    order: Vec<u32>,
    /// For each partition in the batch, the range of its rows in the order.
    runs: Vec<Run>,
    partitions: Vec<PartitionTexts>,
    bytes: u64,
}

/// Consecutive rows of one partition in an order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    pub(crate) partition: u32,
    pub(crate) start: usize,
    pub(crate) rows: usize,
}

/// Batches with rows that are divided by partition.
#[derive(Default)]
pub(super) struct Window {
    /// The numbers of the partitions.
    ids: BTreeMap<PartitionTexts, u32>,
    batches: Vec<Sorted>,
    bytes: u64,
}

/// The rows of one partition.
pub(super) struct PartitionRows {
    pub(super) partition: PartitionTexts,
    pub(super) rows: Gathering,
}

/// The rows of one partition, which are taken out of a window piece by piece. So a piece is encoded
/// while it is in the CPU caches.
pub(super) struct Gathering {
    window: Arc<Window>,
    /// The places of the rows: the index of the batch, and the run.
    runs: Vec<(usize, Run)>,
    rows: usize,
    /// The number of runs that have been taken.
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

    /// Sorts a batch. `table` has the columns of the table, and `file` those of a file.
    pub(super) fn sort(&self, table: &RecordBatch, file: RecordBatch) -> Result<Sorted> {
        let columns: Vec<ArrayRef> =
            self.rules.partition_columns.iter().map(|column| table.column(column.index).clone()).collect();
        let rows = self.rows.convert_columns(&columns)?;
        let mut known: HashMap<&[u8], u32> = HashMap::new();
        let mut firsts = Vec::new();
        let mut ids = Vec::with_capacity(table.num_rows());
        let mut last: Option<(usize, u32)> = None;
        for row in 0..table.num_rows() {
            let key = rows.row(row);
            // Adjacent rows are in the same partition in most cases.
            let id = match last {
                Some((before, id)) if rows.row(before) == key => id,
                _ => *known.entry(key.data()).or_insert_with(|| {
                    firsts.push(row as u32);
                    firsts.len() as u32 - 1
                }),
            };
            last = Some((row, id));
            ids.push(id);
        }
        let (numbers, partitions) = self.named(&columns, firsts)?;
        if partitions.len() < numbers.len() {
            ids.iter_mut().for_each(|id| *id = numbers[*id as usize]);
        }
        let (order, runs) = in_order(&ids, partitions.len());
        Ok(Sorted { bytes: batch_bytes(&file), batch: file, order, runs, partitions })
    }

    /// Returns the partitions of these rows, and for each row the number of its partition among
    /// them. Different values may have the same spelling, such as null and the empty string.
    fn named(&self, columns: &[ArrayRef], rows: Vec<u32>) -> Result<(Vec<u32>, Vec<PartitionTexts>)> {
        let rows = UInt32Array::from(rows);
        let mut texts = Vec::with_capacity(columns.len());
        for (array, column) in columns.iter().zip(&self.rules.partition_columns) {
            let values = arrow_select::take::take(array, &rows, None)?;
            texts.push(print_partition_column(values.as_ref(), column.data_type).map_err(|error| error.within(&column.name))?);
        }
        let (mut numbers, mut partitions) = (HashMap::with_capacity(rows.len()), Vec::with_capacity(rows.len()));
        let number = |row: usize| {
            let text = |column: &StringArray| column.is_valid(row).then(|| column.value(row).to_owned());
            let partition: PartitionTexts = texts.iter().map(text).collect();
            *numbers.entry(partition).or_insert_with_key(|partition| {
                partitions.push(partition.clone());
                partitions.len() as u32 - 1
            })
        };
        Ok(((0..rows.len()).map(number).collect(), partitions))
    }
}

impl Window {
    /// Adds a batch. Its partitions get the numbers that they have in the window.
    pub(super) fn push(&mut self, mut sorted: Sorted) {
        let mut ids = Vec::with_capacity(sorted.partitions.len());
        for partition in std::mem::take(&mut sorted.partitions) {
            let next = self.ids.len() as u32;
            ids.push(*self.ids.entry(partition).or_insert(next));
        }
        for run in &mut sorted.runs {
            run.partition = ids[run.partition as usize];
        }
        sorted.runs.sort_unstable_by_key(|run| run.partition);
        self.bytes += sorted.bytes;
        self.batches.push(sorted);
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the partitions in the window, in their order, with their rows.
    pub(super) fn into_parts(mut self) -> Vec<PartitionRows> {
        let ids = std::mem::take(&mut self.ids);
        let window = Arc::new(self);
        let part = |(partition, id)| PartitionRows { partition, rows: window.gather(id) };
        ids.into_iter().map(part).collect()
    }

    /// Returns the rows of the partition with this number.
    fn gather(self: &Arc<Self>, id: u32) -> Gathering {
        let found = |sorted: &Sorted| sorted.runs.binary_search_by_key(&id, |run| run.partition).ok().map(|at| sorted.runs[at]);
        let runs = self.batches.iter().enumerate().filter_map(|(batch, sorted)| Some((batch, found(sorted)?)));
        Gathering::new(Arc::clone(self), runs.collect())
    }
}

impl Gathering {
    fn new(window: Arc<Window>, runs: Vec<(usize, Run)>) -> Self {
        let rows = runs.iter().map(|(_, run)| run.rows).sum();
        Self { window, runs, rows, done: 0 }
    }

    /// Returns all rows of batches that have the columns of a file.
    pub(super) fn of_whole(batches: Vec<RecordBatch>) -> Self {
        let whole = |batch: &RecordBatch| Run { partition: 0, start: 0, rows: batch.num_rows() };
        let runs = batches.iter().map(whole).enumerate().collect();
        let batches = batches.into_iter().map(|batch| {
            let (order, bytes) = ((0..batch.num_rows() as u32).collect(), batch_bytes(&batch));
            Sorted { batch, order, runs: Vec::new(), partitions: Vec::new(), bytes }
        });
        Self::new(Arc::new(Window { batches: batches.collect(), ..Window::default() }), runs)
    }

    /// Returns the next rows, in the order in which they came.
    pub(super) fn next(&mut self) -> Result<Option<RecordBatch>> {
        let Some((batch, run)) = self.runs.get(self.done).copied() else { return Ok(None) };
        if self.done == 0 && self.runs.len() > 1 && self.rows / self.runs.len() < FEW_ROWS {
            self.done = self.runs.len();
            return Ok(Some(self.pick(self.places().collect())?));
        }
        self.done += 1;
        Ok(Some(self.window.batches[batch].take(run)?))
    }

    /// Returns whether all rows have been taken.
    pub(super) fn is_done(&self) -> bool {
        self.done == self.runs.len()
    }

    /// Returns all rows in pieces of about this size.
    pub(super) fn pieces(self, most_bytes: u64) -> Result<Vec<RecordBatch>> {
        let pieces = self.bytes().div_ceil(most_bytes).max(1) as usize;
        let places: Vec<(usize, usize)> = self.places().collect();
        places.chunks(self.rows.div_ceil(pieces).max(1)).map(|places| self.pick(places.to_vec())).collect()
    }

    /// Returns the approximate memory of the rows.
    pub(super) fn bytes(&self) -> u64 {
        let of_run = |(batch, run): &(usize, Run)| {
            let Sorted { batch, bytes, .. } = &self.window.batches[*batch];
            (u128::from(*bytes) * run.rows as u128 / batch.num_rows().max(1) as u128) as u64
        };
        self.runs.iter().map(of_run).sum()
    }

    /// Returns whether the rows are consecutive in the data, without rows of other partitions
    /// between them.
    pub(super) fn is_together(&self) -> bool {
        // For each run: where it begins, and where the next one has to begin.
        let mut stretches = self.runs.iter().map(|(batch, run)| {
            let sorted = &self.window.batches[*batch];
            let rows = sorted.neighbours(*run)?;
            let next = if rows.end == sorted.batch.num_rows() { (*batch + 1, 0) } else { (*batch, rows.end) };
            Some(((*batch, rows.start), next))
        });
        let first = stretches.next().flatten();
        let follows =
            |end, next: Option<((usize, usize), (usize, usize))>| next.filter(|(start, _)| *start == end).map(|(_, end)| end);
        first.is_some_and(|(_, end)| stretches.try_fold(end, follows).is_some())
    }

    /// Returns the number of rows.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Returns a sample of the rows, spread evenly over all of them.
    pub(super) fn sample(&self) -> Result<RecordBatch> {
        self.pick(evenly(self.runs.iter().map(|(_, run)| run.rows)))
    }

    /// Returns the places of all rows.
    fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        self.runs.iter().enumerate().flat_map(|(place, (_, run))| (0..run.rows).map(move |row| (place, row)))
    }

    /// Returns the rows at these places. A place is the index of a run and of a row in it.
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
        if let Some(rows) = self.neighbours(run) {
            return Ok(self.batch.slice(rows.start, rows.len()));
        }
        Ok(take_record_batch(&self.batch, &UInt32Array::from(self.rows(run).to_vec()))?)
    }

    /// Returns the range of a run's rows in its batch, if the rows are consecutive.
    fn neighbours(&self, run: Run) -> Option<Range<usize>> {
        let rows = self.rows(run);
        let (first, last) = (*rows.first()? as usize, *rows.last()? as usize);
        // The order keeps the rows of one partition ascending.
        (last - first + 1 == rows.len()).then_some(first..last + 1)
    }

    fn rows(&self, run: Run) -> &[u32] {
        self.order.get(run.start..run.start + run.rows).unwrap_or_default()
    }
}

/// Counts the rows of each partition, and then places them. So rows of one partition stay in their
/// order.
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
