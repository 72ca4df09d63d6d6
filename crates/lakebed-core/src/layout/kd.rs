//! A tree of cuts, each of one column at one value, whose leaves are files (a k-d tree).

mod slices;
mod choose;
mod build;

pub(super) use build::build;

use std::ops::Range;

use super::spread::{part, spread};

/// Rows that go down side by side, so that the processor waits for all their loads together.
const LANES: usize = 32;

/// The cuts from the root on.
#[derive(Debug, Clone, Default)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    /// The files of each node; they count for leaves only.
    files: Vec<FileSpan>,
    /// The most steps from the root to a leaf.
    depth: usize,
}

/// Ranks of a column up to the cut lead to one child, greater ones to the next.
#[derive(Debug, Clone, Copy)]
struct Node {
    column: u16,
    /// Of a leaf the greatest rank there is, so that it leads to itself.
    cut: u16,
    child: u32,
}

/// Files among which the rows of a leaf are spread.
#[derive(Debug, Clone, Copy)]
struct FileSpan {
    first: u32,
    count: u32,
}

impl Tree {
    /// Returns the file of each row.
    pub(super) fn assign(&self, columns: &[Vec<u16>], first_row: u64) -> Vec<u32> {
        let rows = columns.first().map_or(0, Vec::len);
        let mut assigned = Vec::with_capacity(rows);
        for start in (0..rows).step_by(LANES) {
            let leaves = self.leaves(columns, start);
            for (row, leaf) in (start..rows).zip(leaves) {
                let files = self.files.get(leaf as usize).copied().unwrap_or(FileSpan { first: 0, count: 1 });
                let place = if files.count == 1 { 0 } else { part(spread(first_row + row as u64), files.count) };
                assigned.push(files.first + place);
            }
        }
        assigned
    }

    /// Returns the files of each leaf, in order.
    pub(super) fn files(&self) -> Vec<Range<u32>> {
        let leaves = self.nodes.iter().zip(&self.files).enumerate().filter(|(place, (node, _))| node.child as usize == *place);
        let mut files: Vec<_> = leaves.map(|(_, (_, files))| files.first..files.first + files.count).collect();
        files.sort_unstable_by_key(|files| files.start);
        files
    }

    /// Returns the leaves of some rows.
    fn leaves(&self, columns: &[Vec<u16>], start: usize) -> [u32; LANES] {
        let mut places = [0_u32; LANES];
        for _ in 0..self.depth {
            for (lane, place) in places.iter_mut().enumerate() {
                let Some(node) = self.nodes.get(*place as usize) else { continue };
                let rank = columns.get(usize::from(node.column)).and_then(|column| column.get(start + lane));
                *place = node.child + u32::from(rank.is_some_and(|rank| *rank > node.cut));
            }
        }
        places
    }
}
