//! Plans a repair from the findings of a check.

use std::collections::{BTreeSet, HashSet};

use lakebed_core::log::segment::ListedLogFile;
use lakebed_core::path::{CheckpointKind, HINT_NAME, LogKind, LogPath};

use super::options::{LostDeletionVectors, RepairOptions};
use super::outcome::{RepairAction, RepairKind};
use crate::check::{CheckOutcome, Finding, FindingKind};
use crate::{Error, Result};

/// Returns the actions of a repair, in their order.
pub(super) fn plan(
    check: &CheckOutcome,
    listed: &[ListedLogFile],
    options: &RepairOptions,
    table: &str,
) -> Result<Vec<RepairAction>> {
    let mut actions = Vec::new();
    if options.truncate_log {
        actions.extend(cut(check, listed, table)?);
    }
    // Without the newest version, nothing can be computed again.
    let is_readable = check.checked_version == Some(check.version) || !actions.is_empty();
    if is_readable {
        let cut: BTreeSet<String> = actions.iter().filter_map(|action| action.file.clone()).collect();
        let replaced = check.findings.iter().filter(|finding| is_replaceable(finding.kind));
        for finding in replaced {
            for name in files_of(finding, listed).into_iter().filter(|name| !cut.contains(name)) {
                actions.push(RepairAction {
                    kind: RepairKind::MoveAside,
                    file: Some(name),
                    version: finding.version,
                    reason: finding.message.clone(),
                });
            }
        }
        actions.dedup();
        let is_compaction = |name: &str| LogPath::parse(name).is_some_and(|path| matches!(path.kind, LogKind::Compaction { .. }));
        // A compaction is not written again: readers use the commits.
        let is_replaced =
            |action: &&RepairAction| action.kind == RepairKind::MoveAside && !action.file.as_deref().is_some_and(is_compaction);
        let replaced = actions.iter().find(is_replaced);
        if let Some(reason) = replaced.map(|action| action.reason.clone()) {
            actions.push(RepairAction { kind: RepairKind::WriteCheckpoint, file: None, version: None, reason });
        }
        actions.extend(of_data_files(check, options));
    }
    Ok(actions)
}

fn is_replaceable(kind: FindingKind) -> bool {
    use FindingKind as K;
    matches!(
        kind,
        K::CheckpointIncomplete
            | K::CheckpointUnreadable
            | K::CheckpointWrong
            | K::HintUnreadable
            | K::HintWrong
            | K::HintOutdated
            | K::ChecksumUnreadable
            | K::ChecksumWrong
            | K::CompactionUnreadable
            | K::CompactionWrong
    )
}

/// Returns the files of the log that a finding is about. A checkpoint may have several.
fn files_of(finding: &Finding, listed: &[ListedLogFile]) -> Vec<String> {
    let Some(name) = finding.file.as_deref() else { return Vec::new() };
    if name == HINT_NAME {
        return vec![name.to_owned()];
    }
    let Some(path) = LogPath::parse(name) else { return Vec::new() };
    match path.kind {
        LogKind::Checkpoint(CheckpointKind::MultiPart { parts, .. }) => {
            let is_part = |other: &LogPath| {
                matches!(other.kind, LogKind::Checkpoint(CheckpointKind::MultiPart { parts: of, .. }) if of == parts)
                    && other.version == path.version
            };
            listed.iter().map(|file| &file.path).filter(|other| is_part(other)).map(|other| other.name.clone()).collect()
        }
        _ => vec![name.to_owned()],
    }
}

/// Returns the files of the broken tail of the log, the newest first.
fn cut(check: &CheckOutcome, listed: &[ListedLogFile], table: &str) -> Result<Vec<RepairAction>> {
    let broken = |finding: &&Finding| finding.kind == FindingKind::CommitUnreadable;
    let broken: BTreeSet<u64> = check.findings.iter().filter(broken).filter_map(|finding| finding.version).collect();
    let Some(kept) = check.checked_version else {
        return Err(Error::invalid_input(format!("{table}: the log cannot be cut, because no version of the table can be read")));
    };
    let is_whole = |file: &&ListedLogFile| matches!(file.path.kind, LogKind::Checkpoint(_)) && file.size > 0;
    let sound = listed.iter().filter(|file| file.path.is_commit() || is_whole(file)).map(|file| &file.path);
    if let Some(path) =
        sound.filter(|path| path.version > kept).find(|path| !(path.is_commit() && broken.contains(&path.version)))
    {
        let message = format!(
            "{table}: the log cannot be cut after version {kept}, because {} is a later file that can be read; restore the \
             commits that are missing or broken from a copy of the table",
            path.name
        );
        return Err(Error::invalid_input(message));
    }
    let end = |path: &LogPath| match path.kind {
        LogKind::Compaction { end } => end,
        _ => path.version,
    };
    let mut tail: Vec<&LogPath> = listed.iter().map(|file| &file.path).filter(|path| end(path) > kept).collect();
    tail.sort_by(|one, other| (end(other), &other.name).cmp(&(end(one), &one.name)));
    let action = |path: &LogPath| RepairAction {
        kind: RepairKind::CutCommit,
        file: Some(path.name.clone()),
        version: Some(path.version),
        reason: format!("version {kept} is the newest that can be read"),
    };
    Ok(tail.into_iter().map(action).collect())
}

fn of_data_files(check: &CheckOutcome, options: &RepairOptions) -> Vec<RepairAction> {
    use FindingKind as K;
    let (mut actions, mut planned) = (Vec::new(), HashSet::new());
    let gone: HashSet<&str> = check
        .findings
        .iter()
        .filter(|other| other.kind == K::DataFileMissing)
        .filter_map(|other| other.file.as_deref())
        .collect();
    let is_missing = |file: Option<&str>| file.is_some_and(|file| gone.contains(file));
    for finding in &check.findings {
        let (kind, reason) = match finding.kind {
            K::BoundsWrong | K::NullCountWrong | K::RowCountWrong | K::StatisticsUnreadable => {
                (RepairKind::ComputeStatistics, finding.message.clone())
            }
            K::RowIdMarkWrong => (RepairKind::RaiseRowIdMark, finding.message.clone()),
            K::DeletionVectorOrphaned => (RepairKind::DeleteOrphan, finding.message.clone()),
            K::DataFileMissing if options.drop_missing_files => (RepairKind::DropFile, finding.message.clone()),
            K::DeletionVectorMissing | K::DeletionVectorTorn | K::DeletionVectorInvalid => match options.lost_deletion_vectors {
                Some(LostDeletionVectors::DropFiles) => {
                    (RepairKind::DropFile, format!("{}: all rows of the file are lost", finding.message))
                }
                Some(LostDeletionVectors::RestoreDeletedRows) if !is_missing(finding.file.as_deref()) => {
                    (RepairKind::DropDeletionVector, format!("{}: the deleted rows come back", finding.message))
                }
                _ => continue,
            },
            _ => continue,
        };
        // A file may have several findings.
        if planned.insert((kind, finding.file.as_deref())) {
            let file = finding.file.clone();
            actions.push(RepairAction { kind, file, version: None, reason });
        }
    }
    actions
}
