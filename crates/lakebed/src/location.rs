//! The location of a table and the options of its store, without credentials that are functions.

use std::collections::HashMap;
use std::fmt;

use serde::Deserialize;

/// The location of a table and the options of its store.
#[derive(Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Location {
    /// The URL, or a path on this machine.
    pub uri: String,
    /// The options of the store, in the spelling of object_store or deltalake.
    pub storage_options: HashMap<String, String>,
    /// Whether paths in the log may lead out of the table's root, as in shallow clones.
    pub absolute_paths: bool,
}

impl From<String> for Location {
    fn from(uri: String) -> Self {
        Self { uri, ..Self::default() }
    }
}

/// Shows the names of the options, but neither their values nor the URL: both may contain secrets.
impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: std::collections::BTreeSet<_> = self.storage_options.keys().collect();
        f.debug_struct("Location")
            .field("storage_options", &names)
            .field("absolute_paths", &self.absolute_paths)
            .finish_non_exhaustive()
    }
}
