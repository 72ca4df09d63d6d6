//! Which file a row goes to, and its place there.

use serde::Serialize;

use super::cuts::Cuts;
use super::kd::{self, Tree};
use super::rank_histogram::{RankHistogram, Span};
use super::spread::{spread, spread_again};
use super::{hilbert, zorder};

/// How files are laid out, the simpler first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Rows along a Z-order curve.
    ZOrder,
    /// Rows along Hilbert's curve.
    Hilbert,
    /// Files are boxes, made by cutting one column after the other.
    KdTree,
}

impl Method {
    /// All of them, the simpler first.
    pub const ALL: [Self; 3] = [Self::ZOrder, Self::Hilbert, Self::KdTree];

    /// As users write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ZOrder => "zorder",
            Self::Hilbert => "hilbert",
            Self::KdTree => "kdtree",
        }
    }
}

/// The division of rows, known by their ranks in each column, into files of about equally many
/// rows, and of each file into parts that lie in order and have equally many rows.
///
/// Buckets are numbered from 0 on; those of a file come one after the other: `bucket / parts` is
/// the file.
#[derive(Debug, Clone)]
pub struct Split {
    files: usize,
    parts: usize,
    /// For each column, how far apart ranks lie on a curve.
    places: Vec<Vec<u16>>,
    shape: Shape,
}

#[derive(Debug, Clone)]
enum Shape {
    /// Cuts of all buckets, the method being Hilbert's or not.
    Curve { is_hilbert: bool, cuts: Cuts },
    /// A file for each leaf, and the cuts of each file into parts one after the other.
    Tree { tree: Tree, cuts: Cuts },
}

impl Split {
    /// From sampled rows. All columns are equally long, here and below.
    pub fn new(method: Method, sample: &[Vec<u16>], files: usize, parts: usize) -> Self {
        let histograms: Vec<RankHistogram> = sample.iter().map(|column| RankHistogram::of(column)).collect();
        Self::of_masses(method, sample, &histograms, files.max(1), parts.max(1))
    }

    /// Returns the one that skips most of the sample, be it by little.
    pub fn best(sample: &[Vec<u16>], files: usize, parts: usize) -> Self {
        let [simple, others @ ..] = Method::ALL.map(|method| Self::new(method, sample, files, parts));
        let mut best = (mean(&simple.skipping(sample)), simple);
        for other in others {
            let skipped = mean(&other.skipping(sample));
            if skipped > best.0 {
                best = (skipped, other);
            }
        }
        best.1
    }

    /// Returns how it lays out files.
    pub fn method(&self) -> Method {
        match self.shape {
            Shape::Curve { is_hilbert: false, .. } => Method::ZOrder,
            Shape::Curve { is_hilbert: true, .. } => Method::Hilbert,
            Shape::Tree { .. } => Method::KdTree,
        }
    }

    /// Returns how many buckets there are, rows or not.
    pub fn buckets(&self) -> usize {
        self.files * self.parts
    }

    /// Returns the bucket of each row. Rows of the same ranks are in the same one, unless no cut
    /// between ranks leaves files of a fair size: then rows are spread evenly by their number in
    /// the whole input, where these begin with `first_row`.
    pub fn assign(&self, columns: &[Vec<u16>], first_row: u64) -> Vec<u32> {
        match &self.shape {
            Shape::Curve { cuts, .. } => cuts.counts(&self.keys(columns), |row| spread(first_row + row as u64)),
            Shape::Tree { tree, .. } if self.parts == 1 => tree.assign(columns, first_row),
            Shape::Tree { tree, cuts } => {
                let mut buckets = tree.assign(columns, first_row);
                for ((bucket, key), row) in buckets.iter_mut().zip(self.keys(columns)).zip(first_row..) {
                    let first = *bucket as usize * (self.parts - 1);
                    let part = cuts.count(first..first + self.parts - 1, key, spread_again(row));
                    *bucket = *bucket * self.parts as u32 + part;
                }
                buckets
            }
        }
    }

    /// What rows are sorted by within a bucket.
    pub fn keys(&self, columns: &[Vec<u16>]) -> Vec<u128> {
        let placed: Vec<Vec<u16>> = columns.iter().zip(&self.places).map(|(column, places)| place(column, places)).collect();
        match self.method() {
            Method::ZOrder => zorder::keys(&placed),
            Method::Hilbert | Method::KdTree => hilbert::keys(&placed),
        }
    }

