//! Health: how far a table is from its best form, what mends it, and what that costs and saves.
//!
//! Everything comes from the log; no data file is read. `files` makes one pass over the files of a
//! version, `overlap` measures how well files can be skipped by a column, and `judge` turns counts
//! into measures. Begin with [`Snapshot::health`](crate::Snapshot::health).

mod files;
mod judge;
mod overlap;
mod report;
mod run;

pub use report::{Health, HealthMeasure, Judgement, MeasureKind};
