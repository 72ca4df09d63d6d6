//! Decides whether a transaction may still commit after the commit of another transaction.
//!
//! The rules are Delta Spark's, applied to one winner after the other in the order of their
//! versions. Three refinements keep them safe. An added file matters only if its statistics, and
//! not only its partition, allow rows that were read. Commits that only rearrange files do not
//! matter to transactions that did not touch these files. Two transactions that delete different
//! rows of one file both commit. Read [`check`].

use std::collections::{BTreeSet, HashSet};

use serde_json::Value;

use super::base::Base;
use super::draft::Draft;
use super::reads::{Reads, path_key};
use super::row_ids;
use super::winner::Winner;
use crate::action::Metadata;
use crate::error::ConflictKind;
use crate::feature::downgrade::drops_feature;
use crate::feature::{check_read, check_write, supported_features};
use crate::log::files::FileBatch;
use crate::property::IsolationLevel;
use crate::schema::mapping::{self, FIELD_ID, MappingMode, NESTED_IDS, PHYSICAL_NAME, to_physical};
use crate::schema::{self, DataType, StructType};
use crate::{Error, ErrorKind, Result};

/// The key of a field's metadata that changes with every write of an identity column.
pub const IDENTITY_MARK: &str = "delta.identity.highWaterMark";

/// The properties with this prefix name versions of the table.
pub const TAG_PREFIX: &str = "lakebed.tag.";

/// The property with the versions that the last vacuum kept.
pub const KEPT_VERSIONS: &str = "lakebed.keptVersions";

/// Returns whether a property names versions to keep. It says nothing about data that is written.
pub fn names_versions(property: &str) -> bool {
    property == KEPT_VERSIONS || property.starts_with(TAG_PREFIX)
}

/// A transaction that has not been committed.
#[derive(Debug, Clone, Copy)]
pub struct PendingTransaction<'a> {
    /// The changes of the transaction.
    pub draft: &'a Draft,
    /// The read set of the transaction.
    pub reads: &'a Reads,
    /// The isolation level for other commits.
    pub isolation: IsolationLevel,
    /// The table, for messages.
    pub table: &'a str,
}

/// Checks a transaction against one winner, which directly follows `base`. `may_match` returns
/// whether any of some files may hold rows that match the transaction's predicates.
///
/// The result is the paths of the files in which both deleted rows. They are compatible if the rows
/// are different.
///
/// # Errors
/// [`ErrorKind::CommitConflict`](crate::ErrorKind::CommitConflict) if the transaction is not valid
/// after the winner.
pub fn check(
    pending: PendingTransaction<'_>,
    base: &Base,
    winner: &Winner,
    may_match: impl FnOnce(&[FileBatch]) -> Result<bool>,
) -> Result<Vec<String>> {
    let check = ConflictCheck { pending, winner };
    check.protocol(base)?;
    check.metadata(base)?;
    check.domains()?;
    check.applications()?;
    check.list_of_files()?;
    check.added(may_match)?;
    check.noted()?;
    let both_changed = check.both_changed();
    check.removed_and_read(&both_changed)?;
    check.removed_twice(&both_changed)?;
    Ok(both_changed.into_iter().collect())
}

impl Reads {
    /// Updates the read set: rows that the winner only moved are read at their new position.
    pub fn follow(&mut self, winner: &Winner) {
        if winner.removed_keys().any(|key| self.has_key(key)) {
            self.keys(winner.moved_keys().copied());
        }
    }
}

struct ConflictCheck<'a> {
    pending: PendingTransaction<'a>,
    winner: &'a Winner,
}

