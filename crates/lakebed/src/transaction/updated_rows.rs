//! The rows that an operation of a transaction updated, before and after. Change data files do not
//! tell which row before an update belongs to which row after it.

use arrow_array::RecordBatch;

use crate::Result;
use crate::runtime::spill::{Spill, folder};

/// Pairs of batches with the rows before and after an update, in a temporary file. The rows of the
/// two batches correspond.
#[derive(Debug, Default)]
pub(crate) struct UpdatedRows {
    spill: Option<Spill>,
    places: Vec<[u64; 2]>,
    rows: u64,
}

impl UpdatedRows {
    /// Adds rows as they were and as they are.
    pub(crate) async fn push(&mut self, before: &RecordBatch, after: &RecordBatch) -> Result<()> {
        let mut spill = match self.spill.take() {
            Some(spill) => spill,
            None => Spill::create(folder(), before.schema()).await?,
        };
        let places = [spill.append_rows(before.clone()).await?, spill.append_rows(after.clone()).await?];
        self.spill = Some(spill);
        self.places.push(places);
        self.rows += before.num_rows() as u64;
        Ok(())
    }

    /// Returns the number of updated rows.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the number of pairs of batches.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Reads a pair of batches.
    pub(crate) async fn read(&self, number: usize) -> Result<Option<[RecordBatch; 2]>> {
        let (Some(spill), Some(places)) = (&self.spill, self.places.get(number)) else { return Ok(None) };
        Ok(<[RecordBatch; 2]>::try_from(spill.read_rows(places.to_vec()).await?).ok())
    }
}
