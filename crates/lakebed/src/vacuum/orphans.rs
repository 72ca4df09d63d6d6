//! Files of deletion vectors that no action of the log names, such as those of a DELETE that ended
//! before its commit.
//!
//! A vacuum deletes them together with the files that left the table. These functions find and
//! delete them alone, and leave every file that any version of the log can still name.

use std::collections::{BTreeSet, HashSet};

use futures::TryStreamExt;
use lakebed_core::feature::supported_features;
use lakebed_core::log::segment::checkpoints;
use lakebed_core::path::LogPath;
use lakebed_io::log::{self, hadoop_checksum_path};
use lakebed_io::store::DeleteOutcome;
use object_store::path::Path;

use super::candidates::is_linked;
use super::folders;
use super::hidden_names::HiddenNames;
use super::options::VacuumOptions;
use super::retained::{RetainedFiles, RetainingActions};
use super::retention::Retention;
use crate::{Result, Snapshot};

/// The table feature of tables with deletion vectors.
const FEATURE: &str = "deletionVectors";

/// Returns the paths of the files of deletion vectors below the table that no action of the log
/// names and that are older than the retention period.
///
/// # Errors
/// If a version that a checkpoint describes cannot be read, because its files are unknown then.
pub(crate) async fn orphaned_vectors(snapshot: &Snapshot) -> Result<Vec<String>> {
    if !supported_features(snapshot.protocol()).contains(&FEATURE) {
        return Ok(Vec::new());
    }
    let retention = Retention::of(snapshot, &VacuumOptions::default())?;
    let mut walk = folders::walk(snapshot.store(), HiddenNames::of(snapshot), retention.cutoff_ms);
    let (mut found, mut linked) = (Vec::new(), HashSet::new());
    while let Some(part) = walk.try_next().await? {
        linked.extend(part.linked);
        let is_old = |modified_ms: Option<i64>| modified_ms.is_some_and(|modified| modified < retention.cutoff_ms);
        let vectors = part.files.into_iter().filter(|file| is_vector(&file.path) && is_old(file.modified_ms));
        found.extend(vectors.map(|file| file.path));
    }
    if found.is_empty() {
        return Ok(found);
    }
    // The log is read after the folders. So a version that was committed meanwhile keeps its files.
    let named = named_files(snapshot, retention).await?;
    found.retain(|path| !named.holds(path) && !is_linked(&linked, path));
    found.sort_unstable();
    Ok(found)
}

/// Returns the files that the log names: those of the newest version, of all versions with a
/// checkpoint, and of all commits.
async fn named_files(snapshot: &Snapshot, retention: Retention) -> Result<RetainedFiles> {
    let listed = log::list_log(snapshot.store(), None).await?;
    let (complete, _) = checkpoints(&listed, &HashSet::new());
    let versions: BTreeSet<u64> = complete.iter().map(|files| files.version).collect();
    let mut named = RetainedFiles::read(snapshot, retention, &versions).await?;
    let commits: Vec<LogPath> = listed.into_iter().map(|file| file.path).filter(LogPath::is_commit).collect();
    named.take_commits(snapshot.store(), &commits, RetainingActions::All).await?;
    Ok(named)
}

fn is_vector(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.starts_with("deletion_vector_") && name.ends_with(".bin")
}

/// Deletes those of these files that are still orphaned, and returns how many there were.
pub(crate) async fn delete_orphaned_vectors(snapshot: &Snapshot, paths: &HashSet<&str>) -> Result<u64> {
    let store = snapshot.store();
    let mut objects: Vec<Path> = Vec::new();
    for path in orphaned_vectors(snapshot).await?.iter().filter(|path| paths.contains(path.as_str())) {
        objects.push(store.path_of(path)?);
        objects.extend(hadoop_checksum_path(store, path)?);
    }
    let deleted = store.delete_each(&objects).await?;
    match deleted.error {
        Some(error) => Err(error),
        None => Ok(deleted.outcomes.iter().filter(|fate| matches!(fate, DeleteOutcome::Deleted)).count() as u64),
    }
}
