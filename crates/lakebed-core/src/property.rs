//! Table properties, with Delta Spark's defaults. [`TableProperties::parse`] reads a table's
//! configuration.
//!
//! Some properties, column mapping and in-commit timestamps, decide which rows or which version a
//! reader returns. If such a value cannot be parsed, reading fails. Any other such value counts as
//! unset and is listed in [`TableProperties::unreadable`], so that writers refuse it.

mod measure;

use std::collections::HashMap;
use std::str::FromStr;

pub use measure::{parse_duration_ms, parse_size_bytes};

use crate::schema::mapping::MappingMode;
use crate::{Error, Result};

const DAY_MS: i64 = 86_400_000;

/// The least target size of files. Smaller files would consist mostly of their footers, so a table
/// with a smaller value gets files of this size.
pub const LEAST_FILE_SIZE_BYTES: u64 = 1024;

/// The configuration of a table as typed properties. The comment of each field begins with the name
/// of the property, followed by its default or its meaning.
#[derive(Debug, Clone, PartialEq)]
pub struct TableProperties {
    /// `delta.columnMapping.mode`: none.
    pub column_mapping_mode: MappingMode,
    /// `delta.columnMapping.maxColumnId`: the highest field id that was ever assigned.
    pub column_mapping_max_column_id: Option<i64>,
    /// `delta.enableInCommitTimestamps`: false.
    pub in_commit_timestamps: bool,
    /// `delta.inCommitTimestampEnablementVersion`: the first version that has an in-commit
    /// timestamp, if older versions have none.
    pub in_commit_timestamp_enablement_version: Option<u64>,
    /// `delta.inCommitTimestampEnablementTimestamp`: the in-commit timestamp of that version.
    pub in_commit_timestamp_enablement_timestamp: Option<i64>,

    /// `delta.appendOnly`: false.
    pub append_only: bool,
    /// `delta.enableDeletionVectors`: false. The property decides whether new vectors may be
    /// written. Existing vectors always count.
    pub deletion_vectors: bool,
    /// `delta.enableChangeDataFeed`, formerly `delta.enableChangeDataCapture`: false.
    pub change_data_feed: bool,
    /// `delta.enableRowTracking`: false.
    pub row_tracking: bool,
    /// `delta.rowTrackingSuspended`: false.
    pub row_tracking_suspended: bool,
    /// `delta.rowTracking.materializedRowIdColumnName`: the physical column that keeps row ids of
    /// moved rows.
    pub materialized_row_id_column: Option<String>,
    /// `delta.rowTracking.materializedRowCommitVersionColumnName`: the physical column that keeps
    /// commit versions of moved rows.
    pub materialized_row_commit_version_column: Option<String>,
    /// `delta.enableTypeWidening`: false.
    pub type_widening: bool,
    /// `delta.enableVariantShredding`: false.
    pub variant_shredding: bool,
    /// `delta.enableMaterializePartitionColumnsFeature`: false.
    pub materialize_partition_columns: bool,
    /// `delta.enableIcebergCompatV1`: false.
    pub iceberg_compat_v1: bool,
    /// `delta.enableIcebergCompatV2`: false.
    pub iceberg_compat_v2: bool,
    /// `delta.enableIcebergCompatV3`: false.
    pub iceberg_compat_v3: bool,
    /// `delta.universalFormat.enabledFormats`: none.
    pub universal_formats: Vec<String>,
    /// `delta.writePartitionColumnsToParquet`: false.
    pub write_partition_columns: bool,
    /// `delta.constraints.<name>`: names and SQL, sorted by name.
    pub constraints: Vec<(String, String)>,
    /// `delta.isolationLevel`: Serializable.
    pub isolation_level: IsolationLevel,

    /// `delta.checkpointInterval`: unset, which means 10 commits, or more if checkpoints are large.
    pub checkpoint_interval: Option<u64>,
    /// `delta.checkpointPolicy`: classic.
    pub checkpoint_policy: CheckpointPolicy,
    /// `delta.checkpoint.writeStatsAsJson`: true.
    pub checkpoint_write_stats_as_json: bool,
    /// `delta.checkpoint.writeStatsAsStruct`: true.
    pub checkpoint_write_stats_as_struct: bool,
    /// `delta.checkpointRetentionDuration`: 2 days.
    pub checkpoint_retention_ms: i64,
    /// `delta.logRetentionDuration`: 30 days.
    pub log_retention_ms: i64,
    /// `delta.enableExpiredLogCleanup`: true.
    pub expired_log_cleanup: bool,
    /// `delta.deletedFileRetentionDuration`: 7 days.
    pub deleted_file_retention_ms: i64,
    /// `delta.setTransactionRetentionDuration`: unset, which means that transaction identifiers
    /// never expire.
    pub set_transaction_retention_ms: Option<i64>,
    /// `delta.requireCheckpointProtectionBeforeVersion`: 0.
    pub require_checkpoint_protection_before_version: u64,
    /// `delta.dropFeatureTruncateHistory.retentionDuration`: 24 hours.
    pub drop_feature_retention_ms: i64,

