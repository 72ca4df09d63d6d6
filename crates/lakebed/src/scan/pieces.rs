//! Turns planned files into tasks. This process reads them one after the other, or the scan is cut
//! into tasks for other processes.

use std::collections::HashSet;

use arrow_array::{Array, StringArray};
use futures::StreamExt;
use lakebed_core::log::files::{FileBatch, column};
use lakebed_expr::Predicate;

use super::balance::balanced;
use super::file::{FileRows, ScanFile};
use super::plan::{Plan, PlanOptions};
use super::read::{ReadOptions, read_files};
use super::row_tracking::{FileRowTracking, MaterializedColumns};
use super::spec::ScanSpec;
use super::{Scan, ScanTask};
use crate::runtime::stream::{RecordBatchStream, produce};
use crate::{Error, Result};

/// The number of files that are planned before reading begins. It keeps all cores busy, and so many
/// files fit in memory.
const FILES_AT_ONCE: usize = 4096;

impl Scan {
    /// Returns the rows, in the order of the files in the log.
    pub async fn stream(&self) -> Result<RecordBatchStream> {
        let mut scan = self.by_log().await?;
        let (schema, filter) = (scan.schema()?, scan.parsed_filter()?);
        let mut files = Plan::new(&scan.snapshot, filter.as_deref(), PlanOptions::default())?.files();
        // The spec holds the parsed predicate, so the text is not parsed again.
        scan.options.filter = filter.map(Predicate::from);
        let mut spec = scan.spec();
        let batches = produce(2, |sender| async move {
            let mut wanted = scan.options.limit.unwrap_or(u64::MAX);
            let mut chunk = Vec::new();
            loop {
                let next = files.next().await.transpose()?;
                let last = next.is_none();
                if let Some(batch) = next {
                    scan.add_files(&batch, &mut chunk)?;
                }
                if !last && chunk.len() < FILES_AT_ONCE {
                    continue;
                }
                spec.limit = scan.options.limit.map(|_| wanted);
                let files = std::mem::take(&mut chunk);
                let mut rows = read_files(scan.snapshot.store(), &spec, files, ReadOptions::default())?;
                while let Some(batch) = rows.next().await {
                    let batch = batch?;
                    wanted = wanted.saturating_sub(batch.num_rows() as u64);
                    if sender.send(Ok(batch)).await.is_err() {
                        return Ok(());
                    }
                }
                if last || wanted == 0 {
                    return Ok(());
                }
            }
        });
        Ok(RecordBatchStream::new(schema, batches))
    }

    /// Cuts the scan into tasks of about this many bytes of files, in the order of the files in the
    /// log. A file that is larger is cut into several tasks. A limit applies to each task
    /// separately.
    pub async fn tasks(&self, target_task_size_bytes: u64) -> Result<Vec<ScanTask>> {
        self.by_log().await?.cut(None, target_task_size_bytes).await
    }

    /// Cuts the scan as [`Self::tasks`] does, but reads only these files. The files are given by
    /// their paths in the log.
    pub async fn tasks_of(&self, paths: &HashSet<String>, target_task_size_bytes: u64) -> Result<Vec<ScanTask>> {
        self.by_log().await?.cut(Some(paths), target_task_size_bytes).await
    }

    async fn cut(&self, wanted: Option<&HashSet<String>>, target_task_size_bytes: u64) -> Result<Vec<ScanTask>> {
        let files = self.scan_files(wanted).await?;
        let spec = self.spec();
        let task = |files| ScanTask { spec: spec.clone(), files };
        Ok(balanced(files, target_task_size_bytes).into_iter().map(task).collect())
    }

