//! The bytes of one deletion vector. PROTOCOL "Deletion Vector Format".
//!
//! The first four bytes distinguish three forms that can be read. Each holds standard 32-bit
//! Roaring bitmaps, one for each distinct upper half of the row indexes. The portable form is
//! specified, and it is the form that is written. Delta Spark wrote the native form before: the
//! number of bitmaps, then the size and the bytes of each, where bitmap n is for the upper half n.
//! The native form occurs in both byte orders. The example of an inline vector in the specification
//! is big-endian and native.

use roaring::{RoaringBitmap, RoaringTreemap};

use super::DeletionVector;
use crate::{Error, Result};

const PORTABLE: u32 = 1_681_511_377;
const NATIVE: u32 = 1_681_511_376;

/// The largest number of padding zeros. The size of an inline vector may include the zeros that pad
/// it for Z85.
const LARGEST_PADDING: usize = 3;

impl DeletionVector {
    /// Parses the bytes of one vector, in the portable form or in one of the two native forms.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        Self::parse_named(bytes, "deletion vector")
    }

    pub(super) fn parse_named(bytes: &[u8], name: &str) -> Result<Self> {
        let Some((magic, rest)) = bytes.split_first_chunk::<4>() else {
            return Err(Error::corrupt(name, format!("{} bytes are too few for a deletion vector", bytes.len())));
        };
        let mut input = Input { rest, name };
        let buckets = match (u32::from_le_bytes(*magic), u32::from_be_bytes(*magic)) {
            (PORTABLE, _) => input.portable()?,
            (NATIVE, _) => input.native(u32::from_le_bytes)?,
            (_, NATIVE) => input.native(u32::from_be_bytes)?,
            (magic, _) => {
                return Err(Error::corrupt(name, format!("magic number {magic} is not that of a deletion vector ({PORTABLE})")));
            }
        };
        input.end()?;
        Ok(Self { rows: RoaringTreemap::from_bitmaps(buckets) })
    }

    /// Returns the bytes of this vector in the portable form. Containers are run-length encoded if
    /// that makes them smaller.
    pub fn serialize(&self) -> Result<Vec<u8>> {
        let mut rows = self.rows.clone();
        rows.optimize();
        // PROTOCOL "Deletion Vector Format": the top bit of a row index is 0.
        if rows.max().is_some_and(|row| i64::try_from(row).is_err()) {
            return Err(Error::invalid_input("a deletion vector cannot hold rows above 2^63 - 1"));
        }
        let mut bytes = Vec::with_capacity(4 + rows.serialized_size());
        bytes.extend_from_slice(&PORTABLE.to_le_bytes());
        rows.serialize_into(&mut bytes)
            .map_err(|error| Error::internal("a deletion vector could not be written to memory").with_source(error))?;
        Ok(bytes)
    }
}

/// The unread bytes of a vector.
struct Input<'a> {
    rest: &'a [u8],
    name: &'a str,
}

impl<'a> Input<'a> {
    /// Parses the portable form. No memory is reserved for a count in the bytes, because it may be
    /// wrong: each bucket is read before it is stored.
    fn portable(&mut self) -> Result<Vec<(u32, RoaringBitmap)>> {
        let count = u64::from_le_bytes(self.array()?);
        let mut buckets = Vec::new();
        let mut above = 0_u32;
        for _ in 0..count {
            let key = u32::from_le_bytes(self.array()?);
            if key < above || key > i32::MAX as u32 {
                return Err(self.corrupt(format!("bucket {key} is out of order or out of range")));
            }
            above = key + 1;
            let bitmap = self.bitmap()?;
            if !bitmap.is_empty() {
                buckets.push((key, bitmap));
            }
        }
        Ok(buckets)
    }

    fn native(&mut self, number: fn([u8; 4]) -> u32) -> Result<Vec<(u32, RoaringBitmap)>> {
        let count = number(self.array()?);
        if count > i32::MAX as u32 {
            return Err(self.corrupt(format!("{count} bitmaps are too many")));
        }
        let mut buckets = Vec::new();
        for key in 0..count {
            let size = number(self.array()?) as usize;
            let mut inner = Input { rest: self.take(size)?, name: self.name };
            let bitmap = inner.bitmap()?;
            inner.end()?;
            if !bitmap.is_empty() {
                buckets.push((key, bitmap));
            }
        }
        Ok(buckets)
    }

    fn bitmap(&mut self) -> Result<RoaringBitmap> {
        RoaringBitmap::deserialize_from(&mut self.rest)
            .map_err(|error| self.corrupt("its bitmap is damaged".to_owned()).with_source(error))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (array, rest) = self.rest.split_first_chunk::<N>().ok_or_else(|| self.corrupt("it ends too early".to_owned()))?;
        self.rest = rest;
        Ok(*array)
    }

    fn take(&mut self, size: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(size).ok_or_else(|| self.corrupt("it ends too early".to_owned()))?;
        self.rest = rest;
        Ok(taken)
    }

    fn end(&self) -> Result<()> {
        if self.rest.len() > LARGEST_PADDING || self.rest.iter().any(|byte| *byte != 0) {
            return Err(self.corrupt(format!("{} bytes are left over", self.rest.len())));
        }
        Ok(())
    }

    fn corrupt(&self, message: String) -> Error {
        Error::corrupt(self.name, format!("the deletion vector cannot be read: {message}"))
    }
}
