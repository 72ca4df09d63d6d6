//! Which rows of a source may have the keys of a row of the target: found by hash, so a pair found here may still differ.
//!
//! Whoever asks looks at the whole ON condition for each pair. Read [`JoinIndex::new`], then [`JoinIndex::may_match`] and
//! [`JoinIndex::pairs`].

#[cfg(test)]
mod tests;

use arrow_array::{Array, ArrayRef};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, NullBuffer};
use arrow_schema::DataType;
use datafusion_common::hash_utils::{RandomState, create_hashes};

use crate::{Error, Result};

/// So many rows are hashed at a time: what they need stays in the nearest caches.
const WINDOW_ROWS: usize = 4_096;
/// The most pairs of a block.
const BLOCK_PAIRS: usize = 65_536;
/// How many bits of the map of seen hashes there are for a row.
const SEEN_BITS: usize = 16;

/// The rows of a part of a source by the hash of their keys.
#[derive(Debug)]
pub(crate) struct JoinIndex {
    types: Vec<DataType>,
    null_safe: Vec<bool>,
    rows: u32,
    /// The places of a hash in `seen` and in `starts`, as the bits of a hash that do not count.
    seen_shift: u32,
    start_shift: u32,
    /// A bit for each beginning of a hash that a row has: most rows of a target end here.
    seen: Vec<u64>,
    /// For each shorter beginning where its rows begin, and at last where all end.
    starts: Vec<u32>,
    /// The rows with the same beginning side by side, in their order.
    entries: Vec<Entry>,
}

/// A row of the source with the end of its hash.
#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    tag: u32,
    row: u32,
}

/// Pairs of rows that may match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Block {
    /// The rows of the target, in order.
    pub(crate) target_rows: Vec<u32>,
    /// The row of the source for each of them, for the same row of the target in order.
    pub(crate) source_rows: Vec<u32>,
}

/// The pairs for rows of a target, block by block.
#[derive(Debug)]
pub(crate) struct Pairs<'a> {
    index: &'a JoinIndex,
    keys: Vec<ArrayRef>,
    rows: usize,
    window: Window,
    /// The row of the target that is looked at, and how many of its candidates have been.
    row: usize,
    passed: usize,
}

/// Some rows of a target: the ends of their hashes, and the entries with the same beginnings.
#[derive(Debug, Default)]
struct Window {
    first: usize,
    tags: Vec<u32>,
    candidates: Vec<(u32, u32)>,
}

impl JoinIndex {
    /// The index of `rows` rows with these keys, floats in one form. A NULL equals only a NULL, and only in columns that are `null_safe`.
    /// Without keys every row may match every row.
    ///
    /// # Errors
    /// If values of the type of a key cannot be hashed.
    pub(crate) fn new(keys: &[ArrayRef], null_safe: &[bool], rows: usize) -> Result<Self> {
        let too_many = |_| Error::internal(format!("a part of a source has {rows} rows"));
        let mut index = Self {
            types: keys.iter().map(|key| key.data_type().clone()).collect(),
            null_safe: null_safe.to_vec(),
            rows: u32::try_from(rows).map_err(too_many)?,
            seen_shift: 63,
            start_shift: 63,
            seen: vec![0],
            starts: vec![0; 3],
            entries: Vec::new(),
        };
        if !keys.is_empty() {
            let mut hashes = vec![0; rows];
            index.hash(keys, &mut hashes)?;
            index.fill(&hashes, index.comparable(keys).as_ref());
        }
        Ok(index)
    }

    /// For each row of a target whether a row of the source may have its keys.
    pub(crate) fn may_match(&self, keys: &[ArrayRef], rows: usize) -> Result<BooleanBuffer> {
        if self.types.is_empty() {
            return Ok(if self.rows > 0 { BooleanBuffer::new_set(rows) } else { BooleanBuffer::new_unset(rows) });
        }
        let mut found = BooleanBufferBuilder::new(rows);
        let mut hashes = [0; WINDOW_ROWS];
        for first in (0..rows).step_by(WINDOW_ROWS) {
            let (keys, hashes) = self.hash_window(keys, first, rows, &mut hashes)?;
            let mut matching = BooleanBuffer::collect_bool(hashes.len(), |row| self.has(hashes[row]));
            if let Some(comparable) = self.comparable(&keys) {
                matching = &matching & comparable.inner();
            }
            found.append_buffer(&matching);
        }
        Ok(found.finish())
    }

