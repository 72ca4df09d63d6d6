//! A minimal table for tests of concurrent operations. The operations plan, check and render like
//! real ones. The log has the lines of real commits, and data files are lists of rows.

use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;

use serde_json::{Value, json};

use super::*;
use crate::ErrorKind;
use crate::action::Action;
use crate::action::json::parse_commit;
use crate::commit::conflict::{PendingTransaction, check};
use crate::commit::draft::Draft;
use crate::commit::info::{Operation, Provenance};
use crate::commit::reads::Reads;
use crate::commit::validate;
use crate::error::ConflictKind;
use crate::property::IsolationLevel;

/// A key and a value.
pub(super) type Row = (i64, i64);

/// An operation on the table.
#[derive(Debug, Clone)]
pub(super) enum Deed {
    /// Adds a row without reading others.
    Append(Row),
    /// Adds a row. Its value is the sum of the values of the rows with these keys.
    Sum(RangeInclusive<i64>, i64),
    /// Deletes rows with these keys by rewriting their files.
    Delete(RangeInclusive<i64>),
    /// Deletes rows with these keys by deletion vectors.
    DeleteRows(RangeInclusive<i64>),
    /// Increases the values of these keys by rewriting their files.
    Update(RangeInclusive<i64>, i64),
    /// Increases the values of these keys by deletion vectors and a file with the changed rows.
    UpdateRows(RangeInclusive<i64>, i64),
    /// Deletes the rows of the first key by deletion vectors, and adds a row of the second key if
    /// there is none.
    Merge(i64, i64),
    /// Replaces all rows by this row.
    Overwrite(Row),
    /// Combines the files that may have these keys.
    Optimize(RangeInclusive<i64>),
}

/// The log and the data.
pub(super) struct World {
    log: Vec<Vec<u8>>,
    contents: HashMap<String, Vec<Row>>,
}

const PROPERTIES: [(&str, &str); 2] = [("delta.enableInCommitTimestamps", "true"), ("delta.enableDeletionVectors", "true")];
const FEATURES: [&str; 4] = ["deletionVectors", "domainMetadata", "inCommitTimestamp", "rowTracking"];
const NOW: i64 = 1_000;

impl World {
    /// Creates version 0, with the keys 0 to 2, 3 to 5 and 6 to 8 in one file each.
    pub(super) fn new() -> Self {
        let mut world = Self { log: Vec::new(), contents: HashMap::new() };
        let (protocol, metadata) = (protocol_with(&FEATURES), metadata(&PROPERTIES));
        let adds = [0, 3, 6].map(|first| world.write((first..first + 3).map(|key| (key, 1 << key)).collect(), true));
        let draft =
            Draft { protocol: Some(protocol.clone()), metadata: Some(metadata.clone()), adds: adds.into(), ..Draft::default() };
        let base = Base::of_nothing(protocol, metadata).unwrap();
        let rendered = draft.render(&base, &Operation::new("CREATE"), &Provenance::default(), NOW).unwrap();
        world.log.push(rendered.bytes);
        world
    }

    pub(super) fn latest(&self) -> u64 {
        self.log.len() as u64 - 1
    }

    pub(super) fn actions(&self, version: u64) -> Vec<Action> {
        parse_commit(&self.log[version as usize], "commit").unwrap()
    }

    pub(super) fn changes_rows(&self, version: u64) -> bool {
        self.actions(version).iter().any(|action| match action {
            Action::Add(add) => add.data_change,
            Action::Remove(remove) => remove.data_change,
            _ => false,
        })
    }

    /// Returns the files of a version. PROTOCOL "Action Reconciliation".
    fn files(&self, version: u64) -> Vec<Add> {
        let mut files: BTreeMap<(String, Option<String>), Add> = BTreeMap::new();
        for action in (0..=version).flat_map(|version| self.actions(version)) {
            let key = |path: &str, vector: Option<&DeletionVectorDescriptor>| {
                (path.to_owned(), vector.map(|vector| vector.unique_id()))
            };
            match action {
                // The actions of a commit have no order, so its removals never undo its own
                // additions.
                Action::Remove(remove) => {
                    let gone = files.remove(&key(&remove.path, remove.deletion_vector.as_ref()));
                    assert!(gone.is_some(), "version {version}: {} was not there", remove.path);
                }
                Action::Add(add) => assert_eq!(files.insert(key(&add.path, add.deletion_vector.as_ref()), add), None),
                _ => {}
            }
        }
        files.into_values().collect()
    }

    /// Returns the rows of a file that are not deleted, with their positions.
    fn rows_of(&self, file: &Add) -> Vec<(u64, Row)> {
        let deleted = vector_of(file);
        (0..).zip(self.contents[&file.path].iter().copied()).filter(|(position, _)| !deleted.contains(*position)).collect()
    }

