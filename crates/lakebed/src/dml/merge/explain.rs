//! What a merge would do, told before it is done: by which keys rows find each other, and which files may be concerned.

use std::sync::Arc;

use super::Merge;
use super::plan::Plan;
use crate::Result;
use crate::rows::effects::notes_vectors;
use crate::scan::Explanation;

/// What a merge would do.
#[derive(Debug, Clone, PartialEq)]
pub struct MergeExplanation {
    /// Which files of the target it would look at, and why not fewer.
    pub scan: Explanation,
    /// What rows must have in common; without keys every row is held against every row.
    pub keys: Vec<MergeKey>,
    /// The rows of the source.
    pub source_rows: u64,
    /// In how many parts they meet the target: each looks through its files.
    pub source_parts: usize,
    /// What of the source did not fit into memory.
    pub spilled_bytes: u64,
    /// Whether rows leave their files by deletion vectors; else the files are written anew without them.
    pub by_deletion_vectors: bool,
    /// Whether what happens to rows is recorded in files of its own.
    pub records_changes: bool,
}

/// Two values that must be equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeKey {
    /// Of the table.
    pub target: String,
    /// Of the source.
    pub source: String,
    /// Whether null equals null.
    pub null_safe: bool,
    /// Whether the values of the source rule out files.
    pub prunes: bool,
}

impl Merge {
    /// What it would do. Reads the log, no data.
    pub async fn explain(&self) -> Result<MergeExplanation> {
        let (snapshot, source) = (self.table.snapshot().await?.by_log().await?, &self.source.0);
        let plan = Plan::new(&self.given, &snapshot, source).await?;
        let mut scan = snapshot.scan();
        if let Some(filter) = &plan.filter {
            scan = scan.filter(Arc::clone(filter));
        }
        let key = |key: &super::on::Key| MergeKey {
            target: key.target.text.clone(),
            source: key.source.text.clone(),
            null_safe: key.null_safe,
            prunes: key.target_path.is_some() && plan.filter.is_some(),
        };
        Ok(MergeExplanation {
            scan: scan.explain().await?,
            keys: plan.on.keys.iter().map(key).collect(),
            source_rows: source.rows(),
            source_parts: source.chunk_count(),
            spilled_bytes: source.spilled_bytes(),
            by_deletion_vectors: notes_vectors(&snapshot),
            records_changes: plan.records,
        })
    }
}
