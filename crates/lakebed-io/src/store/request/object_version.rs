//! Telling the objects apart that have one name one after the other, so that what belongs together is read of one of them.

use chrono::{DateTime, Utc};
use object_store::ObjectMeta;

/// One of the objects that have a name one after the other, as far as stores tell them apart.
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

    /// Whether an answer is about it. Times count where there are no tags: some stores tell only seconds.
    pub(in crate::store) fn is_of(&self, meta: &ObjectMeta) -> bool {
        let is_alike = match (&self.e_tag, &meta.e_tag) {
            (Some(tag), Some(other)) => tag == other,
            _ => self.modified == meta.last_modified,
        };
        is_alike && self.size == meta.size
    }
}
