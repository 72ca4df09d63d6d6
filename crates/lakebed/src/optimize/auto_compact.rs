//! Small files that are put together without being asked for, where a table wants that after commits.
//!
//! Whoever commits calls [`Table::auto_compact`] afterwards, and need not wait for it.

use super::options::OptimizeOptions;
use super::outcome::OptimizeOutcome;
use super::run::run_auto;
use crate::{Result, Snapshot, Table};

/// Fewer small files of a partition are left alone.
const MIN_FILES: usize = 50;

impl Table {
    /// Puts small files together after the commit that made this version, where `delta.autoOptimize.autoCompact` asks for it and partitions
    /// have at least 50 of them.
    ///
    /// It is looked only when the commit also wrote a checkpoint: then the list of files is read at its cheapest, and not after each commit.
    pub async fn auto_compact(&self, after: &Snapshot) -> Result<Option<OptimizeOutcome>> {
        if !is_wanted(after) || !has_checkpoint(after) {
            return Ok(None);
        }
        let options = OptimizeOptions { min_files: MIN_FILES, fill_statistics: false, ..OptimizeOptions::default() };
        let outcome = run_auto(self, options).await?;
        Ok((outcome.commits > 0).then_some(outcome))
    }
}

/// Delta Spark's words for yes.
fn is_wanted(snapshot: &Snapshot) -> bool {
    let word = snapshot.properties().auto_compact.as_deref().unwrap_or_default().trim().to_ascii_lowercase();
    ["true", "auto", "legacy"].contains(&word.as_str())
}

fn has_checkpoint(snapshot: &Snapshot) -> bool {
    snapshot.segment().checkpoint.as_ref().is_some_and(|checkpoint| checkpoint.version == snapshot.version())
}
