//! `add` and `remove` borrowed from their line, so that a fold over millions of them allocates only for escaped text.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::action::{Add, DeletionVectorDescriptor, Remove};

/// A file action.
#[derive(Debug, Clone, PartialEq)]
pub enum FileLine<'a> {
    /// A file is part of the table.
    Add(AddRef<'a>),
    /// A file no longer is.
    Remove(RemoveRef<'a>),
}

/// Keys and texts, in the order of the line; of a key that stands twice the later text counts.
pub type TextMap<'a> = Vec<(Cow<'a, str>, Option<Cow<'a, str>>)>;

/// [`Add`], borrowed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AddRef<'a> {
    /// See [`Add::path`].
    pub path: Cow<'a, str>,
    /// See [`Add::partition_values`].
    pub partition_values: TextMap<'a>,
    /// See [`Add::size`].
    pub size: i64,
    /// See [`Add::modification_time`].
    pub modification_time: i64,
    /// See [`Add::data_change`].
    pub data_change: bool,
    /// See [`Add::stats`].
    pub stats: Option<Cow<'a, str>>,
    /// See [`Add::tags`].
    pub tags: Option<TextMap<'a>>,
    /// See [`Add::deletion_vector`].
    pub deletion_vector: Option<DeletionVectorDescriptor>,
    /// See [`Add::base_row_id`].
    pub base_row_id: Option<i64>,
    /// See [`Add::default_row_commit_version`].
    pub default_row_commit_version: Option<i64>,
    /// See [`Add::clustering_provider`].
    pub clustering_provider: Option<Cow<'a, str>>,
}

/// [`Remove`], borrowed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RemoveRef<'a> {
    /// See [`Remove::path`].
    pub path: Cow<'a, str>,
    /// See [`Remove::deletion_timestamp`].
    pub deletion_timestamp: Option<i64>,
    /// See [`Remove::data_change`].
    pub data_change: bool,
    /// See [`Remove::extended_file_metadata`].
    pub extended_file_metadata: Option<bool>,
    /// See [`Remove::partition_values`].
    pub partition_values: Option<TextMap<'a>>,
    /// See [`Remove::size`].
    pub size: Option<i64>,
    /// See [`Remove::stats`].
    pub stats: Option<Cow<'a, str>>,
    /// See [`Remove::tags`].
    pub tags: Option<TextMap<'a>>,
    /// See [`Remove::deletion_vector`].
    pub deletion_vector: Option<DeletionVectorDescriptor>,
    /// See [`Remove::base_row_id`].
    pub base_row_id: Option<i64>,
    /// See [`Remove::default_row_commit_version`].
    pub default_row_commit_version: Option<i64>,
}

impl From<AddRef<'_>> for Add {
    fn from(add: AddRef<'_>) -> Self {
        Self {
            path: add.path.into_owned(),
            partition_values: owned_texts(add.partition_values),
            size: add.size,
            modification_time: add.modification_time,
            data_change: add.data_change,
            stats: add.stats.map(Cow::into_owned),
            tags: add.tags.map(owned_texts),
            deletion_vector: add.deletion_vector,
            base_row_id: add.base_row_id,
            default_row_commit_version: add.default_row_commit_version,
            clustering_provider: add.clustering_provider.map(Cow::into_owned),
        }
    }
}

impl From<Add> for AddRef<'_> {
    fn from(add: Add) -> Self {
        Self {
            path: Cow::Owned(add.path),
            partition_values: cow_texts(add.partition_values),
            size: add.size,
            modification_time: add.modification_time,
            data_change: add.data_change,
            stats: add.stats.map(Cow::Owned),
            tags: add.tags.map(cow_texts),
            deletion_vector: add.deletion_vector,
            base_row_id: add.base_row_id,
            default_row_commit_version: add.default_row_commit_version,
            clustering_provider: add.clustering_provider.map(Cow::Owned),
        }
    }
}

impl From<RemoveRef<'_>> for Remove {
    fn from(remove: RemoveRef<'_>) -> Self {
        Self {
            path: remove.path.into_owned(),
            deletion_timestamp: remove.deletion_timestamp,
            data_change: remove.data_change,
            extended_file_metadata: remove.extended_file_metadata,
            partition_values: remove.partition_values.map(owned_texts),
            size: remove.size,
            stats: remove.stats.map(Cow::into_owned),
            tags: remove.tags.map(owned_texts),
            deletion_vector: remove.deletion_vector,
            base_row_id: remove.base_row_id,
            default_row_commit_version: remove.default_row_commit_version,
        }
    }
}

impl From<Remove> for RemoveRef<'_> {
    fn from(remove: Remove) -> Self {
        Self {
            path: Cow::Owned(remove.path),
            deletion_timestamp: remove.deletion_timestamp,
            data_change: remove.data_change,
            extended_file_metadata: remove.extended_file_metadata,
            partition_values: remove.partition_values.map(cow_texts),
            size: remove.size,
            stats: remove.stats.map(Cow::Owned),
            tags: remove.tags.map(cow_texts),
            deletion_vector: remove.deletion_vector,
            base_row_id: remove.base_row_id,
            default_row_commit_version: remove.default_row_commit_version,
        }
    }
}

fn owned_texts(texts: TextMap<'_>) -> HashMap<String, Option<String>> {
    texts.into_iter().map(|(key, value)| (key.into_owned(), value.map(Cow::into_owned))).collect()
}

fn cow_texts<'a>(texts: HashMap<String, Option<String>>) -> TextMap<'a> {
    texts.into_iter().map(|(key, value)| (Cow::Owned(key), value.map(Cow::Owned))).collect()
}
