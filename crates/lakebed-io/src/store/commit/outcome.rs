//! The outcome of a put-if-absent, and the treatment of an existing object.

/// The outcome of a put-if-absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutOutcome {
    /// The object exists, and this writer wrote it.
    Done,
    /// An object existed before and is unchanged.
    Taken,
}

/// The outcome, with the entity tag of the object if the store returned it.
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

/// The treatment of an existing object of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and the new object is not written. This is for names that must be unique.
    Refuse,
    /// It is replaced. Readers see either the old or the new object, complete.
    Replace,
}