    /// Returns tasks that read the deleted rows of these files instead of the remaining rows. There
    /// is one task for each file that has a deletion vector.
    pub async fn deleted_tasks(&self, paths: &HashSet<String>) -> Result<Vec<ScanTask>> {
        let scan = self.by_log().await?;
        let spec = scan.spec();
        let deleted = |mut file: ScanFile| {
            file.only = Some(file.deletion_vector.take()?);
            Some(ScanTask { spec: spec.clone(), files: vec![file] })
        };
        Ok(scan.scan_files(Some(paths)).await?.into_iter().filter_map(deleted).collect())
    }

    /// Returns the files that the predicate does not rule out. If `wanted` is given, only those
    /// among them are returned.
    async fn scan_files(&self, wanted: Option<&HashSet<String>>) -> Result<Vec<ScanFile>> {
        self.check_row_columns()?;
        let mut batches = self.plan(PlanOptions::default())?.files();
        let mut files = Vec::new();
        while let Some(batch) = batches.next().await {
            let from = files.len();
            self.add_files(&batch?, &mut files)?;
            if let Some(wanted) = wanted {
                let found = files.split_off(from);
                files.extend(found.into_iter().filter(|file| wanted.contains(&file.path)));
            }
        }
        Ok(files)
    }

    fn plan(&self, options: PlanOptions) -> Result<Plan> {
        Plan::new(&self.snapshot, self.parsed_filter()?.as_deref(), options)
    }

    /// Returns how the files of this scan are read.
    pub(crate) fn spec(&self) -> ScanSpec {
        let snapshot = &self.snapshot;
        ScanSpec {
            table_url: snapshot.url().to_owned(),
            schema: snapshot.schema().clone(),
            partition_columns: snapshot.partition_columns().to_vec(),
            mapping_mode: snapshot.mapping_mode(),
            columns: self.options.columns.clone(),
            filter: self.options.filter.clone(),
            now_ms: self.now_ms,
            limit: self.options.limit,
            row_columns: self.options.row_columns.clone(),
            materialized: MaterializedColumns {
                row_id: snapshot.properties().materialized_row_id_column.clone(),
                row_commit_version: snapshot.properties().materialized_row_commit_version_column.clone(),
            },
            clone_sources: snapshot.store().followed_urls(),
        }
    }

    fn add_files(&self, batch: &FileBatch, files: &mut Vec<ScanFile>) -> Result<()> {
        files.extend(ScanFile::of_batch(batch, &self.snapshot.physical_partition_columns())?);
        Ok(())
    }
}

impl ScanFile {
    /// Returns the files of a batch, with their values of these partition columns.
    pub(crate) fn of_batch(batch: &FileBatch, partitions: &[String]) -> Result<Vec<Self>> {
        let paths = batch.paths()?;
        let (sizes, times) = (batch.longs(column::SIZE)?, batch.longs(column::MODIFICATION_TIME)?);
        let (row_ids, versions) = (batch.longs(column::BASE_ROW_ID)?, batch.longs(column::DEFAULT_ROW_COMMIT_VERSION)?);
        let texts = partitions.iter().map(|name| batch.partition_texts(name)).collect::<Result<Vec<_>>>()?;
        let file = |row: usize| {
            let path = paths.value(row);
            let values = partitions.iter().zip(&texts).map(|(name, texts)| (name.clone(), text_at(texts, row)));
            Ok(Self {
                path: path.to_owned(),
                size: u64::try_from(sizes.value(row)).map_err(|_| Error::corrupt(path, "a negative size in the log"))?,
                partition_values: values.collect(),
                deletion_vector: batch.deletion_vector(row)?.map(FileRows::Stored),
                num_records: None,
                row_tracking: FileRowTracking {
                    base_row_id: row_ids.is_valid(row).then(|| row_ids.value(row)),
                    default_row_commit_version: versions.is_valid(row).then(|| versions.value(row)),
                },
                modification_time: times.value(row),
                ..Self::default()
            })
        };
        (0..batch.len()).map(file).collect()
    }
}

fn text_at(texts: &StringArray, row: usize) -> Option<String> {
    texts.is_valid(row).then(|| texts.value(row).to_owned())
}
