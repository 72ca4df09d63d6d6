//! Spills the rows of partitions when there are too many partitions to keep a file open for each.
//! The rows go to a temporary file, and each partition is written once, at the end. So data in any
//! order becomes few files per partition, within bounded memory.
//!
//! Rows are not spilled if they are many, if they come in the order of their partitions, or if
//! their partition has an open file. A partition has an open file or spilled rows, never both, so
//! its rows stay in their order. Begin with [`Overflow::divide`].

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use futures::{StreamExt, TryStreamExt, stream};

use super::data_file::{FEW_ROWS, OpenFile, Shared};
use super::file_names::PartitionTexts;
use super::partition::{Gathering, PartitionRows};
use crate::runtime::memory::{MemoryBudget, Reservation};
use crate::runtime::size::batch_bytes;
use crate::runtime::spill::{Spill, folder};
use crate::{Error, Result};

/// The maximum number of files of partitions that stay open between windows.
pub(super) const MOST_OPEN: usize = 200;
/// The rows of one partition are few if they take less than a window divided by this number.
const SMALL_SHARE: u64 = 16;
/// The maximum size of rows that are spilled, and read again, in one batch.
const PIECE_BYTES: u64 = 8 << 20;

/// The spilled rows of partitions that have no file yet.
pub(super) struct Overflow {
    schema: SchemaRef,
    small_bytes: u64,
    piece_bytes: u64,
    spill: Option<Spill>,
    spilled: BTreeMap<PartitionTexts, SpilledRows>,
    /// The partitions of all windows so far.
    met: HashSet<PartitionTexts>,
}

/// The spilled rows of a partition.
#[derive(Debug, Default)]
pub(super) struct SpilledRows {
    batches: VecDeque<SpilledBatch>,
    rows: usize,
}

#[derive(Debug)]
struct SpilledBatch {
    place: u64,
    bytes: u64,
}

impl Overflow {
    /// Returns an overflow for windows of this size.
    pub(super) fn new(shared: &Shared, window_bytes: u64) -> Self {
        let small_bytes = window_bytes / SMALL_SHARE;
        Self {
            schema: Arc::clone(&shared.layout.schema),
            small_bytes,
            piece_bytes: small_bytes.min(PIECE_BYTES).min(shared.options.target_file_size_bytes).max(1),
            spill: None,
            spilled: BTreeMap::new(),
            met: HashSet::new(),
        }
    }

    /// Divides the parts of a full window into those to spill, and the others.
    pub(super) fn divide(
        &mut self,
        parts: Vec<PartitionRows>,
        open: &HashMap<PartitionTexts, OpenFile>,
    ) -> (Vec<PartitionRows>, Vec<PartitionRows>) {
        let new: Vec<PartitionTexts> =
            parts.iter().map(|part| &part.partition).filter(|partition| !self.met.contains(*partition)).cloned().collect();
        let have_room = self.met.len() + new.len() <= MOST_OPEN;
        let waits = |PartitionRows { partition, rows }: &PartitionRows| {
            let is_in_order = !self.met.contains(partition) && rows.rows() >= FEW_ROWS && rows.is_together();
            !open.contains_key(partition) && rows.bytes() < self.small_bytes && !is_in_order
        };
        let divided = parts.into_iter().partition(|part| !have_room && waits(part));
        self.met.extend(new);
        divided
    }

    /// Spills parts of a window.
    pub(super) async fn spill(&mut self, shared: &Shared, parts: Vec<PartitionRows>) -> Result<()> {
        if parts.is_empty() {
            return Ok(());
        }
        let spill = match &mut self.spill {
            Some(spill) => spill,
            None => self.spill.insert(Spill::create(folder(), Arc::clone(&self.schema)).await?),
        };
        let piece_bytes = self.piece_bytes;
        let gathered = stream::iter(parts).map(|PartitionRows { partition, rows }| {
            let reserved = MemoryBudget::of_process().reserve_now(rows.bytes());
            let batches = shared.cores.compute("gathering a partition", move || rows.pieces(piece_bytes));
            async move { Ok::<_, Error>((partition, batches.await?, reserved)) }
        });
        // Rows are spilled in the order of partitions. They are read again in this order, so the
        // reads are close to each other.
        let mut gathered = gathered.buffered(shared.cores.count());
        while let Some((partition, batches, reserved)) = gathered.try_next().await? {
            let spilled = self.spilled.entry(partition).or_default();
            for rows in batches {
                spilled.rows += rows.num_rows();
                let bytes = batch_bytes(&rows);
                spilled.batches.push_back(SpilledBatch { place: spill.append_rows(rows).await?, bytes });
            }
            drop(reserved);
        }
        Ok(())
    }

    /// Returns whether no rows are spilled.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.spilled.is_empty()
    }

    /// Removes and returns the rows of a partition, which are written now.
    pub(super) fn take(&mut self, partition: &PartitionTexts) -> Option<SpilledRows> {
        self.spilled.remove(partition)
    }

    /// Removes and returns the rows of all partitions, in the order of the partitions.
    pub(super) fn take_all(&mut self) -> BTreeMap<PartitionTexts, SpilledRows> {
        std::mem::take(&mut self.spilled)
    }

    /// Reads the next rows of a partition, in the order in which they came.
    pub(super) async fn next(&self, spilled: &mut SpilledRows) -> Result<Option<(Gathering, Reservation)>> {
        let (mut places, mut bytes) = (Vec::new(), 0);
        while let Some(batch) = spilled.batches.pop_front_if(|batch| places.is_empty() || bytes + batch.bytes <= self.piece_bytes)
        {
            places.push(batch.place);
            bytes += batch.bytes;
        }
        if places.is_empty() {
            return Ok(None);
        }
        let spill = self.spill.as_ref().ok_or_else(|| Error::internal("the file with the spilled rows is missing"))?;
        let reserved = MemoryBudget::of_process().reserve_now(bytes);
        let rows: Vec<RecordBatch> = spill.read_rows(places).await?;
        Ok(Some((Gathering::of_whole(rows), reserved)))
    }
}

impl SpilledRows {
    /// Returns the number of rows.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }
}

#[cfg(test)]
mod tests;
