//! Reads the files of a checkpoint. The columns that the predicate needs are decoded for every
//! file. The other columns are decoded only for the files that remain.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::ArrowError;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use lakebed_core::action::json::CommitLines;
use lakebed_core::log::checkpoint::columns;
use lakebed_core::log::files::{FileBatch, FileKey, column};
use lakebed_core::log::replay::{Layer, Layers};
use lakebed_core::log::segment::CheckpointFiles;
use lakebed_core::stats::{StatColumn, StatKind};
use lakebed_expr::prune::{Pruner, metadata_field};
use lakebed_io::checkpoint;
use lakebed_io::parquet::{Cores, FilterSource, ParquetFile, ReadOptions};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowPredicate, ArrowPredicateFn, RowFilter};
use parquet::schema::types::SchemaDescriptor;

use super::Plan;
use super::facts::{keep_by_statistics, keep_candidates};
use super::of_rows::sources;
use super::stop::Stop;
use crate::metrics::PlanMetrics;
use crate::{Result, Snapshot};

/// Returns the files of a checkpoint in batches. All parts are opened first, so that a missing or
/// torn part is found before anything is sent.
pub(super) async fn rows(
    plan: &Plan,
    snapshot: &Snapshot,
    files: &CheckpointFiles,
) -> Result<BoxStream<'static, Result<FileBatch>>, Stop> {
    let content = checkpoint::open(snapshot.store(), files).await.map_err(Stop::of_checkpoint)?;
    let mut batches = Vec::new();
    if let Some((name, bytes)) = content.json {
        let layer = Layer::fold([CommitLines::whole(&bytes, &name)]).map_err(Stop::of_checkpoint)?;
        for added in Layers::new(layer).visible_files() {
            batches.extend(added?.into_files([])?.into_iter().map(|batch| plan.early(batch)));
        }
    }
    let (plan, cores) = (plan.clone(), Cores::new());
    // Each part that is started decodes some of its rows ahead.
    let begun_at_once = cores.count();
    let parts = stream::iter(content.parts).map(move |part| {
        let begun = part.read(read_options(&plan, &part), &cores);
        async move { begun }
    });
    let rows = parts.buffered(begun_at_once).try_flatten().map(|batch| FileBatch::from_checkpoint(&batch?));
    Ok(stream::iter(batches).chain(rows).boxed())
}

impl Plan {
    /// Prunes a batch that did not come through a Parquet reader in the same way as one that did.
    fn early(&self, batch: FileBatch) -> Result<FileBatch> {
        let Some(pruner) = self.pruner.as_ref().filter(|_| self.prunes_late()) else { return Ok(batch) };
        let batch = batch.filter(&keep_candidates(pruner, &batch, &self.metrics)?)?;
        batch.filter(&keep_by_statistics(pruner, &batch, &self.metrics)?)
    }
}

fn read_options(plan: &Plan, part: &ParquetFile) -> ReadOptions {
    let schema = part.metadata().file_metadata().schema_descr_ptr();
    let stats = StatSource::of(part);
    let mut wanted = output_columns(plan, part, stats);
    // The pruner runs again after footers were read. Without late pruning, it runs on the rows for
    // the first time.
    if let Some(pruner) = plan.pruner.as_ref().filter(|pruner| !plan.prunes_late() || pruner.guarantees().len() > 0) {
        wanted.extend(partition_columns(pruner, &schema));
        wanted.extend(statistics_of(pruner, &schema, stats));
        wanted.extend(tags(pruner));
    }
    let pruning: Option<FilterSource> = match (&plan.only, plan.pruner.clone().filter(|_| plan.prunes_late())) {
        (Some(only), _) => {
            let only = Arc::clone(only);
            Some(Arc::new(move || key_filter(&only, &schema)))
        }
        (None, Some(pruner)) => {
            let metrics = plan.metrics.clone();
            Some(Arc::new(move || row_filter(&pruner, &schema, stats, &metrics)))
        }
        (None, None) => None,
    };
    ReadOptions {
        projection: Some(mask(part.metadata().file_metadata().schema_descr(), &wanted)),
        row_groups: Some(part.row_groups_with("add")),
        filter: pruning,
        ..ReadOptions::default()
    }
}

/// Returns a filter for the rows with these files.
fn key_filter(only: &Arc<HashSet<FileKey>>, schema: &SchemaDescriptor) -> RowFilter {
    let only = Arc::clone(only);
    let wanted = vec![add_column(&[column::PATH]), add_column(&[column::DELETION_VECTOR])];
    RowFilter::new(vec![Box::new(ArrowPredicateFn::new(mask(schema, &wanted), move |batch: RecordBatch| {
        let select = || -> Result<BooleanArray> {
            let (files, present) = FileBatch::with_presence(&batch)?;
            let is_wanted = |(key, present): (&FileKey, bool)| Some(present && only.contains(key));
            Ok(files.keys()?.iter().zip(present.values()).map(is_wanted).collect())
        };
        select().map_err(|error| ArrowError::ExternalError(Box::new(error)))
    }))])
}

