//! Distinguishes objects that have the same name one after the other, so that a reader does not mix
//! their bytes.

use chrono::{DateTime, Utc};
use object_store::ObjectMeta;

/// The size, entity tag and time of an object, as far as the store returns them.
#[derive(Debug, Clone)]
pub(crate) struct ObjectVersion {
    size: u64,
    e_tag: Option<String>,
    modified: DateTime<Utc>,
}

impl ObjectVersion {
    pub(in crate::store) fn of(meta: &ObjectMeta) -> Self {
        Self { size: meta.size, e_tag: meta.e_tag.clone(), modified: meta.last_modified }
    }

    /// Returns whether a reply is about this version. Times are compared only if there are no
    /// entity tags, because some stores return only seconds.
    pub(in crate::store) fn is_of(&self, meta: &ObjectMeta) -> bool {
        let is_alike = match (&self.e_tag, &meta.e_tag) {
            (Some(tag), Some(other)) => tag == other,
            _ => self.modified == meta.last_modified,
        };
        is_alike && self.size == meta.size
    }
}
