//! A hash index that finds the source rows that may have the same keys as a target row. Keys of a
//! pair found here can still differ, because their hashes can collide.
//!
//! The caller checks the whole ON condition for each pair. Begin with [`JoinIndex::new`], then
//! [`JoinIndex::may_match`] and [`JoinIndex::pairs`].

#[cfg(test)]
mod tests;

use arrow_array::{Array, ArrayRef};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_schema::DataType;
use datafusion_common::hash_utils::{RandomState, create_hashes};

use crate::{Error, Result};

/// The number of rows that are hashed at a time. Their keys and hashes fit in the CPU's caches.
const WINDOW_ROWS: usize = 4_096;
/// The most pairs of a block.
const BLOCK_PAIRS: usize = 65_536;
/// The number of bits per source row in `seen`.
const SEEN_BITS: usize = 16;

/// The rows of a part of a source by the hash of their keys.
#[derive(Debug)]
pub(crate) struct JoinIndex {
    types: Vec<DataType>,
    null_safe: Vec<bool>,
    rows: u32,
    /// The shifts that turn a mixed hash into an index of `seen` and of `starts`.
    seen_shift: u32,
    start_shift: u32,
    /// A Bloom filter: for each hash prefix, three bits of each source hash with that prefix. It
    /// excludes most target rows without a match.
    seen: Vec<u64>,
    /// For each hash prefix of `64 - start_shift` bits, the index of its first entry. The last
    /// element is the number of all entries.
    starts: Vec<u32>,
    /// The source rows, grouped by hash prefix, in row order within a group.
    entries: Vec<Entry>,
}

/// A source row with the low bits of its hash.
#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    tag: u32,
    row: u32,
}

/// Pairs of rows that may match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Block {
    /// The target rows, in order.
    pub(crate) target_rows: Vec<u32>,
    /// The source row for each target row; in order for the same target row.
    pub(crate) source_rows: Vec<u32>,
}

/// An iterator over the pairs for target rows, block by block.
#[derive(Debug)]
pub(crate) struct Pairs<'a> {
    index: &'a JoinIndex,
    keys: Vec<ArrayRef>,
    comparable: Option<NullBuffer>,
    rows: usize,
    /// The first target row that has not been looked up.
    row: usize,
    /// The candidates of the rows before `row`, the number of finished candidates, and the number
    /// of finished entries of the next candidate.
    candidates: Vec<Candidate>,
    done: usize,
    passed: usize,
}

/// A target row with the low bits of its hash, and the range of entries with the same hash prefix.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    row: u32,
    tag: u32,
    begin: u32,
    end: u32,
}

impl JoinIndex {
    /// Builds the index of `rows` rows with these keys. Floats must be normalized. A NULL equals
    /// only a NULL, and only in columns that are `null_safe`. Without keys, every row may match
    /// every row.
    ///
    /// # Errors
    /// If values of the type of a key cannot be hashed.
    pub(crate) fn new(keys: &[ArrayRef], null_safe: &[bool], rows: usize) -> Result<Self> {
        let too_many = |_| Error::internal(format!("a part of a source has too many rows: {rows}"));
        let mut index = Self {
            types: keys.iter().map(|key| key.data_type().clone()).collect(),
            null_safe: null_safe.to_vec(),
            rows: u32::try_from(rows).map_err(too_many)?,
            seen_shift: 63,
            start_shift: 63,
            seen: vec![0; 2],
            starts: vec![0; 3],
            entries: Vec::new(),
        };
        if !keys.is_empty() {
            let mut hashes = vec![0; rows];
            index.check_keys(keys, rows)?;
            hash(keys, &mut hashes)?;
            index.fill(&hashes, index.comparable(keys).as_ref());
        }
        Ok(index)
    }

    /// Returns for each target row whether a source row may have its keys.
    pub(crate) fn may_match(&self, keys: &[ArrayRef], rows: usize) -> Result<BooleanBuffer> {
        if self.types.is_empty() {
            return Ok(if self.rows > 0 { BooleanBuffer::new_set(rows) } else { BooleanBuffer::new_unset(rows) });
        }
        let mut words = vec![0_u64; rows.div_ceil(64)];
        let mut candidates = Vec::with_capacity(WINDOW_ROWS);
        for first in (0..rows).step_by(WINDOW_ROWS) {
            self.look_up(keys, first, rows, &mut candidates)?;
            for candidate in &candidates {
                let row = candidate.row as usize;
                words[row / 64] |=
                    u64::from(self.entries(candidate).iter().any(|entry| entry.tag == candidate.tag)) << (row % 64);
            }
        }
        let found = BooleanBuffer::new(Buffer::from_vec(words), 0, rows);
        Ok(match self.comparable(keys) {
            Some(comparable) => &found & comparable.inner(),
            None => found,
        })
    }

