//! A table of the model: rows of two columns in immutable files, and a log that names the current
//! files.

use std::collections::{BTreeMap, BTreeSet};

/// The first column. It selects the rows to change and partitions a partitioned table.
pub(crate) type Key = u8;
/// A row of two columns.
pub(crate) type Row = (Key, u8);
/// The writer of a file, and the writer's number for it.
pub(crate) type FileId = (u8, u8);
/// The positions of deleted rows.
pub(crate) type Vector = BTreeSet<u8>;
/// The identity of a file in a table.
pub(crate) type File = (FileId, Vector);

/// All keys.
pub(crate) const KEYS: [Key; 2] = [0, 1];

/// The content of one commit.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Entry {
    /// The writer of the commit.
    pub(crate) writer: u8,
    pub(crate) adds: BTreeSet<File>,
    pub(crate) removes: BTreeSet<File>,
    /// The partitions with files that the commit adds or removes.
    pub(crate) touches: BTreeSet<Key>,
}

/// An operation on a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Operation {
    Insert(Key),
    Update(Key),
    Delete(Key),
}

/// The way in which changed rows are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    /// Whether each file holds rows of one key only.
    pub(crate) is_partitioned: bool,
    /// Whether deletion vectors delete rows. Otherwise their files are rewritten.
    pub(crate) merges_on_read: bool,
}

/// The rows of every written file, whether a commit names it or not.
pub(crate) type Files = BTreeMap<FileId, Vec<Row>>;

/// All operations.
pub(crate) const ALL: [Operation; 6] = [
    Operation::Insert(0),
    Operation::Insert(1),
    Operation::Update(0),
    Operation::Update(1),
    Operation::Delete(0),
    Operation::Delete(1),
];

/// A few operations, of which some conflict and some do not.
pub(crate) const FEW: [Operation; 3] = [Operation::Insert(0), Operation::Update(0), Operation::Delete(1)];

impl Operation {
    pub(crate) fn key(self) -> Key {
        let (Self::Insert(key) | Self::Update(key) | Self::Delete(key)) = self;
        key
    }

    /// Returns the rows after the operation, sorted. Each writer writes a value of its own.
    pub(crate) fn apply(self, rows: &[Row], value: u8) -> Vec<Row> {
        let mut after: Vec<Row> = match self {
            Self::Insert(key) => rows.iter().copied().chain([(key, value)]).collect(),
            Self::Update(key) => rows.iter().map(|row| if row.0 == key { (key, value) } else { *row }).collect(),
            Self::Delete(key) => rows.iter().filter(|row| row.0 != key).copied().collect(),
        };
        after.sort_unstable();
        after
    }

    /// Returns the commit of the operation, and adds its files to `files`.
    pub(crate) fn plan(self, writer: u8, live: &BTreeSet<File>, files: &mut Files, layout: Layout) -> Entry {
        let (key, value) = (self.key(), writer);
        let (mut adds, mut removes, mut moved, mut written) = (BTreeSet::new(), BTreeSet::new(), Vec::new(), 0);
        let mut write = |rows: Vec<Row>, files: &mut Files| {
            written += 1;
            files.insert((writer, written), rows);
            ((writer, written), Vector::new())
        };
        if let Self::Insert(_) = self {
            moved.push((key, value));
        }
        for (id, vector) in live.iter().filter(|_| !matches!(self, Self::Insert(_))) {
            let rows: Vec<(u8, Row)> = (0..).zip(files[id].iter().copied()).filter(|(at, _)| !vector.contains(at)).collect();
            let matching: Vec<u8> = rows.iter().filter(|(_, row)| row.0 == key).map(|(at, _)| *at).collect();
            if matching.is_empty() {
                continue;
            }
            removes.insert((*id, vector.clone()));
            if layout.merges_on_read {
                adds.insert((*id, vector.iter().copied().chain(matching.iter().copied()).collect()));
            } else {
                let others: Vec<Row> = rows.iter().map(|(_, row)| *row).filter(|row| row.0 != key).collect();
                if !others.is_empty() {
                    adds.insert(write(others, files));
                }
            }
            if let Self::Update(_) = self {
                moved.extend(matching.iter().map(|_| (key, value)));
            }
        }
        if !moved.is_empty() {
            adds.insert(write(moved, files));
        }
        let is_change = !adds.is_empty() || !removes.is_empty();
        let touches = if layout.is_partitioned { BTreeSet::from([key]) } else { BTreeSet::from(KEYS) };
        Entry { writer, adds, removes, touches: if is_change { touches } else { BTreeSet::new() } }
    }
}

/// Returns the files that the commits leave, oldest commit first.
pub(crate) fn replay<'a>(log: impl IntoIterator<Item = &'a Entry>) -> BTreeSet<File> {
    let mut live = BTreeSet::new();
    for entry in log {
        live.retain(|file| !entry.removes.contains(file));
        live.extend(entry.adds.iter().cloned());
    }
    live
}

/// Returns the rows of the files, sorted.
pub(crate) fn read(live: &BTreeSet<File>, files: &Files) -> Vec<Row> {
    let mut rows = Vec::new();
    for (id, vector) in live {
        rows.extend((0..).zip(&files[id]).filter(|(at, _)| !vector.contains(at)).map(|(_, row)| *row));
    }
    rows.sort_unstable();
    rows
}
