//! Runs an OPTIMIZE. Begin with [`run`].

use std::sync::Arc;

use lakebed_core::feature::check_write;
use lakebed_core::layout::binpack::PackRules;
use lakebed_io::parquet::Cores;

use super::cluster::cluster;
use super::cluster_spec::{ClusterOrder, ClusterSpec};
use super::commit::{Committer, RewrittenGroup};
use super::compact::compact;
use super::context::RewriteContext;
use super::options::{Commits, Layout, OptimizeOptions};
use super::outcome::{OptimizeMetrics, OptimizeOutcome};
use super::plan::{FileGroup, Plan, PlannedGroup, Strategy};
use super::progress::{Reporter, Watcher};
use super::statistics::collect_statistics;
use crate::clustering::key_columns;
use crate::metrics::Counter;
use crate::rows::selection::parse_condition;
use crate::rows::shape::{Shape, id_columns};
use crate::rows::target::Target;
use crate::runtime::memory::MemoryBudget;
use crate::runtime::stream::SideBySide;
use crate::transaction::Operation;
use crate::write::account;
use crate::write::data_file::WrittenFile;
use crate::write::files::delete_written;
use crate::write::settings::{FileSettings, check_file_size};
use crate::{Error, Result, Snapshot, Table};
use lakebed_expr::Filter;

/// The approximate memory that a group takes from the memory budget while its files are compacted.
const GROUP_BYTES: u64 = 192 << 20;
/// The most groups per core that are written at a time. There are more groups than cores, because
/// the last step of each file is a request to the store.
const GROUPS_PER_CORE: usize = 2;
/// The factor by which a file may exceed its target size before it is cut, if rows are divided into
/// files beforehand.
const MOST_TIMES: u64 = 2;

/// The decisions on top of a version.
struct Decisions {
    snapshot: Snapshot,
    strategy: Strategy,
    target: Target,
    file_settings: FileSettings,
    file_bytes: u64,
    plan: Plan,
}

pub(super) async fn plan(table: &Table, options: &OptimizeOptions) -> Result<Vec<PlannedGroup>> {
    let decided = decide(table, options).await?;
    let columns = decided.snapshot.partition_columns();
    decided.plan.groups.iter().map(|group| group.planned(columns)).collect()
}

pub(super) async fn run(table: &Table, options: OptimizeOptions, watcher: Option<Watcher>) -> Result<OptimizeOutcome> {
    run_as(table, options, watcher, false).await
}

/// Runs an automatic OPTIMIZE. Groups with fewer files than the options' minimum are left alone,
/// clustered or not.
pub(super) async fn run_auto(table: &Table, options: OptimizeOptions) -> Result<OptimizeOutcome> {
    run_as(table, options, None, true).await
}

async fn run_as(table: &Table, options: OptimizeOptions, watcher: Option<Watcher>, is_auto: bool) -> Result<OptimizeOutcome> {
    table.refuse_in_transaction("OPTIMIZE")?;
    let memory = MemoryBudget::of_process().watch();
    let mut decided = decide(table, &options).await?;
    if is_auto {
        decided.plan.groups.retain(|group| group.files.len() >= options.min_files);
    }
    let (snapshot, plan) = (decided.snapshot.clone(), decided.plan);
    let metrics = OptimizeMetrics { scanned_files: plan.scanned_files, ..OptimizeMetrics::default() };
    if plan.is_empty() {
        return Ok(OptimizeOutcome { version: snapshot.version(), commits: 0, metrics, snapshot: Some(snapshot) });
    }
    let operation = operation(&options, &decided.strategy).with("auto", is_auto);
    let shape = Shape::new(&snapshot, &decided.target)?;
    let context = Arc::new(RewriteContext {
        target: decided.target,
        file_settings: decided.file_settings,
        shape,
        scan: snapshot.scan().row_columns(id_columns(&snapshot)),
        partitions: snapshot.physical_partition_columns(),
        file_bytes: decided.file_bytes,
        reporter: Reporter::new(watcher, plan.groups.iter().map(|group| group.size_bytes).sum(), plan.groups.len() as u64),
        spilled_bytes: Counter::default(),
        snapshot,
    });
    let mut committer = Committer::new(table, &options, &context, operation, Arc::clone(&plan.batches));
    committer.metrics = metrics;
    let rewriter = Arc::new(Rewriter { context: Arc::clone(&context), strategy: decided.strategy });
    rewriter.rewrite_groups(plan, &mut committer).await?;
    let Committer { snapshot, last_version, commits, mut metrics, .. } = committer;
    metrics.spilled_bytes = context.spilled_bytes.get();
    metrics.peak_memory_bytes = memory.peak_bytes();
    let version = last_version.unwrap_or_else(|| snapshot.version());
    tracing::info!(table = snapshot.url(), version, groups = metrics.groups, "optimized");
    Ok(OptimizeOutcome { version, commits, metrics, snapshot: Some(snapshot).filter(|snapshot| snapshot.version() == version) })
}

