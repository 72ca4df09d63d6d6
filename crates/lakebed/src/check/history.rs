//! Level `history`: every version that the log should be able to rebuild can be rebuilt, and the
//! files of versions within the retention period exist.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::pin::pin;

use futures::{StreamExt, TryStreamExt, stream};
use lakebed_core::action::json::{FileLine, Line, each_line};
use lakebed_core::action::{Action, CommitInfo, DeletionVectorDescriptor};
use lakebed_core::log::files::FileKey;
use lakebed_core::log::segment::{ListedLogFile, checkpoints, readable_versions};
use lakebed_core::path::{FilePath, LogKind, LogPath};
use lakebed_io::log;

use super::change_files::ChangeFiles;
use super::commit_times::CommitTimes;
use super::commits::CheckedLog;
use super::compactions;
use super::damaged::damage;
use super::existence::Existence;
use super::files::VectorFiles;
use super::finding::{Finding, FindingKind};
use super::findings::Findings;
use super::progress::LevelReporter;
use super::state::{CheckedState, compare_checkpoints_of};
use crate::scan::plan::{Plan, PlanOptions};
use crate::vacuum::orphaned_vectors;
use crate::{Error, Result, Table};

/// The number of checksums that are read at a time.
const CONCURRENCY: usize = 16;

/// Checks all versions of the log.
pub(super) async fn check(
    table: &Table,
    log: &mut CheckedLog,
    state: Option<&CheckedState>,
    findings: &mut Findings,
    reporter: &mut LevelReporter<'_>,
) -> Result<()> {
    let store = table.store();
    let rest: Vec<LogPath> = log.commits().filter(|path| !log.read.contains(&path.version)).cloned().collect();
    let empty: BTreeSet<u64> = log.broken.clone();
    let rest = rest.into_iter().filter(|path| !empty.contains(&path.version)).collect();
    log.read_commits(store, rest, findings, reporter).await?;
    let mut unusable = state.map(|state| state.unusable.clone()).unwrap_or_default();
    check_checkpoints(table, log, state, &mut unusable, findings).await?;
    let left = log.compactions().filter(|path| path.version < log.first_needed());
    compactions::compare(store, log, left, findings).await?;
    check_checksums(table, log, state, findings).await?;
    check_versions(log, &unusable, findings);
    let Some(state) = state else { return Ok(()) };
    check_old_files(log, state, findings).await?;
    check_orphans(state, findings).await
}

/// Reports files of deletion vectors that no version names. If the files of a version are unknown,
/// so is whether it names them.
async fn check_orphans(state: &CheckedState, findings: &mut Findings) -> Result<()> {
    let Ok(orphans) = damage(orphaned_vectors(&state.snapshot).await)? else { return Ok(()) };
    for path in orphans {
        let message = "no version names this file of deletion vectors, and it is older than the retention period";
        findings.report(Finding::new(FindingKind::DeletionVectorOrphaned, message).file(path));
    }
    Ok(())
}

/// Compares the checkpoints that the level `state` has not compared.
async fn check_checkpoints(
    table: &Table,
    log: &CheckedLog,
    state: Option<&CheckedState>,
    unusable: &mut HashSet<String>,
    findings: &mut Findings,
) -> Result<()> {
    let (complete, _) = checkpoints(&log.listed, unusable);
    let mut versions: Vec<u64> = complete.iter().map(|files| files.version).collect();
    versions.dedup();
    let compared = |version: &u64| state.is_some_and(|state| state.compared.contains(version));
    versions.retain(|version| !compared(version));
    for version in versions {
        compare_checkpoints_of(table, log, version, unusable, findings).await?;
    }
    Ok(())
}

