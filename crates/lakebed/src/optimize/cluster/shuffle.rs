//! Groups rows by bucket in bounded memory. Rows beyond the limit spill to a temporary file, bucket
//! by bucket.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::{DataType as ArrowType, Field, Schema, SchemaRef};
use arrow_select::interleave::interleave_record_batch;

use crate::runtime::memory::{MemoryBudget, Reservation};
use crate::runtime::size::batch_bytes;
use crate::runtime::spill::{Spill, folder};
use crate::write::partition::{Run, in_order};
use crate::{Error, Result};

/// Rows in memory may take this part of the memory budget (one fourth).
const HELD_SHARE: u64 = 4;
/// The least number of bytes that are held before they spill, whatever the budget. Rows that spill
/// together are read together.
const LEAST_HELD_BYTES: u64 = 1 << 20;
/// The number of rows that are returned in one batch.
const ROWS_AT_ONCE: usize = 1 << 14;
/// The name of the column that orders rows within their bucket.
const KEY: &str = "\u{0}key";

/// Rows that are distributed to buckets.
pub(super) struct Shuffle {
    /// The schema of the rows, followed by their key.
    schema: SchemaRef,
    buckets: usize,
    held: Vec<HeldRows>,
    most_bytes: u64,
    /// The reservation for the rows in memory.
    reserved: Reservation,
    spill: Option<Spill>,
    /// For each bucket, the positions of its rows in the file.
    spilled: Vec<Vec<u64>>,
}

/// Rows in memory.
struct HeldRows {
    rows: RecordBatch,
    /// The row indexes in the order of the buckets.
    order: Vec<u32>,
    /// For each bucket with rows, the range of its rows in `order`.
    runs: Vec<Run>,
}

/// Rows with known buckets.
pub(super) struct AssignedRows {
    held: HeldRows,
    bytes: u64,
}

/// The rows of a bucket, returned in the order of their keys.
pub(super) struct SortedBucket {
    sources: Vec<RecordBatch>,
    /// For each row, its source and its index in that source.
    places: Vec<(usize, usize)>,
    done: usize,
    /// The reservation for the rows that were read back from the file.
    _reserved: Reservation,
}

impl AssignedRows {
    /// Creates the rows with the bucket of each, and a key that orders rows within the bucket.
    pub(super) fn new(rows: &RecordBatch, buckets: &[u32], all: usize, keys: Vec<u128>) -> Result<Self> {
        let (order, mut runs) = in_order(buckets, all);
        runs.retain(|run| run.rows > 0);
        // The low half of the key is dropped. Rows that differ only there are close to each other
        // in any order.
        let keys = UInt64Array::from_iter_values(keys.into_iter().map(|key| (key >> 64) as u64));
        let columns: Vec<ArrayRef> = rows.columns().iter().cloned().chain([Arc::new(keys) as ArrayRef]).collect();
        let rows = RecordBatch::try_new(with_key(rows.schema_ref()), columns)?;
        Ok(Self { bytes: batch_bytes(&rows), held: HeldRows { rows, order, runs } })
    }
}

impl Shuffle {
    /// Creates a shuffle for rows of this schema and this number of buckets.
    pub(super) fn new(schema: &SchemaRef, buckets: usize) -> Self {
        let budget = MemoryBudget::of_process();
        Self {
            schema: with_key(schema),
            buckets,
            held: Vec::new(),
            most_bytes: (budget.limit_bytes() / HELD_SHARE).max(LEAST_HELD_BYTES),
            reserved: budget.reserve_now(0),
            spill: None,
            spilled: Vec::new(),
        }
    }

    /// Adds rows.
    pub(super) async fn push(&mut self, rows: AssignedRows) -> Result<()> {
        self.held.push(rows.held);
        self.reserved.grow_to(self.reserved.bytes() + rows.bytes);
        if self.reserved.bytes() < self.most_bytes { Ok(()) } else { self.spill().await }
    }

    /// Returns the number of buckets.
    pub(super) fn buckets(&self) -> usize {
        self.buckets
    }

    /// Returns the number of spilled bytes.
    pub(super) fn spilled_bytes(&self) -> u64 {
        self.spill.as_ref().map_or(0, Spill::size_bytes)
    }

    /// Returns the rows of a bucket, in the order of their keys.
    pub(super) async fn sorted(&self, bucket: usize) -> Result<SortedBucket> {
        let mut sources: Vec<RecordBatch> = Vec::new();
        let mut places: Vec<(u64, u32, u32)> = Vec::new();
        let mut read_bytes = 0;
        if let (Some(spill), Some(spilled)) = (&self.spill, self.spilled.get(bucket)) {
            for rows in spill.read_rows(spilled.clone()).await? {
                read_bytes += batch_bytes(&rows);
                let keys = keys_of(&rows)?;
                let source = sources.len() as u32;
                places.extend(keys.iter().enumerate().map(|(row, key)| (*key, source, row as u32)));
                sources.push(rows);
            }
        }
        for held in &self.held {
            let Some(rows) = held.of(bucket) else { continue };
            let (keys, source) = (keys_of(&held.rows)?, sources.len() as u32);
            places.extend(rows.iter().map(|row| (keys[*row as usize], source, *row)));
            sources.push(held.rows.clone());
        }
        places.sort_unstable();
        let columns: Vec<usize> = (0..self.schema.fields().len() - 1).collect();
        let sources = sources.iter().map(|rows| rows.project(&columns)).collect::<Result<_, _>>()?;
        let places = places.into_iter().map(|(_, source, row)| (source as usize, row as usize)).collect();
        let reserved = MemoryBudget::of_process().reserve_now(read_bytes);
        Ok(SortedBucket { sources, places, done: 0, _reserved: reserved })
    }

