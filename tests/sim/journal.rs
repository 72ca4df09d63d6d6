//! What the actors of a simulation lived through, in their own words: what they tried, what came of
//! it, and what they saw.

use std::sync::{Mutex, PoisonError};

use lakebed::{Error, ErrorKind};

use super::work::{Row, Work};

/// Everything that was told.
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
    /// None if its writer died.
    pub(crate) ended: Option<Ended>,
}

/// What a writer was told.
#[derive(Debug, Clone)]
pub(crate) struct Ended {
    pub(crate) at: u64,
    pub(crate) told: Told,
    /// Whether a request went wrong meanwhile.
    pub(crate) was_hurt: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum Told {
    Committed(u64),
    /// The application was at least as far already, as of this version.
    Known(u64),
    /// As of this version there was nothing to change.
    Nothing(u64),
    Failed(ErrorKind, String),
}

/// A version that somebody saw.
#[derive(Debug, Clone)]
pub(crate) struct Sight {
    pub(crate) who: String,
    pub(crate) began: u64,
    pub(crate) ended: u64,
    pub(crate) version: u64,
    /// Whether the latest version was asked for.
    pub(crate) is_latest: bool,
    /// None if only the version was looked at.
    pub(crate) rows: Option<Vec<Row>>,
}

/// Somebody could not read.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) who: String,
    pub(crate) began: u64,
    pub(crate) kind: ErrorKind,
    pub(crate) message: String,
    /// Whether a request went wrong meanwhile.
    pub(crate) was_hurt: bool,
    /// Whether it was about a version that may have been cleaned up.
    pub(crate) may_be_gone: bool,
    /// Whether `_last_checkpoint` was there before.
    pub(crate) had_hint: bool,
}

impl Journal {
    /// An attempt begins; tells its place.
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

    /// Whether nobody knows what became of the change.
    pub(crate) fn is_unknown(&self) -> bool {
        matches!(self, Self::Failed(ErrorKind::CommitUnknown { .. }, _))
    }
}
