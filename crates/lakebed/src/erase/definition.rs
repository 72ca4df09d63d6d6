//! The definition by which the files of a version are searched.

use std::sync::Arc;

use lakebed_expr::prune::Pruner;

use super::held_rows::spec_of;
use crate::rows::selection::Matching;
use crate::scan::{Scan, ScanSpec};
use crate::{Result, Snapshot};

/// How the files of some versions are searched for matching rows.
#[derive(Clone)]
pub(super) struct Definition {
    pub(super) scan: Scan,
    pub(super) spec: ScanSpec,
    pub(super) pruner: Arc<Pruner>,
    /// The physical names of the partition columns.
    pub(super) partitions: Vec<String>,
}

impl Definition {
    /// Returns the definition of a version; `None` if the predicate has no meaning for its files.
    ///
    /// A column that the version does not have yet is null in its rows, as for readers of the newest
    /// version. That needs files that can be read with the columns of the newest version.
    pub(super) fn of(version: &Snapshot, newest: &Snapshot, text: &str, now_ms: i64) -> Result<Option<Self>> {
        if let Ok(filter) = version.parse_row_filter(text, now_ms) {
            return Self::new(version, Matching::new(version, filter)?).map(Some);
        }
        let same_layout = version.physical_partition_columns() == newest.physical_partition_columns()
            && version.mapping_mode() == newest.mapping_mode();
        if !same_layout {
            return Ok(None);
        }
        let filter = newest.parse_row_filter(text, now_ms)?;
        Self::new(newest, Matching::new(newest, filter)?).map(Some)
    }

    fn new(snapshot: &Snapshot, Matching { filter, pruner }: Matching) -> Result<Self> {
        let scan = snapshot.scan().filter(filter);
        Ok(Self { spec: spec_of(&scan), scan, pruner, partitions: snapshot.physical_partition_columns() })
    }
}
