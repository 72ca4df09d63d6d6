//! A k-d tree: each inner node cuts one column at one value, and each leaf stands for files.

mod slices;
mod choose;
mod build;

pub(super) use build::build;

use std::ops::Range;

use super::spread::{part, spread};

/// The number of rows that are looked up together, so that the processor waits for all their loads
/// at the same time.
const LANES: usize = 32;

/// The nodes of the tree, beginning with the root.
#[derive(Debug, Clone, Default)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    /// The files of each node. They have a meaning only for leaves.
    files: Vec<FileSpan>,
    /// The greatest number of steps from the root to a leaf.
    depth: usize,
}

/// A node. Ranks of its column up to the cut lead to one child, and greater ranks to the next
/// child.
#[derive(Debug, Clone, Copy)]
struct Node {
    column: u16,
    /// The greatest rank that leads to the first child. In a leaf it is the greatest possible rank,
    /// so that the leaf leads to itself.
    cut: u16,
    child: u32,
}

/// The files among which the rows of a leaf are spread.
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

    /// Returns the leaves of the rows that begin at `start`.
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
