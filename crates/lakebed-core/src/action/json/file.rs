//! `add` and `remove` actions that borrow from their line, so that reading millions of them
//! allocates only for strings with escapes.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::action::{Add, DeletionVectorDescriptor, DvStorage, Remove, dv};
use crate::json_string::long_string;

/// A file action.
#[derive(Debug, Clone, PartialEq)]
pub enum FileLine<'a> {
    /// A file is part of the table.
    Add(AddRef<'a>),
    /// A file is no longer part of the table.
    Remove(RemoveRef<'a>),
}

/// Keys and strings in the order of the line. If a key occurs twice, the later string counts.
pub type StringEntries<'a> = Vec<(Cow<'a, str>, Option<Cow<'a, str>>)>;

/// [`Add`], borrowed.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AddRef<'a> {
    /// See [`Add::path`].
    #[serde(borrow)]
    pub path: Cow<'a, str>,
    /// See [`Add::partition_values`].
    #[serde(borrow, default, deserialize_with = "texts")]
    pub partition_values: StringEntries<'a>,
    /// See [`Add::size`].
    pub size: i64,
    /// See [`Add::modification_time`].
    #[serde(default)]
    pub modification_time: i64,
    /// See [`Add::data_change`].
    #[serde(default)]
    pub data_change: bool,
    /// See [`Add::stats`].
    #[serde(borrow, default, deserialize_with = "long_string")]
    pub stats: Option<Cow<'a, str>>,
    /// See [`Add::tags`].
    #[serde(borrow, default, deserialize_with = "optional_texts")]
    pub tags: Option<StringEntries<'a>>,
    /// See [`Add::deletion_vector`].
    #[serde(borrow, default)]
    pub deletion_vector: Option<DvRef<'a>>,
    /// See [`Add::base_row_id`].
    #[serde(default)]
    pub base_row_id: Option<i64>,
    /// See [`Add::default_row_commit_version`].
    #[serde(default)]
    pub default_row_commit_version: Option<i64>,
    /// See [`Add::clustering_provider`].
    #[serde(borrow, default, deserialize_with = "optional_text")]
    pub clustering_provider: Option<Cow<'a, str>>,
}

/// [`Remove`], borrowed.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemoveRef<'a> {
    /// See [`Remove::path`].
    #[serde(borrow)]
    pub path: Cow<'a, str>,
    /// See [`Remove::deletion_timestamp`].
    #[serde(default)]
    pub deletion_timestamp: Option<i64>,
    /// See [`Remove::data_change`].
    #[serde(default)]
    pub data_change: bool,
    /// See [`Remove::extended_file_metadata`].
    #[serde(default)]
    pub extended_file_metadata: Option<bool>,
    /// See [`Remove::partition_values`].
    #[serde(borrow, default, deserialize_with = "optional_texts")]
    pub partition_values: Option<StringEntries<'a>>,
    /// See [`Remove::size`].
    #[serde(default)]
    pub size: Option<i64>,
    /// See [`Remove::stats`].
    #[serde(borrow, default, deserialize_with = "long_string")]
    pub stats: Option<Cow<'a, str>>,
    /// See [`Remove::tags`].
    #[serde(borrow, default, deserialize_with = "optional_texts")]
    pub tags: Option<StringEntries<'a>>,
    /// See [`Remove::deletion_vector`].
    #[serde(borrow, default)]
    pub deletion_vector: Option<DvRef<'a>>,
    /// See [`Remove::base_row_id`].
    #[serde(default)]
    pub base_row_id: Option<i64>,
    /// See [`Remove::default_row_commit_version`].
    #[serde(default)]
    pub default_row_commit_version: Option<i64>,
}

/// [`DeletionVectorDescriptor`], borrowed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DvRef<'a> {
    /// See [`DeletionVectorDescriptor::storage_type`].
    pub storage_type: DvStorage,
    /// See [`DeletionVectorDescriptor::path_or_inline_dv`].
    #[serde(borrow)]
    pub path_or_inline_dv: Cow<'a, str>,
    /// See [`DeletionVectorDescriptor::offset`].
    #[serde(default)]
    pub offset: Option<i32>,
    /// See [`DeletionVectorDescriptor::size_in_bytes`].
    pub size_in_bytes: i32,
    /// See [`DeletionVectorDescriptor::cardinality`].
    pub cardinality: i64,
}

impl DvRef<'_> {
    /// See [`DeletionVectorDescriptor::unique_id`].
    pub fn unique_id(&self) -> String {
        dv::unique_id(self.storage_type, &self.path_or_inline_dv, self.offset)
    }
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
            deletion_vector: add.deletion_vector.map(Into::into),
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
            deletion_vector: add.deletion_vector.map(Into::into),
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
            deletion_vector: remove.deletion_vector.map(Into::into),
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
            deletion_vector: remove.deletion_vector.map(Into::into),
            base_row_id: remove.base_row_id,
            default_row_commit_version: remove.default_row_commit_version,
        }
    }
}

impl From<DvRef<'_>> for DeletionVectorDescriptor {
    fn from(dv: DvRef<'_>) -> Self {
        Self {
            storage_type: dv.storage_type,
            path_or_inline_dv: dv.path_or_inline_dv.into_owned(),
            offset: dv.offset,
            size_in_bytes: dv.size_in_bytes,
            cardinality: dv.cardinality,
        }
    }
}

impl From<DeletionVectorDescriptor> for DvRef<'_> {
    fn from(dv: DeletionVectorDescriptor) -> Self {
        Self {
            storage_type: dv.storage_type,
            path_or_inline_dv: Cow::Owned(dv.path_or_inline_dv),
            offset: dv.offset,
            size_in_bytes: dv.size_in_bytes,
            cardinality: dv.cardinality,
        }
    }
}

fn owned_texts(texts: StringEntries<'_>) -> HashMap<String, Option<String>> {
    texts.into_iter().map(|(key, value)| (key.into_owned(), value.map(Cow::into_owned))).collect()
}

fn cow_texts<'a>(texts: HashMap<String, Option<String>>) -> StringEntries<'a> {
    texts.into_iter().map(|(key, value)| (Cow::Owned(key), value.map(Cow::Owned))).collect()
}

/// A string inside an `Option`. Serde's derive would not borrow the string without this type.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

fn optional_text<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Cow<'a, str>>, D::Error> {
    Ok(Option::<Text<'a>>::deserialize(deserializer)?.map(|text| text.0))
}

/// A map inside an `Option`.
struct Entries<'a>(StringEntries<'a>);

impl<'de: 'a, 'a> Deserialize<'de> for Entries<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor)
    }
}

struct EntriesVisitor;

impl<'de> Visitor<'de> for EntriesVisitor {
    type Value = Entries<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object whose values are strings")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut texts = Vec::new();
        while let Some((key, value)) = map.next_entry::<Text<'de>, Option<Text<'de>>>()? {
            texts.push((key.0, value.map(|text| text.0)));
        }
        Ok(Entries(texts))
    }
}

fn optional_texts<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<StringEntries<'a>>, D::Error> {
    Ok(Option::<Entries<'a>>::deserialize(deserializer)?.map(|map| map.0))
}

fn texts<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<StringEntries<'a>, D::Error> {
    Ok(optional_texts(deserializer)?.unwrap_or_default())
}