    /// `delta.dataSkippingNumIndexedCols`: 32 leaf columns. `None` means all columns.
    pub data_skipping_num_indexed_cols: Option<u32>,
    /// `delta.dataSkippingStatsColumns`: a list of column names in SQL. It overrides the number.
    pub data_skipping_stats_columns: Option<String>,
    /// `delta.dataSkippingStringPrefixLength`: 32.
    pub data_skipping_string_prefix_length: u32,
    /// `delta.randomizeFilePrefixes`: false.
    pub randomize_file_prefixes: bool,
    /// `delta.randomPrefixLength`: 2.
    pub random_prefix_length: u32,
    /// `delta.autoOptimize.autoCompact`: unset. The writer decides.
    pub auto_compact: Option<String>,
    /// `delta.autoOptimize.optimizeWrite`: unset. The writer decides.
    pub optimize_write: Option<bool>,
    /// `delta.targetFileSize`: unset. The writer decides. A smaller value than
    /// [`LEAST_FILE_SIZE_BYTES`] is replaced by it.
    pub target_file_size_bytes: Option<u64>,
    /// `delta.compatibility.symlinkFormatManifest.enabled`: false. Writers list the files of the table
    /// for other engines after each commit.
    pub symlink_manifest: bool,
    /// `delta.parquet.compression.codec`: unset. The writer decides.
    pub parquet_compression_codec: Option<String>,
    /// `delta.parquet.format.version`: unset. The writer decides.
    pub parquet_format_version: Option<String>,

    /// Values that could not be parsed. They count as unset.
    pub unreadable: Vec<UnreadableProperty>,
}

/// A property with a value that could not be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableProperty {
    /// The name of the property.
    pub name: String,
    /// The value of the property.
    pub value: String,
    /// A description of valid values.
    pub expected: String,
}

/// The degree to which concurrent transactions are isolated from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IsolationLevel {
    /// Reads and writes have the effect of some serial order.
    #[default]
    Serializable,
    /// Writes have the effect of some serial order.
    WriteSerializable,
    /// Reads see one snapshot.
    SnapshotIsolation,
}

impl IsolationLevel {
    /// Returns the name as properties and `commitInfo` spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Serializable => "Serializable",
            Self::WriteSerializable => "WriteSerializable",
            Self::SnapshotIsolation => "SnapshotIsolation",
        }
    }
}

/// The kind of checkpoints to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CheckpointPolicy {
    /// One file, named by the version.
    #[default]
    Classic,
    /// A V2 checkpoint with a unique name.
    V2,
}

/// The properties that [`TableProperties::parse`] knows, except constraints.
const NAMES: &[&str] = &[
    "delta.appendOnly",
    "delta.autoOptimize.autoCompact",
    "delta.autoOptimize.optimizeWrite",
    "delta.checkpoint.writeStatsAsJson",
    "delta.checkpoint.writeStatsAsStruct",
    "delta.checkpointInterval",
    "delta.checkpointPolicy",
    "delta.checkpointRetentionDuration",
    "delta.columnMapping.maxColumnId",
    "delta.columnMapping.mode",
    "delta.compatibility.symlinkFormatManifest.enabled",
    "delta.dataSkippingNumIndexedCols",
    "delta.dataSkippingStatsColumns",
    "delta.dataSkippingStringPrefixLength",
    "delta.deletedFileRetentionDuration",
    "delta.dropFeatureTruncateHistory.retentionDuration",
    "delta.enableChangeDataCapture",
    "delta.enableChangeDataFeed",
    "delta.enableDeletionVectors",
    "delta.enableExpiredLogCleanup",
    "delta.enableIcebergCompatV1",
    "delta.enableIcebergCompatV2",
    "delta.enableIcebergCompatV3",
    "delta.enableInCommitTimestamps",
    "delta.enableMaterializePartitionColumnsFeature",
    "delta.enableRowTracking",
    "delta.enableTypeWidening",
    "delta.enableVariantShredding",
    "delta.inCommitTimestampEnablementTimestamp",
    "delta.inCommitTimestampEnablementVersion",
    "delta.isolationLevel",
    "delta.logRetentionDuration",
    "delta.parquet.compression.codec",
    "delta.parquet.format.version",
    "delta.randomPrefixLength",
    "delta.randomizeFilePrefixes",
    "delta.requireCheckpointProtectionBeforeVersion",
    "delta.rowTracking.materializedRowCommitVersionColumnName",
    "delta.rowTracking.materializedRowIdColumnName",
    "delta.rowTrackingSuspended",
    "delta.setTransactionRetentionDuration",
    "delta.targetFileSize",
    "delta.universalFormat.enabledFormats",
    "delta.writePartitionColumnsToParquet",
];

