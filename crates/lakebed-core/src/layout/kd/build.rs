//! Builds a tree from sampled rows.

use std::ops::Range;

use super::choose::{CellSample, Choice, choose, sorted};
use super::slices::{Slice, slices};
use super::{FileSpan, Node, Tree};
use crate::layout::rank_histogram::RankHistogram;

/// The number of rows of a cell that are used to choose its cut.
const PROBE: usize = 512;

/// A set of rows, and the files for these rows.
struct Cell {
    node: usize,
    depth: usize,
    rows: Range<usize>,
    files: FileSpan,
}

/// A slice and the greatest rank in it.
struct CutSlice {
    slice: Slice,
    high: u16,
}

/// Cuts the sampled rows into files with about the same number of rows.
pub(crate) fn build(sample: &[Vec<u16>], histograms: &[RankHistogram], files: usize) -> Tree {
    let count = sample.first().map_or(0, Vec::len);
    let mean = count as f64 / files as f64;
    let mut rows: Vec<u32> = (0..count as u32).collect();
    let mut tree = Tree::default();
    let mut cells = vec![Cell { node: tree.add(1), depth: 0, rows: 0..count, files: FileSpan { first: 0, count: files as u32 } }];
    while let Some(cell) = cells.pop() {
        tree.files[cell.node] = cell.files;
        tree.depth = tree.depth.max(cell.depth);
        let of_cell = &mut rows[cell.rows.clone()];
        if let Some((column, parts)) = cut(sample, histograms, of_cell, &cell, mean) {
            tree.grow(cell, column, &parts, &mut cells);
        }
    }
    tree
}

/// Chooses the column to cut, sorts the rows by it, and returns the column and the slices.
fn cut(
    sample: &[Vec<u16>],
    histograms: &[RankHistogram],
    rows: &mut [u32],
    cell: &Cell,
    mean: f64,
) -> Option<(usize, Vec<CutSlice>)> {
    let files = cell.files.count as usize;
    if files < 2 || rows.len() < 2 {
        return None;
    }
    let step = rows.len().div_ceil(PROBE);
    let probe: Vec<u32> = rows.iter().step_by(step).copied().collect();
    let probe_mean = mean * probe.len() as f64 / rows.len() as f64;
    let probed = choose(CellSample { sample, histograms, rows: &probe, files, mean: probe_mean }, cell.node);
    probed.and_then(|choice| cut_at(sample, rows, files, mean, choice)).or_else(|| {
        let choice = choose(CellSample { sample, histograms, rows, files, mean }, cell.node)?;
        cut_at(sample, rows, files, mean, choice)
    })
}

fn cut_at(sample: &[Vec<u16>], rows: &mut [u32], files: usize, mean: f64, choice: Choice) -> Option<(usize, Vec<CutSlice>)> {
    let (ranks, in_order) = sorted(&sample[choice.column], rows);
    rows.copy_from_slice(&in_order);
    let slices = slices(&ranks, files, choice.slices, mean)?;
    Some((choice.column, slices.into_iter().map(|slice| CutSlice { slice, high: ranks[slice.end - 1] }).collect()))
}

impl Tree {
    /// Adds leaves, and returns the position of the first one.
    fn add(&mut self, count: usize) -> usize {
        let first = self.nodes.len();
        for node in first..first + count {
            self.nodes.push(Node { column: 0, cut: u16::MAX, child: node as u32 });
            self.files.push(FileSpan { first: 0, count: 1 });
        }
        first
    }

    /// Turns the slices of a cell into separate cells, with as few steps of the tree as possible.
    fn grow(&mut self, cell: Cell, column: usize, parts: &[CutSlice], cells: &mut Vec<Cell>) {
        let mut open = vec![(cell.node, cell.depth, 0..parts.len())];
        while let Some((node, depth, range)) = open.pop() {
            if range.len() > 1 {
                let middle = range.start + range.len() / 2;
                let child = self.add(2);
                self.nodes[node] = Node { column: column as u16, cut: parts[middle - 1].high, child: child as u32 };
                open.push((child, depth + 1, range.start..middle));
                open.push((child + 1, depth + 1, middle..range.end));
                continue;
            }
            let from = range.start.checked_sub(1).map_or(Slice::default(), |before| parts[before].slice);
            let to = parts[range.start].slice;
            cells.push(Cell {
                node,
                depth,
                rows: cell.rows.start + from.end..cell.rows.start + to.end,
                files: FileSpan { first: cell.files.first + from.file as u32, count: (to.file - from.file) as u32 },
            });
        }
    }
}
