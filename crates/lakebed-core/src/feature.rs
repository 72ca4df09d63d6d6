//! The table features: their names, the old protocol versions that imply them, and lakebed's
//! support for each.
//!
//! [`check_read`] checks whether a table may be read, and [`check_write`] whether it may be
//! written. [`upgrade`](mod@upgrade) adds features to a table, for example those that a caller's
//! properties request ([`given`]), and [`downgrade`](mod@downgrade) drops a feature. PROTOCOL "Table
//! Features" and "Valid Feature Names in Table Features".

pub mod downgrade;
pub mod given;
pub mod upgrade;
mod used;

use crate::action::Protocol;
use crate::{Error, Result};

pub use used::check_used;

/// The newest reader version that lakebed supports.
const MAX_READER_VERSION: i32 = 3;
/// The newest writer version that lakebed supports.
const MAX_WRITER_VERSION: i32 = 7;
/// The reader version from which on features are listed by name.
const READER_FEATURES_VERSION: i32 = 3;
/// The writer version from which on features are listed by name.
const WRITER_FEATURES_VERSION: i32 = 7;

/// A feature with a name in the protocol, in one of its proposals or in Delta Spark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feature {
    /// The name in the protocol.
    pub name: &'static str,
    /// Whether readers must support it.
    pub kind: FeatureKind,
    /// The behaviour of lakebed for the feature when it reads.
    pub reading: Reading,
    /// The behaviour of lakebed for the feature when it writes.
    pub writing: Writing,
}

/// The clients that must support a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeatureKind {
    /// Only writers must support it.
    Writer {
        /// The writer version that implied the feature before features had names. It is absent for
        /// features that always had a name.
        legacy: Option<i32>,
    },
    /// Readers and writers must support it.
    ReaderWriter {
        /// The reader and writer versions that implied the feature before features had names.
        legacy: Option<(i32, i32)>,
    },
}

/// The behaviour of lakebed for a feature when it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// lakebed follows the feature.
    Honour,
    /// lakebed does nothing, because only writers must support the feature.
    Ignore,
    /// lakebed refuses the table, for this reason.
    Refuse(&'static str),
}

/// The behaviour of lakebed for a feature when it writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writing {
    /// lakebed follows the feature.
    Honour,
    /// lakebed refuses to write to the table, for this reason.
    Refuse(&'static str),
}

/// All features that have a name.
pub const FEATURES: &[Feature] = &[
    writer("appendOnly", Some(2)),
    writer("invariants", Some(2)),
    writer("checkConstraints", Some(3)),
    writer("changeDataFeed", Some(4)),
    writer("generatedColumns", Some(4)),
    writer("identityColumns", Some(6)),
    writer("rowTracking", None),
    writer("domainMetadata", None),
    writer("clustering", None),
    writer("allowColumnDefaults", None),
    writer("inCommitTimestamp", None),
    writer("icebergCompatV1", None),
    writer("icebergCompatV2", None),
    unwritten("icebergCompatV3", ICEBERG),
    unwritten("icebergWriterCompatV1", ICEBERG),
    unwritten("icebergWriterCompatV3", ICEBERG),
    writer("checkpointProtection", None),
    writer("materializePartitionColumns", None),
    unwritten("collations", COLLATIONS),
    unwritten("collations-preview", COLLATIONS),
    writer("columnMappingUsageTracking", None),
    unwritten("coordinatedCommits-preview", "another service, a coordinator, decides which commits count"),
    unwritten("redirectWriterOnly-preview", "the table's data is at another location, which only Delta Spark follows"),
    Feature {
        name: "columnMapping",
        kind: FeatureKind::ReaderWriter { legacy: Some((2, 5)) },
        reading: Reading::Honour,
        writing: Writing::Honour,
    },
    honoured("deletionVectors"),
    honoured("timestampNtz"),
    // This is the name of the feature in the first tables that had it.
    honoured("timestampWithoutTimezone"),
    honoured("v2Checkpoint"),
    honoured("vacuumProtocolCheck"),
    honoured("typeWidening"),
    honoured("typeWidening-preview"),
    honoured("variantType"),
    honoured("variantType-preview"),
    honoured("variantShredding"),
    honoured("variantShredding-preview"),
    refused("catalogManaged", THROUGH_CATALOG),
    refused("catalogOwned-preview", THROUGH_CATALOG),
    refused("redirectReaderWriter-preview", "the table's data is at another location, which only Delta Spark follows"),
    refused("geospatial", GEOSPATIAL),
    refused("geospatial-dev", GEOSPATIAL),
    refused("timestampNanos", "timestamps in nanoseconds cannot be read yet"),
    refused("adaptiveMetadata-preview", "the format in which the table keeps its state is not final yet"),
];

const THROUGH_CATALOG: &str =
    "a catalog decides which commits count, so the table cannot be read by its path; go through the catalog";
const GEOSPATIAL: &str = "geometry and geography columns cannot be read yet";

const ICEBERG: &str = "lakebed does not follow its rules yet";
const COLLATIONS: &str = "lakebed does not compare strings by collations";

const fn writer(name: &'static str, legacy: Option<i32>) -> Feature {
    Feature { name, kind: FeatureKind::Writer { legacy }, reading: Reading::Ignore, writing: Writing::Honour }
}

const fn unwritten(name: &'static str, why: &'static str) -> Feature {
    Feature { name, kind: FeatureKind::Writer { legacy: None }, reading: Reading::Ignore, writing: Writing::Refuse(why) }
}

