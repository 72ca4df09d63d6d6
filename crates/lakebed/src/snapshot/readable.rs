//! Reading the log of a version on, whatever happens to its files meanwhile: a checkpoint turns out to be broken, a clean-up takes commits, a
//! keeper replaces a checkpoint by another of the same name.
//!
//! Whoever reads begins with [`Snapshot::readable_log`], and begins anew after each [`ReadableLog::mend`].

use lakebed_core::{Error, Result};

use super::Snapshot;
use super::load::load_without;

/// Who has begun anew so often has met a store that cannot be relied upon.
const MOST_MENDS: usize = 16;

/// A version, from files of the log that can be read as far as is known.
pub(crate) struct ReadableLog {
    snapshot: Snapshot,
    mends: usize,
}

impl Snapshot {
    /// This version, for reading its log. A clean-up may have removed commits since it was opened.
    pub(crate) async fn readable_log(&self) -> Result<ReadableLog> {
        Ok(ReadableLog { snapshot: self.with_readable_commits().await?, mends: 0 })
    }

    async fn with_readable_commits(&self) -> Result<Snapshot> {
        let sound = self.sound();
        match sound.layers().await {
            Ok(_) => Ok(sound),
            Err(cause) if cause.is_not_found() => sound.listed_again(cause).await,
            Err(cause) => Err(cause),
        }
    }

    /// This version, from files of the log that are not known to be broken.
    fn sound(&self) -> Snapshot {
        self.inner.replacement.get().map_or_else(|| self.clone(), Snapshot::sound)
    }

    /// This version, from files of the log that are there now. If they are those of which one was missing, it does without the checkpoint;
    /// if there is none, `cause` is the error.
    async fn listed_again(&self, cause: Error) -> Result<Snapshot> {
        let unusable = self.inner.unusable.clone();
        let load = load_without(self.store().clone(), self.env().clone(), Some(self.version()), unusable);
        let replacement = self.inner.replacement.get_or_try_init(|| load).await?;
        let (now, before) = (replacement.segment(), self.segment());
        match (&now.checkpoint, &now.commits) == (&before.checkpoint, &before.commits) {
            true => replacement.without_checkpoint(cause).await,
            false => Ok(replacement.clone()),
        }
    }

    /// The same version without its checkpoint, for which other files of the log stand in; if they cannot, `cause` is the error.
    async fn without_checkpoint(&self, cause: Error) -> Result<Snapshot> {
        let Some(files) = &self.segment().checkpoint else { return Err(cause) };
        let mut unusable = self.inner.unusable.clone();
        if !unusable.insert(files.name()) {
            return Err(cause);
        }
        // One warning is enough for a table of which several checkpoints are broken.
        if self.inner.unusable.is_empty() {
            tracing::warn!(table = self.url(), "{}: read past damage in the log: {}", self.url(), cause.message());
        }
        let load = load_without(self.store().clone(), self.env().clone(), Some(self.version()), unusable);
        let replacement = self.inner.replacement.get_or_try_init(|| load).await.map_err(|_| cause)?;
        Ok(replacement.clone())
    }
}

impl ReadableLog {
    /// The version, from the files that are to be read.
    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Whoever could not go on because of `cause` may begin anew: other files of the log stand in for what is broken or gone, and what
    /// was replaced is opened again. If that is of no help, there is an error, mostly `cause`.
    pub(crate) async fn mend(&mut self, cause: Error) -> Result<()> {
        self.mends += 1;
        if self.mends > MOST_MENDS {
            return Err(cause);
        }
        if cause.is_replaced() {
            return Ok(());
        }
        let other = match cause.is_not_found() {
            true => self.snapshot.listed_again(cause).await?,
            false if cause.is_corrupt() => self.snapshot.without_checkpoint(cause).await?,
            false => return Err(cause),
        };
        self.snapshot = other.with_readable_commits().await?;
        Ok(())
    }
}