    /// Returns the pairs for target rows, in the order of the target rows, and for each in the
    /// order of the source rows.
    pub(crate) fn pairs(&self, keys: &[ArrayRef], rows: usize) -> Pairs<'_> {
        Pairs {
            index: self,
            comparable: self.comparable(keys),
            keys: keys.to_vec(),
            rows,
            row: 0,
            candidates: Vec::new(),
            done: 0,
            passed: 0,
        }
    }

    fn fill(&mut self, hashes: &[u64], comparable: Option<&NullBuffer>) {
        let kept = |row: usize| comparable.is_none_or(|comparable| comparable.is_valid(row));
        let rows = hashes.len().max(1);
        let starts = rows.next_power_of_two().max(2);
        let seen = (rows * SEEN_BITS / 64).next_power_of_two().max(2);
        self.start_shift = 64 - starts.trailing_zeros();
        self.seen_shift = 64 - seen.trailing_zeros();
        self.seen = vec![0; seen];
        // Counts go two elements further on. After the sums, each start is one element too far on,
        // and after the filling each start is in its place.
        self.starts = vec![0; starts + 2];
        let mut count = 0;
        for (_, hash) in hashes.iter().enumerate().filter(|(row, _)| kept(*row)) {
            let mixed = mix(*hash);
            self.seen[(mixed >> self.seen_shift) as usize] |= mask(*hash);
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

    fn entries(&self, candidate: &Candidate) -> &[Entry] {
        &self.entries[candidate.begin as usize..candidate.end as usize]
    }

    /// Returns the candidates of one window of target rows from `first` on, with and without NULL.
    ///
    /// Each step runs for all rows before the next step begins, and without branches. This way no
    /// row waits for a memory access of another row.
    fn look_up(&self, keys: &[ArrayRef], first: usize, rows: usize, candidates: &mut Vec<Candidate>) -> Result<()> {
        self.check_keys(keys, rows)?;
        let length = WINDOW_ROWS.min(rows - first);
        let mut hashes = [0; WINDOW_ROWS];
        let hashes = &mut hashes[..length];
        hash(&keys.iter().map(|key| key.slice(first, length)).collect::<Vec<_>>(), hashes)?;
        let (mut seen, mut count) = ([0_u32; WINDOW_ROWS], 0);
        for (row, hash) in hashes.iter().enumerate() {
            seen[count] = row as u32;
            let (found, wanted) = (self.seen[(mix(*hash) >> self.seen_shift) as usize], mask(*hash));
            count += usize::from(found & wanted == wanted);
        }
        candidates.clear();
        candidates.extend(seen[..count].iter().map(|row| {
            let hash = hashes[*row as usize];
            let place = (mix(hash) >> self.start_shift) as usize;
            Candidate { row: first as u32 + row, tag: tag(hash), begin: self.starts[place], end: self.starts[place + 1] }
        }));
        Ok(())
    }

    fn check_keys(&self, keys: &[ArrayRef], rows: usize) -> Result<()> {
        let same = |(key, of_source): (&ArrayRef, &DataType)| key.data_type() == of_source && key.len() == rows;
        let as_many = keys.len() == self.types.len() && keys.len() == self.null_safe.len();
        match as_many && keys.iter().zip(&self.types).all(same) {
            true => Ok(()),
            false => Err(Error::internal("the keys of target rows differ in type or number from those of the source")),
        }
    }

    /// Returns which rows have keys that can equal other keys: a NULL in a column that is not
    /// `null_safe` equals nothing.
    fn comparable(&self, keys: &[ArrayRef]) -> Option<NullBuffer> {
        let strict = keys.iter().zip(&self.null_safe).filter(|(_, null_safe)| !**null_safe);
        strict.fold(None, |all, (key, _)| NullBuffer::union(all.as_ref(), key.logical_nulls().as_ref()))
    }
}

fn hash(keys: &[ArrayRef], hashes: &mut [u64]) -> Result<()> {
    let hashed = create_hashes(keys, &RandomState::default(), hashes);
    hashed.map(|_| ()).map_err(|error| Error::internal("keys of these types cannot be hashed").with_source(error))
}

/// Mixes a hash. The high bits of the product depend on all bits of the hash.
#[inline]
fn mix(hash: u64) -> u64 {
    hash.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[inline]
fn tag(hash: u64) -> u32 {
    hash as u32
}

/// Returns a word in which three bits, chosen by the hash, are set.
#[inline]
fn mask(hash: u64) -> u64 {
    1 << (hash & 63) | 1 << (hash >> 6 & 63) | 1 << (hash >> 12 & 63)
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
        loop {
            while let Some(candidate) = self.candidates.get(self.done) {
                let entries = self.index.entries(candidate);
                while let Some(entry) = entries.get(self.passed) {
                    self.passed += 1;
                    if entry.tag == candidate.tag {
                        block.target_rows.push(candidate.row);
                        block.source_rows.push(entry.row);
                        if block.target_rows.len() == BLOCK_PAIRS {
                            return Ok(block);
                        }
                    }
                }
                (self.done, self.passed) = (self.done + 1, 0);
            }
            if self.row >= self.rows {
                return Ok(block);
            }
            self.load_candidates()?;
        }
    }

    fn load_candidates(&mut self) -> Result<()> {
        self.index.look_up(&self.keys, self.row, self.rows, &mut self.candidates)?;
        if let Some(comparable) = &self.comparable {
            self.candidates.retain(|candidate| comparable.is_valid(candidate.row as usize));
        }
        (self.row, self.done) = (self.rows.min(self.row + WINDOW_ROWS), 0);
        Ok(())
    }

    /// Returns every source row for every target row.
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
