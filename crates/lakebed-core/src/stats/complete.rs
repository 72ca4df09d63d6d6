//! Decides which statistics are complete: their upper bounds hold for NaN too, and their null
//! counts include the fields of null structs.
//!
//! In Spark, NaN is greater than all numbers. Most writers leave NaN out of bounds, as Parquet
//! requires, so that a value above their upper bound may exist. The statistics of Spark and of
//! lakebed have no upper bound if there is a NaN. If lakebed wrote a file, its tags contain the
//! origin of its statistics ([`COMPLETE_TAG`]). If Delta Spark wrote it, the commit that added it
//! does ([`are_complete_in`]).

use std::collections::HashMap;

use super::StatsPlan;
use super::columns::{IndexedColumn, IndexedKind};
use crate::action::CommitInfo;
use crate::schema::PrimitiveType;

/// The name of the tag in the log for files with complete statistics. Their footers have a key of
/// this name.
pub const COMPLETE_TAG: &str = "lakebed.completeStats";
/// The value of the tag and of the key.
pub const COMPLETE: &str = "true";

/// Operations of Delta Spark that collect the statistics of all new files from their rows. Other
/// operations copy statistics from another table or version, or from the footers of files of other
/// writers.
const COLLECTING: [&str; 10] = [
    "WRITE",
    "STREAMING UPDATE",
    "CREATE TABLE AS SELECT",
    "REPLACE TABLE AS SELECT",
    "CREATE OR REPLACE TABLE AS SELECT",
    "MERGE",
    "UPDATE",
    "DELETE",
    "OPTIMIZE",
    "REORG",
];

/// Returns whether all new files of a commit have complete statistics. A file with a deletion
/// vector may be an old one.
pub(crate) fn are_complete_in(info: &CommitInfo) -> bool {
    let is_delta_spark = info.text("engineInfo").is_some_and(|engine| {
        engine.strip_prefix("Apache-Spark/").and_then(|rest| rest.split_once(' ')).is_some_and(|(_, rest)| {
            rest.strip_prefix("Delta-Lake/").is_some_and(|version| version.starts_with(|first: char| first.is_ascii_digit()))
        })
    });
    is_delta_spark && info.text("operation").is_some_and(|operation| COLLECTING.contains(&operation))
}

impl StatsPlan {
    /// Returns the tags of a file with statistics of this plan. There are none if completeness does
    /// not matter to readers.
    pub fn tags(&self) -> Option<HashMap<String, Option<String>>> {
        let tag = || HashMap::from([(COMPLETE_TAG.to_owned(), Some(COMPLETE.to_owned()))]);
        self.columns().iter().any(is_in_question).then(tag)
    }
}

fn is_in_question(column: &IndexedColumn) -> bool {
    match column.kind {
        IndexedKind::Leaf(bounds) => matches!(bounds, Some(PrimitiveType::Float | PrimitiveType::Double)),
        IndexedKind::Struct(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(engine: &str, operation: &str, expected: bool) {
        let info = json!({"engineInfo": engine, "operation": operation});
        assert_eq!(are_complete_in(&CommitInfo(info.as_object().unwrap().clone())), expected, "{engine} {operation}");
    }

    #[test]
    fn recognize_delta_spark_commits_with_statistics() {
        check("Apache-Spark/4.2.0 Delta-Lake/4.4.0", "WRITE", true);
        check("Apache-Spark/4.2.0-SNAPSHOT Delta-Lake/4.4.0", "MERGE", true);
        // These operations copy statistics that another writer collected.
        for operation in ["CONVERT", "CLONE", "RESTORE", "ROW TRACKING BACKFILL", "COMPUTE STATS", ""] {
            check("Apache-Spark/4.2.0 Delta-Lake/4.4.0", operation, false);
        }
        for engine in
            ["", "Databricks-Runtime/15.4.x-scala2.12", "delta-rs:py-1.6.6", "Apache-Spark/4.2.0 Other/1.0", "Kernel-4.4.0/test"]
        {
            check(engine, "WRITE", false);
        }
        assert!(!are_complete_in(&CommitInfo::default()));
    }
}
