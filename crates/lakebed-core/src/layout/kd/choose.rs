//! Which column of a cell to cut, and into how many slices.

use crate::layout::mass::{Mass, Span};

/// How loaded a file may be, compared with the mean.
const LEAST_LOAD: f64 = 0.5;
const MOST_LOAD: f64 = 1.5;

/// More slices are cut in more than one step.
const MOST_SLICES: usize = 32;

/// How many slices are cut at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Rule {
    /// As many as the column will have in the end, as far as one can tell.
    Grid,
    /// Two.
    Halves,
}

impl Rule {
    pub(crate) const ALL: [Self; 2] = [Self::Grid, Self::Halves];
}

/// A column and into how many slices to cut it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Choice {
    pub(super) column: usize,
    pub(super) arity: usize,
}

/// The end of a slice, in rows and in files.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Slice {
    pub(super) end: usize,
    pub(super) file: usize,
}

/// The cut after which the fewest files will have to be read, as far as one can tell; none if no column can be cut.
pub(super) fn choose(sample: &[Vec<u16>], masses: &[Mass], rows: &[u32], files: usize, mean: f64, rule: Rule) -> Option<Choice> {
    let cell = Widths::of(sample, masses, rows);
    let level = cell.level(files);
    let mut best: Option<(f64, Choice)> = None;
    for (column, ranks) in sample.iter().enumerate() {
        if !cell.varies[column] {
            continue;
        }
        let arity = match rule {
            Rule::Grid => (cell.widths[column] / level).round() as usize,
            Rule::Halves => 2,
        };
        let arity = arity.clamp(2, files.min(MOST_SLICES));
        let mut packed: Vec<u64> = rows.iter().map(|row| u64::from(ranks[*row as usize]) << 32 | u64::from(*row)).collect();
        packed.sort_unstable();
        let sorted: Vec<u16> = packed.iter().map(|packed| (packed >> 32) as u16).collect();
        let rows: Vec<u32> = packed.iter().map(|packed| *packed as u32).collect();
        let slices = slices(&sorted, files, arity, mean);
        if slices.len() < 2 {
            continue;
        }
        let mut from = Slice { end: 0, file: 0 };
        let mut cost = 0.0;
        for slice in slices {
            let count = slice.file - from.file;
            cost += count as f64 * Widths::of(sample, masses, &rows[from.end..slice.end]).outlook(count);
            from = slice;
        }
        if best.is_none_or(|(least, _)| cost < least) {
            best = Some((cost, Choice { column, arity }));
        }
    }
    best.map(|(_, choice)| choice)
}

/// Cuts sorted ranks, between ranks only, into slices of whole files that are near the goal of equally many files each.
pub(super) fn slices(ranks: &[u16], files: usize, arity: usize, mean: f64) -> Vec<Slice> {
    let mut slices: Vec<Slice> = Vec::with_capacity(arity);
    let end = Slice { end: ranks.len(), file: files };
    for slice in 1..arity {
        let file = (files * slice + arity / 2) / arity;
        let goal = ranks.len() * file / files;
        let last = slices.last().copied().unwrap_or(Slice { end: 0, file: 0 });
        let Some(rank) = ranks.get(goal) else { continue };
        let start = ranks.partition_point(|other| other < rank);
        let next = ranks.partition_point(|other| other <= rank);
        let places = if goal - start <= next - goal { [start, next] } else { [next, start] };
        let cut = places.into_iter().find_map(|place| {
            let nearest = (place * files + ranks.len() / 2) / ranks.len();
            let file = if place == goal { file } else { nearest.clamp(last.file + 1, files.max(last.file + 2) - 1) };
            let cut = Slice { end: place, file };
            (is_fair(last, cut, mean) && is_fair(cut, end, mean)).then_some(cut)
        });
        slices.extend(cut);
    }
    slices.push(end);
    slices
}

/// Whether the files between two cuts are loaded enough and not too much.
fn is_fair(from: Slice, to: Slice, mean: f64) -> bool {
    if to.file <= from.file || to.end <= from.end {
        return false;
    }
    let load = (to.end - from.end) as f64 / (to.file - from.file) as f64 / mean;
    (LEAST_LOAD..=MOST_LOAD).contains(&load)
}

/// For each column, the share of values that make a query read a cell.
struct Widths {
    widths: Vec<f64>,
    /// Whether there is anything to cut.
    varies: Vec<bool>,
}

impl Widths {
    fn of(sample: &[Vec<u16>], masses: &[Mass], rows: &[u32]) -> Self {
        let spans: Vec<Span> = sample.iter().map(|column| Span::of(rows.iter().map(|row| column[*row as usize]))).collect();
        Self {
            widths: spans.iter().zip(masses).map(|(span, mass)| mass.share(*span)).collect(),
            varies: spans.iter().map(|span| span.varies()).collect(),
        }
    }

    /// The width that all columns have in the end, if a cell is cut into so many files and columns are cut widest first.
    fn level(&self, files: usize) -> f64 {
        let mut widths: Vec<f64> =
            self.widths.iter().zip(&self.varies).filter(|(_, varies)| **varies).map(|(width, _)| *width).collect();
        widths.sort_unstable_by(|one, other| other.total_cmp(one));
        let mut level = f64::INFINITY;
        let mut product = 1.0 / files as f64;
        for (place, width) in widths.iter().enumerate() {
            if *width <= level && place > 0 {
                break;
            }
            product *= width;
            level = product.powf(1.0 / (place + 1) as f64);
        }
        level
    }

    /// The sum of widths in the end.
    fn outlook(&self, files: usize) -> f64 {
        let level = self.level(files);
        self.widths.iter().zip(&self.varies).map(|(width, varies)| if *varies { width.min(level) } else { *width }).sum()
    }
}
