//! Assigns rows to files, and to positions within a file.

use serde::Serialize;

use super::cuts::Cuts;
use super::kd::{self, Tree};
use super::rank_histogram::{RankHistogram, Span};
use super::spread::{spread, spread_again};
use super::{hilbert, zorder};

/// The methods of laying out files. Simpler methods come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Rows along a Z-order curve.
    ZOrder,
    /// Rows along Hilbert's curve.
    Hilbert,
    /// Files are boxes. They are made by cutting one column after the other.
    KdTree,
}

impl Method {
    /// All methods. Simpler ones come first.
    pub const ALL: [Self; 3] = [Self::ZOrder, Self::Hilbert, Self::KdTree];

    /// Returns the name as users write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ZOrder => "zorder",
            Self::Hilbert => "hilbert",
            Self::KdTree => "kdtree",
        }
    }
}

/// A division of rows into files, according to their ranks in each column. The files have about the
/// same number of rows. Each file is divided into consecutive parts with about the same number of
/// rows.
///
/// Buckets are numbered from 0. The buckets of a file are consecutive, so `bucket / parts` is the
/// file.
#[derive(Debug, Clone)]
pub struct Split {
    files: usize,
    parts: usize,
    /// For each column, the positions of its ranks on the axis of a curve.
    places: Vec<Vec<u16>>,
    shape: Shape,
}

#[derive(Debug, Clone)]
enum Shape {
    /// The cuts between all buckets. The curve is Hilbert's curve or a Z-order.
    Curve { is_hilbert: bool, cuts: Cuts },
    /// The tree, which has files in its leaves, and the cuts of each file into consecutive parts.
    Tree { tree: Tree, cuts: Cuts },
}

impl Split {
    /// Creates a split from sampled rows. Here and in all methods, the columns have the same
    /// length.
    pub fn new(method: Method, sample: &[Vec<u16>], files: usize, parts: usize) -> Self {
        let histograms: Vec<RankHistogram> = sample.iter().map(|column| RankHistogram::of(column)).collect();
        Self::of_masses(method, sample, &histograms, files.max(1), parts.max(1))
    }

    /// Creates the split that skips most of the sample. A small advantage is enough.
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

    /// Returns the method by which files are laid out.
    pub fn method(&self) -> Method {
        match self.shape {
            Shape::Curve { is_hilbert: false, .. } => Method::ZOrder,
            Shape::Curve { is_hilbert: true, .. } => Method::Hilbert,
            Shape::Tree { .. } => Method::KdTree,
        }
    }

    /// Returns the number of buckets, including buckets without rows.
    pub fn buckets(&self) -> usize {
        self.files * self.parts
    }

    /// Returns the bucket of each row. Rows with the same ranks are in the same bucket, unless no
    /// cut between ranks gives files of a fair size. In that case rows are spread evenly by their
    /// number in the whole input. `first_row` is the number of the first row.
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

    /// Returns the keys by which rows are sorted within a bucket.
    pub fn keys(&self, columns: &[Vec<u16>]) -> Vec<u128> {
        let placed: Vec<Vec<u16>> = columns.iter().zip(&self.places).map(|(column, places)| place(column, places)).collect();
        match self.method() {
            Method::ZOrder => zorder::keys(&placed),
            Method::Hilbert | Method::KdTree => hilbert::keys(&placed),
        }
    }

    /// Returns for each column the share of files that a query for one value can skip, on average
    /// over the values of sampled rows. A query reads a file if the value is between the file's
    /// least and greatest values. Files without sampled rows do not count.
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

/// Cuts sorted keys into files, and each file into parts.
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

/// Cuts each file into parts. Files among which the rows of one leaf are spread have the same cuts.
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

/// Returns the positions of the ranks of a column. Ranks above all sampled ranks are at the end.
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
