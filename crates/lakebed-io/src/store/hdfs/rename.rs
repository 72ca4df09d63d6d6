//! Gives a file on HDFS a name that must be new.

use lakebed_core::error::{Error, Result};
use object_store::path::Path;
use object_store::{ObjectStoreExt, PutPayload};

use crate::store::commit::outcome::Existing;
use crate::store::{PutOutcome, Store};

impl Store {
    /// Writes a file under another name and then renames it, which fails if the name is taken. The
    /// client's own put-if-absent does the same, but it leaves the files of the writers that lost.
    pub(in crate::store) async fn put_and_rename(&self, path: &Path, content: PutPayload) -> Result<PutOutcome> {
        let hidden = self.hidden_beside(path)?;
        self.put_object(&hidden, content, Existing::Replace).await?;
        let renamed = self.object_store().rename_if_not_exists(&hidden, path).await;
        if renamed.is_err() {
            // If an attempt to rename is still under way, it then finds no file. If this delete
            // fails too, a hidden file is left.
            let _ = self.object_store().delete(&hidden).await;
        }
        match renamed {
            Ok(()) => Ok(PutOutcome::Done),
            Err(object_store::Error::AlreadyExists { .. }) => Ok(PutOutcome::Taken),
            Err(error) => Err(self.failed(&error, path)),
        }
    }

    /// Returns a unique name in the same folder that all readers ignore.
    fn hidden_beside(&self, path: &Path) -> Result<Path> {
        let name = format!(".lakebed-{}.tmp", self.options().env.new_uuid());
        let folder = path.as_ref().rsplit_once('/').map_or("", |(folder, _)| folder);
        Path::parse(format!("{folder}/{name}")).map_err(|error| Error::internal(error.to_string()))
    }
}
