use proptest::prelude::*;

use super::*;
use crate::kit::table::configuration;

fn parse(values: &[(&str, &str)]) -> Result<TableProperties> {
    TableProperties::parse(&configuration(values))
}

#[test]
fn defaults_are_those_of_delta_spark() {
    let expected = TableProperties {
        column_mapping_mode: MappingMode::None,
        column_mapping_max_column_id: None,
        in_commit_timestamps: false,
        in_commit_timestamp_enablement_version: None,
        in_commit_timestamp_enablement_timestamp: None,
        append_only: false,
        deletion_vectors: false,
        change_data_feed: false,
        row_tracking: false,
        row_tracking_suspended: false,
        materialized_row_id_column: None,
        materialized_row_commit_version_column: None,
        type_widening: false,
        variant_shredding: false,
        materialize_partition_columns: false,
        iceberg_compat_v1: false,
        iceberg_compat_v2: false,
        iceberg_compat_v3: false,
        universal_formats: vec![],
        write_partition_columns: false,
        constraints: vec![],
        isolation_level: IsolationLevel::Serializable,
        checkpoint_interval: None,
        checkpoint_policy: CheckpointPolicy::Classic,
        checkpoint_write_stats_as_json: true,
        checkpoint_write_stats_as_struct: true,
        checkpoint_retention_ms: 172_800_000,
        log_retention_ms: 2_592_000_000,
        expired_log_cleanup: true,
        deleted_file_retention_ms: 604_800_000,
        set_transaction_retention_ms: None,
        require_checkpoint_protection_before_version: 0,
        drop_feature_retention_ms: 86_400_000,
        data_skipping_num_indexed_cols: Some(32),
        data_skipping_stats_columns: None,
        data_skipping_string_prefix_length: 32,
        randomize_file_prefixes: false,
        random_prefix_length: 2,
        auto_compact: None,
        optimize_write: None,
        target_file_size_bytes: None,
        symlink_manifest: false,
        parquet_compression_codec: None,
        parquet_format_version: None,
        unreadable: vec![],
    };
    assert_eq!(parse(&[]).unwrap(), expected);
    let set = |value: &str| Some(value.to_owned());
    let unset = [("delta.appendOnly", None), ("other", set("x")), ("Delta.columnmapping.mode", set("name"))];
    let unset = unset.map(|(name, value)| (name.to_owned(), value));
    assert_eq!(TableProperties::parse(&unset.into()).unwrap(), expected);
}

