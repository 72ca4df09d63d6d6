//! The error for a write to a web server.

use lakebed_core::error::{Error, ErrorKind};
use object_store::path::Path;

use crate::store::Store;

impl Store {
    /// Returns the error for a write to this object.
    pub(crate) fn read_only(&self, path: &Path) -> Error {
        let object = self.describe(path);
        let message = format!("{object}: a web server is read-only: to write, open the table with the URL of its store");
        Error::new(ErrorKind::Store { object, retryable: false, not_found: false }, message)
    }
}
