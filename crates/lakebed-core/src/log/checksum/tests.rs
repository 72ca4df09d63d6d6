use serde_json::json;

use super::*;

const NAME: &str = "00000000000000000005.crc";

fn complete() -> Value {
    json!({
        "txnId": "t-1",
        "tableSizeBytes": 1234,
        "numFiles": 2,
        "numDeletedRecordsOpt": 3,
        "numDeletionVectorsOpt": 1,
        "numMetadata": 1,
        "numProtocol": 1,
        "inCommitTimestampOpt": 1_700_000_000_000_i64,
        "setTransactions": [{"appId": "a", "version": 7, "lastUpdated": 8}],
        "domainMetadata": [
            {"domain": "delta.rowTracking", "configuration": "{}", "removed": false},
            {"domain": "gone", "configuration": "", "removed": true}
        ],
        "metadata": {"id": "i", "format": {"provider": "parquet", "options": {}}, "schemaString": "{}", "partitionColumns": [], "configuration": {}},
        "protocol": {"minReaderVersion": 1, "minWriterVersion": 2},
        "histogramOpt": {"sortedBinBoundaries": [0], "fileCounts": [2], "totalBytes": [1234]},
        "allFiles": [{"path": "a"}, 7]
    })
}

fn parse(value: &Value) -> Result<VersionChecksum> {
    VersionChecksum::parse(format!("{value}\n").as_bytes(), NAME)
}

/// The error when these fields have these values instead.
#[track_caller]
fn check_error(changes: &[(&str, Value)], expected: &str) {
    let mut value = complete();
    for (key, change) in changes {
        value[*key] = change.clone();
    }
    let error = parse(&value).unwrap_err();
    assert!(error.is_corrupt());
    assert_eq!(error.message(), format!("{NAME}: {expected}"));
}

#[test]
fn every_field_of_use_is_read() {
    let checksum = parse(&complete()).unwrap();
    assert_eq!(
        checksum,
        VersionChecksum {
            table_size_bytes: 1234,
            num_files: 2,
            metadata: Metadata {
                id: "i".to_owned(),
                name: None,
                description: None,
                format: Default::default(),
                schema_string: "{}".to_owned(),
                partition_columns: Vec::new(),
                configuration: Default::default(),
                created_time: None,
            },
            protocol: Protocol { min_reader_version: 1, min_writer_version: 2, reader_features: None, writer_features: None },
            set_transactions: Some(vec![SetTransaction { app_id: "a".to_owned(), version: 7, last_updated: Some(8) }]),
            domain_metadata: Some(vec![DomainMetadata {
                domain: "delta.rowTracking".to_owned(),
                configuration: "{}".to_owned(),
                removed: false,
            }]),
            in_commit_timestamp: Some(1_700_000_000_000),
            txn_id: Some("t-1".to_owned()),
            num_deleted_records: Some(3),
            num_deletion_vectors: Some(1),
        }
    );
}

#[test]
fn what_is_not_there_is_not_known() {
    let least = json!({"tableSizeBytes": "0", "numFiles": 0, "metadata": complete()["metadata"], "protocol": complete()["protocol"], "setTransactions": null});
    let checksum = parse(&least).unwrap();
    assert_eq!((checksum.table_size_bytes, checksum.num_files), (0, 0));
    assert_eq!((checksum.set_transactions, checksum.domain_metadata, checksum.in_commit_timestamp), (None, None, None));
}

#[test]
fn an_empty_list_is_known_to_be_empty() {
    let mut value = complete();
    value["setTransactions"] = json!([]);
    assert_eq!(parse(&value).unwrap().set_transactions, Some(Vec::new()));
}

#[test]
fn a_list_with_a_broken_entry_is_not_known() {
    let mut value = complete();
    value["setTransactions"] = json!([{"appId": "a", "version": 7}, {"appId": "b"}]);
    assert_eq!(parse(&value).unwrap().set_transactions, None);
}

#[test]
fn without_sums_protocol_or_metadata_it_is_none() {
    check_error(&[("metadata", Value::Null)], "a checksum file without metadata");
    check_error(&[("protocol", json!({"minReaderVersion": 1}))], "a checksum file without protocol");
    check_error(&[("numFiles", Value::Null)], "a checksum file without numFiles");
    check_error(&[("tableSizeBytes", json!(-1))], "a checksum file without tableSizeBytes");
    check_error(&[("numProtocol", json!(0))], "numProtocol is 0, which no table can have");
    check_error(&[("numMetadata", json!(2))], "numMetadata is 2, which no table can have");
    assert!(VersionChecksum::parse(b"", NAME).is_err());
    assert!(VersionChecksum::parse(b"{\"tableSizeBytes\":1", NAME).is_err());
}
