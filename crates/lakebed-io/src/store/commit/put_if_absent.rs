//! Writes an object only if no object has its name.

use bytes::Bytes;
use lakebed_core::error::Result;
use object_store::path::Path;
use object_store::{ObjectStore, PutMode};

use super::flush::{Unflushed, all_flushed};
use super::outcome::{Existing, Put, PutOutcome};
use crate::store::abilities::Writing;
use crate::store::local::files;
use crate::store::local::hidden_file::{Flush, HiddenFile};
use crate::store::{Content, Store};

/// The kind of object that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// A commit. Its writer must learn for certain whether it was the first.
    Commit,
    /// An object that may be lost. It does not matter which writer wrote it.
    Disposable,
}

impl Store {
    /// Writes an object if no object has its name. Of any number of writers, exactly one gets
    /// [`PutOutcome::Done`].
    ///
    /// After an error the object may exist or not. Over a network, `Taken` may also be the reply to
    /// the client's second attempt, if the first attempt succeeded and its reply was lost. Only the
    /// content of the object shows whether this happened.
    pub async fn put_if_absent(&self, path: &Path, bytes: Bytes) -> Result<PutOutcome> {
        self.put_first(path, bytes.into(), Purpose::Commit).await.map(|put| put.outcome)
    }

    /// Writes an object if no object has its name, and only after other objects are durable. They
    /// are flushed at the same time.
    pub async fn put_if_absent_after(&self, others: &[Unflushed], path: &Path, content: Content) -> Result<Put> {
        if !self.is_local() || self.flush() == Flush::Later {
            all_flushed(others).await?;
            return self.put_first(path, content, Purpose::Commit).await;
        }
        let begin = self.write_file(path, move |file, new| {
            let hidden = files::begin_new(file, &content, new)?;
            hidden.iter().try_for_each(HiddenFile::flush)?;
            Ok(hidden)
        });
        let (begun, others) = futures::join!(begin, all_flushed(others));
        others?;
        let begun = begun?;
        self.write_file(path, |_, _| files::publish(begun, Existing::Refuse, Flush::Both)).await.map(Put::of)
    }

    /// Writes an object if no object has its name. The object may be lost, and it does not matter
    /// which writer wrote it. On the local disk it is not flushed. Over a network, even the writer
    /// of the object may get `Taken`.
    pub async fn put_disposable_if_absent(&self, path: &Path, bytes: Bytes) -> Result<PutOutcome> {
        self.put_first(path, bytes.into(), Purpose::Disposable).await.map(|put| put.outcome)
    }

    async fn put_first(&self, path: &Path, content: Content, purpose: Purpose) -> Result<Put> {
        match self.writing() {
            Writing::Files => {
                let flush = if purpose == Purpose::Disposable { Flush::Later } else { self.flush() };
                let put = self.write_file(path, move |file, new| files::put(file, &content, Existing::Refuse, flush, new)).await;
                put.map(Put::of)
            }
            Writing::ReadOnly => Err(self.read_only(path)),
            Writing::Rename => self.put_and_rename(path, content.load(self).await?).await.map(Put::of),
            Writing::ConditionalPut => {
                let content = content.load(self).await?;
                let put = || self.object_store().put_opts(path, content.clone(), PutMode::Create.into());
                // A conditional put that is repeated may find its own object.
                let put = if purpose == Purpose::Disposable { self.retry(put).await } else { put().await };
                let e_tag = put.as_ref().ok().and_then(|put| put.e_tag.clone());
                Ok(Put { outcome: self.outcome(put, path)?, e_tag })
            }
        }
    }
}
