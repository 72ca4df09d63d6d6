//! Reads the log of a version even if its files change meanwhile: a checkpoint turns out to be
//! broken, a cleanup deletes commits, or a checkpoint is replaced by another of the same name.
//!
//! A reader begins with [`Snapshot::readable_log`], and starts again after each
//! [`ReadableLog::mend`].

use std::sync::atomic::Ordering;

use lakebed_core::log::checksum::{metadata_difference, protocol_difference};
use lakebed_core::path::checksum_name;
use lakebed_core::{Error, Result};

use super::Snapshot;
use super::head::read_checkpoint_head;

/// The most restarts of a reader. More of them mean that the store is unreliable.
const MOST_MENDS: usize = 16;

/// The result of comparing a checksum with the log.
enum Verdict {
    Same,
    /// The name of the part that differs.
    Different(&'static str),
    /// The checkpoint is broken and must be replaced by other files of the log first.
    Unknown,
}

/// A version, from log files that can be read as far as is known.
pub(crate) struct ReadableLog {
    snapshot: Snapshot,
    mends: usize,
}

impl Snapshot {
    /// Returns this version for reading its log. A cleanup may have deleted commits since it was
    /// opened.
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

    /// Returns this version from log files that are not known to be broken.
    fn sound(&self) -> Snapshot {
        self.inner.replacement.get().map_or_else(|| self.clone(), Snapshot::sound)
    }

    /// Returns this version as the log describes it. Opening may have trusted a checksum. If the
    /// checksum contradicts the log, the log is right.
    ///
    /// Reads the commits above the checkpoint, and the protocol and the metadata from the
    /// checkpoint, unless opening has read them.
    pub(crate) async fn by_log(&self) -> Result<Snapshot> {
        match self.needs_confirmation() {
            true => self.with_readable_commits().await,
            false => Ok(self.known_by_log()),
        }
    }

    /// Returns this version as the log describes it, as far as the log was already read.
    pub(super) fn known_by_log(&self) -> Snapshot {
        if self.is_checksum_wrong() { self.sound() } else { self.clone() }
    }

    /// Returns whether protocol and metadata come from a checksum that was not compared with the
    /// log yet.
    pub(crate) fn needs_confirmation(&self) -> bool {
        self.inner.head.trusted.as_ref().is_some_and(|trusted| !trusted.is_confirmed.load(Ordering::Relaxed))
    }

    /// Returns this version if its commits and its checkpoint confirm the checksum. If they do not,
    /// the same version is loaded from the log alone.
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
                self.pass_over_checksum(&trusted.name, &format!("a different {what}"));
                let mut unusable = self.inner.unusable.clone();
                unusable.insert(trusted.name.clone());
                let load = self.loaded_without(unusable);
                Ok(self.inner.replacement.get_or_try_init(|| load).await?.clone())
            }
        }
    }

    /// Compares the protocol and the metadata of opening with those of the log.
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
                // A reader that needs the checkpoint calls [`ReadableLog::mend`].
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

    /// Compares the other content of the checksum with the commits.
    async fn check_listed(&self) -> Result<()> {
        let (layers, whole) = (self.layers().await?, self.segment().checkpoint.is_none());
        if let Some(what) = self.checksum().and_then(|checksum| checksum.contradicted_by(layers, whole)) {
            self.pass_over_checksum(&checksum_name(self.version()), &format!("a different {what}"));
        }
        Ok(())
    }

    /// Returns this version from log files that exist now. If these are the same files, of which
    /// one is missing, the checkpoint is left out. If that is impossible, `cause` is the error.
    async fn listed_again(&self, cause: Error) -> Result<Snapshot> {
        let unusable = self.inner.unusable.clone();
        let load = self.loaded_without(unusable);
        let replacement = self.inner.replacement.get_or_try_init(|| load).await?;
        let (now, before) = (replacement.segment(), self.segment());
        match (&now.checkpoint, &now.commits) == (&before.checkpoint, &before.commits) {
            true => replacement.without_checkpoint(cause).await,
            false => Ok(replacement.clone()),
        }
    }

    /// Returns the same version without its checkpoint, from other files of the log. If that is
    /// impossible, `cause` is the error.
    async fn without_checkpoint(&self, cause: Error) -> Result<Snapshot> {
        let Some(files) = &self.segment().checkpoint else { return Err(cause) };
        let mut unusable = self.inner.unusable.clone();
        if !unusable.insert(files.name()) {
            return Err(cause);
        }
        // One warning is enough for a table with several broken checkpoints.
        if self.inner.unusable.is_empty() {
            tracing::warn!(
                table = self.url(),
                "{}: the log is damaged, but the table could be read: {}",
                self.url(),
                cause.message()
            );
        }
        let load = self.loaded_without(unusable);
        let replacement = self.inner.replacement.get_or_try_init(|| load).await.map_err(|_| cause)?;
        Ok(replacement.clone())
    }
}

impl ReadableLog {
    /// Returns the version with the files to read.
    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Prepares a new attempt after `cause`. Other log files replace those that are broken or
    /// missing, and replaced files are opened again. If that does not help, this returns an error,
    /// mostly `cause`.
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