    /// Returns all rows of the latest version, in order.
    pub(super) fn rows(&self) -> Vec<Row> {
        let files = self.files(self.latest());
        let mut rows: Vec<Row> = files.iter().flat_map(|file| self.rows_of(file)).map(|(_, row)| row).collect();
        rows.sort_unstable();
        rows
    }

    /// Returns a new data file.
    fn write(&mut self, rows: Vec<Row>, data_change: bool) -> Add {
        let path = format!("f{}", self.contents.len());
        let keys = rows.iter().map(|(key, _)| *key);
        let stats = json!({"numRecords": rows.len(), "minValues": {"id": keys.clone().min()}, "maxValues": {"id": keys.max()}});
        let written = with(add_ids(&path, "1", 0..=0), json!({"stats": stats.to_string(), "dataChange": data_change}));
        self.contents.insert(path, rows);
        to_add(&written)
    }

    fn base(&self, version: u64) -> Base {
        let mut base = Base::of_nothing(protocol_with(&FEATURES), metadata(&PROPERTIES)).unwrap();
        (0..=version).for_each(|version| base.advance(&self.winner(version)).unwrap());
        base
    }

    fn winner(&self, version: u64) -> Winner {
        Winner::read(version, [CommitLines::whole(&self.log[version as usize], "commit")]).unwrap()
    }

    /// Runs an operation as a transaction on top of this version. Other transactions may have
    /// committed since.
    pub(super) fn run(&mut self, deed: &Deed, snapshot: u64, of_table: IsolationLevel) -> std::result::Result<u64, ConflictKind> {
        let mut plan = Plan::default();
        plan.plan(self, deed, snapshot);
        let isolation = plan.draft.isolation(of_table);
        let is_blind_append = plan.draft.is_blind_append(&plan.reads);
        let mut base = self.base(snapshot);
        for version in snapshot + 1..=self.latest() {
            let winner = self.winner(version);
            let pending = PendingTransaction { draft: &plan.draft, reads: &plan.reads, isolation, table: TABLE };
            let joined =
                check(pending, &base, &winner, |files| Ok(files.iter().any(|files| plan.may_match(files)))).map_err(kind_of)?;
            joined.iter().try_for_each(|path| plan.join(&winner, path))?;
            plan.reads.follow(&winner);
            base.advance(&winner).unwrap();
        }
        validate::check(&plan.draft, &base, TABLE).unwrap();
        let told = Provenance { is_blind_append, isolation, ..Provenance::default() };
        let rendered = plan.draft.render(&base, &Operation::new("DEED"), &told, NOW).unwrap();
        assert_eq!(rendered.version, self.latest() + 1);
        self.log.push(rendered.bytes);
        Ok(rendered.version)
    }
}

/// A transaction before it is committed.
#[derive(Default)]
struct Plan {
    draft: Draft,
    reads: Reads,
    asks: Option<RangeInclusive<i64>>,
}

impl Plan {
    fn plan(&mut self, world: &mut World, deed: &Deed, snapshot: u64) {
        match deed {
            Deed::Append(row) => self.add(world, vec![*row]),
            Deed::Sum(keys, to) => {
                let found = self.scan(world, snapshot, keys);
                let sum = found.iter().flat_map(|file| matching(world, file, keys)).map(|(_, (_, value))| value).sum();
                self.add(world, vec![(*to, sum)]);
            }
            Deed::Delete(keys) => self.rewrite(world, snapshot, keys, |_| None),
            Deed::Update(keys, by) => self.rewrite(world, snapshot, keys, |(key, value)| Some((key, value + by))),
            Deed::DeleteRows(keys) => self.note(world, snapshot, keys, |_| None),
            Deed::UpdateRows(keys, by) => self.note(world, snapshot, keys, |(key, value)| Some((key, value + by))),
            Deed::Merge(gone, wanted) => {
                self.note(world, snapshot, &(*gone..=*gone), |_| None);
                // The result for the second key depends on rows that stay.
                self.reads.whole_table();
                let is_there = world.files(snapshot).iter().any(|file| !matching(world, file, &(*wanted..=*wanted)).is_empty());
                if !is_there {
                    self.add(world, vec![(*wanted, 0)]);
                }
            }
            Deed::Overwrite(row) => {
                self.reads.whole_table();
                world.files(snapshot).iter().for_each(|file| self.remove(file, true));
                self.add(world, vec![*row]);
            }
            Deed::Optimize(keys) => {
                let found: Vec<Add> = world.files(snapshot).into_iter().filter(|file| may_have(file, keys)).collect();
                let rows: Vec<Row> = found.iter().flat_map(|file| world.rows_of(file)).map(|(_, row)| row).collect();
                self.reads.files(&batch(&found)).unwrap();
                found.iter().for_each(|file| self.remove(file, false));
                self.draft.adds.push(world.write(rows, false));
            }
        }
    }

