//! Writes whole objects.

use bytes::Bytes;
use lakebed_core::error::{Error, ErrorKind, Result};
use object_store::path::Path;
use object_store::{PutMode, PutPayload, PutResult};

use crate::store::abilities::Writing;
use crate::store::commit::outcome::{Existing, PutOutcome};
use crate::store::local::files;
use crate::store::{Content, Store};

impl Store {
    /// Writes an object and replaces an existing one. Readers see either the old or the new object,
    /// complete.
    pub async fn put(&self, path: &Path, bytes: Bytes) -> Result<()> {
        self.put_as(path, bytes, Existing::Replace).await
    }

    /// Writes an object with a new name. If an object with this name exists, it stays unchanged,
    /// and the call is an error.
    pub async fn put_new(&self, path: &Path, bytes: Bytes) -> Result<()> {
        self.put_as(path, bytes, Existing::Refuse).await
    }

    async fn put_as(&self, path: &Path, bytes: Bytes, existing: Existing) -> Result<()> {
        match self.writing() {
            Writing::Files => {
                let (flush, content) = (self.flush(), Content::from(bytes));
                let put = self.write_file(path, move |file, new| files::put(file, &content, existing, flush, new));
                if put.await? == PutOutcome::Done { Ok(()) } else { Err(self.taken(path)) }
            }
            Writing::ReadOnly => Err(self.read_only(path)),
            Writing::ConditionalPut | Writing::Rename => self.put_object(path, bytes.into(), existing).await,
        }
    }

    /// Writes an object to a store other than the local disk, in one request and its retries.
    pub(in crate::store) async fn put_object(&self, path: &Path, payload: PutPayload, existing: Existing) -> Result<()> {
        let mode = match (existing, self.writing()) {
            // HDFS would need a file with another name first. Here the random name of the object is
            // enough.
            (Existing::Replace, _) | (_, Writing::Rename) => PutMode::Overwrite,
            (Existing::Refuse, _) => PutMode::Create,
        };
        let put = self.retry(|| self.object_store().put_opts(path, payload.clone(), mode.clone().into())).await;
        match self.outcome(put, path)? {
            PutOutcome::Done => Ok(()),
            PutOutcome::Taken if self.has(path, &payload).await? => Ok(()),
            PutOutcome::Taken => Err(self.taken(path)),
        }
    }

    /// Returns whether an object has this content. If it has, the reply to a first attempt was
    /// lost, and the client retried.
    async fn has(&self, path: &Path, payload: &PutPayload) -> Result<bool> {
        let found = self.get(path).await?;
        Ok(found.len() == payload.content_length() && payload.iter().flatten().eq(found.iter()))
    }

    /// Returns the error for a name that should have been new.
    pub(in crate::store) fn taken(&self, path: &Path) -> Error {
        let object = self.describe(path);
        let message =
            format!("{object}: this name should be new, but an object has it already; that object was not changed; write again");
        Error::new(ErrorKind::Store { object, retryable: true, not_found: false }, message)
    }

    pub(in crate::store) fn outcome(&self, put: object_store::Result<PutResult>, path: &Path) -> Result<PutOutcome> {
        match put {
            Ok(_) => Ok(PutOutcome::Done),
            Err(object_store::Error::AlreadyExists { .. }) => Ok(PutOutcome::Taken),
            // A table of written names, kept outside of the store, would be used here (as with
            // Delta Spark's S3DynamoDBLogStore).
            Err(error @ object_store::Error::NotImplemented { .. }) => Err(self.failed(&error, path).within(
                "lakebed needs a store whose writes fail if the object exists, without the option aws_conditional_put = disabled",
            )),
            Err(error) => Err(self.failed(&error, path)),
        }
    }
}
