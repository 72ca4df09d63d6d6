//! How rows are put into files so that queries on several columns skip files by their least and
//! greatest values.
//!
//! A [`Ranker`] turns the values of a column into small numbers of the same order, and a [`Split`],
//! made from the ranks of sampled rows, says into which file each row goes and in which order it
//! lies there. Reading, sorting and writing rows is the work of others. Read [`Split`] first.

mod search;
mod bounds;
pub mod binpack;
mod key;
mod string_bounds;
pub mod rank;
mod rank_histogram;
pub mod zorder;
pub mod hilbert;
mod spread;
mod cuts;
mod kd;
pub mod split;
#[cfg(test)]
mod tests;

pub use rank::{Ranker, is_orderable};
pub use split::{Method, Split};
