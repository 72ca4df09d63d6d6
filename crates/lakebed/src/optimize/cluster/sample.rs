//! Some rows that stand for all, as far as the columns go by which they are clustered.

use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow_select::take::take;
use futures::TryStreamExt;
use lakebed_core::layout::Ranker;

use crate::Result;
use crate::clustering::KeyColumn;
use crate::optimize::context::RewriteContext;
use crate::optimize::plan::FileGroup;
use crate::scan::read::ReadOptions;

/// Rows of a sample, at most.
const MOST_ROWS: usize = 1 << 20;

/// Rows at even distances.
pub(super) struct Sample {
    /// Of each column, piece by piece.
    columns: Vec<Vec<ArrayRef>>,
    rows: usize,
    /// How far apart they are.
    step: usize,
    /// Rows that are still to be passed over.
    skip: usize,
}

/// Ranks by column, and what ranks further values.
pub(super) type Ranked = (Vec<Ranker>, Vec<Vec<u16>>);

/// Reads the columns of a group's files.
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
