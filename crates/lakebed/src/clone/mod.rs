//! Clones: a new table with the rows of one version of another.
//!
//! A shallow clone names the data files of its source by absolute paths. A deep clone copies them.
//! Begin with [`Snapshot::clone_to`](crate::Snapshot::clone_to) and [`CloneTable::run`]. `target_file`
//! decides how the clone names a file of the source. `named_files` and `copied_files` have the files of a
//! shallow and of a deep clone.

mod copied_files;
mod copy;
mod earlier;
mod named_files;
mod options;
mod outcome;
mod run;
mod target_file;

pub use options::{CloneMode, CloneOptions};
pub use outcome::{CloneMetrics, CloneOutcome};
pub use run::CloneTable;
