//! The names in the objects of one row. The variant's metadata has them as a dictionary.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::{Error, Result};

use super::error::broken;
use super::{decode, encode};

const VERSION: u8 = 1;

/// The dictionary of the row that was read last.
#[derive(Default)]
pub(super) struct Dictionary {
    metadata: Vec<u8>,
    names: Vec<Vec<u8>>,
    ids: HashMap<Vec<u8>, u32>,
    /// The number of names that were in the metadata.
    read: usize,
}

impl Dictionary {
    /// Reads the dictionary of a row. Nothing is parsed if the metadata is the same as in the
    /// previous row, which is usual.
    pub(super) fn read(&mut self, metadata: &[u8]) -> Result<()> {
        if self.metadata == metadata && self.names.len() == self.read && !metadata.is_empty() {
            return Ok(());
        }
        metadata.clone_into(&mut self.metadata);
        self.names.clear();
        self.ids.clear();
        self.read = 0;
        let header = *metadata.first().ok_or_else(|| broken("its metadata is empty"))?;
        if header & 0xF != VERSION {
            return Err(Error::schema_mismatch(format!("a variant of the unknown version {}", header & 0xF)));
        }
        let width = usize::from(header >> 6) + 1;
        let count = decode::number(metadata, 1, width)?;
        let offsets = 1 + width;
        let text = offsets + (count + 1) * width;
        for index in 0..count {
            let start = decode::number(metadata, offsets + index * width, width)?;
            let end = decode::number(metadata, offsets + (index + 1) * width, width)?;
            let name =
                metadata.get(text + start..text + end).ok_or_else(|| broken("a name reaches past the end of the metadata"))?;
            self.add(name)?;
        }
        self.read = count;
        Ok(())
    }

    /// Returns the id of a name. The name is added to the dictionary if it is missing. Some writers
    /// leave out names of columns.
    pub(super) fn id(&mut self, name: &[u8]) -> Result<u32> {
        match self.ids.get(name) {
            Some(id) => Ok(*id),
            None => self.add(name),
        }
    }

    pub(super) fn name(&self, id: u32) -> Result<&[u8]> {
        let name = self
            .names
            .get(id as usize)
            .ok_or_else(|| broken(&format!("a field refers to name {id}, which its metadata does not have")))?;
        Ok(name)
    }

    /// Returns the metadata. If no name was added, it is the metadata that was read.
    pub(super) fn encoded(&self) -> Result<Cow<'_, [u8]>> {
        if self.names.len() == self.read {
            return Ok(Cow::Borrowed(&self.metadata));
        }
        let length: usize = self.names.iter().map(Vec::len).sum();
        let width = encode::width(length.max(self.names.len()))?;
        let mut encoded = vec![VERSION | (width - 1) << 6];
        encode::push_number(self.names.len(), width, &mut encoded);
        let mut end = 0;
        encode::push_number(end, width, &mut encoded);
        for name in &self.names {
            end += name.len();
            encode::push_number(end, width, &mut encoded);
        }
        encoded.extend(self.names.iter().flatten());
        Ok(Cow::Owned(encoded))
    }

    fn add(&mut self, name: &[u8]) -> Result<u32> {
        let id = u32::try_from(self.names.len()).map_err(|_| broken("it has too many names"))?;
        self.names.push(name.to_owned());
        self.ids.entry(name.to_owned()).or_insert(id);
        Ok(id)
    }
}
