//! Copies the files of a source to the target, many at a time.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::{Stream, StreamExt};
use lakebed_core::action::Add;
use lakebed_io::store::Store;
use tokio::sync::OnceCell;

use super::target_file::{FileCopy, TargetFile};
use crate::metrics::Counter;
use crate::{Error, Result};

/// The number of files that are copied at a time: on this machine, and over the network.
const LOCAL_COPIES: usize = 8;
const REMOTE_COPIES: usize = 32;

/// Copies files to the target.
pub(super) struct Copier {
    target: Store,
    /// Whether files of an interrupted clone may be there.
    looks_for_files: bool,
    /// The files of deletion vectors, by name. Several data files share one.
    vectors: Mutex<HashMap<String, Arc<OnceCell<()>>>>,
    pub(super) copied_files: Counter,
    pub(super) copied_bytes: Counter,
    pub(super) resumed_files: Counter,
    pub(super) vector_files: Counter,
}

/// Whether a file was copied, or was there.
enum Copied {
    Now(u64),
    Before,
}

impl Copier {
    /// Begins to copy. It looks whether the target's folder holds anything.
    pub(super) async fn begin(target: &Store) -> Result<Self> {
        let found = target.list_folder(target.root(), None).await?;
        let is_empty = found.objects.is_empty() && found.folders.is_empty();
        Ok(Self {
            target: target.clone(),
            looks_for_files: !is_empty,
            vectors: Mutex::default(),
            copied_files: Counter::default(),
            copied_bytes: Counter::default(),
            resumed_files: Counter::default(),
            vector_files: Counter::default(),
        })
    }

    /// Copies files, many at a time, and calls `done` with each of them. After an error, no further
    /// copy begins. The call returns when the copies that have begun are done, so that none of them
    /// writes after it.
    pub(super) async fn copy_all(
        &self,
        files: impl Stream<Item = Result<TargetFile>>,
        mut done: impl FnMut(Add) -> Result<()>,
    ) -> Result<()> {
        let at_once = if self.target.is_local() { LOCAL_COPIES } else { REMOTE_COPIES };
        let has_failed = AtomicBool::new(false);
        let files = files.take_while(|_| std::future::ready(!has_failed.load(Ordering::Relaxed)));
        let mut copies = pin!(files.map(|file| async { self.copy(file?).await }).buffer_unordered(at_once));
        let mut first_error = Ok(());
        while let Some(copy) = copies.next().await {
            if let Err(error) = copy.and_then(|file| done(file.add))
                && !has_failed.swap(true, Ordering::Relaxed)
            {
                first_error = Err(error);
            }
        }
        first_error
    }

    /// Copies the files of a data file, unless they are there.
    async fn copy(&self, file: TargetFile) -> Result<TargetFile> {
        // Some writers do not know the size and write 0.
        let expected = u64::try_from(file.add.size).ok().filter(|size| *size > 0);
        match self.copy_file(&file.data, expected).await? {
            Copied::Now(size) => {
                self.copied_files.add(1);
                self.copied_bytes.add(size);
            }
            Copied::Before => self.resumed_files.add(1),
        }
        if let Some(vector) = &file.vector {
            self.once(&vector.name).get_or_try_init(|| self.copy_vector(vector)).await?;
        }
        Ok(file)
    }

    fn once(&self, name: &str) -> Arc<OnceCell<()>> {
        let mut vectors = self.vectors.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(vectors.entry(name.to_owned()).or_default())
    }

    async fn copy_vector(&self, file: &FileCopy) -> Result<()> {
        if let Copied::Now(_) = self.copy_file(file, None).await? {
            self.vector_files.add(1);
        }
        Ok(())
    }

    async fn copy_file(&self, file: &FileCopy, expected: Option<u64>) -> Result<Copied> {
        let (source, from) = &file.from;
        let to = self.target.path_of(&file.name)?;
        if self.looks_for_files
            && let Some(found) = self.size_of(&to).await?
        {
            let size = match expected {
                Some(size) => size,
                None => source.head(from).await?.size,
            };
            return if found == size { Ok(Copied::Before) } else { Err(self.other_file(&to, found, size)) };
        }
        let size = self.target.copy_from(source, from, &to).await?;
        match expected.filter(|expected| *expected != size) {
            None => Ok(Copied::Now(size)),
            Some(expected) => {
                let message = format!("it has {size} bytes, but the log of its table says {expected}");
                Err(Error::corrupt(source.describe(from), message))
            }
        }
    }

    async fn size_of(&self, path: &object_store::path::Path) -> Result<Option<u64>> {
        match self.target.head(path).await {
            Ok(found) => Ok(Some(found.size)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn other_file(&self, path: &object_store::path::Path, found: u64, size: u64) -> Error {
        Error::invalid_input(format!(
            "{}: this file has {found} bytes, and the clone would put another file of {size} bytes here: delete the file, or \
             choose another target",
            self.target.describe(path)
        ))
    }
}
