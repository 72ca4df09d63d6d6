//! Turns counts into measures. The thresholds are here and nowhere else.

use super::files::FileSums;
use super::removed::RemovedSums;
use super::report::{HealthMeasure, Judgement, MeasureKind};

/// Returns the judgement of a value that should be small.
fn judge(value: f64, watch: f64, act: f64) -> Judgement {
    match value {
        value if value >= act => Judgement::Act,
        value if value >= watch => Judgement::Watch,
        _ => Judgement::Ok,
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Judges the small files. `target_bytes` is the size of files that are combined.
pub(super) fn small_files(sums: &FileSums, target_bytes: u64) -> HealthMeasure {
    let (mut small, mut bytes, mut saved) = (0, 0, 0);
    for partition in sums.by_partition.values().filter(|partition| partition.small_files >= 2) {
        small += partition.small_files;
        bytes += partition.small_bytes;
        saved += partition.small_files.saturating_sub(partition.small_bytes.div_ceil(target_bytes.max(1)).max(1));
    }
    let value = share(saved, sums.files);
    // A few files more or less cost nothing.
    let judgement = if saved < 4 { Judgement::Ok } else { judge(value, 0.1, 0.5) };
    let detail = format!("{small} of {} files are small; combined they are {saved} fewer", sums.files);
    HealthMeasure::new(MeasureKind::SmallFiles, value, judgement, detail)
        .mended_by("table.optimize()")
        .costs(small, bytes)
        .saves(saved, 0)
}

/// Judges how unequal partitions are.
pub(super) fn partition_skew(sums: &FileSums) -> Option<HealthMeasure> {
    let mut sizes: Vec<u64> = sums.by_partition.values().map(|partition| partition.bytes).collect();
    sizes.sort_unstable();
    let (largest, median) = (*sizes.last()?, *sizes.get(sizes.len() / 2)?);
    if sizes.len() < 2 {
        return None;
    }
    let value = share(largest, median.max(1));
    let judgement = if sizes.len() < 8 { Judgement::Ok } else { judge(value, 10.0, 100.0) };
    let detail = format!("the largest of {} partitions has {largest} bytes, the median {median}", sizes.len());
    Some(HealthMeasure::new(MeasureKind::PartitionSkew, value, judgement, detail))
}

/// Judges the rows that deletion vectors hide.
pub(super) fn deleted_rows(sums: &FileSums) -> HealthMeasure {
    let value = share(sums.deleted_rows, sums.rows);
    let detail = format!("{} of {} rows are deleted in {} deletion vectors", sums.deleted_rows, sums.rows, sums.vectors);
    HealthMeasure::new(MeasureKind::DeletedRows, value, judge(value, 0.05, 0.2), detail)
        .mended_by("table.optimize(max_deleted_share=0)")
        .costs(sums.vectors, sums.vector_file_bytes)
        .saves(0, sums.deleted_bytes)
}

/// Judges missing statistics.
pub(super) fn missing_statistics(sums: &FileSums) -> HealthMeasure {
    let value = share(sums.files_without_statistics, sums.files);
    let judgement = if sums.files_without_statistics == 0 { Judgement::Ok } else { judge(value, 0.0, 0.1) };
    let detail = format!(
        "{} of {} files lack row counts or bounds, so queries cannot skip them",
        sums.files_without_statistics, sums.files
    );
    HealthMeasure::new(MeasureKind::MissingStatistics, value, judgement, detail)
        .mended_by("table.optimize()")
        .costs(sums.files_without_statistics, sums.bytes_without_statistics)
}

/// Judges how well files can be skipped by a column. Only clustering columns are judged.
pub(super) fn overlap(column: &str, depth: f64, is_clustering: bool, sums: &FileSums) -> HealthMeasure {
    let files = depth * sums.files as f64;
    let detail = format!("a lookup of one value reads {files:.1} of {} files", sums.files);
    // With few files, a lookup that reads some more costs little.
    let judgement = if !is_clustering || files < 8.0 { Judgement::Ok } else { judge(depth, 0.1, 0.5) };
    let kind = if is_clustering { MeasureKind::Clustering } else { MeasureKind::ColumnOverlap };
    let measure = HealthMeasure::new(kind, depth, judgement, detail).mended_by("table.optimize(full=True)");
    HealthMeasure { column: Some(column.to_owned()), ..measure }.costs(sums.files, sums.size_bytes)
}

/// Judges the files that left the table and wait for a vacuum. The table has `size_bytes`.
pub(super) fn tombstones(removed: &RemovedSums, retention_days: f64, size_bytes: u64) -> HealthMeasure {
    let value = share(removed.deletable_bytes, size_bytes.max(1));
    let detail = format!(
        "{} removed files with {} bytes wait for a vacuum; {} more with {} bytes are kept for {retention_days:.0} days",
        removed.deletable_files, removed.deletable_bytes, removed.kept_files, removed.kept_bytes
    );
    HealthMeasure::new(MeasureKind::Tombstones, value, judge(value, 0.1, 1.0), detail)
        .mended_by("table.vacuum()")
        .saves(removed.deletable_files, removed.deletable_bytes)
}

/// Judges the table features that nothing uses. Each of them keeps engines away that lack it.
pub(super) fn unused_features(names: &[String]) -> HealthMeasure {
    let judgement = if names.is_empty() { Judgement::Ok } else { Judgement::Watch };
    let detail = match names {
        [] => "the version uses the table features of its protocol".to_owned(),
        names => format!("the version does not use {}; engines without these features cannot open the table", names.join(", ")),
    };
    let measure = HealthMeasure::new(MeasureKind::UnusedFeatures, names.len() as f64, judgement, detail);
    match names.first() {
        Some(name) => measure.mended_by(&format!("table.alter.drop_feature({name:?})")),
        None => measure,
    }
}

/// Counts the table features that few engines can read.
pub(super) fn rare_features(names: &[String]) -> HealthMeasure {
    let detail = match names {
        [] => "all engines of today support the table features".to_owned(),
        names => format!("few engines can read tables with {}", names.join(", ")),
    };
    HealthMeasure::new(MeasureKind::RareFeatures, names.len() as f64, Judgement::Ok, detail)
}

/// Judges the number of commits since the checkpoint, of which one is due after `interval`.
pub(super) fn commits_since_checkpoint(commits: u64, interval: u64) -> HealthMeasure {
    let value = share(commits, interval.max(1));
    let detail = format!("{commits} commits since the newest checkpoint; one is due after {interval}");
    let measure = HealthMeasure::new(MeasureKind::CommitsSinceCheckpoint, commits as f64, judge(value, 2.0, 10.0), detail);
    measure.mended_by("table.checkpoint()").saves(commits, 0)
}

/// Judges the number of files in the log.
pub(super) fn log_files(files: u64, bytes: u64, retention_days: f64) -> HealthMeasure {
    let detail = format!("the log has {files} files with {bytes} bytes; commits are kept for {retention_days:.0} days");
    HealthMeasure::new(MeasureKind::LogFiles, files as f64, judge(files as f64, 10_000.0, 100_000.0), detail)
}

/// Counts the versions that can be rebuilt.
pub(super) fn versions(count: u64, first: Option<u64>, retention_days: f64) -> HealthMeasure {
    let since = first.map_or_else(String::new, |first| format!(" since version {first}"));
    let detail = format!("{count} versions can be rebuilt{since}; removed files are kept for {retention_days:.0} days");
    HealthMeasure::new(MeasureKind::Versions, count as f64, Judgement::Ok, detail)
}