/// Writes the groups of a run.
pub(super) struct Rewriter {
    pub(super) context: Arc<RewriteContext>,
    pub(super) strategy: Strategy,
}

impl Rewriter {
    /// Writes the groups, several at a time, and commits them.
    pub(super) async fn rewrite_groups(self: Arc<Self>, plan: Plan, committer: &mut Committer<'_>) -> Result<()> {
        let groups = plan.groups.into_iter().map(|group| (group, false));
        let groups = groups.chain(plan.undescribed.into_iter().map(|group| (group, true)));
        let own = Arc::clone(&self);
        let work = move |(group, only_statistics): (FileGroup, bool)| {
            let rewriter = Arc::clone(&own);
            async move { rewriter.rewrite_group(group, only_statistics).await }
        };
        let mut rewritten = SideBySide::new(self.at_once(), groups.map(work));
        let (mut done, mut failed) = (Vec::new(), None);
        while let Some(group) = rewritten.next().await {
            let outcome = match group {
                Ok(group) if failed.is_none() && committer.options.commits == Commits::PerGroup => {
                    committer.commit(vec![group]).await
                }
                Ok(group) => {
                    done.push(group);
                    Ok(())
                }
                Err(error) => Err(error),
            };
            if let Err(error) = outcome {
                rewritten.stop();
                failed = failed.or(Some(error));
            }
        }
        match failed {
            None => committer.commit(done).await,
            Some(error) => {
                delete_groups(&self.context.snapshot, done).await;
                Err(error)
            }
        }
    }

    /// Writes the groups, several at a time, and returns them. Nothing is committed.
    pub(super) async fn rewrite_all(self: Arc<Self>, plan: Plan) -> Result<Vec<RewrittenGroup>> {
        let own = Arc::clone(&self);
        let work = move |group: FileGroup| {
            let rewriter = Arc::clone(&own);
            async move { rewriter.rewrite_group(group, false).await }
        };
        let mut rewritten = SideBySide::new(self.at_once(), plan.groups.into_iter().map(work));
        let (mut done, mut failed) = (Vec::new(), None);
        while let Some(group) = rewritten.next().await {
            match group {
                Ok(group) => done.push(group),
                Err(error) => {
                    rewritten.stop();
                    failed = failed.or(Some(error));
                }
            }
        }
        match failed {
            None => Ok(done),
            Some(error) => {
                delete_groups(&self.context.snapshot, done).await;
                Err(error)
            }
        }
    }

    async fn rewrite_group(&self, group: FileGroup, only_statistics: bool) -> Result<RewrittenGroup> {
        let (context, sources) = (&self.context, group.files.batches()?);
        if only_statistics {
            return Ok(RewrittenGroup {
                sources,
                described: collect_statistics(context, &group).await?,
                ..RewrittenGroup::default()
            });
        }
        let (rows, written, method) = match &self.strategy {
            Strategy::Compact(_) => {
                let (rows, written) = compact(context, &group).await?;
                (rows, written, None)
            }
            Strategy::Cluster(spec) => {
                let (rows, written, method) = cluster(context, spec, &group).await?;
                (rows, written, Some(method))
            }
        };
        let mut written = account::checked(context.snapshot.store(), rows, written).await?;
        if let Strategy::Cluster(spec) = &self.strategy {
            spec.mark(written.iter_mut().map(|file| &mut file.add), &context.snapshot.env().new_uuid());
        }
        context.reporter.end_group();
        Ok(RewrittenGroup { sources, written, method, ..RewrittenGroup::default() })
    }

    fn at_once(&self) -> usize {
        let by_memory = usize::try_from(MemoryBudget::of_process().limit_bytes() / GROUP_BYTES).unwrap_or(usize::MAX);
        match self.strategy {
            Strategy::Compact(_) => by_memory.clamp(1, Cores::new().count() * GROUPS_PER_CORE),
            // Each group takes all cores and all the memory that it can get.
            Strategy::Cluster(_) => 1,
        }
    }
}