/// Returns a filter with several stages. The first stage prunes by partition values, and the later
/// stages prune the remaining files by statistics. Typed statistics come first, so that JSON
/// statistics are read for few files only.
fn row_filter(pruner: &Arc<Pruner>, schema: &SchemaDescriptor, stats: StatSource, metrics: &Arc<PlanMetrics>) -> RowFilter {
    let mut stages: Vec<Box<dyn ArrowPredicate>> = Vec::new();
    let by_partition = partition_columns(pruner, schema);
    if !by_partition.is_empty() {
        stages.push(stage(mask(schema, &by_partition), pruner, metrics, keep_candidates));
    }
    let mut by_statistics = vec![statistics_of(pruner, schema, StatSource::One)];
    if stats == StatSource::Both {
        by_statistics.push(statistics_of(pruner, schema, StatSource::Both));
    }
    for columns in by_statistics.into_iter().filter(|columns| !columns.is_empty()) {
        let both: Vec<_> = by_partition.iter().cloned().chain(columns).chain(tags(pruner)).collect();
        stages.push(stage(mask(schema, &both), pruner, metrics, keep_by_statistics));
    }
    RowFilter::new(stages)
}

fn stage(
    mask: ProjectionMask,
    pruner: &Arc<Pruner>,
    metrics: &Arc<PlanMetrics>,
    keep: fn(&Pruner, &FileBatch, &PlanMetrics) -> Result<BooleanArray>,
) -> Box<dyn ArrowPredicate> {
    let (pruner, metrics) = (pruner.clone(), metrics.clone());
    Box::new(ArrowPredicateFn::new(mask, move |batch: RecordBatch| {
        let select = || -> Result<BooleanArray> {
            let (files, present) = FileBatch::with_presence(&batch)?;
            if present.true_count() == present.len() {
                return keep(&pruner, &files, &metrics);
            }
            // Rows with other actions count neither as kept nor as skipped.
            let kept = keep(&pruner, &files.filter(&present)?, &metrics)?;
            let mut kept = kept.values().iter();
            Ok(present.values().iter().map(|present| Some(present && kept.next().unwrap_or(false))).collect())
        };
        select().map_err(|error| ArrowError::ExternalError(Box::new(error)))
    }))
}

/// Paths from the root of the schema. A path includes everything below it.
type Columns = Vec<Vec<String>>;

fn add_column(names: &[&str]) -> Vec<String> {
    std::iter::once("add").chain(names.iter().copied()).map(str::to_owned).collect()
}

/// Returns the columns that are read of a file that is kept.
fn output_columns(plan: &Plan, part: &ParquetFile, stats: StatSource) -> Columns {
    let schema = part.metadata().file_metadata().schema_descr();
    let mut names = vec![
        column::PATH,
        column::SIZE,
        column::MODIFICATION_TIME,
        column::DELETION_VECTOR,
        column::BASE_ROW_ID,
        column::DEFAULT_ROW_COMMIT_VERSION,
    ];
    if !plan.snapshot.partition_columns().is_empty() || plan.options.whole_actions || plan.options.tombstones {
        names.push(column::PARTITION_VALUES);
    }
    if plan.options.complete_bounds || plan.options.tombstones {
        names.push(column::TAGS);
    }
    if plan.options.whole_actions {
        names.extend([column::TAGS, column::CLUSTERING_PROVIDER, column::STATS]);
        // A writer that wrote both made the struct from the JSON.
        if !has_all_texts(part) {
            names.push(column::STATS_PARSED);
        }
    }
    let mut wanted: Columns = names.into_iter().map(|name| add_column(&[name])).collect();
    if plan.options.row_counts {
        wanted.extend(stat_columns(&[StatColumn::num_records()], schema, stats));
    }
    wanted
}

/// Returns the columns with partition values. Typed values are used where the checkpoint has them,
/// otherwise the map of strings.
fn partition_columns(pruner: &Pruner, schema: &SchemaDescriptor) -> Columns {
    let mut wanted: Columns = Vec::new();
    for partition in pruner.partition_columns() {
        let typed = add_column(&[column::PARTITION_VALUES_PARSED, &partition.physical]);
        let column = match FileBatch::trusts_parsed(partition.data_type) && has(schema, &typed) {
            true => typed,
            false => add_column(&[column::PARTITION_VALUES]),
        };
        if !wanted.contains(&column) {
            wanted.push(column);
        }
    }
    wanted
}

