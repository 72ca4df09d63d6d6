//! Table properties, with Delta Spark's defaults.
//!
//! A reader takes what it needs and passes over the rest: a value that cannot be understood is an error only where reading wrong rows is
//! at stake, which is the mapping of columns. Keys that start with `delta.` are the protocol's, in any case.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::schema::mapping::MappingMode;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// How checkpoints are to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CheckpointPolicy {
    /// One file, or several parts.
    #[default]
    Classic,
    /// A top file and sidecars.
    V2,
}

/// The properties that have a meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableProperties {
    /// `delta.columnMapping.mode`
    pub column_mapping_mode: MappingMode,
    /// `delta.columnMapping.maxColumnId`
    pub max_column_id: Option<i64>,
    /// `delta.appendOnly`
    pub append_only: bool,
    /// `delta.enableDeletionVectors`
    pub deletion_vectors: bool,
    /// `delta.enableChangeDataFeed`
    pub change_data_feed: bool,
    /// `delta.enableTypeWidening`
    pub type_widening: bool,
    /// `delta.enableVariantShredding`
    pub variant_shredding: bool,
    /// `delta.enableInCommitTimestamps`
    pub in_commit_timestamps: bool,
    /// `delta.inCommitTimestampEnablementVersion`
    pub in_commit_timestamp_enablement_version: Option<u64>,
    /// `delta.inCommitTimestampEnablementTimestamp`
    pub in_commit_timestamp_enablement_timestamp: Option<i64>,
    /// `delta.enableRowTracking`
    pub row_tracking: bool,
    /// `delta.rowTrackingSuspended`
    pub row_tracking_suspended: bool,
    /// `delta.rowTracking.materializedRowIdColumnName`
    pub materialized_row_id_column: Option<String>,
    /// `delta.rowTracking.materializedRowCommitVersionColumnName`
    pub materialized_row_commit_version_column: Option<String>,
    /// `delta.checkpointInterval`
    pub checkpoint_interval: u64,
    /// `delta.checkpointPolicy`
    pub checkpoint_policy: CheckpointPolicy,
    /// `delta.checkpoint.writeStatsAsJson`
    pub stats_as_json: bool,
    /// `delta.checkpoint.writeStatsAsStruct`
    pub stats_as_struct: bool,
    /// `delta.dataSkippingNumIndexedCols`; none is all.
    pub num_indexed_columns: Option<u64>,
    /// `delta.dataSkippingStatsColumns`
    pub stats_columns: Option<String>,
    /// `delta.dataSkippingStringPrefixLength`
    pub string_prefix_length: u64,
    /// `delta.logRetentionDuration`
    pub log_retention_ms: i64,
    /// `delta.deletedFileRetentionDuration`
    pub deleted_file_retention_ms: i64,
    /// `delta.checkpointRetentionDuration`
    pub checkpoint_retention_ms: i64,
    /// `delta.setTransactionRetentionDuration`
    pub set_transaction_retention_ms: Option<i64>,
    /// `delta.enableExpiredLogCleanup`
    pub expired_log_cleanup: bool,
}

impl TableProperties {
    /// From the configuration of a table's metadata.
    pub fn parse(configuration: &HashMap<String, Option<String>>) -> Result<Self> {
        let properties = Properties::new(configuration);
        Ok(Self {
            column_mapping_mode: properties.mapping_mode()?,
            max_column_id: properties.number("delta.columnMapping.maxColumnId"),
            append_only: properties.flag("delta.appendOnly", false),
            deletion_vectors: properties.flag("delta.enableDeletionVectors", false),
            change_data_feed: properties.flag("delta.enableChangeDataFeed", properties.flag("delta.enableChangeDataCapture", false)),
            type_widening: properties.flag("delta.enableTypeWidening", false),
            variant_shredding: properties.flag("delta.enableVariantShredding", false),
            in_commit_timestamps: properties.flag("delta.enableInCommitTimestamps", false),
            in_commit_timestamp_enablement_version: properties.count("delta.inCommitTimestampEnablementVersion"),
            in_commit_timestamp_enablement_timestamp: properties.number("delta.inCommitTimestampEnablementTimestamp"),
            row_tracking: properties.flag("delta.enableRowTracking", false),
            row_tracking_suspended: properties.flag("delta.rowTrackingSuspended", false),
            materialized_row_id_column: properties.text("delta.rowTracking.materializedRowIdColumnName"),
            materialized_row_commit_version_column: properties.text("delta.rowTracking.materializedRowCommitVersionColumnName"),
            checkpoint_interval: properties.count("delta.checkpointInterval").filter(|interval| *interval > 0).unwrap_or(10),
            checkpoint_policy: match properties.get("delta.checkpointPolicy") {
                Some(policy) if policy.eq_ignore_ascii_case("v2") => CheckpointPolicy::V2,
                _ => CheckpointPolicy::Classic,
            },
            stats_as_json: properties.flag("delta.checkpoint.writeStatsAsJson", true),
            stats_as_struct: properties.flag("delta.checkpoint.writeStatsAsStruct", true),
            num_indexed_columns: u64::try_from(properties.number("delta.dataSkippingNumIndexedCols").unwrap_or(32)).ok(),
            stats_columns: properties.text("delta.dataSkippingStatsColumns"),
            string_prefix_length: properties.count("delta.dataSkippingStringPrefixLength").unwrap_or(32),
            log_retention_ms: properties.duration("delta.logRetentionDuration").unwrap_or(30 * DAY_MS),
            deleted_file_retention_ms: properties.duration("delta.deletedFileRetentionDuration").unwrap_or(7 * DAY_MS),
            checkpoint_retention_ms: properties.duration("delta.checkpointRetentionDuration").unwrap_or(2 * DAY_MS),
            set_transaction_retention_ms: properties.duration("delta.setTransactionRetentionDuration"),
            expired_log_cleanup: properties.flag("delta.enableExpiredLogCleanup", true),
        })
    }
}

