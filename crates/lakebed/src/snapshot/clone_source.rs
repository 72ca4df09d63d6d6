//! The tables from which a clone comes, as its properties record them. Properties survive the
//! cleanup of the log, and the commit of the clone does not.

use lakebed_core::action::Metadata;
use serde::{Deserialize, Serialize};

/// The property with the tables whose files a shallow clone uses.
pub(crate) const CLONE_SOURCES: &str = "lakebed.clone.sources";
/// The property with the table of which a table is a full copy.
pub(crate) const COPIED_FROM: &str = "lakebed.clone.copiedFrom";

/// The most sources that are followed. Each of them costs requests when the clone is opened.
const MOST_SOURCES: usize = 8;

/// A table from which another one was cloned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CloneSource {
    /// The URL of its root.
    pub(crate) url: String,
    /// The id in its metadata.
    pub(crate) id: String,
    /// The folder below the root of a full copy in which the files of the source are. It is `None`
    /// for the root itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) folder: Option<String>,
}

/// Returns the tables whose files a shallow clone uses. A property that cannot be parsed records
/// none.
pub(crate) fn clone_sources(metadata: &Metadata) -> Vec<CloneSource> {
    let mut sources: Vec<CloneSource> = parsed(metadata, CLONE_SOURCES).unwrap_or_default();
    sources.truncate(MOST_SOURCES);
    sources
}

/// Returns the table of which this one is a full copy.
pub(crate) fn copied_from(metadata: &Metadata) -> Option<CloneSource> {
    parsed(metadata, COPIED_FROM)
}

fn parsed<T: serde::de::DeserializeOwned>(metadata: &Metadata, property: &str) -> Option<T> {
    serde_json::from_str(metadata.configuration.get(property)?.as_deref()?).ok()
}
