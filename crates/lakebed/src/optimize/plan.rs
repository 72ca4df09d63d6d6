//! Plans an OPTIMIZE: which files are rewritten, and which of them together.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{Array, BooleanArray};
use futures::TryStreamExt;
use lakebed_core::layout::binpack::{self, PackRules, PackedFile};
use lakebed_core::log::files::{FileBatch, column};
use lakebed_core::path::hive::partition_dir;

use super::candidate::Candidate;
use super::cluster_spec::ClusterSpec;
use super::reorg_files::Reorg;
use super::zcube::ZCube;
use crate::scan::ScanFile;
use crate::scan::files::deleted_records;
use crate::scan::plan::{Plan as ScanPlan, PlanOptions};
use crate::{Error, Result, Snapshot};
use lakebed_expr::Filter;

/// The columns that are kept of an `add` action: all except statistics.
const KEPT: [&str; 9] = [
    column::PATH,
    column::PARTITION_VALUES,
    column::SIZE,
    column::MODIFICATION_TIME,
    column::TAGS,
    column::DELETION_VECTOR,
    column::BASE_ROW_ID,
    column::DEFAULT_ROW_COMMIT_VERSION,
    column::CLUSTERING_PROVIDER,
];

/// The plan of an OPTIMIZE.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Groups of files that are rewritten together.
    pub(super) groups: Vec<FileGroup>,
    /// Files that stay and lack statistics, by partition.
    pub(super) undescribed: Vec<FileGroup>,
    /// The number of files that were examined.
    pub(super) scanned_files: u64,
    /// The log's actions of the chosen files.
    pub(super) batches: Arc<Vec<FileBatch>>,
}

/// Files of one partition.
#[derive(Debug, Clone)]
pub(super) struct FileGroup {
    /// The values of the partition columns, as the log spells them.
    pub(super) partition: Vec<Option<String>>,
    pub(super) files: GroupFiles,
    /// The total size of the files.
    pub(super) size_bytes: u64,
    /// The approximate size of the files without deleted rows.
    pub(super) live_bytes: u64,
}

/// Some of the files in the batches of the plan.
#[derive(Debug, Clone)]
pub(super) struct GroupFiles {
    batches: Arc<Vec<FileBatch>>,
    /// The batch and the row in it for each file.
    places: Vec<(u32, u32)>,
}

/// Files that would be rewritten together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedGroup {
    /// The partition of the files, as `a=1/b=2`; empty if the table has no partitions.
    pub partition: String,
    /// The paths of the files as the log spells them.
    pub paths: Vec<String>,
    /// The total size of the files.
    pub size_bytes: u64,
}

/// The kind of rewrite.
#[derive(Debug)]
pub(super) enum Strategy {
    /// Small files are compacted.
    Compact(PackRules),
    /// Rows are clustered.
    Cluster(ClusterSpec),
}

impl Plan {
    pub(super) async fn new(snapshot: &Snapshot, filter: Option<&Filter>, strategy: &Strategy, describes: bool) -> Result<Self> {
        let options = PlanOptions { row_counts: true, whole_actions: true, ..PlanOptions::default() };
        let mut stream = ScanPlan::new(snapshot, filter, options)?.files();
        let mut found = PlanBuilder { partitions: snapshot.physical_partition_columns(), ..PlanBuilder::default() };
        while let Some(batch) = stream.try_next().await? {
            found.add(&batch, strategy, describes)?;
        }
        Ok(found.into_plan(strategy))
    }

    /// Plans to rewrite every file that must not stay.
    pub(super) async fn of_reorg(snapshot: &Snapshot, reorg: Reorg, rules: PackRules) -> Result<Self> {
        let options = PlanOptions { row_counts: true, whole_actions: true, ..PlanOptions::default() };
        let mut stream = ScanPlan::new(snapshot, None, options)?.files();
        let mut found = PlanBuilder { partitions: snapshot.physical_partition_columns(), ..PlanBuilder::default() };
        let strategy = Strategy::Compact(PackRules { max_deleted_share: binpack::EVERY_FILE, ..rules });
        while let Some(batch) = stream.try_next().await? {
            let is_wanted = reorg.concerns(snapshot, &batch).await?;
            found.add(&batch.filter(&is_wanted)?, &strategy, false)?;
        }
        Ok(found.into_plan(&strategy))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.undescribed.is_empty()
    }
}

#[derive(Default)]
struct PlanBuilder {
    /// The names of the partition columns in the log.
    partitions: Vec<String>,
    batches: Vec<FileBatch>,
    by_partition: BTreeMap<Vec<Option<String>>, PartitionCandidates>,
    scanned_files: u64,
}

#[derive(Default)]
struct PartitionCandidates {
    candidates: Vec<Candidate>,
    undescribed: Vec<Candidate>,
}