/// Values by lower-case key: Delta Spark looks keys up without regard to case.
struct Properties<'a>(HashMap<String, &'a str>);

impl<'a> Properties<'a> {
    fn new(configuration: &'a HashMap<String, Option<String>>) -> Self {
        let set = configuration.iter().filter_map(|(key, value)| Some((key.to_lowercase(), value.as_deref()?)));
        Self(set.collect())
    }

    fn get(&self, key: &str) -> Option<&'a str> {
        self.0.get(&key.to_lowercase()).map(|value| value.trim())
    }

    fn text(&self, key: &str) -> Option<String> {
        self.get(key).map(str::to_owned)
    }

    fn flag(&self, key: &str, default: bool) -> bool {
        match self.get(key) {
            Some(value) if value.eq_ignore_ascii_case("true") => true,
            Some(value) if value.eq_ignore_ascii_case("false") => false,
            _ => default,
        }
    }

    fn number(&self, key: &str) -> Option<i64> {
        self.get(key)?.parse().ok()
    }

    fn count(&self, key: &str) -> Option<u64> {
        self.get(key)?.parse().ok()
    }

    fn duration(&self, key: &str) -> Option<i64> {
        parse_duration_ms(self.get(key)?)
    }

    fn mapping_mode(&self) -> Result<MappingMode> {
        match self.get("delta.columnMapping.mode").map(str::to_lowercase).as_deref() {
            None | Some("none") => Ok(MappingMode::None),
            Some("name") => Ok(MappingMode::Name),
            Some("id") => Ok(MappingMode::Id),
            Some(other) => Err(Error::corrupt("metaData", format!("delta.columnMapping.mode is {other:?}; it can be none, name or id"))),
        }
    }
}

/// A duration as Spark writes intervals, `interval 1 week 2 days` or `7 days`, in milliseconds. Months and years have no fixed length.
pub fn parse_duration_ms(text: &str) -> Option<i64> {
    let lower = text.trim().to_lowercase();
    let rest = lower.strip_prefix("interval").unwrap_or(&lower);
    let words: Vec<&str> = rest.split_whitespace().collect();
    if words.is_empty() || words.len() % 2 != 0 {
        return None;
    }
    words.chunks_exact(2).try_fold(0_i64, |sum, pair| sum.checked_add(one_unit_ms(pair.first()?, pair.last()?)?))
}

fn one_unit_ms(number: &str, unit: &str) -> Option<i64> {
    let number: i64 = number.parse().ok()?;
    let unit_us: i64 = match unit.strip_suffix('s').unwrap_or(unit) {
        "microsecond" => 1,
        "millisecond" => 1_000,
        "second" => 1_000_000,
        "minute" => 60 * 1_000_000,
        "hour" => 3_600 * 1_000_000,
        "day" => DAY_MS * 1_000,
        "week" => 7 * DAY_MS * 1_000,
        _ => return None,
    };
    Some(number.checked_mul(unit_us)? / 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(pairs: &[(&str, &str)]) -> Result<TableProperties> {
        TableProperties::parse(&pairs.iter().map(|(key, value)| ((*key).to_owned(), Some((*value).to_owned()))).collect())
    }

    #[test]
    fn defaults_are_those_of_delta_spark() {
        let properties = parse(&[]).unwrap();
        assert_eq!(properties.column_mapping_mode, MappingMode::None);
        assert_eq!((properties.checkpoint_interval, properties.num_indexed_columns), (10, Some(32)));
        assert_eq!(properties.log_retention_ms, 2_592_000_000);
        assert_eq!(properties.deleted_file_retention_ms, 604_800_000);
        assert!(properties.stats_as_json && properties.stats_as_struct && properties.expired_log_cleanup);
    }

    #[test]
    fn values_are_read_leniently_and_keys_in_any_case() {
        let properties = parse(&[
            ("Delta.COLUMNMAPPING.mode", "NAME"),
            ("delta.enableDeletionVectors", " True "),
            ("delta.checkpointInterval", "soon"),
            ("delta.dataSkippingNumIndexedCols", "-1"),
            ("delta.logRetentionDuration", "interval 2 weeks"),
        ])
        .unwrap();
        assert_eq!(properties.column_mapping_mode, MappingMode::Name);
        assert!(properties.deletion_vectors);
        assert_eq!((properties.checkpoint_interval, properties.num_indexed_columns), (10, None));
        assert_eq!(properties.log_retention_ms, 1_209_600_000);
    }

    #[test]
    fn an_unknown_mapping_mode_is_an_error() {
        assert!(parse(&[("delta.columnMapping.mode", "guess")]).unwrap_err().is_corrupt());
    }

    #[test]
    fn durations() {
        for (text, expected) in [
            ("interval 1 week", Some(604_800_000)),
            ("INTERVAL 30 Days", Some(2_592_000_000)),
            ("7 days", Some(604_800_000)),
            ("interval 1 day 2 hours", Some(93_600_000)),
            ("1500 microseconds", Some(1)),
            ("interval 1 month", None),
            ("interval", None),
            ("days 7", None),
            ("9223372036854775807 weeks", None),
        ] {
            assert_eq!(parse_duration_ms(text), expected, "{text}");
        }
    }
}