#[test]
fn every_property_is_read() {
    let properties = parse(&[
        ("delta.columnMapping.mode", "NAME"),
        ("delta.columnMapping.maxColumnId", "7"),
        ("delta.enableInCommitTimestamps", "true"),
        ("delta.inCommitTimestampEnablementVersion", "3"),
        ("delta.inCommitTimestampEnablementTimestamp", "1700000000000"),
        ("delta.appendOnly", "True"),
        ("delta.enableDeletionVectors", "true"),
        ("delta.enableChangeDataFeed", "true"),
        ("delta.enableRowTracking", "true"),
        ("delta.rowTrackingSuspended", "true"),
        ("delta.rowTracking.materializedRowIdColumnName", "_row-id-col-1"),
        ("delta.rowTracking.materializedRowCommitVersionColumnName", "_row-commit-version-col-1"),
        ("delta.enableTypeWidening", "true"),
        ("delta.enableVariantShredding", "true"),
        ("delta.enableMaterializePartitionColumnsFeature", "true"),
        ("delta.enableIcebergCompatV1", "true"),
        ("delta.enableIcebergCompatV2", "true"),
        ("delta.enableIcebergCompatV3", "true"),
        ("delta.universalFormat.enabledFormats", "iceberg, hudi"),
        ("delta.writePartitionColumnsToParquet", "true"),
        ("delta.constraints.b", "y > 0"),
        ("delta.constraints.a", "x > 0"),
        ("delta.isolationLevel", "WriteSerializable"),
        ("delta.checkpointInterval", "100"),
        ("delta.checkpointPolicy", "v2"),
        ("delta.checkpoint.writeStatsAsJson", "false"),
        ("delta.checkpoint.writeStatsAsStruct", "false"),
        ("delta.checkpointRetentionDuration", "interval 1 day"),
        ("delta.logRetentionDuration", "interval 60 days"),
        ("delta.enableExpiredLogCleanup", "false"),
        ("delta.deletedFileRetentionDuration", "interval 1 second"),
        ("delta.setTransactionRetentionDuration", "interval 2 seconds"),
        ("delta.requireCheckpointProtectionBeforeVersion", "9"),
        ("delta.dropFeatureTruncateHistory.retentionDuration", "interval 1 hour"),
        ("delta.dataSkippingNumIndexedCols", "-1"),
        ("delta.dataSkippingStatsColumns", "a,`b.c`"),
        ("delta.dataSkippingStringPrefixLength", "16"),
        ("delta.randomizeFilePrefixes", "true"),
        ("delta.compatibility.symlinkFormatManifest.enabled", "true"),
        ("delta.randomPrefixLength", "4"),
        ("delta.autoOptimize.autoCompact", "auto"),
        ("delta.autoOptimize.optimizeWrite", "true"),
        ("delta.targetFileSize", "1g"),
        ("delta.parquet.compression.codec", "zstd"),
        ("delta.parquet.format.version", "2.12.0"),
    ]);
    let expected = TableProperties {
        column_mapping_mode: MappingMode::Name,
        column_mapping_max_column_id: Some(7),
        in_commit_timestamps: true,
        in_commit_timestamp_enablement_version: Some(3),
        in_commit_timestamp_enablement_timestamp: Some(1_700_000_000_000),
        append_only: true,
        deletion_vectors: true,
        change_data_feed: true,
        row_tracking: true,
        row_tracking_suspended: true,
        materialized_row_id_column: Some("_row-id-col-1".to_owned()),
        materialized_row_commit_version_column: Some("_row-commit-version-col-1".to_owned()),
        type_widening: true,
        variant_shredding: true,
        materialize_partition_columns: true,
        iceberg_compat_v1: true,
        iceberg_compat_v2: true,
        iceberg_compat_v3: true,
        universal_formats: vec!["iceberg".to_owned(), "hudi".to_owned()],
        write_partition_columns: true,
        constraints: vec![("a".to_owned(), "x > 0".to_owned()), ("b".to_owned(), "y > 0".to_owned())],
        isolation_level: IsolationLevel::WriteSerializable,
        checkpoint_interval: Some(100),
        checkpoint_policy: CheckpointPolicy::V2,
        checkpoint_write_stats_as_json: false,
        checkpoint_write_stats_as_struct: false,
        checkpoint_retention_ms: 86_400_000,
        log_retention_ms: 5_184_000_000,
        expired_log_cleanup: false,
        deleted_file_retention_ms: 1_000,
        set_transaction_retention_ms: Some(2_000),
        require_checkpoint_protection_before_version: 9,
        drop_feature_retention_ms: 3_600_000,
        data_skipping_num_indexed_cols: None,
        data_skipping_stats_columns: Some("a,`b.c`".to_owned()),
        data_skipping_string_prefix_length: 16,
        randomize_file_prefixes: true,
        random_prefix_length: 4,
        auto_compact: Some("auto".to_owned()),
        optimize_write: Some(true),
        target_file_size_bytes: Some(1_073_741_824),
        symlink_manifest: true,
        parquet_compression_codec: Some("zstd".to_owned()),
        parquet_format_version: Some("2.12.0".to_owned()),
        unreadable: vec![],
    };
    assert_eq!(properties.unwrap(), expected);
}

#[test]
fn parse_change_feed_prefers_new_name() {
    let old = ("delta.enableChangeDataCapture", "true");
    assert!(parse(&[old]).unwrap().change_data_feed);
    assert!(!parse(&[old, ("delta.enableChangeDataFeed", "false")]).unwrap().change_data_feed);
}

#[test]
fn what_a_reader_needs_must_be_understood() {
    for (name, value, expected) in [
        ("delta.columnMapping.mode", "names", "must be none, id or name"),
        ("delta.enableInCommitTimestamps", "yes", "must be true or false"),
        ("delta.inCommitTimestampEnablementVersion", "-1", "must be a whole number within its range"),
        ("delta.inCommitTimestampEnablementTimestamp", "now", "must be a whole number within its range"),
    ] {
        let error = parse(&[(name, value)]).unwrap_err();
        assert!(error.is_corrupt());
        assert_eq!(error.message(), format!("property {name}: its value {value:?} {expected}"));
    }
}