    /// Reads the files that may have these keys, and returns them.
    fn scan(&mut self, world: &World, snapshot: u64, keys: &RangeInclusive<i64>) -> Vec<Add> {
        let found: Vec<Add> = world.files(snapshot).into_iter().filter(|file| may_have(file, keys)).collect();
        self.reads.by_predicate();
        self.reads.files(&batch(&found)).unwrap();
        self.asks = Some(keys.clone());
        found
    }

    fn rewrite(&mut self, world: &mut World, snapshot: u64, keys: &RangeInclusive<i64>, change: impl Fn(Row) -> Option<Row>) {
        for file in self.scan(world, snapshot, keys) {
            if matching(world, &file, keys).is_empty() {
                continue;
            }
            let changed = |row: Row| if keys.contains(&row.0) { change(row) } else { Some(row) };
            let rows = world.rows_of(&file).into_iter().filter_map(|(_, row)| changed(row)).collect();
            self.remove(&file, true);
            self.add(world, rows);
        }
    }

    fn note(&mut self, world: &mut World, snapshot: u64, keys: &RangeInclusive<i64>, change: impl Fn(Row) -> Option<Row>) {
        let mut changed = Vec::new();
        for file in self.scan(world, snapshot, keys) {
            let found = matching(world, &file, keys);
            changed.extend(found.iter().filter_map(|(_, row)| change(*row)));
            let positions: Vec<u64> = found.iter().map(|(position, _)| *position).collect();
            if !positions.is_empty() {
                self.draft.vectors.push(vectored(file, rows(&positions)));
            }
        }
        self.add(world, changed);
    }

    /// Takes over the deletion vector that another transaction left, if that transaction deleted
    /// other rows.
    fn join(&mut self, winner: &Winner, path: &str) -> std::result::Result<(), ConflictKind> {
        let change = self.draft.vectors.iter_mut().find(|change| change.before.path == path).unwrap();
        let theirs = winner.changed(path).unwrap().clone();
        if !vector_of(&theirs).is_disjoint(&change.deleted) {
            return Err(ConflictKind::ConcurrentDeleteDelete);
        }
        *change = vectored(theirs, change.deleted.clone());
        Ok(())
    }

    fn add(&mut self, world: &mut World, rows: Vec<Row>) {
        if !rows.is_empty() {
            self.draft.adds.push(world.write(rows, true));
        }
    }

    fn remove(&mut self, file: &Add, data_change: bool) {
        self.draft.removes.push(Removal { files: batch(std::slice::from_ref(file)), data_change });
    }

    fn may_match(&self, files: &FileBatch) -> bool {
        let asks = self.asks.as_ref();
        asks.is_some_and(|keys| files.to_adds().unwrap().iter().any(|file| may_have(file, keys)))
    }
}

fn vectored(before: Add, deleted: DeletionVector) -> VectorChange {
    let after = vector_of(&before).union(&deleted).to_inline().unwrap();
    VectorChange { before, after, deleted }
}

fn vector_of(file: &Add) -> DeletionVector {
    file.deletion_vector.as_ref().map_or_else(DeletionVector::new, |vector| DeletionVector::from_inline(vector).unwrap())
}

/// Returns the rows of a file with these keys, and their positions.
fn matching(world: &World, file: &Add, keys: &RangeInclusive<i64>) -> Vec<(u64, Row)> {
    world.rows_of(file).into_iter().filter(|(_, (key, _))| keys.contains(key)).collect()
}

/// Returns whether the statistics of a file allow these keys.
fn may_have(file: &Add, keys: &RangeInclusive<i64>) -> bool {
    let stats: Value = serde_json::from_str(file.stats.as_deref().unwrap()).unwrap();
    match (stats["minValues"]["id"].as_i64(), stats["maxValues"]["id"].as_i64()) {
        (Some(least), Some(most)) => least <= *keys.end() && most >= *keys.start(),
        // The file has no rows.
        _ => false,
    }
}

fn batch(found: &[Add]) -> FileBatch {
    files(&found.iter().map(|file| json!({"add": file})).collect::<Vec<_>>())
}

fn kind_of(error: crate::Error) -> ConflictKind {
    match error.kind() {
        ErrorKind::CommitConflict { kind, .. } => *kind,
        other => panic!("{other:?}: {error}"),
    }
}