const fn honoured(name: &'static str) -> Feature {
    let kind = FeatureKind::ReaderWriter { legacy: None };
    Feature { name, kind, reading: Reading::Honour, writing: Writing::Honour }
}

const fn refused(name: &'static str, why: &'static str) -> Feature {
    let kind = FeatureKind::ReaderWriter { legacy: None };
    Feature { name, kind, reading: Reading::Refuse(why), writing: Writing::Refuse(why) }
}

impl Feature {
    /// Returns the feature that a caller names. The case of the name is ignored.
    pub fn find(name: &str) -> Option<&'static Self> {
        FEATURES.iter().find(|feature| feature.name.eq_ignore_ascii_case(name))
    }

    /// Returns the feature of this name in a protocol. The name must match exactly.
    fn named(name: &str) -> Option<&'static Self> {
        FEATURES.iter().find(|feature| feature.name == name)
    }

    /// Returns whether an old protocol version implies the feature.
    fn is_implied_by(&self, protocol: &Protocol) -> bool {
        let by_writer = |legacy: i32| (legacy..WRITER_FEATURES_VERSION).contains(&protocol.min_writer_version);
        match self.kind {
            FeatureKind::Writer { legacy } => legacy.is_some_and(by_writer),
            FeatureKind::ReaderWriter { legacy } => legacy.is_some_and(|(reader, writer)| {
                by_writer(writer) && (reader..READER_FEATURES_VERSION).contains(&protocol.min_reader_version)
            }),
        }
    }
}

/// Returns the names of all features that a protocol has, named or implied, sorted.
pub fn supported_features(protocol: &Protocol) -> Vec<&str> {
    let named = protocol.reader_features.iter().chain(&protocol.writer_features).flatten().map(String::as_str);
    let implied = FEATURES.iter().filter(|feature| feature.is_implied_by(protocol)).map(|feature| feature.name);
    let mut names: Vec<&str> = named.chain(implied).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Refuses a table that lakebed cannot read correctly. The error names the table and every
/// unsupported feature.
///
/// Features that only `writerFeatures` lists do not concern readers, even if they are unknown.
pub fn check_read(protocol: &Protocol, table: &str) -> Result<()> {
    let version = protocol.min_reader_version;
    if version > MAX_READER_VERSION {
        let message = format!(
            "{table}: the table needs reader version {version}, and this version of lakebed supports versions up to \
             {MAX_READER_VERSION}; a newer version of lakebed may read it"
        );
        return Err(Error::unsupported(vec![format!("minReaderVersion {version}")], message));
    }
    if version < 1 {
        return Err(Error::corrupt(table, format!("the protocol requires reader version {version}, which does not exist")));
    }
    if version >= READER_FEATURES_VERSION && protocol.reader_features.is_none() {
        return Err(Error::corrupt(table, format!("the protocol requires reader version {version} but lists no readerFeatures")));
    }
    refuse_listed(protocol.reader_features.as_deref(), table, "reader", reason_not_to_read)
}

/// Refuses a table that lakebed cannot write correctly, before anything is written. The error names
/// the table and every unsupported feature. A writer also reads, so it calls [`check_read`] too.
pub fn check_write(protocol: &Protocol, table: &str) -> Result<()> {
    check_read(protocol, table)?;
    let version = protocol.min_writer_version;
    if version > MAX_WRITER_VERSION {
        let message = format!(
            "{table}: the table needs writer version {version}, and this version of lakebed supports versions up to \
             {MAX_WRITER_VERSION}; a newer version of lakebed may write to it"
        );
        return Err(Error::unsupported(vec![format!("minWriterVersion {version}")], message));
    }
    if version < 1 {
        return Err(Error::corrupt(table, format!("the protocol requires writer version {version}, which does not exist")));
    }
    if version >= WRITER_FEATURES_VERSION && protocol.writer_features.is_none() {
        return Err(Error::corrupt(table, format!("the protocol requires writer version {version} but lists no writerFeatures")));
    }
    refuse_listed(protocol.writer_features.as_deref(), table, "writer", reason_not_to_write)
}

/// Refuses all listed features that have a reason for refusal, in one error.
fn refuse_listed(listed: Option<&[String]>, table: &str, who: &str, reason: fn(&str) -> Option<&'static str>) -> Result<()> {
    let listed = listed.into_iter().flatten();
    let reasons: Vec<(&String, &str)> = listed.filter_map(|name| Some((name, reason(name)?))).collect();
    if reasons.is_empty() {
        return Ok(());
    }
    let list: Vec<String> = reasons.iter().map(|(name, why)| format!("{name} ({why})")).collect();
    let message = format!("{table}: the table needs {who} features that lakebed does not support: {}", list.join(", "));
    Err(Error::unsupported(reasons.into_iter().map(|(name, _)| name.clone()).collect(), message))
}

fn reason_not_to_read(name: &str) -> Option<&'static str> {
    match Feature::named(name).map(|feature| feature.reading) {
        Some(Reading::Honour | Reading::Ignore) => None,
        Some(Reading::Refuse(why)) => Some(why),
        None => Some("not known to this version"),
    }
}

fn reason_not_to_write(name: &str) -> Option<&'static str> {
    match Feature::named(name).map(|feature| feature.writing) {
        Some(Writing::Honour) => None,
        Some(Writing::Refuse(why)) => Some(why),
        None => Some("not known to this version"),
    }
}

#[cfg(test)]
mod tests;
