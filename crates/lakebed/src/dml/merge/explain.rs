//! Explains a merge without running it: the keys that match rows, and the files that the merge
//! would read.

use std::sync::Arc;

use super::Merge;
use super::plan::Plan;
use crate::Result;
use crate::rows::effects::notes_vectors;
use crate::scan::Explanation;

/// The explanation of a merge.
#[derive(Debug, Clone, PartialEq)]
pub struct MergeExplanation {
    /// The target files that the merge would read, and why other files cannot be pruned.
    pub scan: Explanation,
    /// The values that must be equal in a match. Without keys, every source row is compared with
    /// every target row.
    pub keys: Vec<MergeKey>,
    /// The number of source rows.
    pub source_rows: u64,
    /// The number of parts into which the source is split. The merge reads its target files once
    /// for each part.
    pub source_parts: usize,
    /// The number of bytes of the source that spilled to disk.
    pub spilled_bytes: u64,
    /// Whether rows are deleted with deletion vectors. If false, the files are rewritten without
    /// them.
    pub by_deletion_vectors: bool,
    /// Whether the merge writes change data files.
    pub records_changes: bool,
}

/// Two values that must be equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeKey {
    /// The expression over the target.
    pub target: String,
    /// The expression over the source.
    pub source: String,
    /// Whether null equals null.
    pub null_safe: bool,
    /// Whether the source values of the key prune files.
    pub prunes: bool,
}

impl Merge {
    /// Explains the merge. Reads the log, but no data files.
    pub async fn explain(&self) -> Result<MergeExplanation> {
        let (snapshot, source) = (self.table.snapshot().await?.by_log().await?, &self.source.0);
        let plan = Plan::new(&self.options, &snapshot, source, self.now_ms).await?;
        let mut scan = snapshot.scan();
        if let Some(matching) = &plan.matching {
            scan = scan.filter(Arc::clone(&matching.filter));
        }
        let key = |key: &super::on::Key| MergeKey {
            target: key.target.text.to_string(),
            source: key.source.text.to_string(),
            null_safe: key.null_safe,
            prunes: key.target_path.is_some() && plan.matching.is_some(),
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
