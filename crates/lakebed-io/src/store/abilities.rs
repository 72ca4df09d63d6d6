//! What a service offers: how its folders are listed, and how an object gets a name that must be new.

use std::sync::Arc;

use object_store::ObjectStore;

use super::url::location::Service;

/// How a folder is listed with the fewest requests.
pub(in crate::store) enum Listing {
    /// From a name on, in the order of names, so that it may end early.
    Ordered,
    /// All of the folder, in no order.
    Whole,
    /// By reading the directory.
    Local,
    /// By this client, if the web server lists folders at all.
    Web(Arc<dyn ObjectStore>),
}

/// How objects are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum Writing {
    /// As files of this machine, by the system's own calls.
    Files,
    /// By the store's put, which can be asked to fail when the object exists.
    ConditionalPut,
    /// By the store's put, which always overwrites. A name that must be new is given by a rename.
    Rename,
    /// Not at all.
    ReadOnly,
}

impl Service {
    /// How its objects are written.
    pub(in crate::store) fn writing(&self) -> Writing {
        match self {
            Self::Local => Writing::Files,
            Self::Memory { .. } | Self::S3 { .. } | Self::Azure { .. } | Self::Gcs { .. } => Writing::ConditionalPut,
            Self::Hdfs { .. } => Writing::Rename,
            Self::Http { .. } => Writing::ReadOnly,
        }
    }
}