/// Returns the column with the tags, if the predicate needs to know whether statistics are
/// complete.
fn tags(pruner: &Pruner) -> Option<Vec<String>> {
    (pruner.guarantees().len() > 0).then(|| add_column(&[column::TAGS]))
}

/// The form of the statistics in a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq)]
enum StatSource {
    /// The statistics are in a struct, or otherwise in JSON.
    One,
    /// The statistics are in a struct, but for some files only in JSON.
    Both,
}

impl StatSource {
    /// Decides by the number of row counts that are null: if the struct has more of them than there
    /// are rows without a file, some statistics may be in JSON only. The JSON is much larger than
    /// the struct, so it is read only in this case, although such files may have no statistics at
    /// all. It is not read for columns that the struct lacks, because writers make the struct from
    /// the JSON.
    fn of(part: &ParquetFile) -> Self {
        match (null_count(part, &[column::STATS_PARSED, "numRecords"]), null_count(part, &[column::PATH])) {
            (Some(of_struct), Some(of_path)) if of_struct > of_path => Self::Both,
            _ => Self::One,
        }
    }
}

/// Returns whether all files are known to have their statistics as JSON.
fn has_all_texts(part: &ParquetFile) -> bool {
    let texts = null_count(part, &[column::STATS]);
    texts.is_some() && texts == null_count(part, &[column::PATH])
}

/// Returns in how many rows a leaf of `add` is null, if the statistics of the checkpoint say so.
fn null_count(part: &ParquetFile, name: &[&str]) -> Option<u64> {
    let leaf =
        part.metadata().file_metadata().schema_descr().columns().iter().position(|leaf| {
            leaf.path().parts().iter().map(String::as_str).eq(std::iter::once("add").chain(name.iter().copied()))
        })?;
    let groups = part.metadata().row_groups().iter();
    groups.map(|group| group.columns().get(leaf)?.statistics()?.null_count_opt()).sum()
}

/// Returns the columns of the log that hold the statistics that a pruner needs.
fn statistics_of(pruner: &Pruner, schema: &SchemaDescriptor, source: StatSource) -> Columns {
    let (columns, counts) = sources(pruner.statistics());
    let mut wanted: Vec<StatColumn> =
        pruner.statistics().iter().filter(|column| metadata_field(column).is_none()).cloned().collect();
    if counts {
        wanted.push(StatColumn::num_records());
    }
    let columns = columns.into_iter().map(|name| add_column(&[name])).filter(|column| has(schema, column));
    columns.chain(stat_columns(&wanted, schema, source)).collect()
}

/// Returns the columns with these statistics. Typed statistics are used where the checkpoint has
/// them, otherwise their JSON.
fn stat_columns(wanted: &[StatColumn], schema: &SchemaDescriptor, source: StatSource) -> Columns {
    if wanted.is_empty() {
        return Vec::new();
    }
    let json: Columns = Some(add_column(&[column::STATS])).into_iter().filter(|column| has(schema, column)).collect();
    if !has(schema, &add_column(&[column::STATS_PARSED])) {
        return json;
    }
    let path = |stat: &StatColumn| {
        let kind = match stat.kind {
            StatKind::NumRecords => "numRecords",
            StatKind::NullCount => "nullCount",
            StatKind::Min => "minValues",
            StatKind::Max => "maxValues",
            StatKind::TightBounds => "tightBounds",
        };
        let names: Vec<&str> = [column::STATS_PARSED, kind].into_iter().chain(stat.path.iter().map(String::as_str)).collect();
        add_column(&names)
    };
    let known: Columns = wanted.iter().map(path).filter(|path| has(schema, path)).collect();
    match source {
        // Without any leaf, the batch would have no struct.
        _ if known.is_empty() => json,
        StatSource::One => known,
        StatSource::Both => known.into_iter().chain(json).collect(),
    }
}

fn has(schema: &SchemaDescriptor, column: &[String]) -> bool {
    let names: Vec<&str> = column.iter().map(String::as_str).collect();
    schema.columns().iter().any(|leaf| columns::hold(&[&names], leaf.path().parts()))
}

fn mask(schema: &SchemaDescriptor, wanted: &Columns) -> ProjectionMask {
    let wanted: Vec<Vec<&str>> = wanted.iter().map(|column| column.iter().map(String::as_str).collect()).collect();
    let wanted: Vec<&[&str]> = wanted.iter().map(Vec::as_slice).collect();
    let leaves = schema.columns().iter().enumerate().filter(|(_, leaf)| columns::hold(&wanted, leaf.path().parts()));
    ProjectionMask::leaves(schema, leaves.map(|(index, _)| index))
}