/// Parses the checksums of all versions but the one that the level `state` has compared.
async fn check_checksums(table: &Table, log: &CheckedLog, state: Option<&CheckedState>, findings: &mut Findings) -> Result<()> {
    let checked = state.map(|state| state.snapshot.version());
    let is_left = |file: &&ListedLogFile| file.path.kind == LogKind::Checksum && Some(file.path.version) != checked;
    let paths: Vec<LogPath> = log.listed.iter().filter(is_left).map(|file| file.path.clone()).collect();
    let reading = paths.into_iter().map(|path| async move {
        let read = damage(log::read_checksum(table.store(), &path).await)?;
        Ok::<_, Error>((path, read.err()))
    });
    let mut reading = pin!(stream::iter(reading).buffered(CONCURRENCY));
    while let Some((path, error)) = reading.try_next().await? {
        // A cleanup may have deleted the file since it was listed.
        let Some(error) = error.filter(|error| !error.is_not_found()) else { continue };
        findings.report(Finding::new(FindingKind::ChecksumUnreadable, error.message()).file(&path.name).version(path.version));
    }
    Ok(())
}

/// Reports the versions that cannot be rebuilt, although older ones can or could.
fn check_versions(log: &CheckedLog, unusable: &HashSet<String>, findings: &mut Findings) {
    let sound: Vec<ListedLogFile> =
        log.listed.iter().filter(|file| !(file.path.is_commit() && log.broken.contains(&file.path.version))).cloned().collect();
    let readable = readable_versions(&sound, unusable);
    let expected = readable_versions(&log.listed, &HashSet::new());
    let Some(first) = expected.first().copied() else { return };
    let lost: Vec<u64> =
        log.commits().map(|path| path.version).filter(|version| *version >= first && !readable.contains(version)).collect();
    for range in lost.chunk_by(|one, next| one + 1 == *next) {
        let (Some(from), Some(to)) = (range.first(), range.last()) else { continue };
        let message = match from == to {
            true => format!("version {from} cannot be rebuilt"),
            false => format!("versions {from} to {to} cannot be rebuilt"),
        };
        findings.report(Finding::new(FindingKind::VersionUnreadable, message).version(*from));
    }
}

/// A file that a version removed from the table.
struct RemovedFile {
    key: FileKey,
    path: String,
    vector: Option<DeletionVectorDescriptor>,
    deleted_ms: i64,
}

/// Checks that files exist that were removed within the retention period.
///
/// The commits are read twice. The first time finds for each file the newest version that removed
/// it, 24 bytes each. The second time looks for the files, part by part.
async fn check_old_files(log: &CheckedLog, state: &CheckedState, findings: &mut Findings) -> Result<()> {
    let snapshot = &state.snapshot;
    let cutoff_ms = snapshot.env().now_ms().saturating_sub(snapshot.properties().deleted_file_retention_ms);
    let live = live_files(state).await?;
    let mut newest: HashMap<FileKey, u64> = HashMap::new();
    let mut vacuumed_ms = None;
    let commits: Vec<&LogPath> = log.commits().filter(|path| !log.broken.contains(&path.version)).collect();
    let mut times = CommitTimes::of(snapshot, &log.listed, &state.unusable);
    for path in &commits {
        let mut time_ms = None;
        let mut parts = pin!(log::read_commits(snapshot.store(), std::slice::from_ref(*path)));
        while let Some(part) = parts.try_next().await? {
            each_line(part.part(), |line| {
                if let Line::Other(Action::CommitInfo(info)) = &line {
                    vacuumed_ms = vacuumed_ms.max(vacuumed_until(info));
                    time_ms = info.in_commit_timestamp();
                }
                if let Some(file) = removed_since(line, cutoff_ms).filter(|file| !live.contains(&file.key)) {
                    newest.insert(file.key, path.version);
                }
                Ok(())
            })?;
        }
        findings.extend(times.check(path, time_ms));
    }
    drop(live);
    let existence = Existence::prepare(snapshot.store(), newest.len() as u64).await?;
    let mut vectors = VectorFiles::default();
    let is_kept = |time_ms: i64| time_ms >= cutoff_ms && vacuumed_ms.is_none_or(|vacuumed| time_ms >= vacuumed);
    for path in commits {
        let mut changes = ChangeFiles::default();
        let mut parts = pin!(log::read_commits(snapshot.store(), std::slice::from_ref(path)));
        while let Some(part) = parts.try_next().await? {
            let mut removed = Vec::new();
            each_line(part.part(), |line| {
                changes.read(&line);
                if let Some(file) = removed_since(line, cutoff_ms)
                    && newest.get(&file.key) == Some(&path.version)
                {
                    newest.remove(&file.key);
                    removed.extend(is_kept(file.deleted_ms).then_some(file));
                }
                Ok(())
            })?;
            removed.sort_by(|one, other| one.path.cmp(&other.path));
            check_removed(&existence, &removed, path.version, &mut vectors, findings).await?;
        }
        if changes.time_ms.is_some_and(is_kept) {
            changes.check(&existence, path.version, findings).await?;
        }
    }
    Ok(())
}

