//! The root of a table, as the store, URLs and messages name it.

use lakebed_core::error::{Error, Result};
use object_store::path::Path;
use url::Url;

/// The address of a table's root.
pub(in crate::store) struct Address {
    pub(in crate::store) root: Path,
    pub(in crate::store) url: Url,
    /// The text before the path of an object in messages: `s3://bucket/`, or `/`.
    pub(in crate::store) base: String,
}

impl Address {
    /// Returns the address of a local folder.
    pub(in crate::store) fn of_files(root: Path, url: Url) -> Self {
        Self { root, url, base: "/".to_owned() }
    }

    /// Returns the address of a folder in another store.
    pub(in crate::store) fn of_objects(root: Path, url: Url) -> Self {
        let base = base_of(&url);
        Self { root, url, base }
    }

    /// Returns the path of an object below the root. The name is neither encoded nor decoded.
    pub(in crate::store) fn path_of(&self, relative: &str) -> Result<Path> {
        let names = relative.split('/').filter(|name| !name.is_empty());
        let root = self.root.as_ref().split('/').filter(|name| !name.is_empty());
        let whole = root.chain(names).collect::<Vec<_>>().join("/");
        Path::parse(&whole).map_err(|error| {
            Error::invalid_input(format!("{}{whole}: the store allows no object of this name", self.base)).with_source(error)
        })
    }

    /// Returns the name of an object in messages.
    pub(in crate::store) fn describe(&self, path: &Path) -> String {
        format!("{}{path}", self.base)
    }
}

/// Returns the URL up to its path, with a slash at the end.
fn base_of(url: &Url) -> String {
    let mut base = url[..::url::Position::BeforePath].to_owned();
    if !base.ends_with('/') {
        base.push('/');
    }
    base
}
