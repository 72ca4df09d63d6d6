//! The journal of a simulation: the attempts of the actors, their results, and the versions that
//! the actors saw.

use std::sync::{Mutex, PoisonError};

use lakebed::{Error, ErrorKind};

use super::work::{Row, Work};

/// All entries of the journal.
#[derive(Debug, Default)]
pub(crate) struct Journal(Mutex<Notes>);

#[derive(Debug, Default, Clone)]
pub(crate) struct Notes {
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) sights: Vec<Sight>,
    pub(crate) failures: Vec<Failure>,
}

/// An attempt at a change.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    pub(crate) work: Work,
    pub(crate) began: u64,
    /// The end of the attempt. None if its writer died.
    pub(crate) ended: Option<Ended>,
}

/// The result that a writer got.
#[derive(Debug, Clone)]
pub(crate) struct Ended {
    pub(crate) at: u64,
    pub(crate) told: Told,
    /// Whether a request met a fault meanwhile.
    pub(crate) was_hurt: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum Told {
    Committed(u64),
    /// The table already had this transaction identifier or a later one, as of this version.
    Known(u64),
    /// As of this version there was nothing to change.
    Nothing(u64),
    Failed(ErrorKind, String),
}

/// A version that an actor saw.
#[derive(Debug, Clone)]
pub(crate) struct Sight {
    pub(crate) who: String,
    pub(crate) began: u64,
    pub(crate) ended: u64,
    pub(crate) version: u64,
    /// Whether the actor loaded the latest version.
    pub(crate) is_latest: bool,
    /// The rows that the actor read. None if it loaded the version only.
    pub(crate) rows: Option<Vec<Row>>,
}

/// A read that failed.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) who: String,
    pub(crate) began: u64,
    pub(crate) kind: ErrorKind,
    pub(crate) message: String,
    /// Whether a request met a fault meanwhile.
    pub(crate) was_hurt: bool,
    /// Whether the read was of a version that may have been cleaned up.
    pub(crate) may_be_gone: bool,
    /// Whether `_last_checkpoint` existed before.
    pub(crate) had_hint: bool,
}

impl Journal {
    /// Adds an attempt that begins, and returns its index.
    pub(crate) fn begin(&self, work: &Work, began: u64) -> usize {
        self.with(|notes| {
            notes.attempts.push(Attempt { work: work.clone(), began, ended: None });
            notes.attempts.len() - 1
        })
    }

    pub(crate) fn end(&self, attempt: usize, ended: Ended) {
        self.with(|notes| notes.attempts[attempt].ended = Some(ended));
    }

    pub(crate) fn saw(&self, sight: Sight) {
        self.with(|notes| notes.sights.push(sight));
    }

    pub(crate) fn failed(&self, failure: Failure) {
        self.with(|notes| notes.failures.push(failure));
    }

    pub(crate) fn notes(&self) -> Notes {
        self.with(|notes| notes.clone())
    }

    fn with<T>(&self, work: impl FnOnce(&mut Notes) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Told {
    pub(crate) fn failed(error: &Error) -> Self {
        Self::Failed(error.kind().clone(), error.to_string())
    }

    /// Returns whether the change failed, and its writer was not told that it may be committed.
    pub(crate) fn has_failed_for_sure(&self) -> bool {
        match self {
            Self::Failed(ErrorKind::CommitUnknown { .. }, _) => false,
            // An erase reads older versions after its commit.
            Self::Failed(_, message) => !message.contains("no longer holds these rows"),
            _ => false,
        }
    }
}
