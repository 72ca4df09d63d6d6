//! The requests of a client to a store, the answers, and the text of both in a trace.

use std::fmt;
use std::ops::Range;

use bytes::Bytes;
use object_store::{GetOptions, GetRange};

/// One request, as a network would carry it. The order among requests is the order in which the
/// scheduler sees the requests of one client.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Request {
    /// Writes an object. With `only_new` the object must not exist.
    Put { path: String, only_new: bool, bytes: Bytes },
    /// Reads an object, or a part of it.
    Get { path: String, span: Span },
    /// Lists one page of the objects below a folder, beginning after a name.
    List { folder: String, after: String },
    /// Deletes an object.
    Delete { path: String },
}

/// The bytes that a request reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Span {
    Head,
    All,
    Between(u64, u64),
    From(u64),
    Last(u64),
}

/// The answer of a store to a successful request.
#[derive(Debug)]
pub(crate) enum Answer {
    Done,
    Found { bytes: Bytes, range: Range<u64>, about: About },
    Page { objects: Vec<About>, is_last: bool },
}

/// An object as listings show it.
#[derive(Debug, Clone)]
pub(crate) struct About {
    pub(crate) path: String,
    pub(crate) size: u64,
    pub(crate) written_ms: i64,
}

impl Request {
    /// Returns whether the request can change the store.
    pub(crate) fn changes_store(&self) -> bool {
        matches!(self, Self::Put { .. } | Self::Delete { .. })
    }

    pub(crate) fn path(&self) -> &str {
        match self {
            Self::Put { path, .. } | Self::Get { path, .. } | Self::Delete { path } => path,
            Self::List { folder, .. } => folder,
        }
    }
}

impl Span {
    pub(crate) fn of(options: &GetOptions) -> Self {
        match &options.range {
            _ if options.head => Self::Head,
            None => Self::All,
            Some(GetRange::Bounded(range)) => Self::Between(range.start, range.end),
            Some(GetRange::Offset(start)) => Self::From(*start),
            Some(GetRange::Suffix(length)) => Self::Last(*length),
        }
    }

    /// Returns the range of these bytes in an object of this size; none if it has no such bytes.
    pub(crate) fn within(self, size: u64) -> Option<Range<u64>> {
        match self {
            Self::Head => Some(0..0),
            Self::All => Some(0..size),
            Self::Between(start, end) => (start < end && start < size).then(|| start..end.min(size)),
            Self::From(start) => (start < size).then_some(start..size),
            Self::Last(length) => Some(size.saturating_sub(length)..size),
        }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Put { path, only_new: true, .. } => write!(f, "put-if-absent {path}"),
            Self::Put { path, only_new: false, .. } => write!(f, "put {path}"),
            Self::Get { path, span } => write!(f, "get {path} {span:?}"),
            Self::List { folder, after } => write!(f, "list {folder} after {after}"),
            Self::Delete { path } => write!(f, "delete {path}"),
        }
    }
}
