//! Writing whole objects: in place of what there is, or only where nothing is.

use bytes::Bytes;
use lakebed_core::error::{Error, ErrorKind, Result};
use object_store::path::Path;
use object_store::{ObjectStoreExt, PutMode, PutPayload, PutResult};

use crate::at::{At, written};
use crate::store::commit::outcome::{Existing, Put, PutOutcome};
use crate::store::local::file_path::file_path;
use crate::store::local::files::{self, New};
use crate::store::local::hidden_file::{Flush, HiddenFile};
use crate::store::url::location::Service;
use crate::store::{Store, Unflushed, all_flushed};

impl Store {
    /// Writes an object if there is none of that name: of any number of writers exactly one is told [`PutOutcome::Done`].
    ///
    /// After an error it may be there or not. Over a network also `Taken` may be the answer to the client's second attempt, after the first
    /// one succeeded and its answer was lost: only the object tells.
    pub async fn put_if_absent(&self, path: &Path, bytes: Bytes) -> Result<PutOutcome> {
        self.put_first(path, bytes).await.map(|put| put.outcome)
    }

    async fn put_first(&self, path: &Path, bytes: Bytes) -> Result<Put> {
        match &self.0.service {
            Service::Local => {
                let flush = self.flush();
                let put = self.write_file(path, move |file, new| files::put(file, &bytes, Existing::Refuse, flush, new)).await;
                put.map(Put::of)
            }
            Service::Http { .. } => Err(self.read_only(path)),
            Service::Hdfs { .. } => self.put_and_rename(path, bytes).await.map(Put::of),
            Service::Memory { .. } | Service::S3 { .. } | Service::Azure { .. } | Service::Gcs { .. } => {
                let put = self.object_store().put_opts(path, bytes.into(), PutMode::Create.into()).await;
                let e_tag = put.as_ref().ok().and_then(|put| put.e_tag.clone());
                Ok(Put { outcome: self.outcome(put, path)?, e_tag })
            }
        }
    }

    /// The same, but not before other objects are safe, which are flushed meanwhile.
    pub async fn put_if_absent_after(&self, others: &[Unflushed], path: &Path, bytes: Bytes) -> Result<Put> {
        if !self.is_local() || self.flush() == Flush::Later {
            all_flushed(others).await?;
            return self.put_first(path, bytes).await;
        }
        let begin = self.write_file(path, move |file, new| {
            let hidden = files::begin_new(file, &bytes, new)?;
            hidden.iter().try_for_each(HiddenFile::flush)?;
            Ok(hidden)
        });
        let (begun, others) = futures::join!(begin, all_flushed(others));
        others?;
        let begun = begun?;
        self.write_file(path, |_, _| files::publish(begun, Existing::Refuse, Flush::Both)).await.map(Put::of)
    }

    /// The same for what may be lost, where it does not matter who was the first: on this machine it goes to the disk when the system sees
    /// fit, and over a network `Taken` may be the answer to the writer whose object it is.
    pub async fn put_disposable_if_absent(&self, path: &Path, bytes: Bytes) -> Result<PutOutcome> {
        match &self.0.service {
            Service::Local => {
                self.write_file(path, move |file, new| files::put(file, &bytes, Existing::Refuse, Flush::Later, new)).await
            }
            Service::Http { .. } | Service::Hdfs { .. } => self.put_if_absent(path, bytes).await,
            Service::Memory { .. } | Service::S3 { .. } | Service::Azure { .. } | Service::Gcs { .. } => {
                let put = || self.object_store().put_opts(path, bytes.clone().into(), PutMode::Create.into());
                self.outcome(self.again(put).await, path)
            }
        }
    }

    /// When files of this machine go to the disk.
    pub(in crate::store) fn flush(&self) -> Flush {
        if self.0.local_flush { Flush::Both } else { Flush::Later }
    }

    /// Writes an object, in place of what there was: readers see the one or the other, whole.
    pub async fn put(&self, path: &Path, bytes: Bytes) -> Result<()> {
        self.put_as(path, bytes, Existing::Replace).await
    }

    /// Writes an object whose name is new. If an object has the name already, that object stays as it is, and this is an error.
    pub async fn put_new(&self, path: &Path, bytes: Bytes) -> Result<()> {
        self.put_as(path, bytes, Existing::Refuse).await
    }

    async fn put_as(&self, path: &Path, bytes: Bytes, existing: Existing) -> Result<()> {
        match &self.0.service {
            Service::Local => {
                let flush = self.flush();
                let put = self.write_file(path, move |file, new| files::put(file, &bytes, existing, flush, new));
                if put.await? == PutOutcome::Done { Ok(()) } else { Err(self.taken(path)) }
            }
            Service::Http { .. } => Err(self.read_only(path)),
            _ => self.put_object(path, bytes.into(), existing).await,
        }
    }

    /// The same for an object of another store, in one request unless that has to be made again.
    pub(in crate::store) async fn put_object(&self, path: &Path, payload: PutPayload, existing: Existing) -> Result<()> {
        let mode = match (existing, &self.0.service) {
            // HDFS would need a file of another name first: then the random name has to do.
            (Existing::Replace, _) | (_, Service::Hdfs { .. }) => PutMode::Overwrite,
            (Existing::Refuse, _) => PutMode::Create,
        };
        let put = self.again(|| self.object_store().put_opts(path, payload.clone(), mode.clone().into())).await;
        match self.outcome(put, path)? {
            PutOutcome::Done => Ok(()),
            PutOutcome::Taken if self.has(path, &payload).await? => Ok(()),
            PutOutcome::Taken => Err(self.taken(path)),
        }
    }

    /// Whether an object is this: then it was an answer that was lost, and the request made again.
    async fn has(&self, path: &Path, payload: &PutPayload) -> Result<bool> {
        let found = self.get(path).await?;
        Ok(found.len() == payload.content_length() && payload.iter().flatten().eq(found.iter()))
    }

    /// The error for a name that should have been new.
    pub(in crate::store) fn taken(&self, path: &Path) -> Error {
        let object = self.describe(path);
        let message =
            format!("{object}: this name was to be new, but an object has it already, which is left as it is; write again");
        Error::new(ErrorKind::Store { object, retryable: true, not_found: false }, message)
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

    /// Writes a file of this machine on a thread that may block.
    async fn write_file<T: Send + 'static>(
        &self,
        path: &Path,
        work: impl FnOnce(&std::path::Path, &New<'_>) -> std::io::Result<T> + Send + 'static,
    ) -> Result<T> {
        let (file, unique, within) = (file_path(path), self.options().env.new_uuid(), self.within());
        let done = tokio::task::spawn_blocking(move || work(&file, &New { unique: &unique, within: &within })).await;
        done.at(self.describe(path))?.map_err(|error| written(error, &self.describe(path)))
    }

    pub(crate) fn read_only(&self, path: &Path) -> Error {
        let object = self.describe(path);
        let message = format!("{object}: a web server is read-only: to write, open the table by the URL of its store");
        Error::new(ErrorKind::Store { object, retryable: false, not_found: false }, message)
    }
}