impl PlanBuilder {
    fn add(&mut self, batch: &FileBatch, strategy: &Strategy, describes: bool) -> Result<()> {
        self.scanned_files += batch.len() as u64;
        let (rows, deleted) = (batch.row_counts()?, deleted_records(batch));
        let (sizes, times) = (batch.longs(column::SIZE)?, batch.longs(column::MODIFICATION_TIME)?);
        let file = |row: usize| PackedFile {
            size_bytes: u64::try_from(sizes.value(row)).unwrap_or(0),
            rows: rows.is_valid(row).then(|| u64::try_from(rows.value(row)).unwrap_or(0)),
            deleted_rows: u64::try_from(deleted.value(row)).unwrap_or(0),
        };
        let is_candidate = |row: usize| match strategy {
            Strategy::Compact(rules) => rules.considers(&file(row)),
            Strategy::Cluster(_) => true,
        };
        let is_wanted: BooleanArray =
            (0..batch.len()).map(|row| Some(is_candidate(row) || describes && rows.is_null(row))).collect();
        if is_wanted.true_count() == 0 {
            return Ok(());
        }
        let chosen: Vec<usize> = (0..batch.len()).filter(|row| is_wanted.value(*row)).collect();
        let kept = batch.select(&KEPT)?.filter(&is_wanted)?;
        let texts = self.partitions.iter().map(|name| kept.partition_texts(name)).collect::<Result<Vec<_>>>()?;
        let cubes = ZCube::of_files(&kept)?;
        let number = u32::try_from(self.batches.len()).map_err(|_| Error::internal("too many batches of files"))?;
        for (place, row) in chosen.into_iter().enumerate() {
            let text = |texts: &arrow_array::StringArray| texts.is_valid(place).then(|| texts.value(place).to_owned());
            let of_partition = self.by_partition.entry(texts.iter().map(text).collect()).or_default();
            let cube = cubes[place].clone();
            let candidate = Candidate { place: (number, place as u32), file: file(row), modified: times.value(row), cube };
            if describes && rows.is_null(row) {
                of_partition.undescribed.push(candidate.clone());
            }
            if is_candidate(row) {
                of_partition.candidates.push(candidate);
            }
        }
        self.batches.push(kept);
        Ok(())
    }

    fn into_plan(self, strategy: &Strategy) -> Plan {
        let batches = Arc::new(self.batches);
        let group = |partition: &Vec<Option<String>>, files: &[&Candidate]| FileGroup {
            partition: partition.clone(),
            size_bytes: files.iter().map(|candidate| candidate.file.size_bytes).sum(),
            live_bytes: files.iter().map(|candidate| candidate.file.live_bytes()).sum(),
            files: GroupFiles { batches: Arc::clone(&batches), places: files.iter().map(|candidate| candidate.place).collect() },
        };
        let mut plan = Plan { scanned_files: self.scanned_files, batches: Arc::clone(&batches), ..Plan::default() };
        for (partition, PartitionCandidates { mut candidates, undescribed }) in self.by_partition {
            // Files that were written at the same time are next to each other.
            candidates.sort_by_key(|candidate| (candidate.modified, candidate.place));
            let chosen: Vec<Vec<usize>> = match strategy {
                Strategy::Compact(rules) => {
                    let files: Vec<PackedFile> = candidates.iter().map(|candidate| candidate.file).collect();
                    binpack::plan(&files, rules)
                }
                Strategy::Cluster(spec) => spec.choose(&candidates).into_iter().collect(),
            };
            let mut taken: Vec<(u32, u32)> = chosen.iter().flatten().map(|place| candidates[*place].place).collect();
            taken.sort_unstable();
            let rest: Vec<&Candidate> =
                undescribed.iter().filter(|candidate| taken.binary_search(&candidate.place).is_err()).collect();
            plan.groups.extend(chosen.iter().map(|places| {
                let files: Vec<&Candidate> = places.iter().map(|place| &candidates[*place]).collect();
                group(&partition, &files)
            }));
            if !rest.is_empty() {
                plan.undescribed.push(group(&partition, &rest));
            }
        }
        plan
    }
}

impl FileGroup {
    /// Returns the group as a [`PlannedGroup`].
    pub(super) fn planned(&self, partition_columns: &[String]) -> Result<PlannedGroup> {
        let texts = partition_columns.iter().map(String::as_str).zip(self.partition.iter().map(Option::as_deref));
        let mut paths = Vec::with_capacity(self.files.len());
        for batch in self.files.batches()? {
            paths.extend(batch.paths()?.iter().flatten().map(str::to_owned));
        }
        Ok(PlannedGroup { partition: partition_dir(texts), paths, size_bytes: self.size_bytes })
    }
}

impl GroupFiles {
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns the files as the log has them, in any order.
    pub(super) fn batches(&self) -> Result<Vec<FileBatch>> {
        self.by_batch().into_iter().map(|(batch, rows)| self.batch(batch)?.take(&rows)).collect()
    }

    /// Returns the files as scan files, in the order of the group.
    pub(super) fn scans(&self, partitions: &[String]) -> Result<Vec<ScanFile>> {
        let mut scans: BTreeMap<(u32, u32), ScanFile> = BTreeMap::new();
        for (batch, rows) in self.by_batch() {
            let files = ScanFile::of_batch(&self.batch(batch)?.take(&rows)?, partitions)?;
            scans.extend(rows.into_iter().map(|row| (batch, row as u32)).zip(files));
        }
        let scan = |place| scans.remove(place).ok_or_else(|| Error::internal("a file was chosen twice"));
        self.places.iter().map(scan).collect()
    }

    /// Returns the rows of each batch, in their order.
    fn by_batch(&self) -> BTreeMap<u32, Vec<usize>> {
        let mut by_batch: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (batch, row) in &self.places {
            by_batch.entry(*batch).or_default().push(*row as usize);
        }
        by_batch
    }

    fn batch(&self, number: u32) -> Result<&FileBatch> {
        self.batches.get(number as usize).ok_or_else(|| Error::internal("a file belongs to no batch"))
    }
}