#[test]
fn parse_bad_writer_property_counts_as_unset() {
    for (name, value, expected) in [
        ("delta.appendOnly", "maybe", "must be true or false"),
        ("delta.checkpointInterval", "0", "must be a whole number above 0"),
        ("delta.checkpointPolicy", "v3", "must be classic or v2"),
        ("delta.isolationLevel", "none", "must be Serializable, WriteSerializable or SnapshotIsolation"),
        ("delta.dataSkippingNumIndexedCols", "-2", "must be a number of columns, or -1 for all"),
        ("delta.targetFileSize", "big", "must be a size such as 104857600 or 100mb"),
        ("delta.logRetentionDuration", "interval 1 month", "must be a duration without months and years, whose length varies"),
    ] {
        let properties = parse(&[(name, value)]).unwrap();
        let (owned_name, owned_value) = (name.to_owned(), value.to_owned());
        let unreadable = UnreadableProperty { name: owned_name, value: owned_value, expected: expected.to_owned() };
        assert_eq!(properties, TableProperties { unreadable: vec![unreadable], ..parse(&[]).unwrap() });
        let error = properties.check_readable().unwrap_err();
        assert_eq!(error.message(), format!("property {name}: its value {value:?} {expected}"));
    }
    assert!(parse(&[]).unwrap().check_readable().is_ok());
}

#[test]
fn durations_have_sparks_spellings() {
    for (text, ms) in [
        ("interval 1 week", 604_800_000),
        ("interval 30 days", 2_592_000_000),
        ("7 days", 604_800_000),
        ("INTERVAL 2 Weeks 1 DAY", 1_296_000_000),
        (" interval  1\thour 30 minutes ", 5_400_000),
        ("interval 0 hours", 0),
        ("1 day -1 hour", 82_800_000),
        ("+5 milliseconds", 5),
        ("2500 microseconds", 2),
        ("1.5 seconds", 1_500),
        ("interval 1 day 0.25 second", 86_400_250),
    ] {
        assert_eq!(parse_duration_ms(text), Ok(ms), "{text}");
    }
    for text in
        ["", "interval", "1", "day", "1 dayz", "1day", "1.5 days", "one day", "1 day 2", "1. seconds", "99999999999999 weeks"]
    {
        let expected = "must be a duration such as \"interval 7 days\", in weeks or shorter units";
        assert_eq!(parse_duration_ms(text), Err(expected.to_owned()), "{text}");
    }
    for text in ["interval 1 month", "1 years", "1 day 2 months"] {
        let expected = "must be a duration without months and years, whose length varies";
        assert_eq!(parse_duration_ms(text), Err(expected.to_owned()), "{text}");
    }
    assert_eq!(parse_duration_ms("interval -1 day"), Err("must be a duration that is not negative".to_owned()));
}

#[test]
fn sizes_count_by_1024() {
    for (text, bytes) in [
        ("0", 0),
        ("104857600", 104_857_600),
        ("100mb", 104_857_600),
        ("100 MB", 104_857_600),
        ("1k", 1_024),
        ("5b", 5),
        ("2p", 2_251_799_813_685_248),
    ] {
        assert_eq!(parse_size_bytes(text), Ok(bytes), "{text}");
    }
    for text in ["", "mb", "-1", "1.5g", "1 gib", "99999999999999999999", "99999999999p"] {
        assert_eq!(parse_size_bytes(text), Err("must be a size such as 104857600 or 100mb".to_owned()), "{text}");
    }
}

proptest! {
    #[test]
    fn durations_add_up(weeks in 0..1_000_i64, days in 0..1_000_i64, seconds in 0..100_000_i64) {
        let ms = ((weeks * 7 + days) * 86_400 + seconds) * 1_000;
        prop_assert_eq!(parse_duration_ms(&format!("interval {weeks} weeks {days} days {seconds} seconds")), Ok(ms));
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,30}|[-+0-9. a-z]{0,30}") {
        let _ = parse_duration_ms(&text);
        let _ = parse_size_bytes(&text);
    }
}
