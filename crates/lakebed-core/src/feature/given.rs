//! The properties that a caller passes. Some belong to the table's configuration, and others
//! request features or protocol versions.

use std::collections::{BTreeSet, HashMap};

use super::Feature;
use super::upgrade::features_of_versions;
use crate::property::{self, LEAST_FILE_SIZE_BYTES, TableProperties, parse_size_bytes};
use crate::{Error, Result};

/// The meaning of the caller's properties.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GivenProperties {
    /// The entries of the table's configuration. Known names have their official spelling.
    pub configuration: HashMap<String, Option<String>>,
    /// The features that the caller requested by name or by version.
    pub features: BTreeSet<String>,
}

impl GivenProperties {
    /// Parses the caller's properties. Names of Delta are matched in any case. A name that starts
    /// with `delta.` must be known, and its value must be valid. Other names belong to the caller.
    pub fn parse<'a>(given: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self> {
        let mut parsed = Self::default();
        let (mut reader, mut writer) = (None, None);
        for (name, value) in given {
            let lower = name.to_ascii_lowercase();
            if let Some(feature) = lower.strip_prefix("delta.feature.") {
                parsed.add_feature(feature, value)?;
            } else if lower == "delta.minreaderversion" {
                reader = Some(version(name, value)?);
            } else if lower == "delta.minwriterversion" {
                writer = Some(version(name, value)?);
            } else if lower.starts_with("delta.constraints.") {
                return Err(Error::invalid_input(format!("property {name}: pass constraints as constraints, not as properties")));
            } else if lower.starts_with("delta.") {
                let known = property::known_name(name)
                    .ok_or_else(|| Error::invalid_input(format!("there is no property {name}{}", similar(&lower))))?;
                check_settable(known, value)?;
                parsed.configuration.insert(known.to_owned(), Some(value.to_owned()));
            } else {
                parsed.configuration.insert(name.to_owned(), Some(value.to_owned()));
            }
        }
        if reader.is_some() || writer.is_some() {
            parsed.features.extend(features_of_versions(reader.unwrap_or(1), writer.unwrap_or(2))?);
        }
        parsed.check_values()?;
        Ok(parsed)
    }

    fn add_feature(&mut self, name: &str, value: &str) -> Result<()> {
        let feature = Feature::find(name)
            .ok_or_else(|| Error::invalid_input(format!("property delta.feature.{name}: there is no such feature")))?;
        if !["supported", "enabled"].contains(&value.to_ascii_lowercase().as_str()) {
            let message = format!("property delta.feature.{}: its value {value:?} must be \"supported\"", feature.name);
            return Err(Error::invalid_input(message));
        }
        self.features.insert(feature.name.to_owned());
        Ok(())
    }

    fn check_values(&self) -> Result<()> {
        let checked = TableProperties::parse(&self.configuration).and_then(|properties| properties.check_readable());
        checked.map_err(|error| Error::invalid_input(error.message()))
    }
}

fn version(name: &str, value: &str) -> Result<i32> {
    value.trim().parse().map_err(|_| Error::invalid_input(format!("property {name}: its value {value:?} must be a number")))
}

/// Refuses properties that lakebed accepts but could not follow.
fn check_settable(name: &str, value: &str) -> Result<()> {
    let why = match name {
        "delta.columnMapping.maxColumnId"
        | "delta.inCommitTimestampEnablementTimestamp"
        | "delta.inCommitTimestampEnablementVersion"
        | "delta.requireCheckpointProtectionBeforeVersion"
        | "delta.rowTracking.materializedRowCommitVersionColumnName"
        | "delta.rowTracking.materializedRowIdColumnName" => "lakebed maintains this property itself; leave it out",
        "delta.universalFormat.enabledFormats" => "lakebed does not write the metadata of other formats",
        "delta.isolationLevel" if value.trim().eq_ignore_ascii_case("SnapshotIsolation") => {
            "the isolation level of a table must be Serializable or WriteSerializable"
        }
        "delta.targetFileSize" if parse_size_bytes(value).is_ok_and(|size| size < LEAST_FILE_SIZE_BYTES) => {
            "a file of less than 1024 bytes would hold little more than its footer"
        }
        _ => return Ok(()),
    };
    Err(Error::invalid_input(format!("property {name}: {value:?} cannot be set: {why}")))
}

/// Returns the known property with a similar name.
fn similar(lower: &str) -> String {
    let tail = lower.trim_start_matches("delta.");
    let found = property::known_names().find(|name| {
        let known = name.to_ascii_lowercase();
        let known = known.trim_start_matches("delta.");
        known.contains(tail) || tail.contains(known)
    });
    found.map_or_else(String::new, |name| format!("; did you mean {name}?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_and_wishes_are_told_apart() {
        let given = GivenProperties::parse([
            ("Delta.EnableDeletionVectors", "true"),
            ("delta.feature.v2checkpoint", "supported"),
            ("delta.minWriterVersion", "4"),
            ("team", "blue"),
        ])
        .unwrap();
        let expected = [("delta.enableDeletionVectors", "true"), ("team", "blue")];
        let expected = expected.map(|(key, value)| (key.to_owned(), Some(value.to_owned()))).into();
        assert_eq!(given.configuration, expected);
        let features: Vec<&str> = given.features.iter().map(String::as_str).collect();
        assert_eq!(
            features,
            ["appendOnly", "changeDataFeed", "checkConstraints", "generatedColumns", "invariants", "v2Checkpoint"]
        );
    }

    #[track_caller]
    fn check_refused(name: &str, value: &str, expected: &str) {
        let error = GivenProperties::parse([(name, value)]).unwrap_err();
        assert_eq!((error.kind(), error.message()), (&crate::ErrorKind::InvalidInput, expected));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        check_refused(
            "delta.enableDeletionVector",
            "true",
            "there is no property delta.enableDeletionVector; did you mean delta.enableDeletionVectors?",
        );
        check_refused("delta.nonsense", "1", "there is no property delta.nonsense");
        check_refused(
            "delta.checkpointInterval",
            "0",
            "property delta.checkpointInterval: its value \"0\" must be a whole number above 0",
        );
        for size in ["0", "1", "1023b"] {
            check_refused(
                "delta.targetFileSize",
                size,
                &format!(
                    "property delta.targetFileSize: {size:?} cannot be set: a file of less than 1024 bytes would hold little more than its footer"
                ),
            );
        }
        check_refused("delta.feature.nonsense", "supported", "property delta.feature.nonsense: there is no such feature");
        check_refused(
            "delta.feature.appendOnly",
            "yes",
            "property delta.feature.appendOnly: its value \"yes\" must be \"supported\"",
        );
        check_refused("delta.minWriterVersion", "9", "there is no protocol of reader version 1 and writer version 9");
        check_refused(
            "delta.universalFormat.enabledFormats",
            "iceberg",
            "property delta.universalFormat.enabledFormats: \"iceberg\" cannot be set: lakebed does not write the metadata of other formats",
        );
        check_refused(
            "delta.columnMapping.maxColumnId",
            "7",
            "property delta.columnMapping.maxColumnId: \"7\" cannot be set: lakebed maintains this property itself; leave it out",
        );
        check_refused(
            "delta.constraints.positive",
            "x > 0",
            "property delta.constraints.positive: pass constraints as constraints, not as properties",
        );
    }
}