impl ConflictCheck<'_> {
    fn protocol(&self, base: &Base) -> Result<()> {
        // A feature is dropped only on top of the version that was found not to use it.
        if self.pending.draft.protocol.as_ref().is_some_and(|protocol| drops_feature(&base.protocol, protocol)) {
            return Err(self.conflict(ConflictKind::ProtocolChanged, "it may use the table feature that is being dropped"));
        }
        let Some(protocol) = &self.winner.protocol else { return Ok(()) };
        let table = self.pending.table;
        if let Err(error) = check_read(protocol, table).and_then(|()| check_write(protocol, table)) {
            let conflict =
                self.conflict(ConflictKind::ProtocolChanged, "it changed the protocol to one that lakebed cannot write");
            return Err(conflict.with_source(error));
        }
        if self.pending.draft.protocol.is_some() {
            return Err(self.conflict(ConflictKind::ProtocolChanged, "both change the protocol"));
        }
        let after = supported_features(protocol);
        if let Some(dropped) = supported_features(&base.protocol).into_iter().find(|feature| !after.contains(feature)) {
            return Err(self.conflict(ConflictKind::ProtocolChanged, format!("it dropped the table feature {dropped}")));
        }
        Ok(())
    }

    fn metadata(&self, base: &Base) -> Result<()> {
        let Some(metadata) = &self.winner.metadata else { return Ok(()) };
        if self.pending.draft.metadata.is_some() {
            return Err(self.conflict(ConflictKind::MetadataChanged, "both change schema or properties"));
        }
        match metadata_difference(&base.metadata, metadata) {
            None => Ok(()),
            Some(what) => Err(self.conflict(ConflictKind::MetadataChanged, format!("it changed {what}"))),
        }
    }

    fn domains(&self) -> Result<()> {
        let own = |name: &str| self.pending.draft.domains.iter().any(|domain| domain.domain == name);
        let mut theirs = self.winner.domains.iter().map(|domain| domain.domain.as_str()).filter(|name| *name != row_ids::DOMAIN);
        match theirs.find(|name| own(name)) {
            Some(name) => {
                Err(self.conflict(ConflictKind::ConcurrentTransaction, format!("both set the metadata domain {name:?}")))
            }
            None => Ok(()),
        }
    }

    fn applications(&self) -> Result<()> {
        match self.winner.transactions.iter().find(|txn| self.pending.reads.has_application(&txn.app_id)) {
            Some(txn) => {
                let message =
                    format!("it set the transaction identifier of application {:?} to version {}", txn.app_id, txn.version);
                Err(self.conflict(ConflictKind::ConcurrentTransaction, message))
            }
            None => Ok(()),
        }
    }

    fn list_of_files(&self) -> Result<()> {
        if !self.pending.reads.has_list_of_files() || !self.winner.changes_files() {
            return Ok(());
        }
        Err(self.conflict(
            ConflictKind::ConcurrentDeleteRead,
            "it added or removed files, and this transaction read the list of files",
        ))
    }

    fn added(&self, may_match: impl FnOnce(&[FileBatch]) -> Result<bool>) -> Result<()> {
        let (reads, winner) = (self.pending.reads, self.winner);
        let looks_at = match self.pending.isolation {
            IsolationLevel::SnapshotIsolation => false,
            IsolationLevel::WriteSerializable if self.pending.draft.metadata.is_none() => !winner.is_blind_append(),
            IsolationLevel::WriteSerializable | IsolationLevel::Serializable => true,
        };
        if !looks_at || winner.added.is_empty() || !reads.is_of_data() {
            return Ok(());
        }
        if reads.is_whole_table() || may_match(&winner.added)? {
            return Err(self.conflict(ConflictKind::ConcurrentAppend, "it added rows that may match what this transaction read"));
        }
        Ok(())
    }

    /// Returns the files in which both transactions only deleted rows, starting from the same
    /// state. There are none if the effects depend on rows that stay.
    fn both_changed(&self) -> BTreeSet<String> {
        let mut paths = BTreeSet::new();
        if !self.pending.reads.is_of_deleted_rows_alone() {
            return paths;
        }
        for change in &self.pending.draft.vectors {
            let path = &change.before.path;
            let is_same = self.winner.removed_vector(path) == change.before.deletion_vector.as_ref();
            if self.winner.changed(path).is_some() && is_same {
                paths.insert(path.clone());
            }
        }
        paths
    }

    fn removed_and_read(&self, both_changed: &BTreeSet<String>) -> Result<()> {
        let reads = self.pending.reads;
        let agreed: HashSet<_> = both_changed.iter().map(|path| path_key(path)).collect();
        let mut removed = self.winner.keys_of_changed_rows().filter(|key| !agreed.contains(key));
        if removed.any(|key| reads.is_whole_table() || reads.has_key(key)) {
            return Err(
                self.conflict(ConflictKind::ConcurrentDeleteRead, "it removed or changed rows that this transaction read")
            );
        }
        // The transaction changes only facts about the file, such as statistics. Writing them would
        // bring the removed file back.
        match self.pending.draft.adds.iter().find(|add| self.winner.removes(&add.path)) {
            Some(add) => Err(self.conflict(ConflictKind::ConcurrentDeleteRead, format!("it removed {}", add.path))),
            None => Ok(()),
        }
    }

    /// Checks that the winner recorded no facts, such as row ids, about a file that the transaction
    /// adds to the log in its old form. The facts would be lost.
    fn noted(&self) -> Result<()> {
        let draft = self.pending.draft;
        let mut own = draft.vectors.iter().map(|change| &change.before.path).chain(draft.adds.iter().map(|add| &add.path));
        match own.find(|path| self.winner.notes(path)) {
            Some(path) => Err(self.conflict(ConflictKind::ConcurrentAppend, format!("it changed the log's entry for {path}"))),
            None => Ok(()),
        }
    }

    fn removed_twice(&self, both_changed: &BTreeSet<String>) -> Result<()> {
        let own = self.pending.draft.removed_paths()?;
        match own.into_iter().find(|path| self.winner.removes(path) && !both_changed.contains(*path)) {
            Some(path) => {
                let message = format!("both removed or changed rows of {path}");
                Err(self.conflict(ConflictKind::ConcurrentDeleteDelete, message))
            }
            None => Ok(()),
        }
    }

    fn conflict(&self, kind: ConflictKind, what: impl std::fmt::Display) -> Error {
        let who = self.winner.info.as_ref().and_then(|info| info.text("operation")).unwrap_or("another commit");
        let (table, version) = (self.pending.table, self.winner.version);
        let message =
            format!("{table}: {who} was committed first, as version {version}: {what}; run the operation again on top of it");
        Error::new(ErrorKind::CommitConflict { kind, winner_version: version, retryable: true }, message)
    }
}

