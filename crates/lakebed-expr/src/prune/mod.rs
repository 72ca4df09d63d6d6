//! Which files of a table may hold rows that a filter wants: by partition values first, by
//! statistics for those that are left.
//!
//! `proof` turns the filter into conditions on `facts`. `expression_bounds` and `result_bounds`
//! compute the bounds of expressions. `generated` derives conditions on partition columns from
//! conditions on other columns. `constant` computes conditions on columns that hold one value. Row groups and pages are judged
//! in the same way, by `scan::read`. A file is skipped only if its facts prove that no row matches.
//! A fact that is missing, null or not understood keeps the file. Read [`Pruner`] first.

mod any_between;
mod bounds;
mod condition;
mod conjunct;
mod constant;
mod expression_bounds;
mod fact_source;
mod facts;
mod generated;
mod metadata_statistics;
mod never_nan;
mod nulls;
mod proof;
mod prover;
mod pruner;
mod result_bounds;
#[cfg(test)]
mod tests;

pub use conjunct::SkippedBy;
pub use fact_source::Guarantee;
pub use metadata_statistics::metadata_field;
pub use pruner::{ConjunctCounts, FileFacts, PartitionColumn, PruneResult, Pruner};