    /// The pairs for rows of a target: in the order of its rows, and for each in the order of the rows of the source.
    pub(crate) fn pairs(&self, keys: &[ArrayRef], rows: usize) -> Pairs<'_> {
        Pairs { index: self, keys: keys.to_vec(), rows, window: Window::default(), row: 0, passed: 0 }
    }

    fn fill(&mut self, hashes: &[u64], comparable: Option<&NullBuffer>) {
        let kept = |row: usize| comparable.is_none_or(|comparable| comparable.is_valid(row));
        let rows = hashes.len().max(1);
        let starts = rows.next_power_of_two().max(2);
        let bits = (rows * SEEN_BITS).next_power_of_two();
        self.start_shift = 64 - starts.trailing_zeros();
        self.seen_shift = 64 - bits.trailing_zeros();
        self.seen = vec![0; bits.div_ceil(64)];
        // Two places on, so that after the sums each place is one on, and after the filling it is where it belongs.
        self.starts = vec![0; starts + 2];
        let mut count = 0;
        for (_, hash) in hashes.iter().enumerate().filter(|(row, _)| kept(*row)) {
            let mixed = mix(*hash);
            let bit = mixed >> self.seen_shift;
            self.seen[(bit / 64) as usize] |= 1 << (bit % 64);
            self.starts[(mixed >> self.start_shift) as usize + 2] += 1;
            count += 1;
        }
        let mut sum = 0;
        for start in &mut self.starts {
            sum += *start;
            *start = sum;
        }
        self.entries = vec![Entry::default(); count];
        for (row, hash) in hashes.iter().enumerate().filter(|(row, _)| kept(*row)) {
            let place = &mut self.starts[(mix(*hash) >> self.start_shift) as usize + 1];
            self.entries[*place as usize] = Entry { tag: tag(*hash), row: row as u32 };
            *place += 1;
        }
    }

    #[inline]
    fn is_seen(&self, mixed: u64) -> bool {
        let bit = mixed >> self.seen_shift;
        self.seen[(bit / 64) as usize] >> (bit % 64) & 1 == 1
    }

    #[inline]
    fn candidates(&self, mixed: u64) -> (u32, u32) {
        let place = (mixed >> self.start_shift) as usize;
        (self.starts[place], self.starts[place + 1])
    }

    #[inline]
    fn has(&self, hash: u64) -> bool {
        let mixed = mix(hash);
        self.is_seen(mixed) && {
            let (begin, end) = self.candidates(mixed);
            self.entries[begin as usize..end as usize].iter().any(|entry| entry.tag == tag(hash))
        }
    }

    /// Hashes the rows of a target from `first` on, as many as go at a time.
    fn hash_window<'h>(
        &self,
        keys: &[ArrayRef],
        first: usize,
        rows: usize,
        hashes: &'h mut [u64; WINDOW_ROWS],
    ) -> Result<(Vec<ArrayRef>, &'h [u64])> {
        let length = WINDOW_ROWS.min(rows - first);
        let keys: Vec<ArrayRef> = keys.iter().map(|key| key.slice(first, length)).collect();
        let hashes = &mut hashes[..length];
        hashes.fill(0);
        self.hash(&keys, hashes)?;
        Ok((keys, hashes))
    }

    fn hash(&self, keys: &[ArrayRef], hashes: &mut [u64]) -> Result<()> {
        let same =
            keys.len() == self.types.len() && keys.iter().zip(&self.types).all(|(key, of_source)| key.data_type() == of_source);
        if !same || self.null_safe.len() != keys.len() || keys.iter().any(|key| key.len() != hashes.len()) {
            return Err(Error::internal("the keys of a merge are not those of its source"));
        }
        let hashed = create_hashes(keys, &RandomState::default(), hashes);
        hashed.map(|_| ()).map_err(|error| Error::internal("keys of these types cannot be hashed").with_source(error))
    }

    /// The rows whose keys may equal any: none is NULL where a NULL equals nothing.
    fn comparable(&self, keys: &[ArrayRef]) -> Option<NullBuffer> {
        let strict = keys.iter().zip(&self.null_safe).filter(|(_, null_safe)| !**null_safe);
        strict.fold(None, |all, (key, _)| NullBuffer::union(all.as_ref(), key.logical_nulls().as_ref()))
    }
}

/// The beginning of a product depends on all bits of the hash.
#[inline]
fn mix(hash: u64) -> u64 {
    hash.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[inline]
fn tag(hash: u64) -> u32 {
    hash as u32
}

impl Iterator for Pairs<'_> {
    type Item = Result<Block>;

    fn next(&mut self) -> Option<Self::Item> {
        let block = if self.index.types.is_empty() { Ok(self.all()) } else { self.by_hash() };
        match block {
            Ok(block) if block.target_rows.is_empty() => None,
            block => Some(block),
        }
    }
}

impl Pairs<'_> {
    fn by_hash(&mut self) -> Result<Block> {
        let mut block = Block::default();
        while self.row < self.rows {
            if self.row >= self.window.first + self.window.tags.len() {
                self.load_window()?;
            }
            let place = self.row - self.window.first;
            let (tag, (begin, end)) = (self.window.tags[place], self.window.candidates[place]);
            let candidates = &self.index.entries[begin as usize..end as usize];
            while let Some(entry) = candidates.get(self.passed) {
                self.passed += 1;
                if entry.tag == tag {
                    block.target_rows.push(self.row as u32);
                    block.source_rows.push(entry.row);
                    if block.target_rows.len() == BLOCK_PAIRS {
                        return Ok(block);
                    }
                }
            }
            (self.row, self.passed) = (self.row + 1, 0);
        }
        Ok(block)
    }

    fn load_window(&mut self) -> Result<()> {
        let mut hashes = [0; WINDOW_ROWS];
        let (keys, hashes) = self.index.hash_window(&self.keys, self.row, self.rows, &mut hashes)?;
        let comparable = self.index.comparable(&keys);
        let kept = |row: usize| comparable.as_ref().is_none_or(|comparable| comparable.is_valid(row));
        let candidates = hashes.iter().enumerate().map(|(row, hash)| {
            let mixed = mix(*hash);
            if kept(row) && self.index.is_seen(mixed) { self.index.candidates(mixed) } else { (0, 0) }
        });
        self.window =
            Window { first: self.row, tags: hashes.iter().copied().map(tag).collect(), candidates: candidates.collect() };
        Ok(())
    }

    /// Every row of the source for every row of the target.
    fn all(&mut self) -> Block {
        let mut block = Block::default();
        let all = self.index.rows as usize;
        while all > 0 && self.row < self.rows && block.target_rows.len() < BLOCK_PAIRS {
            let end = all.min(self.passed + BLOCK_PAIRS - block.target_rows.len());
            block.source_rows.extend(self.passed as u32..end as u32);
            block.target_rows.resize(block.source_rows.len(), self.row as u32);
            (self.row, self.passed) = if end == all { (self.row + 1, 0) } else { (self.row, end) };
        }
        block
    }
}
