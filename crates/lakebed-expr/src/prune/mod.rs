//! Which files of a table may hold rows that a filter wants: by partition values first, by
//! statistics for those that are left.
//!
//! `proof` turns the filter into conditions on `facts`, `expression_bounds` and `result_bounds`
//! know between which values expressions lie, `generated` what partition columns tell of others,
//! and `constant` computes conditions where columns hold one value. Row groups and pages are judged
//! in the same way, by `scan::read`. A file is skipped only if its facts prove that no row matches;
//! what is missing, null or not understood keeps it. Read [`Pruner`] first.

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
pub use fact_source::Question;
pub use metadata_statistics::metadata_field;
pub use pruner::{ConjunctCounts, FileFacts, PartitionColumn, PruneResult, Pruner};
