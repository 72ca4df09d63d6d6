//! The checksum file of a version (`.crc`): sums over its state, and parts of the state itself.
//! PROTOCOL "Version Checksum File".
//!
//! A reader of the checksum need not replay the log to get the same values. The file is disposable:
//! an incomplete one is treated as missing. [`Successor`] computes the next checksum from a commit,
//! and [`VersionChecksum::of_state`] computes one from a whole state.

mod difference;
mod histogram;
mod successor;
mod tally;
#[cfg(test)]
mod tests;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::action::{Action, DomainMetadata, Metadata, Protocol, SetTransaction, json};
use crate::{Error, Result};

pub use difference::{metadata_difference, protocol_difference};
pub use histogram::{DeletedRecordCounts, FileSizeHistogram};
pub use successor::{FileChanges, Successor};
pub use tally::Tally;

/// The most transactions, and the most domains, that the file lists. The number is limited because
/// the file is read whenever the table is opened.
const MAX_LISTED: usize = 100;

/// The content of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct VersionChecksum {
    /// The total size of the table's files.
    pub table_size_bytes: i64,
    /// The number of files in the table.
    pub num_files: i64,
    /// The table's metadata.
    pub metadata: Metadata,
    /// The table's protocol.
    pub protocol: Protocol,
    /// All transactions, or `None` if they are unknown.
    pub set_transactions: Option<Vec<SetTransaction>>,
    /// All domains that are not removed, or `None` if they are unknown.
    pub domain_metadata: Option<Vec<DomainMetadata>>,
    /// The in-commit timestamp of the version's commit, if the table has in-commit timestamps.
    pub in_commit_timestamp: Option<i64>,
    /// The id of the transaction that created the version.
    pub txn_id: Option<String>,
    /// The number of rows that deletion vectors delete.
    pub num_deleted_records: Option<i64>,
    /// The number of files with a deletion vector.
    pub num_deletion_vectors: Option<i64>,
    /// The number of files by their deleted rows.
    pub deleted_record_counts: Option<DeletedRecordCounts>,
    /// The number of files by their size.
    pub file_size_histogram: Option<FileSizeHistogram>,
}

/// The fields that are used. Other fields, which may include every file of the table, are skipped
/// without a copy.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fields {
    table_size_bytes: Option<Value>,
    num_files: Option<Value>,
    num_metadata: Option<Value>,
    num_protocol: Option<Value>,
    metadata: Option<Value>,
    protocol: Option<Value>,
    set_transactions: Option<Value>,
    domain_metadata: Option<Value>,
    in_commit_timestamp_opt: Option<Value>,
    txn_id: Option<Value>,
    num_deleted_records_opt: Option<Value>,
    num_deletion_vectors_opt: Option<Value>,
    deleted_record_counts_histogram_opt: Option<Value>,
    file_size_histogram: Option<Value>,
    /// An older name that Delta Spark used for the histogram.
    histogram_opt: Option<Value>,
}