/// Returns the names of all properties that have a meaning, except constraints.
pub fn known_names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().copied()
}

/// Returns the official spelling of a name that is given in any case.
pub fn known_name(name: &str) -> Option<&'static str> {
    known_names().find(|known| known.eq_ignore_ascii_case(name))
}

impl TableProperties {
    /// Parses a configuration. An empty one gives the defaults. A null value counts as unset. A key
    /// in another case counts as unset too, because Delta Spark matches keys exactly.
    pub fn parse(configuration: &HashMap<String, Option<String>>) -> Result<Self> {
        let mut values = Values { configuration, unreadable: Vec::new() };
        Ok(Self {
            column_mapping_mode: values.required("columnMapping.mode", str::parse)?.unwrap_or_default(),
            column_mapping_max_column_id: values.get("columnMapping.maxColumnId", number),
            in_commit_timestamps: values.required("enableInCommitTimestamps", flag)?.unwrap_or(false),
            in_commit_timestamp_enablement_version: values.required("inCommitTimestampEnablementVersion", number)?,
            in_commit_timestamp_enablement_timestamp: values.required("inCommitTimestampEnablementTimestamp", number)?,

            append_only: values.flag("appendOnly", false),
            deletion_vectors: values.flag("enableDeletionVectors", false),
            change_data_feed: values
                .get("enableChangeDataFeed", flag)
                .or_else(|| values.get("enableChangeDataCapture", flag))
                .unwrap_or(false),
            row_tracking: values.flag("enableRowTracking", false),
            row_tracking_suspended: values.flag("rowTrackingSuspended", false),
            materialized_row_id_column: values.get("rowTracking.materializedRowIdColumnName", text),
            materialized_row_commit_version_column: values.get("rowTracking.materializedRowCommitVersionColumnName", text),
            type_widening: values.flag("enableTypeWidening", false),
            variant_shredding: values.flag("enableVariantShredding", false),
            materialize_partition_columns: values.flag("enableMaterializePartitionColumnsFeature", false),
            iceberg_compat_v1: values.flag("enableIcebergCompatV1", false),
            iceberg_compat_v2: values.flag("enableIcebergCompatV2", false),
            iceberg_compat_v3: values.flag("enableIcebergCompatV3", false),
            universal_formats: values.get("universalFormat.enabledFormats", words).unwrap_or_default(),
            write_partition_columns: values.flag("writePartitionColumnsToParquet", false),
            constraints: values.constraints(),
            isolation_level: values.get("isolationLevel", isolation_level).unwrap_or_default(),

            checkpoint_interval: values.get("checkpointInterval", positive),
            checkpoint_policy: values.get("checkpointPolicy", checkpoint_policy).unwrap_or_default(),
            checkpoint_write_stats_as_json: values.flag("checkpoint.writeStatsAsJson", true),
            checkpoint_write_stats_as_struct: values.flag("checkpoint.writeStatsAsStruct", true),
            checkpoint_retention_ms: values.duration_ms("checkpointRetentionDuration", 2 * DAY_MS),
            log_retention_ms: values.duration_ms("logRetentionDuration", 30 * DAY_MS),
            expired_log_cleanup: values.flag("enableExpiredLogCleanup", true),
            deleted_file_retention_ms: values.duration_ms("deletedFileRetentionDuration", 7 * DAY_MS),
            set_transaction_retention_ms: values.get("setTransactionRetentionDuration", parse_duration_ms),
            require_checkpoint_protection_before_version: values
                .get("requireCheckpointProtectionBeforeVersion", number)
                .unwrap_or(0),
            drop_feature_retention_ms: values.duration_ms("dropFeatureTruncateHistory.retentionDuration", DAY_MS),

            data_skipping_num_indexed_cols: values.get("dataSkippingNumIndexedCols", column_count).unwrap_or(Some(32)),
            data_skipping_stats_columns: values.get("dataSkippingStatsColumns", text),
            data_skipping_string_prefix_length: values.get("dataSkippingStringPrefixLength", number).unwrap_or(32),
            randomize_file_prefixes: values.flag("randomizeFilePrefixes", false),
            random_prefix_length: values.get("randomPrefixLength", number).unwrap_or(2),
            auto_compact: values.get("autoOptimize.autoCompact", text),
            optimize_write: values.get("autoOptimize.optimizeWrite", flag),
            target_file_size_bytes: values.get("targetFileSize", parse_size_bytes).map(|size| size.max(LEAST_FILE_SIZE_BYTES)),
            symlink_manifest: values.flag("compatibility.symlinkFormatManifest.enabled", false),
            parquet_compression_codec: values.get("parquet.compression.codec", text),
            parquet_format_version: values.get("parquet.format.version", text),

            unreadable: values.unreadable,
        })
    }

