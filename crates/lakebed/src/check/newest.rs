//! Opens the newest version that can be read, without trust in checksums.

use std::collections::{BTreeSet, HashSet};

use lakebed_core::log::segment::{self, ListedLogFile, readable_versions};
use lakebed_core::path::LogKind;

use super::damaged::damage;
use crate::snapshot::load_without;
use crate::{Error, Result, Snapshot, Table};

/// The most versions that are tried.
const MOST_TRIED: usize = 64;

/// The newest version that can be read.
pub(crate) struct Newest {
    /// The version. `None` if no version can be read.
    pub(crate) snapshot: Option<Snapshot>,
    /// The error of the newest version, if it cannot be read.
    pub(crate) error: Option<Error>,
}

/// Opens the newest version that needs none of the `broken` commits and none of the `unusable`
/// checkpoints.
pub(crate) async fn newest_readable(
    table: &Table,
    listed: &[ListedLogFile],
    broken: &BTreeSet<u64>,
    unusable: &HashSet<String>,
) -> Result<Newest> {
    // Without checkpoints that are left out, a version may be wrong in a checksum alone. One name
    // is enough: then none is used.
    let checksum = listed.iter().rev().find(|file| file.path.kind == LogKind::Checksum);
    let mut avoided = unusable.clone();
    avoided.extend(checksum.map(|file| file.path.name.clone()));
    let mut error = None;
    let newest = listed.iter().filter(|file| file.path.kind != LogKind::Checksum).map(|file| file.path.version).max();
    let candidates = readable_versions(listed, unusable).into_iter().rev().filter(|version| {
        let needed = segment::plan(listed, Some(*version), unusable).map(|segment| segment.commits);
        needed.is_ok_and(|commits| commits.iter().all(|path| !path.is_commit() || !broken.contains(&path.version)))
    });
    for version in candidates.take(MOST_TRIED) {
        match damage(open(table, version, &avoided).await)? {
            Ok(snapshot) => return Ok(Newest { snapshot: Some(snapshot), error }),
            Err(found) if Some(version) == newest => error = Some(found),
            Err(_) => {}
        }
    }
    Ok(Newest { snapshot: None, error })
}

async fn open(table: &Table, version: u64, unusable: &HashSet<String>) -> Result<Snapshot> {
    let snapshot = load_without(table.store().clone(), table.env().clone(), Some(version), unusable.clone()).await?;
    snapshot.layers().await?;
    Ok(snapshot)
}
