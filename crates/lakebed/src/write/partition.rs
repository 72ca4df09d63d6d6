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
use crate::Result;

/// Where a batch gives fewer rows of a partition than this, all batches are gathered from at once.
const FEW_ROWS: usize = 64;

/// Batches whose partitions are known.
pub(super) struct Window {
    rules: Arc<WriteRules>,
    rows: RowConverter,
    ids: HashMap<Box<[u8]>, u32>,
    partitions: Vec<PartitionTexts>,
    batches: Vec<Sorted>,
    bytes: u64,
}

/// A batch, and its rows in the order of their partitions.
struct Sorted {
    /// With the columns of a file.
    batch: RecordBatch,
    order: Vec<u32>,
    /// For each partition in the batch where its rows begin in the order.
    runs: Vec<Run>,
}

#[derive(Debug, Clone, Copy)]
struct Run {
    partition: u32,
    start: usize,
    rows: usize,
}

/// The rows of one partition.
pub(super) struct Part {
    pub(super) partition: PartitionTexts,
    /// The number of the partition in the window.
    id: u32,
}

impl Window {
    pub(super) fn new(rules: Arc<WriteRules>) -> Result<Self> {
        let fields = rules.partition_columns.iter().map(|column| {
            let field = rules.arrow_schema.field(column.index);
            SortField::new(field.data_type().clone())
        });
        let converter = RowConverter::new(fields.collect())?;
        Ok(Self { rules, rows: converter, ids: HashMap::new(), partitions: Vec::new(), batches: Vec::new(), bytes: 0 })
    }

    /// Adds a batch: `table` has the columns of the table, `file` those of a file.
    pub(super) fn push(&mut self, table: &RecordBatch, file: RecordBatch) -> Result<()> {
        let columns: Vec<ArrayRef> =
            self.rules.partition_columns.iter().map(|column| table.column(column.index).clone()).collect();
        let keys = self.rows.convert_columns(&columns)?;
        let mut ids = Vec::with_capacity(table.num_rows());
        let mut new_rows: Vec<u32> = Vec::new();
        let mut last: Option<(usize, u32)> = None;
        for row in 0..table.num_rows() {
            let key = keys.row(row);
            // Neighbours mostly belong together.
            if let Some((before, id)) = last
                && keys.row(before) == key
            {
                ids.push(id);
                continue;
            }
            let id = match self.ids.get(key.as_ref()) {
                Some(id) => *id,
                None => {
                    let id = (self.partitions.len() + new_rows.len()) as u32;
                    self.ids.insert(key.as_ref().into(), id);
                    new_rows.push(row as u32);
                    id
                }
            };
            last = Some((row, id));
            ids.push(id);
        }
        self.name_partitions(&columns, new_rows)?;
        self.bytes += size_bytes(&file);
        self.batches.push(sorted(file, &ids, self.partitions.len()));
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

    /// The rows of a partition, in the order in which they came.
    pub(super) fn gather(&self, part: &Part) -> Result<Vec<RecordBatch>> {
        let found =
            |sorted: &Sorted| sorted.runs.binary_search_by_key(&part.id, |run| run.partition).ok().map(|at| sorted.runs[at]);
        let runs: Vec<(usize, Run)> =
            self.batches.iter().enumerate().filter_map(|(batch, sorted)| Some((batch, found(sorted)?))).collect();
        let rows: usize = runs.iter().map(|(_, run)| run.rows).sum();
        if runs.len() > 1 && rows / runs.len() < FEW_ROWS {
            return Ok(vec![self.interleave(&runs)?]);
        }
        runs.into_iter().map(|(batch, run)| self.batches[batch].take(run)).collect()
    }

    fn interleave(&self, runs: &[(usize, Run)]) -> Result<RecordBatch> {
        let batches: Vec<&RecordBatch> = runs.iter().map(|(batch, _)| &self.batches[*batch].batch).collect();
        let mut places = Vec::new();
        for (place, (batch, run)) in runs.iter().enumerate() {
            let order = self.batches[*batch].order.iter().skip(run.start).take(run.rows);
            places.extend(order.map(|row| (place, *row as usize)));
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
fn sorted(batch: RecordBatch, ids: &[u32], partitions: usize) -> Sorted {
    let mut ends = vec![0_usize; partitions];
    for id in ids {
        ends[*id as usize] += 1;
    }
    let mut runs = Vec::new();
    let mut start = 0;
    for (partition, rows) in ends.iter_mut().enumerate() {
        if *rows > 0 {
            runs.push(Run { partition: partition as u32, start, rows: *rows });
        }
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
    Sorted { batch, order, runs }
}

/// How much memory the rows of a batch take, without what else lies in its buffers.
pub(super) fn size_bytes(batch: &RecordBatch) -> u64 {
    let of_column = |array: &ArrayRef| array.to_data().get_slice_memory_size().unwrap_or_else(|_| array.get_array_memory_size());
    batch.columns().iter().map(of_column).sum::<usize>() as u64
}
