//! Candidates for deletion, from their sources to the report for the caller.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::builder::{Int64Builder, StringBuilder, TimestampMillisecondBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use futures::stream::BoxStream;
use object_store::path::Path;

use crate::Result;

/// The most files in the report.
const MOST_SHOWN: usize = 1_000_000;

/// A file that may be deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    /// The path below the table, as the store names it.
    pub(super) path: String,
    pub(super) size_bytes: u64,
    /// None for a file that a commit removed. It is at least as old as the commit.
    pub(super) modified_ms: Option<i64>,
}

/// A batch of candidates from a source.
#[derive(Debug, Default)]
pub(super) struct CandidateBatch {
    pub(super) files: Vec<Candidate>,
    /// The number of folders in this batch.
    pub(super) folders: u64,
    /// Files and folders below the table to which links point. They stay, with everything in them.
    pub(super) linked: Vec<String>,
    /// An old folder without files.
    pub(super) empty: Option<Path>,
}

/// The source of candidates.
pub(super) type CandidateStream = BoxStream<'static, Result<CandidateBatch>>;

/// Returns whether a link points to a file, or to a folder that contains it.
pub(super) fn is_linked(linked: &HashSet<String>, path: &str) -> bool {
    let mut ends = path.match_indices('/').map(|(end, _)| end).chain([path.len()]);
    !linked.is_empty() && (linked.contains("") || ends.any(|end| linked.contains(&path[..end])))
}

/// The files in the report for the caller.
pub(super) struct ReportedFiles {
    rows: usize,
    paths: StringBuilder,
    sizes: Int64Builder,
    times: TimestampMillisecondBuilder,
}

impl ReportedFiles {
    pub(super) fn new() -> Self {
        let times = TimestampMillisecondBuilder::new().with_timezone("UTC");
        Self { rows: 0, paths: StringBuilder::new(), sizes: Int64Builder::new(), times }
    }

    pub(super) fn push(&mut self, file: &Candidate) {
        if self.rows < MOST_SHOWN {
            self.rows += 1;
            self.paths.append_value(&file.path);
            self.sizes.append_value(i64::try_from(file.size_bytes).unwrap_or(i64::MAX));
            self.times.append_option(file.modified_ms);
        }
    }

    pub(super) fn finish(mut self) -> Result<RecordBatch> {
        let columns: Vec<ArrayRef> =
            vec![Arc::new(self.paths.finish()), Arc::new(self.sizes.finish()), Arc::new(self.times.finish())];
        Ok(RecordBatch::try_new(schema(), columns)?)
    }
}

fn schema() -> SchemaRef {
    let time = DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
    Arc::new(Schema::new(vec![
        Field::new("path", DataType::Utf8, false),
        Field::new("size_bytes", DataType::Int64, false),
        Field::new("modification_time", time, true),
    ]))
}
