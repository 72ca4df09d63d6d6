use serde::{Deserialize, Serialize};

/// The location of a deletion vector's bytes. PROTOCOL "Deletion Vector Descriptor Schema".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeletionVectorDescriptor {
    /// The meaning of `path_or_inline_dv`.
    pub storage_type: DvStorage,
    /// The UUID of the file in Z85 with an optional prefix, the encoded vector itself, or a path.
    pub path_or_inline_dv: String,
    /// The offset in the file at which the size field of the vector starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<i32>,
    /// The size of the vector with its magic number, without size field and checksum.
    pub size_in_bytes: i32,
    /// The number of rows that the vector deletes.
    pub cardinality: i64,
}

/// The three kinds of location for deletion vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum DvStorage {
    /// The vector is in a file below the table root, named by a UUID.
    #[serde(rename = "u")]
    UuidRelative,
    /// The vector is in the action itself.
    #[serde(rename = "i")]
    Inline,
    /// The vector is in a file with an absolute path.
    #[serde(rename = "p")]
    AbsolutePath,
}

impl DvStorage {
    /// Returns the letter of the protocol for this kind of location.
    pub fn letter(self) -> &'static str {
        match self {
            Self::UuidRelative => "u",
            Self::Inline => "i",
            Self::AbsolutePath => "p",
        }
    }

    /// Returns the kind of location for a letter of the protocol.
    pub fn of_letter(letter: &str) -> Option<Self> {
        [Self::UuidRelative, Self::Inline, Self::AbsolutePath].into_iter().find(|storage| storage.letter() == letter)
    }
}

impl<'de> Deserialize<'de> for DvStorage {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let letter = String::deserialize(deserializer)?;
        Self::of_letter(&letter).ok_or_else(|| {
            serde::de::Error::custom(format!(
                "a deletion vector of the unknown storage type {letter:?}; the known types are u, i and p"
            ))
        })
    }
}

impl DeletionVectorDescriptor {
    /// Returns the id that distinguishes the deletion vectors of one data file.
    pub fn unique_id(&self) -> String {
        unique_id(self.storage_type, &self.path_or_inline_dv, self.offset)
    }
}

/// Returns the unique id of a deletion vector. PROTOCOL "Derived Fields": an offset of 0 that is
/// present differs from an absent one.
pub(super) fn unique_id(storage: DvStorage, path_or_inline_dv: &str, offset: Option<i32>) -> String {
    let letter = storage.letter();
    match offset {
        Some(offset) => format!("{letter}{path_or_inline_dv}@{offset}"),
        None => format!("{letter}{path_or_inline_dv}"),
    }
}
