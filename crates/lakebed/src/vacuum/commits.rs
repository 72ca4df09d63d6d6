//! The lite vacuum: finds the files that commits since the last vacuum removed and their change
//! data files, and stores the last vacuumed version.
//!
//! `_last_vacuum_info` in the log names the newest version up to which a vacuum is complete, in
//! Delta Spark's format.

use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, PoisonError};

use futures::{StreamExt, TryStreamExt};
use lakebed_core::action::json::{FileLine, Line, each_line};
use lakebed_core::action::{Action, DeletionVectorDescriptor};
use lakebed_core::dv::{self, DvLocation};
use lakebed_core::feature::check_read;
use lakebed_core::log::files::FileKey;
use lakebed_core::path::{FilePath, LogPath};
use lakebed_io::log::{self, CommitPart};
use lakebed_io::store::Store;
use serde::{Deserialize, Serialize};

use super::candidates::{Candidate, CandidateBatch, CandidateStream};
use super::hidden_names::HiddenNames;
use crate::{Error, ErrorKind, Result, Snapshot};

/// The name of the file in the log.
const INFO_NAME: &str = "_last_vacuum_info";

/// The information that the last vacuum stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LastVacuum {
    /// The newest version up to which everything is vacuumed; None if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    latest_commit_version_outside_of_retention_window: Option<u64>,
}

/// The commits that a vacuum has to examine.
pub(super) struct DueCommits {
    store: Store,
    versions: RangeInclusive<u64>,
    /// The first commit with a file that must not be deleted yet, because the clock of its writer
    /// was ahead.
    held_back: Arc<Mutex<Option<u64>>>,
}

impl DueCommits {
    /// Finds the commits since the last vacuum that are older than the cutoff; None if there are
    /// none.
    pub(super) async fn of(snapshot: &Snapshot, cutoff_ms: i64) -> Result<Option<Self>> {
        let store = snapshot.store();
        let listed = log::list_log(store, None).await?;
        let last = read_last(store).await?.filter(|last| *last <= snapshot.version());
        let first = last.map_or(0, |last| last + 1);
        let newest = snapshot.newest_until(&listed, cutoff_ms.saturating_sub(1)).await?;
        let there: HashSet<u64> = listed.iter().filter(|file| file.path.is_commit()).map(|file| file.path.version).collect();
        let newest = match newest {
            Some(newest) if newest >= first => newest,
            // The log still has the older commits, or they were vacuumed.
            _ if there.contains(&first) || first > snapshot.version() => return Ok(None),
            _ => return Err(lost(snapshot, first)),
        };
        match (first..=newest).find(|version| !there.contains(version)) {
            Some(missing) => Err(lost(snapshot, missing)),
            None => Ok(Some(Self { store: store.clone(), versions: first..=newest, held_back: Arc::default() })),
        }
    }

    /// Returns the files that the commits removed and their change data files, each once.
    pub(super) fn files(&self, hidden: HiddenNames, cutoff_ms: i64) -> CandidateStream {
        let commits: Vec<LogPath> = self.versions.clone().map(LogPath::commit).collect();
        let (store, held_back) = (self.store.clone(), Arc::clone(&self.held_back));
        let mut seen = HashSet::new();
        let reader = Arc::new(CommitReader { store: store.clone(), hidden, cutoff_ms });
        let read = move |part: CommitPart| {
            let reader = Arc::clone(&reader);
            async move {
                let work = tokio::task::spawn_blocking(move || reader.read(&part));
                work.await.map_err(|error| Error::internal("reading commits").with_source(error))?
            }
        };
        log::read_commits(&store, &commits)
            .map_err(|error| if error.is_not_found() { needs_full(error.message()) } else { error })
            .map_ok(read)
            .try_buffered(crate::snapshot::runs_at_once())
            .map_ok(move |RemovedFiles { mut files, held_back: version }| {
                files.retain(|file| seen.insert(FileKey::new(&file.path, None)));
                if let Some(version) = version {
                    let mut held_back = held_back.lock().unwrap_or_else(PoisonError::into_inner);
                    *held_back = Some(held_back.map_or(version, |before| before.min(version)));
                }
                CandidateBatch { files, ..CandidateBatch::default() }
            })
            .boxed()
    }

