//! The comparison of a checksum with the log. If the two differ, the log is right.

use std::collections::{BTreeMap, BTreeSet};

use super::VersionChecksum;
use crate::action::{DomainMetadata, Metadata, Protocol};
use crate::log::replay::Layers;

/// Returns the name of a difference between two protocols, if there is one.
pub fn protocol_difference(one: &Protocol, other: &Protocol) -> Option<&'static str> {
    let versions = |protocol: &Protocol| (protocol.min_reader_version, protocol.min_writer_version);
    // An empty list means the same as no list, and the order has no meaning.
    let listed = |names: &Option<Vec<String>>| names.iter().flatten().cloned().collect::<BTreeSet<String>>();
    let same = versions(one) == versions(other)
        && listed(&one.reader_features) == listed(&other.reader_features)
        && listed(&one.writer_features) == listed(&other.writer_features);
    (!same).then_some("protocol")
}

/// Returns the name of a difference between two metadata actions, if there is one.
pub fn metadata_difference(one: &Metadata, other: &Metadata) -> Option<&'static str> {
    let set = |metadata: &Metadata| {
        let values = metadata.configuration.iter().filter_map(|(key, value)| Some((key.clone(), value.clone()?)));
        values.collect::<BTreeMap<String, String>>()
    };
    let fields = [
        ("metadata.id", one.id == other.id),
        ("metadata.schemaString", same_schema(&one.schema_string, &other.schema_string)),
        ("metadata.partitionColumns", one.partition_columns == other.partition_columns),
        ("metadata.configuration", set(one) == set(other)),
        ("metadata.name", one.name == other.name),
        ("metadata.description", one.description == other.description),
        ("metadata.createdTime", one.created_time == other.created_time),
    ];
    fields.into_iter().find(|(_, same)| !same).map(|(name, _)| name)
}

/// Returns whether two schemas are equal, except for blanks and the order of keys.
fn same_schema(one: &str, other: &str) -> bool {
    one == other || matches!((crate::schema::parse(one), crate::schema::parse(other)), (Ok(one), Ok(other)) if one == other)
}

impl VersionChecksum {
    /// Returns the name of a fact in which this checksum contradicts the checksum that was computed
    /// from the whole log. Facts that one of the two does not have are not compared.
    pub fn contradicts(&self, log: &Self) -> Option<&'static str> {
        fn differ<T: PartialEq>(one: Option<T>, other: Option<T>) -> bool {
            one.zip(other).is_some_and(|(one, other)| one != other)
        }
        let domains = |checksum: &Self| {
            let known = checksum.domain_metadata.as_ref()?.iter().filter(|domain| !domain.removed);
            Some(known.map(|domain| (domain.domain.clone(), domain.configuration.clone())).collect::<BTreeMap<_, _>>())
        };
        let transactions = |checksum: &Self| {
            let known = checksum.set_transactions.as_ref()?.iter();
            Some(known.map(|txn| (txn.app_id.clone(), txn.version)).collect::<BTreeMap<_, _>>())
        };
        // Transactions may have expired since the checksum was written.
        let expires = super::successor::forgets_transactions(&self.metadata);
        let sizes = |checksum: &Self, bins: &[i64]| {
            let histogram = checksum.file_size_histogram.as_ref().filter(|histogram| histogram.sorted_bin_boundaries == bins)?;
            Some((histogram.file_counts.clone(), histogram.total_bytes.clone()))
        };
        let bins = self.file_size_histogram.as_ref().map_or(&[][..], |histogram| &histogram.sorted_bin_boundaries);
        let others = [
            ("numFiles", self.num_files != log.num_files),
            ("tableSizeBytes", self.table_size_bytes != log.table_size_bytes),
            ("fileSizeHistogram", differ(sizes(self, bins), sizes(log, bins))),
            ("numDeletionVectorsOpt", differ(self.num_deletion_vectors, log.num_deletion_vectors)),
            ("numDeletedRecordsOpt", differ(self.num_deleted_records, log.num_deleted_records)),
            ("deletedRecordCountsHistogramOpt", differ(self.deleted_record_counts, log.deleted_record_counts)),
            ("inCommitTimestampOpt", differ(self.in_commit_timestamp, log.in_commit_timestamp)),
            ("setTransactions", !expires && differ(transactions(self), transactions(log))),
            ("domainMetadata", differ(domains(self), domains(log))),
        ];
        protocol_difference(&self.protocol, &log.protocol)
            .or_else(|| metadata_difference(&self.metadata, &log.metadata))
            .or_else(|| others.into_iter().find(|(_, differs)| *differs).map(|(name, _)| name))
    }

    /// Returns the name of a fact, besides protocol and metadata, in which the commits above a
    /// checkpoint contradict this checksum. If there is no checkpoint, `whole` is true, and the
    /// commits are the whole log.
    pub fn contradicted_by(&self, layers: &Layers, whole: bool) -> Option<&'static str> {
        let timestamp = layers.newest(|layer| layer.commit_info.as_ref()).and_then(|info| info.in_commit_timestamp());
        if self.in_commit_timestamp.zip(timestamp).is_some_and(|(told, found)| told != found) {
            return Some("inCommitTimestampOpt");
        }
        // Old transactions may have expired between the commit and its reader.
        if !super::successor::forgets_transactions(&self.metadata) && self.transactions_differ(layers, whole) {
            return Some("setTransactions");
        }
        self.domains_differ(layers, whole).then_some("domainMetadata")
    }

    fn transactions_differ(&self, layers: &Layers, whole: bool) -> bool {
        let Some(told) = &self.set_transactions else { return false };
        let told: BTreeMap<&str, i64> = told.iter().map(|txn| (txn.app_id.as_str(), txn.version)).collect();
        let found = layers.transactions();
        found.values().any(|txn| told.get(txn.app_id.as_str()) != Some(&txn.version)) || (whole && told.len() != found.len())
    }

    fn domains_differ(&self, layers: &Layers, whole: bool) -> bool {
        let Some(told) = &self.domain_metadata else { return false };
        let told: BTreeMap<&str, &DomainMetadata> = told.iter().map(|domain| (domain.domain.as_str(), domain)).collect();
        let found = layers.domains();
        let differs = |domain: &DomainMetadata| match told.get(domain.domain.as_str()) {
            Some(told) => domain.removed || told.configuration != domain.configuration,
            None => !domain.removed,
        };
        let live = found.values().filter(|domain| !domain.removed).count();
        found.values().any(differs) || (whole && told.len() != live)
    }
}
