//! What is asked of a write to a name that may be taken, and what came of it.

/// What came of an attempt to be the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutOutcome {
    /// The object is there, and it is ours.
    Done,
    /// There was an object already, which is as it was.
    Taken,
}

/// The outcome, with the store's mark of the object if the store has told it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Put {
    pub(crate) outcome: PutOutcome,
    pub(crate) e_tag: Option<String>,
}

impl Put {
    pub(in crate::store) fn of(outcome: PutOutcome) -> Self {
        Self { outcome, e_tag: None }
    }
}

/// What becomes of an object whose name another is to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and the other is not written: for names that nobody else should have.
    Refuse,
    /// Readers see the one or the other, whole.
    Replace,
}
