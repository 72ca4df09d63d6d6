//! Writing whole objects: in place of what there is, or only where nothing is.

use bytes::Bytes;
use lakebed_core::error::{Error, ErrorKind, Result};
use object_store::path::Path;
use object_store::{ObjectStoreExt, PutMode, PutResult};

use super::hidden::{Flush, HiddenFile};
use super::place::Service;
use super::{Store, Unflushed, all_flushed, local};
use crate::at::{At, written};

/// What came of an attempt to be the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutOutcome {
    /// The object is there, and it is ours.
    Done,
    /// There was an object already, which is as it was.
    Taken,
}

impl Store {
    /// Writes an object if there is none of that name: of any number of writers exactly one is told [`PutOutcome::Done`].
    ///
    /// After an error it may be there or not. Over a network also `Taken` may be the answer to the client's second attempt, after the first
    /// one succeeded and its answer was lost: only the object tells.
    pub async fn put_if_absent(&self, path: &Path, bytes: Bytes) -> Result<PutOutcome> {
        match &self.0.service {
            Service::Local => {
                let flush = self.flush();
                self.write_file(path, move |file, unique| local::put_new(file, &bytes, unique, flush)).await
            }
            Service::Http { .. } => Err(self.read_only(path)),
            Service::Hdfs { .. } => self.put_and_rename(path, bytes).await,
            Service::Memory { .. } | Service::S3 { .. } | Service::Azure { .. } | Service::Gcs { .. } => {
                let put = self.object_store().put_opts(path, bytes.into(), PutMode::Create.into()).await;
                self.outcome(put, path)
            }
        }
    }

    /// The same, but not before other objects are safe, which are flushed meanwhile.
    pub async fn put_if_absent_after(&self, others: &[Unflushed], path: &Path, bytes: Bytes) -> Result<PutOutcome> {
        if !self.is_local() || self.flush() == Flush::Later {
            all_flushed(others).await?;
            return self.put_if_absent(path, bytes).await;
        }
        let begin = self.write_file(path, move |file, unique| {
            let hidden = local::begin_new(file, &bytes, unique)?;
            hidden.iter().try_for_each(HiddenFile::flush)?;
            Ok(hidden)
        });
        let (begun, others) = futures::join!(begin, all_flushed(others));
        others?;
        match begun? {
            Some(hidden) => self.write_file(path, |_, _| hidden.publish_new(Flush::Both)).await,
            None => Ok(PutOutcome::Taken),
        }
    }

    /// The same for what may be lost, where it does not matter who was the first: on this machine it goes to the disk when the system sees
    /// fit, and over a network `Taken` may be the answer to the writer whose object it is.
    pub async fn put_disposable_if_absent(&self, path: &Path, bytes: Bytes) -> Result<PutOutcome> {
        match &self.0.service {
            Service::Local => self.write_file(path, move |file, unique| local::put_new(file, &bytes, unique, Flush::Later)).await,
            Service::Http { .. } | Service::Hdfs { .. } => self.put_if_absent(path, bytes).await,
            Service::Memory { .. } | Service::S3 { .. } | Service::Azure { .. } | Service::Gcs { .. } => {
                let put = || self.object_store().put_opts(path, bytes.clone().into(), PutMode::Create.into());
                self.outcome(self.again(put).await, path)
            }
        }
    }

    /// When files of this machine go to the disk.
    pub(super) fn flush(&self) -> Flush {
        if self.0.local_flush { Flush::Both } else { Flush::Later }
    }

    /// Writes an object, in place of what there was: readers see the one or the other, whole.
    pub async fn put(&self, path: &Path, bytes: Bytes) -> Result<()> {
        match &self.0.service {
            Service::Local => {
                let flush = self.flush();
                self.write_file(path, move |file, unique| local::put_over(file, &bytes, unique, flush)).await
            }
            Service::Http { .. } => Err(self.read_only(path)),
            _ => match self.again(|| self.object_store().put(path, bytes.clone().into())).await {
                Ok(_) => Ok(()),
                Err(error) => Err(self.failed(&error, path)),
            },
        }
    }

    fn outcome(&self, put: object_store::Result<PutResult>, path: &Path) -> Result<PutOutcome> {
        match put {
            Ok(_) => Ok(PutOutcome::Done),
            Err(object_store::Error::AlreadyExists { .. }) => Ok(PutOutcome::Taken),
            // Here a table of who wrote which name, kept elsewhere, would step in (as with Delta Spark's S3DynamoDBLogStore).
            Err(error @ object_store::Error::NotImplemented { .. }) => Err(self.failed(&error, path).within(
                "lakebed needs writes that fail when the object is there: without the option aws_conditional_put = disabled, \
                 and on a store that has them",
            )),
            Err(error) => Err(self.failed(&error, path)),
        }
    }

    /// HDFS's way: a file of another name, which then moves where no file is. The client's own way of putting if absent does the same, but
    /// leaves the files of the losers.
    async fn put_and_rename(&self, path: &Path, bytes: Bytes) -> Result<PutOutcome> {
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

    /// Writes a file of this machine on a thread that may block. `work` gets a text that no other writer gets.
    async fn write_file<T: Send + 'static>(
        &self,
        path: &Path,
        work: impl FnOnce(&std::path::Path, &str) -> std::io::Result<T> + Send + 'static,
    ) -> Result<T> {
        let (file, unique) = (local::file_path(path), self.options().env.new_uuid());
        let done = tokio::task::spawn_blocking(move || work(&file, &unique)).await;
        done.at(self.describe(path))?.map_err(|error| written(error, &self.describe(path)))
    }

    pub(crate) fn read_only(&self, path: &Path) -> Error {
        let object = self.describe(path);
        let message = format!("{object}: a web server is read-only: to write, open the table by the URL of its store");
        Error::new(ErrorKind::Store { object, retryable: false, not_found: false }, message)
    }
}
