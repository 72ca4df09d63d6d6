//! How a file of HDFS gets a name that must be new.

use bytes::Bytes;
use lakebed_core::error::{Error, Result};
use object_store::ObjectStoreExt;
use object_store::path::Path;

use crate::store::{PutOutcome, Store};

impl Store {
    /// Writes a file of another name, which then moves where no file is. The client's own way of putting if absent does the same, but
    /// leaves the files of the losers.
    pub(in crate::store) async fn put_and_rename(&self, path: &Path, bytes: Bytes) -> Result<PutOutcome> {
        let hidden = self.hidden_beside(path)?;
        self.put(&hidden, bytes).await?;
        let renamed = self.object_store().rename_if_not_exists(&hidden, path).await;
        if renamed.is_err() {
            // Should an attempt to rename still be on its way, it then finds nothing. If this fails too, a hidden file is left.
            let _ = self.object_store().delete(&hidden).await;
        }
        match renamed {
            Ok(()) => Ok(PutOutcome::Done),
            Err(object_store::Error::AlreadyExists { .. }) => Ok(PutOutcome::Taken),
            Err(error) => Err(self.failed(&error, path)),
        }
    }

    /// A name in the same folder that nobody else uses and that all readers pass over.
    fn hidden_beside(&self, path: &Path) -> Result<Path> {
        let name = format!(".lakebed-{}.tmp", self.options().env.new_uuid());
        let folder = path.as_ref().rsplit_once('/').map_or("", |(folder, _)| folder);
        Path::parse(format!("{folder}/{name}")).map_err(|error| Error::internal(error.to_string()))
    }
}
