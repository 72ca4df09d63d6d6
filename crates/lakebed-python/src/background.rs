//! Runs auto compaction after a commit in the background.

use lakebed::Snapshot;
use pyo3::prelude::*;

use crate::runtime::{all_done, enter, later};

/// Starts the auto compaction that follows the commit of a version, without delaying the caller.
pub fn after_commit(table: &lakebed::Table, snapshot: Option<&Snapshot>) {
    let Some(snapshot) = snapshot.filter(|snapshot| snapshot.properties().auto_compact.is_some()).cloned() else { return };
    let (table, url) = (table.clone(), snapshot.url().to_owned());
    let work = async move {
        if let Err(error) = table.auto_compact(&snapshot).await {
            let (url, version) = (snapshot.url(), snapshot.version());
            tracing::warn!(table = url, version, "{url}: small files could not be compacted after version {version}: {error}");
        }
    };
    if let Err(error) = later(&url, work) {
        tracing::warn!("{error}");
    }
}

/// Waits for the background work after commits.
#[pyfunction]
pub fn finish_background(py: Python<'_>) -> PyResult<()> {
    enter(py, all_done())
}