/// Deletes the files of groups that will not be committed.
async fn delete_groups(snapshot: &Snapshot, groups: Vec<RewrittenGroup>) {
    let written: Vec<WrittenFile> = groups.into_iter().flat_map(|group| group.written).collect();
    delete_written(snapshot.store(), &written).await;
}

async fn decide(table: &Table, options: &OptimizeOptions) -> Result<Decisions> {
    let snapshot = table.snapshot().await?.by_log().await?;
    check_write(snapshot.protocol(), snapshot.url())?;
    let now_ms = table.env().now_ms();
    check_options(&snapshot, options)?;
    let filter = |text: &String| parse_condition(snapshot.url(), snapshot.schema(), text, now_ms);
    let filter = options.filter.as_ref().map(filter).transpose()?;
    let mut file_settings = FileSettings {
        target_file_size_bytes: options.target_file_size_bytes,
        compression: options.compression,
        row_group_rows: options.row_group_rows,
        bloom_columns: options.bloom_columns.clone(),
    };
    let mut target = Target::of_table(&snapshot, None, &file_settings, now_ms).await?;
    let file_bytes = target.target_file_size_bytes();
    let rules = PackRules {
        target_file_size_bytes: file_bytes,
        min_files: options.min_files,
        max_deleted_share: options.max_deleted_share,
    };
    let strategy = match cluster_spec(&snapshot, options, rules).await? {
        None => Strategy::Compact(rules),
        Some(spec) => Strategy::Cluster(spec),
    };
    if let Strategy::Cluster(spec) = &strategy {
        file_settings.target_file_size_bytes = Some(file_bytes.saturating_mul(MOST_TIMES));
        let columns = spec.columns.iter().map(|column| column.physical.clone()).collect();
        target = Target::clustered(&snapshot, columns, &file_settings, now_ms).await?;
    }
    let filter: Option<&Filter> = filter.as_deref();
    let plan = Plan::new(&snapshot, filter, &strategy, options.fill_statistics).await?;
    Ok(Decisions { strategy, target, file_settings, file_bytes, plan, snapshot })
}

/// Returns the clustering specification, if rows are clustered.
async fn cluster_spec(snapshot: &Snapshot, options: &OptimizeOptions, rules: PackRules) -> Result<Option<ClusterSpec>> {
    let of_table = snapshot.clustering_columns().await?;
    let (names, order) = match &options.layout {
        Layout::OfTable if of_table.is_empty() => return Ok(None),
        Layout::OfTable => (&of_table, ClusterOrder::OfTable),
        Layout::ZOrder(names) => (names, ClusterOrder::ZOrder),
        Layout::Cluster(names) => (names, ClusterOrder::Best),
    };
    if options.layout != Layout::OfTable && !of_table.is_empty() {
        return Err(Error::invalid_input(format!(
            "{}: the table is clustered by {}; optimize it without naming columns, or change its clustering columns",
            snapshot.url(),
            of_table.join(", ")
        )));
    }
    let columns = key_columns(snapshot, names)?;
    Ok(Some(ClusterSpec { columns, order, full: options.full, rules }))
}

fn check_options(snapshot: &Snapshot, options: &OptimizeOptions) -> Result<()> {
    if !(0.0..=1.0).contains(&options.max_deleted_share) {
        let message = format!("{}: max_deleted_share must be a share of rows, from 0 to 1", snapshot.url());
        return Err(Error::invalid_input(message));
    }
    check_file_size(options.target_file_size_bytes).map_err(|error| error.within(snapshot.url()))
}

/// Returns the operation for the history, with Delta Spark's names.
fn operation(options: &OptimizeOptions, strategy: &Strategy) -> Operation {
    let (zorder, cluster) = match strategy {
        Strategy::Cluster(spec) if spec.order == ClusterOrder::ZOrder => (spec.column_names(), Vec::new()),
        Strategy::Cluster(spec) => (Vec::new(), spec.column_names()),
        Strategy::Compact(_) => (Vec::new(), Vec::new()),
    };
    let predicates: Vec<String> = options.filter.iter().cloned().collect();
    let operation = Operation::new("OPTIMIZE")
        .with_names("predicate", &predicates)
        .with_names("zOrderBy", &zorder)
        .with_names("clusterBy", &cluster);
    match strategy {
        Strategy::Cluster(spec) if spec.order == ClusterOrder::OfTable => operation.with("isFull", options.full),
        _ => operation,
    }
}
