//! Reading the log of a version on, whatever happens to its files meanwhile: a checkpoint turns out to be broken, a clean-up takes commits, a
//! keeper replaces a checkpoint by another of the same name.
//!
//! Whoever reads begins with [`Snapshot::readable_log`], and begins anew after each [`ReadableLog::mend`].

use std::sync::atomic::Ordering;

use lakebed_core::log::checksum::{metadata_difference, protocol_difference};
use lakebed_core::path::checksum_name;
use lakebed_core::{Error, Result};

use super::Snapshot;
use super::head::read_checkpoint_head;
use super::load::load_without;

/// Who has begun anew so often has met a store that cannot be relied upon.
const MOST_MENDS: usize = 16;

/// What the log says to a checksum.
enum Verdict {
    Same,
    /// With the name of what differs.
    Different(&'static str),
    /// The checkpoint is broken, and other files of the log have to stand in first.
    Unknown,
}

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
            Ok(_) => sound.confirmed().await,
            Err(cause) if cause.is_not_found() => sound.listed_again(cause).await,
            Err(cause) => Err(cause),
        }
    }

    /// This version, from files of the log that are not known to be broken.
    fn sound(&self) -> Snapshot {
        self.inner.replacement.get().map_or_else(|| self.clone(), Snapshot::sound)
    }

    /// This version, as the log tells it. Opening may have trusted a checksum; where that contradicts the log, the log is right.
    ///
    /// Reads the commits above the checkpoint, and of that the protocol and the metadata, unless opening has.
    pub(crate) async fn by_log(&self) -> Result<Snapshot> {
        match self.needs_confirmation() {
            true => self.with_readable_commits().await,
            false => Ok(self.known_by_log()),
        }
    }

    /// The same as far as the log was read before.
    pub(super) fn known_by_log(&self) -> Snapshot {
        if self.is_checksum_wrong() { self.sound() } else { self.clone() }
    }

    /// Whether protocol and metadata come from a checksum that was not compared with the log yet.
    pub(crate) fn needs_confirmation(&self) -> bool {
        self.inner.head.trusted.as_ref().is_some_and(|trusted| !trusted.is_confirmed.load(Ordering::Relaxed))
    }

    /// This version, if its commits and its checkpoint confirm the checksum. If not, the same version is loaded from the log alone.
    async fn confirmed(self) -> Result<Snapshot> {
        let Some(trusted) = self.inner.head.trusted.clone().filter(|_| self.needs_confirmation()) else { return Ok(self) };
        match self.held_against_log().await? {
            Verdict::Unknown => Ok(self),
            Verdict::Same => {
                trusted.is_confirmed.store(true, Ordering::Relaxed);
                self.check_listed().await?;
                Ok(self)
            }
            Verdict::Different(what) => {
                self.pass_over_checksum(&trusted.name, &format!("another {what} than the log"));
                let mut unusable = self.inner.unusable.clone();
                unusable.insert(trusted.name.clone());
                let load = load_without(self.store().clone(), self.env().clone(), Some(self.version()), unusable);
                Ok(self.inner.replacement.get_or_try_init(|| load).await?.clone())
            }
        }
    }

    /// Protocol and metadata of opening, beside those of the log.
    async fn held_against_log(&self) -> Result<Verdict> {
        let layers = self.layers().await?;
        let mut protocol = layers.newest(|layer| layer.protocol.as_ref()).cloned();
        let mut metadata = layers.newest(|layer| layer.metadata.as_ref()).cloned();
        if protocol.is_none() || metadata.is_none() {
            match read_checkpoint_head(self.store(), self.segment()).await {
                Ok((old_protocol, old_metadata)) => {
                    protocol = protocol.or(old_protocol);
                    metadata = metadata.or(old_metadata);
                }
                // Whoever needs the checkpoint mends that.
                Err(failure) if failure.replaceable.is_some() => return Ok(Verdict::Unknown),
                Err(failure) => return Err(failure.error),
            }
        }
        let what = match (protocol, metadata) {
            (Some(protocol), Some(metadata)) => {
                protocol_difference(self.protocol(), &protocol).or_else(|| metadata_difference(self.metadata(), &metadata))
            }
            (None, _) => Some("protocol"),
            (_, None) => Some("metadata"),
        };
        Ok(what.map_or(Verdict::Same, Verdict::Different))
    }

    /// Holds what else the checksum lists against the commits.
    async fn check_listed(&self) -> Result<()> {
        let (layers, whole) = (self.layers().await?, self.segment().checkpoint.is_none());
        if let Some(what) = self.checksum().and_then(|checksum| checksum.contradicted_by(layers, whole)) {
            self.pass_over_checksum(&checksum_name(self.version()), &format!("another {what} than the log"));
        }
        Ok(())
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
