//! What the groups of one OPTIMIZE share.

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

/// What all groups share.
pub(super) struct RewriteContext {
    pub(super) snapshot: Snapshot,
    pub(super) target: Target,
    /// By what the target was made.
    pub(super) file_settings: FileSettings,
    pub(super) shape: Shape,
    /// Of all columns, with those that tell who rows are.
    pub(super) scan: Scan,
    /// The names of the partition columns in the log.
    pub(super) partitions: Vec<String>,
    /// About how large files become.
    pub(super) file_bytes: u64,
    pub(super) reporter: Reporter,
    pub(super) spilled_bytes: Counter,
}

impl RewriteContext {
    /// Where a group's rows of this form are written.
    pub(super) fn sink(&self, shape: &Shape, group: &FileGroup) -> Result<FileSink> {
        Ok(shape.sink(&self.snapshot, &self.target)?.of_partition(group.partition.clone()))
    }

    /// The rows of a group's files, as a scan gives them.
    pub(super) fn read(&self, scan: &Scan, group: &FileGroup, options: ReadOptions) -> Result<RecordBatchStream> {
        read_files(self.snapshot.store(), &scan.spec(), group.files.scans(&self.partitions)?, options)
    }
}
