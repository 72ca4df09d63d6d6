//! Files of deletion vectors. PROTOCOL "Deletion Vector File Storage Format".
//!
//! Such a file holds one version byte and then, for each vector, its size, its bytes and their
//! CRC-32. The size and the checksum are big-endian, and the vector is little-endian. The `offset`
//! of a descriptor points at the size.

use uuid::Uuid;

use super::location::{describe, uuid_text};
use super::{DeletionVector, z85};
use crate::action::{DeletionVectorDescriptor, DvStorage};
use crate::{Error, Result};

/// The first byte of a file of deletion vectors.
pub const FILE_VERSION: u8 = 1;

/// Checks the first byte of a file of deletion vectors.
pub fn check_file_version(version: Option<u8>, descriptor: &DeletionVectorDescriptor) -> Result<()> {
    match version {
        Some(FILE_VERSION) => Ok(()),
        Some(other) => {
            let message =
                format!("this file of deletion vectors is of version {other}, but lakebed supports only version {FILE_VERSION}");
            Err(Error::corrupt(describe(descriptor), message))
        }
        None => Err(Error::corrupt(describe(descriptor), "this file of deletion vectors is empty")),
    }
}

impl DeletionVector {
    /// Parses a vector from the bytes of a file. The bytes start at the descriptor's offset and may
    /// continue after the vector.
    pub fn parse_framed(bytes: &[u8], descriptor: &DeletionVectorDescriptor) -> Result<Self> {
        let name = describe(descriptor);
        let short = || Error::corrupt(&name, format!("the file ends before its deletion vector at {}", offset_of(descriptor)));
        let (size, rest) = bytes.split_first_chunk::<4>().ok_or_else(short)?;
        let size = u32::from_be_bytes(*size);
        if i64::from(size) != i64::from(descriptor.size_in_bytes) {
            let (said, offset) = (descriptor.size_in_bytes, offset_of(descriptor));
            return Err(Error::corrupt(
                name,
                format!("deletion vector at {offset}: its size is {said} bytes in the log, but {size} bytes in the file"),
            ));
        }
        let (data, rest) = rest.split_at_checked(size as usize).ok_or_else(short)?;
        let (checksum, _) = rest.split_first_chunk::<4>().ok_or_else(short)?;
        if crc32fast::hash(data) != u32::from_be_bytes(*checksum) {
            let offset = offset_of(descriptor);
            return Err(Error::corrupt(name, format!("deletion vector at {offset}: its checksum does not match its bytes")));
        }
        Self::parse_named(data, &name)?.counted(descriptor, &name)
    }

    /// Parses the vector that the descriptor holds.
    pub fn from_inline(descriptor: &DeletionVectorDescriptor) -> Result<Self> {
        let name = describe(descriptor);
        if descriptor.storage_type != DvStorage::Inline {
            return Err(Error::invalid_input(format!("{name}: this deletion vector is not inline")));
        }
        let bytes = z85::decode(&descriptor.path_or_inline_dv).ok_or_else(|| Error::corrupt(&name, "its string is not Z85"))?;
        let data = usize::try_from(descriptor.size_in_bytes).ok().and_then(|size| bytes.get(..size)).ok_or_else(|| {
            Error::corrupt(
                &name,
                format!("it has {} bytes, but its size in the log is {}", bytes.len(), descriptor.size_in_bytes),
            )
        })?;
        Self::parse_named(data, &name)?.counted(descriptor, &name)
    }

    /// Returns a descriptor that holds this vector.
    pub fn to_inline(&self) -> Result<DeletionVectorDescriptor> {
        let bytes = self.serialize()?;
        Ok(DeletionVectorDescriptor {
            storage_type: DvStorage::Inline,
            path_or_inline_dv: z85::encode(&bytes),
            offset: None,
            size_in_bytes: size_of_vector(bytes.len())?,
            cardinality: cardinality(self)?,
        })
    }

    fn counted(self, descriptor: &DeletionVectorDescriptor, name: &str) -> Result<Self> {
        if i64::try_from(self.len()).ok() == Some(descriptor.cardinality) {
            return Ok(self);
        }
        let (said, has) = (descriptor.cardinality, self.len());
        Err(Error::corrupt(name, format!("the log says that {said} rows are deleted, but the deletion vector deletes {has}")))
    }
}

/// Returns the bytes of a file with these vectors, and the descriptor of each. The file is named by
/// `id` in the directory `prefix` of the table.
pub fn frame(vectors: &[DeletionVector], id: Uuid, prefix: &str) -> Result<(Vec<u8>, Vec<DeletionVectorDescriptor>)> {
    let mut bytes = vec![FILE_VERSION];
    let mut descriptors = Vec::with_capacity(vectors.len());
    for vector in vectors {
        let data = vector.serialize()?;
        let offset = i32::try_from(bytes.len())
            .map_err(|_| Error::invalid_input("the deletion vectors do not fit into one file of 2 GiB: write several files"))?;
        let size_in_bytes = size_of_vector(data.len())?;
        bytes.extend_from_slice(&size_in_bytes.to_be_bytes());
        bytes.extend_from_slice(&data);
        bytes.extend_from_slice(&crc32fast::hash(&data).to_be_bytes());
        descriptors.push(DeletionVectorDescriptor {
            storage_type: DvStorage::UuidRelative,
            path_or_inline_dv: uuid_text(id, prefix),
            offset: Some(offset),
            size_in_bytes,
            cardinality: cardinality(vector)?,
        });
    }
    Ok((bytes, descriptors))
}

fn offset_of(descriptor: &DeletionVectorDescriptor) -> i32 {
    descriptor.offset.unwrap_or(0)
}

fn size_of_vector(size: usize) -> Result<i32> {
    i32::try_from(size).map_err(|_| Error::invalid_input("a deletion vector cannot be larger than 2 GiB"))
}

fn cardinality(vector: &DeletionVector) -> Result<i64> {
    i64::try_from(vector.len()).map_err(|_| Error::invalid_input("a deletion vector cannot delete more than 2^63 - 1 rows"))
}
