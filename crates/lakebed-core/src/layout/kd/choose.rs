//! Chooses the column by which a cell is cut, and the number of slices.

use super::slices::{Slice, slices};
use crate::layout::rank_histogram::{RankHistogram, Span};

/// The number of slices of a trial.
const TRIAL: usize = 3;
/// The largest number of slices of one step. More slices are cut in several steps.
const MOST: usize = 32;
/// The number of steps in which cuts are distributed over the columns.
const STEPS: usize = 64;

/// A column, and the number of slices into which to cut it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Choice {
    pub(super) column: usize,
    pub(super) slices: usize,
}

/// A sample of rows that will be cut into files.
#[derive(Debug, Clone, Copy)]
pub(super) struct CellSample<'s> {
    pub(super) sample: &'s [Vec<u16>],
    pub(super) histograms: &'s [RankHistogram],
    pub(super) rows: &'s [u32],
    pub(super) files: usize,
    /// The number of rows of a file, on average over all files.
    pub(super) mean: f64,
}

/// The effect of cutting one column on the widths of all columns.
struct Trial {
    column: usize,
    /// The powers of the number of slices by which widths shrink. The power is 1 for the column
    /// itself if its rows are evenly distributed, and 0 for columns that are independent of it.
    powers: Vec<f64>,
}

/// Returns the column that gets the largest share of the cuts, and the number of its slices. The
/// cuts are assigned in small steps, each to the column where it saves most. The result is `None`
/// if no column can be cut. Among equal columns, the cell's `turn` decides.
pub(super) fn choose(cell: CellSample, turn: usize) -> Option<Choice> {
    let mut widths = widths(cell, cell.rows);
    let columns = (0..widths.len()).map(|place| (place + turn) % widths.len());
    let trials: Vec<Trial> = columns.filter_map(|column| trial(cell, column, &widths)).collect();
    let mut steps = vec![0; trials.len()];
    let step = (cell.files as f64).ln() / STEPS as f64;
    for _ in 0..STEPS {
        let savings = trials.iter().map(|trial| trial.powers.iter().zip(&widths).map(|(power, width)| power * width).sum());
        let (place, _) = greatest(savings)?;
        steps[place] += 1;
        for (width, power) in widths.iter_mut().zip(&trials[place].powers) {
            *width *= (-power * step).exp();
        }
    }
    let (place, most) = greatest(steps.into_iter().map(f64::from))?;
    let slices = (most * step).exp().round() as usize;
    Some(Choice { column: trials[place].column, slices: slices.clamp(2, MOST.min(cell.files)) })
}

/// Cuts a column and measures the effect on all columns. Returns `None` if the column cannot be
/// cut.
fn trial(cell: CellSample, column: usize, before: &[f64]) -> Option<Trial> {
    let (ranks, rows) = sorted(&cell.sample[column], cell.rows);
    let mut after = vec![0.0; before.len()];
    let mut entropy = 0.0;
    let mut from = Slice::default();
    for slice in slices(&ranks, cell.files, TRIAL.min(cell.files), cell.mean)? {
        let share = (slice.file - from.file) as f64 / cell.files as f64;
        entropy -= share * share.ln();
        for (after, width) in after.iter_mut().zip(widths(cell, &rows[from.end..slice.end])) {
            *after += share * width;
        }
        from = slice;
    }
    let powers = before.iter().zip(after).map(|(before, after)| if after > 0.0 { (before / after).ln() / entropy } else { 0.0 });
    Some(Trial { column, powers: powers.collect() })
}

/// Returns for each column the share of values that make a query read these rows.
fn widths(cell: CellSample, rows: &[u32]) -> Vec<f64> {
    let spans = cell.sample.iter().map(|column| Span::of(rows.iter().map(|row| column[*row as usize])));
    spans.zip(cell.histograms).map(|(span, mass)| mass.share(span)).collect()
}

/// Returns the ranks in order, and their rows.
pub(super) fn sorted(column: &[u16], rows: &[u32]) -> (Vec<u16>, Vec<u32>) {
    let mut packed: Vec<u64> = rows.iter().map(|row| (u64::from(column[*row as usize]) << 32) | u64::from(*row)).collect();
    packed.sort_unstable();
    packed.into_iter().map(|packed| ((packed >> 32) as u16, packed as u32)).unzip()
}

/// Returns the first of the greatest values.
fn greatest(values: impl Iterator<Item = f64>) -> Option<(usize, f64)> {
    values.enumerate().reduce(|best, other| if other.1 > best.1 { other } else { best })
}
