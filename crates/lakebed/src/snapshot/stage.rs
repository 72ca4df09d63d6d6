//! The pending state of a transaction with several operations: a version that exists in memory
//! alone.
//!
//! Each operation of the transaction reads the snapshot that the operations before it left behind,
//! and puts a new one in its place. Such a snapshot is a version of the table, and one more commit
//! on top of it that was never written. Begin with [`Stage`].

use std::any::Any;
use std::collections::HashSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bytes::Bytes;
use lakebed_core::log::segment::LogSegment;
use lakebed_core::path::{LogPath, commit_name};
use lakebed_io::log::CommitPart;
use tokio::sync::OnceCell;

use super::commits::{ReadCommits, fold};
use super::load::load_without;
use super::{Head, Inner, Pending, Snapshot};
use crate::{Error, Result};

/// A transaction with several operations, as its table handles and its snapshots share it.
pub(crate) struct Stage {
    state: Mutex<StageState>,
    /// The operations so far. Their type belongs to a module above this one.
    work: Arc<dyn Any + Send + Sync>,
}

/// The state of a transaction with several operations.
#[derive(Clone)]
pub(crate) enum StageState {
    /// The transaction goes on. Its operations read this snapshot.
    Open(Snapshot),
    /// The transaction was committed as this version, or the table already was in this version.
    Committed(u64),
    /// Nothing was committed, or the outcome of the commit is not known.
    Ended(&'static str),
}

impl Stage {
    /// Begins on top of a version. The first pending snapshot has to follow.
    pub(crate) fn new(base: Snapshot, work: Arc<dyn Any + Send + Sync>) -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(StageState::Open(base)), work })
    }

    /// Returns the operations so far.
    pub(crate) fn work<T: Send + Sync + 'static>(&self) -> Result<Arc<T>> {
        Arc::clone(&self.work).downcast().map_err(|_| Error::internal("a transaction holds operations of another type"))
    }

    /// Returns the pending snapshot. It is an error if the transaction has ended.
    pub(crate) fn snapshot(&self) -> Result<Snapshot> {
        match &*self.lock() {
            StageState::Open(snapshot) => Ok(snapshot.clone()),
            StageState::Committed(version) => Err(ended(&format!("the table is in version {version}"))),
            StageState::Ended(why) => Err(ended(why)),
        }
    }

    pub(crate) fn set(&self, state: StageState) {
        *self.lock() = state;
    }

    /// Ends the transaction, unless it has ended already.
    pub(crate) fn end(&self, why: &'static str) {
        let mut state = self.lock();
        if matches!(*state, StageState::Open(_)) {
            *state = StageState::Ended(why);
        }
    }

    fn lock(&self) -> MutexGuard<'_, StageState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Snapshot {
    /// Returns the pending state of a transaction that began on this version. `lines` are those of
    /// the commit that the transaction would make now.
    pub(crate) async fn pending(&self, lines: Bytes, operations: u64, stage: &Arc<Stage>) -> Result<Self> {
        let stage: Arc<dyn Any + Send + Sync> = Arc::clone(stage) as _;
        self.with_pending(lines, operations, Arc::downgrade(&stage)).await
    }

    async fn with_pending(&self, lines: Bytes, operations: u64, stage: Weak<dyn Any + Send + Sync>) -> Result<Self> {
        let base = self.known_by_log();
        let path = LogPath::commit(base.version() + 1);
        let name = commit_name(path.version).into();
        let part = CommitPart { name, lines: lines.clone(), start: 0, lines_before: 0, is_last: true };
        let ReadCommits { protocol, metadata, parts } = ReadCommits::of_parts(vec![part])?;
        let protocol = protocol.unwrap_or_else(|| base.protocol().clone());
        let metadata = metadata.unwrap_or_else(|| base.metadata().clone());
        let head = Head { trusted: base.inner.head.trusted.clone(), ..Head::new(base.url(), protocol, metadata, None)? };
        // All files stay in memory, because the commit cannot be read from the store.
        let layer = fold(base.store(), parts, &[], usize::MAX).await?;
        let layers = OnceCell::new_with(Some(base.layers().await?.with_newer(layer)));
        let segment = LogSegment {
            version: path.version,
            commits: std::iter::once(path).chain(base.segment().commits.iter().cloned()).collect(),
            checksum: None,
            ..base.segment().clone()
        };
        Ok(Snapshot {
            inner: Arc::new(Inner {
                store: base.store().clone(),
                env: base.env().clone(),
                segment,
                stamp: None,
                unusable: base.inner.unusable.clone(),
                head,
                read_commits: Mutex::new(None),
                layers,
                is_checksum_wrong: AtomicBool::new(base.is_checksum_wrong()),
                replacement: OnceCell::new(),
                pending: Some(Pending { base, lines, operations, stage }),
            }),
        })
    }

    /// Returns the transaction whose pending state this is, or `None` for a version of the table. It
    /// is an error if the transaction has ended.
    pub(crate) fn stage(&self) -> Result<Option<Arc<Stage>>> {
        let Some(pending) = &self.inner.pending else { return Ok(None) };
        let gone = || ended("the transaction was dropped");
        let stage = pending.stage.upgrade().ok_or_else(gone)?;
        let stage = stage.downcast::<Stage>().map_err(|_| Error::internal("a pending snapshot of something else"))?;
        let newest = stage.snapshot()?;
        if newest.inner.pending.as_ref().map(|newest| newest.operations) != Some(pending.operations) {
            let message = format!(
                "{}: another operation of the same transaction came between: run the operations of a transaction one after the \
                 other",
                self.url()
            );
            return Err(Error::invalid_input(message));
        }
        Ok(Some(stage))
    }

    /// Returns whether this is the pending state of a transaction.
    pub(crate) fn is_pending(&self) -> bool {
        self.inner.pending.is_some()
    }

    /// Returns an error if this is the pending state of a transaction, in which `operation` is not
    /// possible.
    pub(crate) fn refuse_pending(&self, operation: &str) -> Result<()> {
        if !self.is_pending() {
            return Ok(());
        }
        let message = format!(
            "{}: {operation} cannot be part of a transaction with several operations: run it on the table, before or after the \
             transaction",
            self.url()
        );
        Err(Error::invalid_input(message))
    }

    /// Loads the same version from other files of the log.
    pub(super) async fn loaded_without(&self, unusable: HashSet<String>) -> Result<Self> {
        let load = |version| load_without(self.store().clone(), self.env().clone(), Some(version), unusable);
        match &self.inner.pending {
            None => load(self.version()).await,
            Some(Pending { base, lines, operations, stage }) => {
                let base = load(base.version()).await?;
                Box::pin(base.with_pending(lines.clone(), *operations, stage.clone())).await
            }
        }
    }
}

fn ended(why: &str) -> Error {
    Error::invalid_input(format!("the transaction has ended ({why}): begin another one, or use the table"))
}
