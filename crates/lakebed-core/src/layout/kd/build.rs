//! Building a tree from sampled rows.

use std::ops::Range;

use super::choose::{Choice, Rule, Slice, choose, slices};
use super::{Files, Node, Tree};
use crate::layout::mass::Mass;

/// Rows of a cell by which its cut is chosen.
const PROBE: usize = 1_024;

/// Rows that are in the same files, and those files.
struct Cell {
    node: usize,
    depth: usize,
    rows: Range<usize>,
    files: Files,
}

/// Cuts the sampled rows into files of equally many rows.
pub(crate) fn build(sample: &[Vec<u16>], masses: &[Mass], files: usize, rule: Rule) -> Tree {
    let count = sample.first().map_or(0, Vec::len);
    let mut rows: Vec<u32> = (0..count as u32).collect();
    let mut tree = Tree::default();
    let all = Files { first: 0, count: files as u32 };
    tree.add(1);
    let mut cells = vec![Cell { node: 0, depth: 0, rows: 0..count, files: all }];
    let mean = count as f64 / files as f64;
    while let Some(cell) = cells.pop() {
        tree.files[cell.node] = cell.files;
        tree.depth = tree.depth.max(cell.depth);
        let of_cell = &mut rows[cell.rows.clone()];
        let Some((column, parts)) = cut(sample, masses, of_cell, cell.files.count as usize, mean, rule) else { continue };
        tree.grow(cell, column, &parts, &mut cells);
    }
    tree
}

/// A slice with the greatest rank in it.
struct Part {
    slice: Slice,
    high: u16,
}

/// Sorts the rows by the column that is best cut, and tells where.
fn cut(
    sample: &[Vec<u16>],
    masses: &[Mass],
    rows: &mut [u32],
    files: usize,
    mean: f64,
    rule: Rule,
) -> Option<(usize, Vec<Part>)> {
    if files < 2 || rows.len() < 2 {
        return None;
    }
    let step = rows.len().div_ceil(PROBE);
    let probe: Vec<u32> = rows.iter().step_by(step).copied().collect();
    let probe_mean = mean * probe.len() as f64 / rows.len() as f64;
    let chosen = choose(sample, masses, &probe, files, probe_mean, rule);
    chosen.and_then(|choice| cut_at(sample, rows, files, mean, choice)).or_else(|| {
        let choice = choose(sample, masses, rows, files, mean, rule)?;
        cut_at(sample, rows, files, mean, choice)
    })
}

fn cut_at(sample: &[Vec<u16>], rows: &mut [u32], files: usize, mean: f64, choice: Choice) -> Option<(usize, Vec<Part>)> {
    let column = sample.get(choice.column)?;
    let mut packed: Vec<u64> = rows.iter().map(|row| u64::from(column[*row as usize]) << 32 | u64::from(*row)).collect();
    packed.sort_unstable();
    for (row, packed) in rows.iter_mut().zip(&packed) {
        *row = *packed as u32;
    }
    let ranks: Vec<u16> = packed.iter().map(|packed| (packed >> 32) as u16).collect();
    let slices = slices(&ranks, files, choice.arity, mean);
    let parts: Vec<Part> = slices.into_iter().map(|slice| Part { high: ranks[slice.end - 1], slice }).collect();
    (parts.len() > 1).then_some((choice.column, parts))
}

impl Tree {
    /// Adds leaves, and tells where.
    fn add(&mut self, count: usize) -> usize {
        let first = self.nodes.len();
        for node in first..first + count {
            self.nodes.push(Node { column: 0, cut: u16::MAX, child: node as u32 });
            self.files.push(Files { first: 0, count: 1 });
        }
        first
    }

    /// Makes the parts of a cell cells of their own, below as few steps as they need.
    fn grow(&mut self, cell: Cell, column: usize, parts: &[Part], cells: &mut Vec<Cell>) {
        let mut open = vec![(cell.node, cell.depth, 0..parts.len())];
        while let Some((node, depth, range)) = open.pop() {
            let first = range.start.checked_sub(1).map_or(Slice { end: 0, file: 0 }, |before| parts[before].slice);
            let last = parts[range.end - 1].slice;
            if range.len() == 1 {
                cells.push(Cell {
                    node,
                    depth,
                    rows: cell.rows.start + first.end..cell.rows.start + last.end,
                    files: Files { first: cell.files.first + first.file as u32, count: (last.file - first.file) as u32 },
                });
                continue;
            }
            let middle = range.start + range.len() / 2;
            let child = self.add(2);
            self.nodes[node] = Node { column: column as u16, cut: parts[middle - 1].high, child: child as u32 };
            open.push((child, depth + 1, range.start..middle));
            open.push((child + 1, depth + 1, middle..range.end));
        }
    }
}
