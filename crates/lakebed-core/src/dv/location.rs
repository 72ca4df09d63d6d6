//! The location of a deletion vector's bytes. PROTOCOL "Derived Fields".

use std::ops::Range;

use uuid::Uuid;

use super::z85;
use crate::action::{DeletionVectorDescriptor, DvStorage};
use crate::path::FilePath;
use crate::{Error, Result};

/// The length of a UUID in Z85, which encodes its 16 bytes.
const UUID_TEXT_SIZE: usize = 20;
/// The sizes of the size field before a vector and of the checksum after it.
const FRAME_SIZE: u64 = 4 + 4;

/// The location of a deletion vector's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DvLocation {
    /// The descriptor holds the vector.
    /// [`DeletionVector::from_inline`](super::DeletionVector::from_inline) parses it.
    Inline,
    /// A file holds the vector.
    /// [`DeletionVector::parse_framed`](super::DeletionVector::parse_framed) parses these bytes.
    File {
        /// The path of the file, relative to the table root, or absolute as in shallow clones.
        path: FilePath,
        /// The range of the vector with its size and its checksum.
        range: Range<u64>,
    },
}

/// Returns the location of a vector. An absent `offset` is 0.
pub fn location(descriptor: &DeletionVectorDescriptor) -> Result<DvLocation> {
    let text = &descriptor.path_or_inline_dv;
    let refused = |why: &str| Error::corrupt(format!("deletion vector {text:?}"), why);
    let path = match descriptor.storage_type {
        DvStorage::Inline => return Ok(DvLocation::Inline),
        DvStorage::UuidRelative => {
            let name = relative_name(text).ok_or_else(|| refused("this is not a UUID in Z85"))?;
            match FilePath::parse(&FilePath::encode(&name))? {
                path @ FilePath::Relative(_) => path,
                FilePath::Absolute(_) => return Err(refused("its directory is not below the table")),
            }
        }
        DvStorage::AbsolutePath => match FilePath::parse(text)? {
            path @ FilePath::Absolute(_) => path,
            FilePath::Relative(_) => return Err(refused("its path should be absolute")),
        },
    };
    let offset = u64::try_from(descriptor.offset.unwrap_or(0)).map_err(|_| refused("its offset is negative"))?;
    let size = u64::try_from(descriptor.size_in_bytes).map_err(|_| refused("its size is negative"))?;
    Ok(DvLocation::File { path, range: offset..offset + size + FRAME_SIZE })
}

/// Returns the string by which `pathOrInlineDv` names a file in a directory below the table root.
/// It returns `None` if the file is not named by a UUID.
pub fn relative_text(directory: &str, file: &str) -> Option<String> {
    let id = file.strip_prefix("deletion_vector_")?.strip_suffix(".bin")?;
    let text = uuid_text(Uuid::parse_str(id).ok()?, directory);
    // The name of the file is made again from the UUID.
    relative_name(&text)?.ends_with(file).then_some(text)
}

/// Returns the string by which `pathOrInlineDv` names a file.
pub(super) fn uuid_text(id: Uuid, prefix: &str) -> String {
    format!("{prefix}{}", z85::encode(id.as_bytes()))
}

/// Returns the name of a vector in messages.
pub(super) fn describe(descriptor: &DeletionVectorDescriptor) -> String {
    match descriptor.storage_type {
        DvStorage::Inline => "inline deletion vector".to_owned(),
        DvStorage::AbsolutePath => descriptor.path_or_inline_dv.clone(),
        DvStorage::UuidRelative => {
            relative_name(&descriptor.path_or_inline_dv).unwrap_or_else(|| descriptor.path_or_inline_dv.clone())
        }
    }
}

/// Returns the name of the file for a UUID with an optional directory before it.
fn relative_name(text: &str) -> Option<String> {
    let (prefix, id) = text.split_at_checked(text.len().checked_sub(UUID_TEXT_SIZE)?)?;
    let id = Uuid::from_slice(&z85::decode(id)?).ok()?;
    let slash = if prefix.is_empty() { "" } else { "/" };
    Some(format!("{prefix}{slash}deletion_vector_{}.bin", id.hyphenated()))
}