    /// Refuses properties with values that could not be parsed, because a writer must not treat
    /// them as unset.
    pub fn check_readable(&self) -> Result<()> {
        match self.unreadable.first() {
            None => Ok(()),
            Some(UnreadableProperty { name, value, expected }) => Err(not_understood(name, value, expected)),
        }
    }
}

/// A configuration, and its values that could not be parsed so far.
struct Values<'a> {
    configuration: &'a HashMap<String, Option<String>>,
    unreadable: Vec<UnreadableProperty>,
}

impl<'a> Values<'a> {
    /// Returns the value of `delta.<name>`, if it is set.
    fn text(&self, name: &str) -> Option<&'a str> {
        self.configuration.get(&format!("delta.{name}"))?.as_deref()
    }

    fn required<T>(&self, name: &str, parse: impl Fn(&str) -> Result<T, String>) -> Result<Option<T>> {
        let parsed = self
            .text(name)
            .map(|value| parse(value).map_err(|expected| not_understood(&format!("delta.{name}"), value, &expected)));
        parsed.transpose()
    }

    fn get<T>(&mut self, name: &str, parse: impl Fn(&str) -> Result<T, String>) -> Option<T> {
        let value = self.text(name)?;
        match parse(value) {
            Ok(parsed) => Some(parsed),
            Err(expected) => {
                self.unreadable.push(UnreadableProperty { name: format!("delta.{name}"), value: value.to_owned(), expected });
                None
            }
        }
    }

    fn flag(&mut self, name: &str, default: bool) -> bool {
        self.get(name, flag).unwrap_or(default)
    }

    fn duration_ms(&mut self, name: &str, default: i64) -> i64 {
        self.get(name, parse_duration_ms).unwrap_or(default)
    }

    fn constraints(&self) -> Vec<(String, String)> {
        let constraints = self.configuration.iter();
        let constraints =
            constraints.filter_map(|(key, value)| Some((key.strip_prefix("delta.constraints.")?, value.as_deref()?)));
        let mut constraints: Vec<_> = constraints.map(|(name, sql)| (name.to_owned(), sql.to_owned())).collect();
        constraints.sort();
        constraints
    }
}

fn not_understood(name: &str, value: &str, expected: &str) -> Error {
    Error::corrupt(format!("property {name}"), format!("its value {value:?} {expected}"))
}

fn flag(text: &str) -> Result<bool, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err("must be true or false".to_owned()),
    }
}

fn number<T: FromStr>(text: &str) -> Result<T, String> {
    text.trim().parse().map_err(|_| "must be a whole number within its range".to_owned())
}

fn positive(text: &str) -> Result<u64, String> {
    number(text).ok().filter(|number| *number > 0).ok_or_else(|| "must be a whole number above 0".to_owned())
}

fn column_count(text: &str) -> Result<Option<u32>, String> {
    match number::<i64>(text) {
        Ok(-1) => Ok(None),
        Ok(count) if count >= 0 => Ok(Some(u32::try_from(count).unwrap_or(u32::MAX))),
        _ => Err("must be a number of columns, or -1 for all".to_owned()),
    }
}

fn text(text: &str) -> Result<String, String> {
    Ok(text.to_owned())
}

fn words(text: &str) -> Result<Vec<String>, String> {
    Ok(text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect())
}

fn isolation_level(text: &str) -> Result<IsolationLevel, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        "serializable" => Ok(IsolationLevel::Serializable),
        "writeserializable" => Ok(IsolationLevel::WriteSerializable),
        "snapshotisolation" => Ok(IsolationLevel::SnapshotIsolation),
        _ => Err("must be Serializable, WriteSerializable or SnapshotIsolation".to_owned()),
    }
}

fn checkpoint_policy(text: &str) -> Result<CheckpointPolicy, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        "classic" => Ok(CheckpointPolicy::Classic),
        "v2" => Ok(CheckpointPolicy::V2),
        _ => Err("must be classic or v2".to_owned()),
    }
}

#[cfg(test)]
mod tests;
