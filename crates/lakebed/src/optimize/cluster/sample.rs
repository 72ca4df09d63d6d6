//! A sample of the rows' clustering columns.

use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow_select::take::take;
use futures::TryStreamExt;
use lakebed_core::layout::Ranker;

use crate::Result;
use crate::clustering::KeyColumn;
use crate::optimize::context::RewriteContext;
use crate::optimize::plan::FileGroup;
use crate::scan::read::ReadOptions;

/// The most rows of a sample.
const MOST_ROWS: usize = 1 << 20;

/// Rows at equal distances.
pub(super) struct Sample {
    /// The columns of the sample, each in pieces.
    columns: Vec<Vec<ArrayRef>>,
    rows: usize,
    /// The distance between two rows of the sample.
    step: usize,
    /// The number of rows to skip before the next row of the sample.
    skip: usize,
}

/// The rankers of the columns, which rank further values, and the ranks of the sample by column.
pub(super) type Ranked = (Vec<Ranker>, Vec<Vec<u16>>);

/// Reads a sample of the columns from a group's files.
pub(super) async fn read(context: &RewriteContext, columns: &[KeyColumn], group: &FileGroup) -> Result<Sample> {
    let names = columns.iter().map(|column| column.name.clone());
    let scan = context.snapshot.scan().select(names);
    let mut sample = Sample { columns: vec![Vec::new(); columns.len()], rows: 0, step: 1, skip: 0 };
    let mut rows = context.read(&scan, group, ReadOptions::default())?;
    while let Some(rows) = rows.try_next().await? {
        sample.add(&rows, columns)?;
    }
    Ok(sample)
}

impl Sample {
    fn add(&mut self, rows: &RecordBatch, columns: &[KeyColumn]) -> Result<()> {
        let places: Vec<u32> = (self.skip..rows.num_rows()).step_by(self.step).map(|row| row as u32).collect();
        self.skip = match places.last() {
            Some(last) => *last as usize + self.step - rows.num_rows(),
            None => self.skip - rows.num_rows(),
        };
        self.rows += places.len();
        let places = UInt32Array::from(places);
        for (pieces, column) in self.columns.iter_mut().zip(columns) {
            pieces.push(take(&column.values(rows)?, &places, None)?);
        }
        if self.rows > MOST_ROWS { self.thin_out() } else { Ok(()) }
    }

    /// Drops every other row.
    fn thin_out(&mut self) -> Result<()> {
        let every_other = |piece: &ArrayRef| {
            let places: UInt32Array = (0..piece.len() as u32).step_by(2).collect();
            take(piece, &places, None)
        };
        for pieces in &mut self.columns {
            *pieces = pieces.iter().map(every_other).collect::<Result<_, _>>()?;
        }
        self.rows = self.columns.first().map_or(0, |pieces| pieces.iter().map(|piece| piece.len()).sum());
        self.step *= 2;
        Ok(())
    }

    pub(super) fn ranked(&self) -> Result<Ranked> {
        let rankers = self.columns.iter().map(|pieces| Ranker::of_sample(pieces)).collect::<Result<Vec<_>>>()?;
        let ranks = |(ranker, pieces): (&Ranker, &Vec<ArrayRef>)| {
            let ranks = pieces.iter().map(|piece| ranker.ranks(piece)).collect::<Result<Vec<_>>>()?;
            Ok(ranks.concat())
        };
        let ranks = rankers.iter().zip(&self.columns).map(ranks).collect::<Result<_>>()?;
        Ok((rankers, ranks))
    }
}
