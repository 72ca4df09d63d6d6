//! Measures a version.

use std::collections::HashSet;
use std::pin::pin;

use arrow_schema::DataType as ArrowType;
use futures::TryStreamExt;
use lakebed_core::log::segment::readable_versions;
use lakebed_core::schema::mapping::physical_path;
use lakebed_core::stats::{IndexedColumn, IndexedKind, StatColumn, StatKind, StatsPlan};
use lakebed_io::log;

use super::files::{BoundedColumn, FileSums};
use super::removed::RemovedFiles;
use super::report::Health;
use super::{features, judge};
use crate::scan::plan::{Plan, PlanOptions};
use crate::upkeep::checkpoint_interval;
use crate::write::settings::suited_file_bytes;
use crate::{Result, Snapshot};

const DAY_MS: f64 = 86_400_000.0;

/// The most columns of which the overlap is measured, besides clustering columns.
const MOST_COLUMNS: usize = 32;

impl Snapshot {
    /// Returns how far the version is from its best form, from the log alone.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> lakebed::Result<()> {
    /// use lakebed::health::Judgement;
    ///
    /// let url = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/trips");
    /// let health = lakebed::Table::at(url).open().await?.snapshot().await?.health().await?;
    /// assert_ne!(health.judgement(), Judgement::Act);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn health(&self) -> Result<Health> {
        self.refuse_pending("a look at the health of the table")?;
        self.by_log().await?.measure().await
    }

    async fn measure(&self) -> Result<Health> {
        let properties = self.properties();
        let known_bytes = self.checksum().and_then(|checksum| u64::try_from(checksum.table_size_bytes).ok()).unwrap_or(0);
        let target_bytes = properties.target_file_size_bytes.unwrap_or_else(|| suited_file_bytes(known_bytes));
        let columns = self.bounded_columns().await?;
        let mut sums = FileSums::new(self.physical_partition_columns(), target_bytes / 4 * 3, columns.len());
        let options = PlanOptions { row_counts: true, whole_actions: true, ..PlanOptions::default() };
        let mut removed = RemovedFiles::read(self).await?;
        let mut batches = pin!(Plan::new(self, None, options)?.files());
        while let Some(batch) = batches.try_next().await? {
            sums.add(&batch, &columns)?;
            removed.forget(&batch)?;
        }
        let removed = removed.sums(self.env().now_ms().saturating_sub(properties.deleted_file_retention_ms));
        let listed = log::list_log(self.store(), None).await?;
        let versions = readable_versions(&listed, &HashSet::new());
        let days = |milliseconds: i64| milliseconds as f64 / DAY_MS;
        let mut measures = vec![judge::small_files(&sums, target_bytes)];
        measures.extend(judge::partition_skew(&sums));
        measures.push(judge::deleted_rows(&sums));
        measures.push(judge::missing_statistics(&sums));
        for (column, intervals) in columns.iter().zip(std::mem::take(&mut sums.intervals)) {
            if let Some(depth) = intervals.depth() {
                measures.push(judge::overlap(&column.name, depth, column.is_clustering, &sums));
            }
        }
        measures.push(judge::tombstones(&removed, days(properties.deleted_file_retention_ms), sums.size_bytes));
        let is_clustered = columns.iter().any(|column| column.is_clustering);
        measures.push(judge::unused_features(&features::unused(self, is_clustered, sums.vectors)));
        measures.push(judge::rare_features(&features::rare(self)));
        let interval = checkpoint_interval(self, sums.files);
        measures.push(judge::commits_since_checkpoint(self.segment().commits.len() as u64, interval));
        let bytes = listed.iter().map(|file| file.size).sum();
        measures.push(judge::log_files(listed.len() as u64, bytes, days(properties.log_retention_ms)));
        let first = versions.first().copied();
        measures.push(judge::versions(versions.len() as u64, first, days(properties.deleted_file_retention_ms)));
        Ok(Health {
            version: self.version(),
            files: sums.files,
            size_bytes: sums.size_bytes,
            rows: (sums.files_without_rows == 0).then_some(sums.rows.saturating_sub(sums.deleted_rows)),
            partitions: sums.by_partition.len() as u64,
            measures,
        })
    }

    /// Returns the columns that should have bounds: the clustering columns, and the first of those
    /// that the table's settings choose.
    async fn bounded_columns(&self) -> Result<Vec<BoundedColumn>> {
        let clustering = self.physical_clustering_columns().await?;
        let plan = StatsPlan::new(self.schema(), self.mapping_mode(), self.partition_columns(), self.properties(), &clustering)?;
        let mut leaves = Vec::new();
        add_leaves(plan.columns(), &[], &mut leaves);
        let names = crate::clustering::leaf_names(self.schema(), Vec::new());
        let mut columns = Vec::new();
        let mut others = 0;
        for (path, data_type) in leaves {
            let is_clustering = clustering.contains(&path);
            let is_of_path = |names: &&Vec<String>| {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                physical_path(self.schema(), &names, self.mapping_mode()).is_some_and(|physical| physical == path)
            };
            let Some(name) = names.iter().find(is_of_path).map(|names| names.join(".")) else { continue };
            let bound = |kind| StatColumn { kind, path: path.clone(), data_type };
            let bounds = [bound(StatKind::Min), bound(StatKind::Max)];
            let is_ordered = bounds[0].arrow_type() != ArrowType::Null;
            others += usize::from(!is_clustering);
            if is_ordered && (is_clustering || others <= MOST_COLUMNS) {
                columns.push(BoundedColumn { name, bounds, is_clustering });
            }
        }
        Ok(columns)
    }
}

fn add_leaves(columns: &[IndexedColumn], above: &[String], leaves: &mut Vec<(Vec<String>, lakebed_core::schema::PrimitiveType)>) {
    for column in columns {
        let path = [above, std::slice::from_ref(&column.name)].concat();
        match &column.kind {
            IndexedKind::Leaf(Some(data_type)) => leaves.push((path, *data_type)),
            IndexedKind::Leaf(None) => {}
            IndexedKind::Struct(fields) => add_leaves(fields, &path, leaves),
        }
    }
}
