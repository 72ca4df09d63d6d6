//! Log compactions beside the commits that they replace. lakebed reads the commits, and other engines
//! read the compactions.

use std::collections::HashSet;

use lakebed_core::action::json::{FileLine, Line};
use lakebed_core::log::files::FileKey;
use lakebed_core::path::{LogKind, LogPath};
use lakebed_io::store::Store;

use super::commits::CheckedLog;
use super::damaged::damage;
use super::finding::{Finding, FindingKind};
use super::findings::Findings;
use super::log_lines::read_lines;
use crate::Result;

/// Compares log compactions with their commits.
pub(super) async fn compare<'a>(
    store: &Store,
    log: &CheckedLog,
    compactions: impl Iterator<Item = &'a LogPath>,
    findings: &mut Findings,
) -> Result<()> {
    for path in compactions {
        let LogKind::Compaction { end } = path.kind else { continue };
        let place = |kind, message: &str| Finding::new(kind, message).file(&path.name).version(end);
        let compacted = match damage(AddedFiles::read(store, std::slice::from_ref(path)).await)? {
            Ok(compacted) => compacted,
            Err(error) => {
                findings.report(place(FindingKind::CompactionUnreadable, error.message()));
                continue;
            }
        };
        let commits: Vec<LogPath> =
            log.commits().filter(|commit| (path.version..=end).contains(&commit.version)).cloned().collect();
        // If a commit is lost, nothing is known to compare the compaction with.
        if commits.len() as u64 != end - path.version + 1 {
            continue;
        }
        let Ok(committed) = damage(AddedFiles::read(store, &commits).await)? else { continue };
        if compacted.0 != committed.0 {
            let (found, expected) = (compacted.0.len(), committed.0.len());
            let message = match found == expected {
                true => "it adds the same number of files as its commits, but not the same files".to_owned(),
                false => format!("it adds {found} files, but its commits add {expected}"),
            };
            findings.report(place(FindingKind::CompactionWrong, &message));
        }
    }
    Ok(())
}

/// The files that commits add and do not remove again, by their keys. Removals of older files are
/// not compared, because some writers leave them out.
#[derive(Default)]
struct AddedFiles(HashSet<FileKey>);

impl AddedFiles {
    /// Reads commits, oldest first, or a log compaction.
    async fn read(store: &Store, paths: &[LogPath]) -> Result<Self> {
        read_lines(store, paths, Self::default(), Self::take).await
    }

    fn take(&mut self, line: &Line<'_>) {
        match line {
            Line::File(file @ FileLine::Add(_)) => self.0.insert(FileKey::of_line(file)),
            Line::File(file @ FileLine::Remove(_)) => self.0.remove(&FileKey::of_line(file)),
            _ => false,
        };
    }
}
