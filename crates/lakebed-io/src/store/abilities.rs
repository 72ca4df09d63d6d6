//! The abilities of a service: how its folders are listed, and how objects are written.

use std::sync::Arc;

use object_store::ObjectStore;

use super::url::location::Service;

/// The way to list a folder with the fewest requests.
pub(in crate::store) enum Listing {
    /// The store lists in the order of names and can begin at a name, so a listing may end early.
    Ordered,
    /// The store lists the whole folder, in any order.
    Whole,
    /// The directory on the local disk is read.
    Local,
    /// This client lists, if the web server can list folders at all.
    Web(Arc<dyn ObjectStore>),
}

/// The way in which objects are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum Writing {
    /// Objects are local files, written by system calls.
    Files,
    /// A put can be made to fail if the object exists.
    ConditionalPut,
    /// A put always overwrites. A name that must be new is given by a rename.
    Rename,
    /// The service cannot be written.
    ReadOnly,
}

impl Service {
    /// Returns the way in which its objects are written.
    pub(in crate::store) fn writing(&self) -> Writing {
        match self {
            Self::Local => Writing::Files,
            Self::Memory { .. } | Self::S3 { .. } | Self::Azure { .. } | Self::Gcs { .. } => Writing::ConditionalPut,
            Self::Hdfs { .. } => Writing::Rename,
            Self::Http { .. } => Writing::ReadOnly,
        }
    }
}
