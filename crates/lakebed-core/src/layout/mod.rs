//! Distributes rows over files so that queries on several columns can skip files by their least and
//! greatest values.
//!
//! A [`Ranker`] turns the values of a column into small numbers of the same order. A [`Split`],
//! made from the ranks of sampled rows, assigns to each row a file and a position in the file.
//! Reading, sorting and writing rows is not part of this module. Read [`Split`] first.

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
