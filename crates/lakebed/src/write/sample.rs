//! A sample of rows.

use std::sync::Arc;

use arrow_array::{RecordBatch, UInt32Array};
use arrow_cast::cast;
use arrow_schema::{FieldRef, Fields, Schema};
use arrow_select::concat::concat_batches;
use arrow_select::take::take;

use crate::Result;
use crate::scan::read::decoded_type::value_type;

/// A sample has one in `ONE_OF` rows, but at least `FEWEST_ROWS` if there are that many, and at
/// most `MOST_ROWS`.
const ONE_OF: usize = 8;
const FEWEST_ROWS: usize = 1024;
const MOST_ROWS: usize = 4096;

/// Returns rows spread evenly over these batches. There must be at least one batch.
///
/// Dictionaries become plain values.
pub(super) fn sample(batches: &[RecordBatch]) -> Result<RecordBatch> {
    let fields = batches.first().map(|batch| batch.schema_ref().fields().iter()).into_iter().flatten();
    let valued = |field: &FieldRef| Arc::new(field.as_ref().clone().with_data_type(value_type(field.data_type()).clone()));
    let schema = Arc::new(Schema::new(fields.map(valued).collect::<Fields>()));
    let places = evenly(batches.iter().map(RecordBatch::num_rows));
    let part = |places: &[(usize, usize)]| {
        let batch = places.first().and_then(|(piece, _)| batches.get(*piece))?;
        let rows = places.iter().map(|(_, row)| *row as u32).collect::<UInt32Array>();
        Some((batch, rows))
    };
    let picked = places.chunk_by(|one, other| one.0 == other.0).filter_map(part).map(|(batch, rows)| {
        let columns = batch.columns().iter().zip(schema.fields());
        let columns = columns.map(|(column, field)| Ok(cast(&take(column, &rows, None)?, field.data_type())?));
        Ok(RecordBatch::try_new(Arc::clone(&schema), columns.collect::<Result<_>>()?)?)
    });
    Ok(concat_batches(&schema, &picked.collect::<Result<Vec<_>>>()?)?)
}

/// Returns places at equal distances in pieces of these lengths. A place is the index of a piece,
/// and of a row in it.
pub(super) fn evenly(lengths: impl Iterator<Item = usize> + Clone) -> Vec<(usize, usize)> {
    let all = lengths.clone().sum::<usize>();
    let wanted = (all / ONE_OF).clamp(FEWEST_ROWS, MOST_ROWS);
    let step = all.div_ceil(wanted).max(1);
    let (mut places, mut next) = (Vec::with_capacity(all.div_ceil(step)), 0);
    for (piece, length) in lengths.enumerate() {
        while next < length {
            places.push((piece, next));
            next += step;
        }
        next -= length;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::{FEWEST_ROWS, evenly};

    #[test]
    fn few_rows_are_all_taken() {
        assert_eq!(evenly([2, 0, 1].into_iter()), [(0, 0), (0, 1), (2, 0)]);
        assert!(evenly([0, 0].into_iter()).is_empty());
    }

    #[test]
    fn sample_of_many_rows_covers_all_parts() {
        let places = evenly([1500, 1, 1499, 3000].into_iter());
        let expected: Vec<(usize, usize)> = (0..6000)
            .step_by(6)
            .map(|row| match row {
                0..1500 => (0, row),
                1500 => (1, 0),
                1501..3000 => (2, row - 1501),
                _ => (3, row - 3000),
            })
            .collect();
        assert_eq!(places, expected);
        assert!(places.len() <= FEWEST_ROWS);
    }

    #[test]
    fn of_more_rows_more_are_taken() {
        let distance = |rows: usize| (evenly([rows].into_iter())[1].1, evenly([rows].into_iter()).len());
        assert_eq!(distance(1024), (1, 1024));
        assert_eq!(distance(2048), (2, 1024));
        assert_eq!(distance(16_000), (8, 2000));
        assert_eq!(distance(4096 * 8), (8, 4096));
        assert_eq!(distance(1_000_000), (245, 4082));
    }
}