    /// Returns the newest version that is completely vacuumed once these files are deleted.
    pub(super) fn done(&self) -> Option<u64> {
        match *self.held_back.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(version) => version.checked_sub(1),
            None => Some(*self.versions.end()),
        }
    }
}

struct CommitReader {
    store: Store,
    hidden: HiddenNames,
    cutoff_ms: i64,
}

#[derive(Default)]
struct RemovedFiles {
    files: Vec<Candidate>,
    held_back: Option<u64>,
}

impl CommitReader {
    fn read(&self, part: &CommitPart) -> Result<RemovedFiles> {
        let mut removed = RemovedFiles::default();
        each_line(part.part(), |line| match line {
            Line::File(FileLine::Remove(remove)) => {
                if remove.deletion_timestamp.unwrap_or(0) >= self.cutoff_ms {
                    removed.held_back = LogPath::parse(&part.name).map(|path| path.version);
                }
                self.push(&FilePath::parse(&remove.path)?, remove.size, &mut removed);
                let vector = remove.deletion_vector.map(DeletionVectorDescriptor::from);
                if let Some(vector) = vector
                    && let DvLocation::File { path, .. } = dv::location(&vector)?
                {
                    self.push(&path, None, &mut removed);
                }
                Ok(())
            }
            Line::Other(Action::Cdc(cdc)) => {
                self.push(&FilePath::parse(&cdc.path)?, Some(cdc.size), &mut removed);
                Ok(())
            }
            // A later commit has allowed the table to be read again, so this one is a placeholder: an
            // erase has dropped the commit that named the files.
            Line::Other(Action::Protocol(protocol)) => {
                check_read(&protocol, &part.name).map_err(|error| needs_full(error.message()))
            }
            _ => Ok(()),
        })?;
        Ok(removed)
    }

    /// Adds a file. Files outside of the table and hidden files are not deleted.
    fn push(&self, path: &FilePath, size: Option<i64>, removed: &mut RemovedFiles) {
        let path = self.store.name_below_root(path).filter(|path| !self.hidden.hides(path) && self.store.path_of(path).is_ok());
        let size_bytes = size.and_then(|size| u64::try_from(size).ok()).unwrap_or(0);
        removed.files.extend(path.map(|path| Candidate { path, size_bytes, modified_ms: None }));
    }
}

/// Stores that everything that was removed up to this version is vacuumed. A later version that is
/// already stored is kept.
pub(super) async fn write_last(snapshot: &Snapshot, version: u64) -> Result<()> {
    let store = snapshot.store();
    let known = read_last(store).await?.filter(|known| *known <= snapshot.version());
    if known.is_some_and(|known| known >= version) {
        return Ok(());
    }
    let last = LastVacuum { latest_commit_version_outside_of_retention_window: Some(version) };
    let text = serde_json::to_string(&last).map_err(|error| Error::internal(INFO_NAME).with_source(error))?;
    store.put(&store.log_path(INFO_NAME)?, format!("{text}\n").into()).await
}

/// Reads the stored version. Unreadable content counts as missing.
async fn read_last(store: &Store) -> Result<Option<u64>> {
    match store.get(&store.log_path(INFO_NAME)?).await {
        Ok(bytes) => {
            let last: LastVacuum = serde_json::from_slice(&bytes).unwrap_or_default();
            Ok(last.latest_commit_version_outside_of_retention_window)
        }
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

fn lost(snapshot: &Snapshot, version: u64) -> Error {
    needs_full(format!("{}: the commit of version {version} is missing, and no vacuum has processed it", snapshot.url()))
}

fn needs_full(why: impl std::fmt::Display) -> Error {
    let message =
        format!("{why}: a lite vacuum would leave files behind forever; run a full vacuum first, and lite ones work again");
    Error::new(ErrorKind::VersionNotFound, message)
}