/// Returns the file of a line that removes one at `cutoff_ms` or later.
fn removed_since(line: Line<'_>, cutoff_ms: i64) -> Option<RemovedFile> {
    let Line::File(FileLine::Remove(remove)) = line else { return None };
    let deleted_ms = remove.deletion_timestamp.filter(|deleted| *deleted >= cutoff_ms)?;
    let vector = remove.deletion_vector.map(DeletionVectorDescriptor::from);
    let key = FileKey::new(&remove.path, vector.as_ref().map(DeletionVectorDescriptor::unique_id).as_deref());
    Some(RemovedFile { key, path: remove.path.into_owned(), vector, deleted_ms })
}

/// Reports the files that a version removed and that do not exist.
async fn check_removed(
    existence: &Existence,
    removed: &[RemovedFile],
    version: u64,
    vectors: &mut VectorFiles,
    findings: &mut Findings,
) -> Result<()> {
    let valid: Vec<(&RemovedFile, FilePath)> =
        removed.iter().filter_map(|file| Some((file, FilePath::parse(&file.path).ok()?))).collect();
    let sizes = existence.sizes(valid.iter().map(|(_, path)| path.clone()).collect()).await?;
    for ((file, _), size) in valid.into_iter().zip(sizes) {
        let gone = |what: &str| {
            let message = format!("{what} was removed in version {version}, and versions before it need it");
            Finding::new(FindingKind::OldFileMissing, message).file(&file.path).version(version)
        };
        if size.is_none() {
            findings.report(gone("the file does not exist. It"));
        }
        let wanted = file.vector.iter().map(|vector| (file.path.clone(), vector.clone())).collect();
        if !vectors.check_all(existence, wanted).await?.is_empty() {
            findings.report(gone("the deletion vector of the file cannot be read. The file"));
        }
    }
    Ok(())
}

/// Returns the time until which a VACUUM may have deleted removed files. Its caller may have chosen
/// a shorter retention period than the table's.
pub(crate) fn vacuumed_until(info: &CommitInfo) -> Option<i64> {
    let operation = info.text("operation").filter(|operation| *operation == "VACUUM START");
    let parameters = info.0.get("operationParameters").filter(|_| operation.is_some())?;
    let retention = ["specifiedRetentionMillis", "defaultRetentionMillis"].into_iter().find_map(|name| {
        let value = parameters.get(name)?;
        value.as_i64().or_else(|| value.as_str()?.parse().ok())
    })?;
    Some(info.long("timestamp")?.saturating_sub(retention))
}

/// Returns the keys of the files of the newest version.
async fn live_files(state: &CheckedState) -> Result<HashSet<FileKey>> {
    let mut live = HashSet::new();
    let mut batches = pin!(Plan::new(&state.snapshot, None, PlanOptions::default())?.files_as_logged());
    while let Some(batch) = batches.try_next().await? {
        live.extend(batch.keys()?);
    }
    Ok(live)
}
