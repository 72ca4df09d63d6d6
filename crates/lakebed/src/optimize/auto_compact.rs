//! Auto compaction: compacts small files after commits, if a property of the table enables it.
//!
//! The writer calls [`Table::auto_compact`] after a commit, and need not wait for it.

use super::options::OptimizeOptions;
use super::outcome::OptimizeOutcome;
use super::run::run_auto;
use crate::{Result, Snapshot, Table};

/// The least number of small files in a partition that are compacted.
const MIN_FILES: usize = 50;

impl Table {
    /// Compacts small files after the commit of this version, if `delta.autoOptimize.autoCompact`
    /// enables it and a partition has at least 50 small files.
    ///
    /// The files are examined only when the commit also wrote a checkpoint. The list of files is
    /// then cheapest to read, and is not read after each commit.
    pub async fn auto_compact(&self, after: &Snapshot) -> Result<Option<OptimizeOutcome>> {
        if !is_wanted(after) || !has_checkpoint(after) {
            return Ok(None);
        }
        let options = OptimizeOptions { min_files: MIN_FILES, fill_statistics: false, ..OptimizeOptions::default() };
        let outcome = run_auto(self, options).await?;
        Ok((outcome.commits > 0).then_some(outcome))
    }
}

/// Returns whether the property has one of Delta Spark's values for yes.
fn is_wanted(snapshot: &Snapshot) -> bool {
    let word = snapshot.properties().auto_compact.as_deref().unwrap_or_default().trim().to_ascii_lowercase();
    ["true", "auto", "legacy"].contains(&word.as_str())
}

fn has_checkpoint(snapshot: &Snapshot) -> bool {
    snapshot.segment().checkpoint.as_ref().is_some_and(|checkpoint| checkpoint.version == snapshot.version())
}
