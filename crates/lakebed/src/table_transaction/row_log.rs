//! Lists of rows that go to a temporary file when they take too much memory. A row is the bytes of its
//! values.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::LargeBinaryType;
use arrow_array::{LargeBinaryArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema};

use crate::runtime::spill::{Spill, folder};
use crate::{Error, Result};

/// The memory that a pair of rows takes beside their bytes, by estimate.
const OVERHEAD_BYTES: u64 = 96;
/// The most pairs that are read from the file at a time.
const PAIRS_AT_ONCE: usize = 8192;

/// The values of a row.
pub(super) type Row = Box<[u8]>;

/// A row, and another row that belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RowPair {
    pub(super) row: Row,
    pub(super) other: Option<Row>,
}

/// Pairs of rows, in memory or in the file.
#[derive(Debug, Default)]
pub(super) struct RowLog {
    pairs: Vec<RowPair>,
    places: Vec<u64>,
}

/// The temporary file of many logs. It is made when it is needed.
#[derive(Debug, Default)]
pub(super) struct RowFile(Option<Spill>);

impl RowPair {
    pub(super) fn size_bytes(&self) -> u64 {
        (self.row.len() + self.other.as_ref().map_or(0, |other| other.len())) as u64 + OVERHEAD_BYTES
    }
}

impl RowLog {
    pub(super) fn push(&mut self, pair: RowPair) {
        self.pairs.push(pair);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pairs.is_empty() && self.places.is_empty()
    }

    pub(super) fn append(&mut self, mut other: Self) {
        self.pairs.append(&mut other.pairs);
        self.places.append(&mut other.places);
    }

    /// Takes out some of the pairs, until there are none. The size of those that come from the file
    /// is added to the bytes in memory.
    pub(super) async fn next(&mut self, file: &RowFile, used_bytes: &mut u64) -> Result<Option<Vec<RowPair>>> {
        if let Some(place) = self.places.pop() {
            let pairs = file.read(place).await?;
            *used_bytes += pairs.iter().map(RowPair::size_bytes).sum::<u64>();
            return Ok(Some(pairs));
        }
        Ok(Some(std::mem::take(&mut self.pairs)).filter(|pairs| !pairs.is_empty()))
    }

    /// Writes the pairs in memory to the file.
    pub(super) async fn spill(&mut self, file: &mut RowFile) -> Result<()> {
        for pairs in std::mem::take(&mut self.pairs).chunks(PAIRS_AT_ONCE) {
            self.places.push(file.append(pairs).await?);
        }
        Ok(())
    }
}

impl RowFile {
    async fn append(&mut self, pairs: &[RowPair]) -> Result<u64> {
        let rows = LargeBinaryArray::from_iter_values(pairs.iter().map(|pair| &pair.row));
        let others = pairs.iter().map(|pair| pair.other.as_deref()).collect::<LargeBinaryArray>();
        let fields = [("row", false), ("other", true)].map(|(name, nullable)| Field::new(name, DataType::LargeBinary, nullable));
        let schema = Arc::new(Schema::new(fields.to_vec()));
        let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(rows), Arc::new(others)])?;
        let mut spill = match self.0.take() {
            Some(spill) => spill,
            None => Spill::create(folder(), schema).await?,
        };
        let place = spill.append_rows(batch).await;
        self.0 = Some(spill);
        place
    }

    async fn read(&self, place: u64) -> Result<Vec<RowPair>> {
        let lost = || Error::internal("rows of a transaction are not in their temporary file");
        let spill = self.0.as_ref().ok_or_else(lost)?;
        let batch = spill.read_rows(vec![place]).await?.pop().ok_or_else(lost)?;
        let column = |number: usize| batch.columns().get(number)?.as_bytes_opt::<LargeBinaryType>();
        let (rows, others) = column(0).zip(column(1)).ok_or_else(lost)?;
        let pairs = rows.iter().flatten().zip(others);
        Ok(pairs.map(|(row, other)| RowPair { row: row.into(), other: other.map(Into::into) }).collect())
    }
}
