//! Health: how far a table is from its best form, what mends it, and what that costs and saves.
//!
//! Everything comes from the log; no data file is read. `files` makes one pass over the files of a
//! version, `removed` reads the tombstones, `features` finds table features that nothing uses,
//! `overlap` measures how well files can be skipped by a column, and `judge` turns counts into
//! measures. Begin with [`Snapshot::health`](crate::Snapshot::health).

mod features;
mod files;
mod judge;
mod overlap;
mod removed;
mod report;
mod run;

pub use report::{Health, HealthMeasure, Judgement, MeasureKind};