impl VersionChecksum {
    /// Parses the file `name`. Fails if sums, protocol or metadata are missing, as in files of old
    /// writers.
    pub fn parse(bytes: &[u8], name: &str) -> Result<Self> {
        let fields: Fields =
            serde_json::from_slice(bytes).map_err(|error| Error::corrupt(name, "not a checksum file").with_source(error))?;
        let without = |field: &str| Error::corrupt(name, format!("a checksum file without {field}"));
        for (field, count) in [("numMetadata", &fields.num_metadata), ("numProtocol", &fields.num_protocol)] {
            if let Some(count) = count.as_ref().and_then(json::long)
                && count != 1
            {
                return Err(Error::corrupt(name, format!("{field} is {count}, which no table can have")));
            }
        }
        Ok(Self {
            table_size_bytes: count(fields.table_size_bytes.as_ref()).ok_or_else(|| without("tableSizeBytes"))?,
            num_files: count(fields.num_files.as_ref()).ok_or_else(|| without("numFiles"))?,
            metadata: match action("metaData", fields.metadata) {
                Some(Action::Metadata(metadata)) => metadata,
                _ => return Err(without("metadata")),
            },
            protocol: match action("protocol", fields.protocol) {
                Some(Action::Protocol(protocol)) => protocol,
                _ => return Err(without("protocol")),
            },
            set_transactions: all("txn", fields.set_transactions, |action| match action {
                Action::SetTransaction(txn) => Some(txn),
                _ => None,
            }),
            domain_metadata: all("domainMetadata", fields.domain_metadata, |action| match action {
                Action::DomainMetadata(domain) => Some(domain),
                _ => None,
            })
            .map(|domains| domains.into_iter().filter(|domain| !domain.removed).collect()),
            in_commit_timestamp: fields.in_commit_timestamp_opt.as_ref().and_then(json::long),
            txn_id: fields.txn_id.as_ref().and_then(Value::as_str).map(str::to_owned),
            num_deleted_records: count(fields.num_deleted_records_opt.as_ref()),
            num_deletion_vectors: count(fields.num_deletion_vectors_opt.as_ref()),
            deleted_record_counts: fields.deleted_record_counts_histogram_opt.as_ref().and_then(DeletedRecordCounts::parse),
            file_size_histogram: fields.file_size_histogram.or(fields.histogram_opt).as_ref().and_then(FileSizeHistogram::parse),
        })
    }

    /// Returns the content of the file: one line with the fields in Delta Spark's order.
    pub fn to_json(&self) -> Result<String> {
        let mut fields = Map::new();
        let mut set = |key: &str, value: Option<Value>| fields.extend(value.map(|value| (key.to_owned(), value)));
        set("txnId", self.txn_id.clone().map(Value::from));
        set("tableSizeBytes", Some(self.table_size_bytes.into()));
        set("numFiles", Some(self.num_files.into()));
        set("numDeletedRecordsOpt", self.num_deleted_records.map(Value::from));
        set("numDeletionVectorsOpt", self.num_deletion_vectors.map(Value::from));
        set("numMetadata", Some(1.into()));
        set("numProtocol", Some(1.into()));
        set("inCommitTimestampOpt", self.in_commit_timestamp.map(Value::from));
        set("setTransactions", listed(self.set_transactions.as_deref(), Action::SetTransaction)?);
        set("domainMetadata", listed(self.domain_metadata.as_deref(), Action::DomainMetadata)?);
        set("metadata", Some(inner(Action::Metadata(self.metadata.clone()))?));
        set("protocol", Some(inner(Action::Protocol(self.protocol.clone()))?));
        set("fileSizeHistogram", self.file_size_histogram.as_ref().map(FileSizeHistogram::to_value));
        set("deletedRecordCountsHistogramOpt", self.deleted_record_counts.map(DeletedRecordCounts::to_value));
        Ok(format!("{}\n", Value::Object(fields)))
    }
}

fn listed<T: Clone>(all: Option<&[T]>, action: impl Fn(T) -> Action) -> Result<Option<Value>> {
    all.map(|all| all.iter().map(|one| inner(action(one.clone()))).collect::<Result<Vec<_>>>().map(Value::from)).transpose()
}

/// Returns the value after the name in an action's line.
fn inner(action: Action) -> Result<Value> {
    match action.to_value()? {
        Value::Object(line) => line.into_iter().next().map(|(_, fields)| fields),
        _ => None,
    }
    .ok_or_else(|| Error::internal("an action is not valid JSON"))
}

/// Returns the action that these fields would be in a line of a commit.
fn action(kind: &str, fields: Option<Value>) -> Option<Action> {
    let line = Map::from_iter([(kind.to_owned(), fields?)]);
    json::from_value(Value::Object(line)).ok().flatten()
}

/// Returns all actions of a list, or `None`, because an incomplete list would look complete.
fn all<T>(kind: &str, list: Option<Value>, pick: impl Fn(Action) -> Option<T>) -> Option<Vec<T>> {
    let Value::Array(list) = list? else { return None };
    list.into_iter().map(|fields| action(kind, Some(fields)).and_then(&pick)).collect()
}

fn count(value: Option<&Value>) -> Option<i64> {
    json::long(value?).filter(|count| *count >= 0)
}