    /// Spills all rows in memory to the file.
    async fn spill(&mut self) -> Result<()> {
        let spill = match &mut self.spill {
            Some(spill) => spill,
            None => self.spill.insert(Spill::create(folder(), Arc::clone(&self.schema)).await?),
        };
        self.spilled.resize(self.buckets, Vec::new());
        for (bucket, spilled) in self.spilled.iter_mut().enumerate() {
            let (mut sources, mut places) = (Vec::new(), Vec::new());
            for held in &self.held {
                let Some(rows) = held.of(bucket) else { continue };
                places.extend(rows.iter().map(|row| (sources.len(), *row as usize)));
                sources.push(&held.rows);
            }
            if !places.is_empty() {
                spilled.push(spill.append_rows(interleave_record_batch(&sources, &places)?).await?);
            }
        }
        self.held.clear();
        self.reserved = MemoryBudget::of_process().reserve_now(0);
        Ok(())
    }
}

impl HeldRows {
    /// Returns the rows of a bucket, if there are any.
    fn of(&self, bucket: usize) -> Option<&[u32]> {
        let at = self.runs.binary_search_by_key(&(bucket as u32), |run| run.partition).ok()?;
        let run = &self.runs[at];
        self.order.get(run.start..run.start + run.rows)
    }
}

impl SortedBucket {
    /// Returns the next rows.
    pub(super) fn next(&mut self) -> Result<Option<RecordBatch>> {
        let end = self.places.len().min(self.done + ROWS_AT_ONCE);
        if self.done == end {
            return Ok(None);
        }
        let sources: Vec<&RecordBatch> = self.sources.iter().collect();
        let rows = interleave_record_batch(&sources, &self.places[self.done..end])?;
        self.done = end;
        Ok(Some(rows))
    }
}

fn with_key(schema: &SchemaRef) -> SchemaRef {
    let key = Field::new(KEY, ArrowType::UInt64, false);
    Arc::new(Schema::new(schema.fields().iter().cloned().chain([Arc::new(key)]).collect::<Vec<_>>()))
}

fn keys_of(rows: &RecordBatch) -> Result<&[u64]> {
    let keys = rows.columns().last().and_then(|keys| keys.as_primitive_opt::<UInt64Type>());
    keys.map(|keys| keys.values().as_ref()).ok_or_else(|| Error::internal("the rows have no keys"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A row as bucket, key and value.
    type Row = (u32, u128, u64);

    fn assigned(rows: &[Row], buckets: usize) -> AssignedRows {
        let values: ArrayRef = Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| row.2)));
        let batch = RecordBatch::try_from_iter([("v", values)]).unwrap();
        let of: Vec<u32> = rows.iter().map(|row| row.0).collect();
        AssignedRows::new(&batch, &of, buckets, rows.iter().map(|row| row.1).collect()).unwrap()
    }

    async fn values(shuffle: &Shuffle, bucket: usize) -> Vec<u64> {
        let (mut sorted, mut found) = (shuffle.sorted(bucket).await.unwrap(), Vec::new());
        while let Some(rows) = sorted.next().unwrap() {
            assert_eq!(rows.num_columns(), 1);
            found.extend_from_slice(rows.column(0).as_primitive::<UInt64Type>().values());
        }
        found
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn shuffle_sorts_buckets_at_any_memory(
            batches in prop::collection::vec(prop::collection::vec((0_u32..5, any::<u128>(), any::<u64>()), 1..50), 0..8),
            most_bytes in prop_oneof![Just(1_u64), 500_u64..3_000, Just(u64::MAX)],
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async {
                let schema = Arc::new(Schema::new(vec![Field::new("v", ArrowType::UInt64, true)]));
                let mut shuffle = Shuffle { most_bytes, ..Shuffle::new(&schema, 5) };
                for rows in &batches {
                    shuffle.push(assigned(rows, 5)).await.unwrap();
                }
                if most_bytes == 1 {
                    assert_eq!(shuffle.spilled_bytes() > 0, !batches.is_empty());
                    assert!(shuffle.held.is_empty());
                }
                for bucket in 0..5 {
                    let of_bucket = batches.iter().flatten().filter(|row| row.0 == bucket);
                    let mut expected: Vec<(u128, u64)> = of_bucket.map(|row| (row.1 >> 64, row.2)).collect();
                    expected.sort_by_key(|row| row.0);
                    let mut found = values(&shuffle, bucket as usize).await;
                    // Rows with equal keys may come in any order.
                    let keys: Vec<u128> = expected.iter().map(|row| row.0).collect();
                    if keys.windows(2).all(|pair| pair[0] != pair[1]) {
                        assert_eq!(found, expected.iter().map(|row| row.1).collect::<Vec<_>>());
                    }
                    let mut all: Vec<u64> = expected.iter().map(|row| row.1).collect();
                    all.sort_unstable();
                    found.sort_unstable();
                    assert_eq!(found, all);
                }
            });
        }
    }
}