    /// Returns for each column, the share of files that a query for one value need not read, on
    /// average over the values of sampled rows: a file is read if the value lies between its least
    /// and its greatest. Files without sampled rows do not count.
    pub fn skipping(&self, sample: &[Vec<u16>]) -> Vec<f64> {
        let histograms: Vec<RankHistogram> = sample.iter().map(|column| RankHistogram::of(column)).collect();
        let mut files = self.assign(sample, 0);
        files.iter_mut().for_each(|file| *file /= self.parts as u32);
        skipping(sample, &histograms, &files, self.files)
    }

    fn of_masses(method: Method, sample: &[Vec<u16>], histograms: &[RankHistogram], files: usize, parts: usize) -> Self {
        let places = histograms.iter().map(RankHistogram::places).collect();
        let shape = match method {
            Method::ZOrder | Method::Hilbert => Shape::Curve { is_hilbert: method == Method::Hilbert, cuts: Cuts::default() },
            Method::KdTree => Shape::Tree { tree: kd::build(sample, histograms, files), cuts: Cuts::default() },
        };
        let mut split = Self { files, parts, places, shape };
        let keys = split.keys(sample);
        match &mut split.shape {
            Shape::Curve { cuts, .. } => *cuts = curve_cuts(keys, files, parts),
            Shape::Tree { .. } if parts == 1 => {}
            Shape::Tree { tree, cuts } => *cuts = tree_cuts(tree, sample, &keys, parts),
        }
        split
    }
}

/// Cuts into files, and these into parts.
fn curve_cuts(mut keys: Vec<u128>, files: usize, parts: usize) -> Cuts {
    keys.sort_unstable();
    let (mut of_files, mut cuts) = (Cuts::default(), Cuts::default());
    for (file, range) in of_files.add(&keys, 0.0..keys.len() as f64, files).into_iter().enumerate() {
        if let Some(before) = file.checked_sub(1) {
            cuts.copy(&of_files, before);
        }
        cuts.add(&keys, range, parts);
    }
    cuts
}

/// Cuts of each file into parts, the same ones for files among which rows are spread.
fn tree_cuts(tree: &Tree, sample: &[Vec<u16>], keys: &[u128], parts: usize) -> Cuts {
    let leaves = tree.files();
    let mut keys_of_leaves = vec![Vec::new(); leaves.len()];
    for (file, key) in tree.assign(sample, 0).into_iter().zip(keys) {
        let leaf = leaves.partition_point(|files| files.start <= file).saturating_sub(1);
        keys_of_leaves[leaf].push(*key);
    }
    let mut cuts = Cuts::default();
    for (files, mut keys) in leaves.into_iter().zip(keys_of_leaves) {
        keys.sort_unstable();
        for _ in files {
            cuts.add(&keys, 0.0..keys.len() as f64, parts);
        }
    }
    cuts
}

/// Returns the ranks of a column as places; ranks that no sampled row has are at the end.
fn place(column: &[u16], places: &[u16]) -> Vec<u16> {
    let last = places.last().copied().unwrap_or(0);
    column.iter().map(|rank| places.get(usize::from(*rank)).copied().unwrap_or(last)).collect()
}

fn skipping(sample: &[Vec<u16>], histograms: &[RankHistogram], files_of_rows: &[u32], files: usize) -> Vec<f64> {
    let mut has_rows = vec![false; files];
    for file in files_of_rows {
        has_rows[*file as usize] = true;
    }
    let count = has_rows.iter().filter(|has_rows| **has_rows).count().max(1);
    let skipping = sample.iter().zip(histograms).map(|(column, mass)| {
        let mut spans = vec![Span::EMPTY; files];
        for (file, rank) in files_of_rows.iter().zip(column) {
            spans[*file as usize].add(*rank);
        }
        1.0 - spans.iter().map(|span| mass.share(*span)).sum::<f64>() / count as f64
    });
    skipping.collect()
}

fn mean(shares: &[f64]) -> f64 {
    shares.iter().sum::<f64>() / shares.len().max(1) as f64
}
