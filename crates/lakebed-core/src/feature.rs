//! Table features: which there are, and what a reader does about each.
//!
//! [`check_read`] is the gate in front of every snapshot. PROTOCOL "Table Features": a reader refuses what it does not know among the
//! reader features, and ignores writer features altogether.

use crate::action::Protocol;
use crate::error::{Error, Result};

/// The newest reader version that there is.
const MAX_READER_VERSION: i32 = 3;

/// Who must know a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeatureKind {
    /// Writers only.
    Writer,
    /// Readers and writers.
    ReaderWriter,
}

/// What our reader does about a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// It does what the feature asks.
    Honoured,
    /// Nothing is asked of readers.
    NothingToDo,
    /// It refuses the table; why, or what to do instead.
    Refused(&'static str),
}

/// A feature of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feature {
    /// Its name in `readerFeatures` and `writerFeatures`.
    pub name: &'static str,
    /// Who must know it.
    pub kind: FeatureKind,
    /// The versions before the lists of features that imply it: of readers, of writers.
    pub legacy: Option<(i32, i32)>,
    /// What our reader does.
    pub reading: Reading,
}

const GEO: Reading = Reading::Refused("geometry and geography types cannot be read yet");
const CATALOG: Reading = Reading::Refused("its commits are handed out by its catalog; read it through the catalog");
const REDIRECT: Reading = Reading::Refused("it redirects to another table; open that one");

const fn writer(name: &'static str, legacy: Option<(i32, i32)>) -> Feature {
    Feature { name, kind: FeatureKind::Writer, legacy, reading: Reading::NothingToDo }
}

const fn both(name: &'static str, reading: Reading) -> Feature {
    Feature { name, kind: FeatureKind::ReaderWriter, legacy: None, reading }
}

/// All features that are known, by their protocol names.
pub const FEATURES: &[Feature] = &[
    writer("appendOnly", Some((1, 2))),
    writer("invariants", Some((1, 2))),
    writer("checkConstraints", Some((1, 3))),
    writer("changeDataFeed", Some((1, 4))),
    writer("generatedColumns", Some((1, 4))),
    Feature { name: "columnMapping", kind: FeatureKind::ReaderWriter, legacy: Some((2, 5)), reading: Reading::Honoured },
    writer("identityColumns", Some((1, 6))),
    both("deletionVectors", Reading::Honoured),
    both("timestampNtz", Reading::Honoured),
    both("timestampWithoutTimezone", Reading::Honoured),
    both("v2Checkpoint", Reading::Honoured),
    both("vacuumProtocolCheck", Reading::Honoured),
    both("typeWidening", Reading::Honoured),
    both("typeWidening-preview", Reading::Honoured),
    both("variantType", Reading::Honoured),
    both("variantType-preview", Reading::Honoured),
    both("variantShredding", Reading::Honoured),
    both("variantShredding-preview", Reading::Honoured),
    both("catalogManaged", CATALOG),
    both("catalogOwned-preview", CATALOG),
    writer("rowTracking", None),
    writer("domainMetadata", None),
    writer("clustering", None),
    writer("allowColumnDefaults", None),
    writer("inCommitTimestamp", None),
    writer("icebergCompatV1", None),
    writer("icebergCompatV2", None),
    writer("icebergCompatV3", None),
    writer("icebergWriterCompatV1", None),
    writer("icebergWriterCompatV3", None),
    writer("checkpointProtection", None),
    writer("materializePartitionColumns", None),
    writer("collations", None),
    writer("collations-preview", None),
    writer("columnMappingUsageTracking", None),
    both("geospatial", GEO),
    both("geospatial-dev", GEO),
    both("timestampNanos", Reading::Refused("timestamps in nanoseconds cannot be read yet")),
    both("adaptiveMetadata-preview", Reading::Refused("its metadata is kept in a form that is still in the making")),
    both("redirectReaderWriter-preview", REDIRECT),
    writer("redirectWriterOnly-preview", None),
    writer("coordinatedCommits-preview", None),
];

/// The feature of this name.
pub fn find(name: &str) -> Option<&'static Feature> {
    FEATURES.iter().find(|feature| feature.name == name)
}

/// Refuses a table that cannot be read, with everything that is in the way; `table` is for the message.
pub fn check_read(protocol: &Protocol, table: &str) -> Result<()> {
    let version = protocol.min_reader_version;
    if version > MAX_READER_VERSION {
        let message = format!("{table}: needs reader version {version}; lakebed knows up to {MAX_READER_VERSION}");
        return Err(Error::unsupported(vec![format!("minReaderVersion={version}")], message));
    }
    if version < 1 {
        return Err(Error::corrupt(table, format!("minReaderVersion {version} does not exist")));
    }
    if version < MAX_READER_VERSION {
        return Ok(());
    }
    let Some(features) = &protocol.reader_features else {
        return Err(Error::corrupt(table, "reader version 3 without readerFeatures"));
    };
    let refused: Vec<(&str, &str)> = features.iter().filter_map(|name| refusal(name)).collect();
    if refused.is_empty() {
        return Ok(());
    }
    let reasons: Vec<String> = refused.iter().map(|(name, why)| format!("{name} ({why})")).collect();
    let message = format!("{table}: the table needs what lakebed cannot read: {}", reasons.join(", "));
    Err(Error::unsupported(refused.into_iter().map(|(name, _)| name.to_owned()).collect(), message))
}

fn refusal(name: &str) -> Option<(&str, &'static str)> {
    match find(name) {
        Some(Feature { reading: Reading::Refused(why), .. }) => Some((name, why)),
        Some(_) => None,
        None => Some((name, "unknown; perhaps a newer lakebed knows it")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn protocol(reader: i32, features: Option<&[&str]>) -> Protocol {
        Protocol {
            min_reader_version: reader,
            min_writer_version: 7,
            reader_features: features.map(|names| names.iter().map(|&name| name.to_owned()).collect()),
            writer_features: None,
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = FEATURES.iter().map(|feature| feature.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), FEATURES.len());
    }

    #[test]
    fn known_reader_features_pass() {
        assert!(check_read(&protocol(1, None), "t").is_ok());
        assert!(check_read(&protocol(2, None), "t").is_ok());
        let known = ["columnMapping", "deletionVectors", "timestampNtz", "v2Checkpoint", "typeWidening", "variantShredding-preview"];
        assert!(check_read(&protocol(3, Some(&known)), "t").is_ok());
        assert!(check_read(&protocol(3, Some(&[])), "t").is_ok());
        // A writer feature that somebody listed for readers by mistake asks nothing of them.
        assert!(check_read(&protocol(3, Some(&["rowTracking"])), "t").is_ok());
    }

    #[test]
    fn every_feature_in_the_way_is_named() {
        let error = check_read(&protocol(3, Some(&["deletionVectors", "teleport", "catalogManaged"])), "s3://t").unwrap_err();
        let expected = ErrorKind::UnsupportedFeature { features: vec!["teleport".into(), "catalogManaged".into()] };
        assert_eq!(error.kind(), &expected);
        assert!(error.message().contains("s3://t") && error.message().contains("through the catalog"), "{error}");
    }

    #[test]
    fn protocols_from_the_future_and_from_nowhere_are_refused() {
        assert!(matches!(check_read(&protocol(4, None), "t").unwrap_err().kind(), ErrorKind::UnsupportedFeature { .. }));
        assert!(check_read(&protocol(3, None), "t").unwrap_err().is_corrupt());
        assert!(check_read(&protocol(0, None), "t").unwrap_err().is_corrupt());
    }
}