/// Returns the change that conflicts with a transaction based on the older metadata, or `None` if
/// nothing does.
fn metadata_difference(old: &Metadata, new: &Metadata) -> Option<String> {
    if new.id != old.id {
        return Some("the table: it was dropped and created again".to_owned());
    }
    if new.partition_columns != old.partition_columns {
        return Some("the partition columns".to_owned());
    }
    if new.format != old.format {
        return Some("the format".to_owned());
    }
    configuration_difference(old, new).or_else(|| schema_difference(old, new))
}

/// Compares properties. Some properties may be set later without harm to data that was written
/// before.
fn configuration_difference(old: &Metadata, new: &Metadata) -> Option<String> {
    let is_removed = |key: &&String| new.property(key).is_none() && old.property(key).is_some() && !names_versions(key);
    let removed = old.configuration.keys().find(is_removed);
    if let Some(key) = removed {
        return Some(format!("the property {key}"));
    }
    let mut changed: Vec<&String> = new.configuration.keys().filter(|key| old.property(key) != new.property(key)).collect();
    changed.sort();
    let is_harmless = |key: &str| is_harmless(key, old.property(key).unwrap_or_default(), new.property(key).unwrap_or_default());
    changed.into_iter().find(|key| !is_harmless(key)).map(|key| format!("the property {key}"))
}

fn is_harmless(key: &str, before: &str, value: &str) -> bool {
    match key {
        _ if names_versions(key) => true,
        "delta.enableRowTracking" | "delta.enableDeletionVectors" => value.eq_ignore_ascii_case("true"),
        mapping::MODE => matches!(before, "" | "none") && value.eq_ignore_ascii_case("name"),
        "delta.checkpointPolicy" => value.eq_ignore_ascii_case("v2"),
        "delta.rowTracking.materializedRowIdColumnName"
        | "delta.rowTracking.materializedRowCommitVersionColumnName"
        | mapping::MAX_COLUMN_ID
        | "delta.enableInCommitTimestamps"
        | "delta.inCommitTimestampEnablementVersion"
        | "delta.inCommitTimestampEnablementTimestamp" => true,
        _ => false,
    }
}

/// Compares schemas. A schema may get names and ids of column mapping, as long as data is found
/// where it was, and the marks of identity columns may change. These changes do not affect files
/// written under the old schema.
fn schema_difference(old: &Metadata, new: &Metadata) -> Option<String> {
    if old.schema_string == new.schema_string && old.property(mapping::MODE) == new.property(mapping::MODE) {
        return None;
    }
    let is_same = match (Columns::of(old), Columns::of(new)) {
        (Some(before), Some(after)) => before.as_seen() == after.as_seen() && before.in_files(&before) == after.in_files(&before),
        _ => false,
    };
    (!is_same).then(|| "the schema".to_owned())
}

/// The columns of a table, and their names in its files.
struct Columns {
    schema: StructType,
    mode: MappingMode,
}

impl Columns {
    fn of(metadata: &Metadata) -> Option<Self> {
        let mode = metadata.property(mapping::MODE).map_or(Ok(MappingMode::None), str::parse).ok()?;
        Some(Self { schema: schema::parse(&metadata.schema_string).ok()?, mode })
    }

    fn as_seen(&self) -> Value {
        without_notes(self.schema.clone(), &[PHYSICAL_NAME, FIELD_ID, NESTED_IDS, IDENTITY_MARK])
    }

    /// Returns the columns with their names in files, and with their ids if they had ids before.
    fn in_files(&self, before: &Self) -> Value {
        let mut notes = vec![PHYSICAL_NAME, IDENTITY_MARK];
        if before.mode == MappingMode::None {
            notes.extend([FIELD_ID, NESTED_IDS]);
        }
        without_notes(to_physical(&self.schema, self.mode), &notes)
    }
}

fn without_notes(schema: StructType, notes: &[&str]) -> Value {
    let mut value = DataType::Struct(schema).to_json_value();
    remove_notes(&mut value, notes);
    value
}

fn remove_notes(value: &mut Value, notes: &[&str]) {
    match value {
        Value::Object(object) => {
            if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
                metadata.retain(|key, _| !notes.contains(&key.as_str()));
            }
            object.values_mut().for_each(|value| remove_notes(value, notes));
        }
        Value::Array(list) => list.iter_mut().for_each(|value| remove_notes(value, notes)),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
