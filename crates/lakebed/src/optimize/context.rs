//! The context that the groups of one OPTIMIZE share.

use super::plan::FileGroup;
use super::progress::Reporter;
use crate::metrics::Counter;
use crate::rows::shape::Shape;
use crate::rows::target::Target;
use crate::scan::Scan;
use crate::scan::read::{ReadOptions, read_files};
use crate::write::files::FileSink;
use crate::write::settings::FileSettings;
use crate::{RecordBatchStream, Result, Snapshot};

/// The context that all groups share.
pub(super) struct RewriteContext {
    pub(super) snapshot: Snapshot,
    pub(super) target: Target,
    /// The settings from which the target was built.
    pub(super) file_settings: FileSettings,
    pub(super) shape: Shape,
    /// The scan of all columns, with the id columns of rows.
    pub(super) scan: Scan,
    /// The names of the partition columns in the log.
    pub(super) partitions: Vec<String>,
    /// The approximate size of new files.
    pub(super) file_bytes: u64,
    pub(super) reporter: Reporter,
    pub(super) spilled_bytes: Counter,
}

impl RewriteContext {
    /// Creates the sink for a group's rows of this shape.
    pub(super) fn sink(&self, shape: &Shape, group: &FileGroup) -> Result<FileSink> {
        Ok(shape.sink(&self.snapshot, &self.target)?.of_partition(group.partition.clone()))
    }

    /// Returns the rows of a group's files, as the scan reads them.
    pub(super) fn read(&self, scan: &Scan, group: &FileGroup, options: ReadOptions) -> Result<RecordBatchStream> {
        read_files(self.snapshot.store(), &scan.spec(), group.files.scans(&self.partitions)?, options)
    }
}
