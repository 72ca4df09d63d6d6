use serde_json::json;

use super::*;
use crate::kit::action::{VECTOR_FILE, add, remove_of, vector, with, with_vector};
use crate::kit::check_corrupt;
use crate::kit::table::{metadata, protocol};

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

/// Checks the error for a checksum in which these fields have other values.
#[track_caller]
fn check_error(changes: &[(&str, Value)], expected: &str) {
    let mut value = complete();
    for (key, change) in changes {
        value[*key] = change.clone();
    }
    check_corrupt(parse(&value), &format!("{NAME}: {expected}"));
}

#[test]
fn every_field_of_use_is_read() {
    let checksum = parse(&complete()).unwrap();
    assert_eq!(
        checksum,
        VersionChecksum {
            table_size_bytes: 1234,
            num_files: 2,
            metadata: Metadata { created_time: None, ..metadata("{}", &[], &[]) },
            protocol: protocol(1, 2, None, None),
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
            deleted_record_counts: None,
            file_size_histogram: Some(FileSizeHistogram {
                sorted_bin_boundaries: vec![0],
                file_counts: vec![2],
                total_bytes: vec![1234],
            }),
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
fn parse_checksum_keeps_empty_lists() {
    let mut value = complete();
    value["setTransactions"] = json!([]);
    assert_eq!(parse(&value).unwrap().set_transactions, Some(Vec::new()));
}

#[test]
fn parse_checksum_drops_list_with_broken_entry() {
    let mut value = complete();
    value["setTransactions"] = json!([{"appId": "a", "version": 7}, {"appId": "b"}]);
    assert_eq!(parse(&value).unwrap().set_transactions, None);
}

#[test]
fn parse_checksum_without_required_field_fails() {
    check_error(&[("metadata", Value::Null)], "a checksum file without metadata");
    check_error(&[("protocol", json!({"minReaderVersion": 1}))], "a checksum file without protocol");
    check_error(&[("numFiles", Value::Null)], "a checksum file without numFiles");
    check_error(&[("tableSizeBytes", json!(-1))], "a checksum file without tableSizeBytes");
    check_error(&[("numProtocol", json!(0))], "numProtocol is 0, which no table can have");
    check_error(&[("numMetadata", json!(2))], "numMetadata is 2, which no table can have");
    for broken in ["", "{\"tableSizeBytes\":1"] {
        check_corrupt(VersionChecksum::parse(broken.as_bytes(), NAME), &format!("{NAME}: not a checksum file"));
    }
}

#[test]
fn what_is_written_is_read_again() {
    let mut value = complete();
    value["deletedRecordCountsHistogramOpt"] = json!({"deletedRecordCounts": [1, 1, 0, 0, 0, 0, 0, 0, 0, 0]});
    let checksum = parse(&value).unwrap();
    let text = checksum.to_json().unwrap();
    assert!(text.ends_with("}\n") && text.lines().count() == 1);
    assert_eq!(VersionChecksum::parse(text.as_bytes(), NAME).unwrap(), checksum);
}

#[test]
fn parse_checksum_drops_contradictory_histogram() {
    for broken in [
        json!({"sortedBinBoundaries": [0, 10], "fileCounts": [2], "totalBytes": [1234]}),
        json!({"sortedBinBoundaries": [10, 0], "fileCounts": [2, 0], "totalBytes": [1234, 0]}),
        json!({"sortedBinBoundaries": [5], "fileCounts": [2], "totalBytes": [1234]}),
        json!({"sortedBinBoundaries": [0], "fileCounts": ["x"], "totalBytes": [1234]}),
    ] {
        let mut value = complete();
        value["histogramOpt"] = broken;
        assert_eq!(parse(&value).unwrap().file_size_histogram, None);
    }
}

#[test]
fn bins_are_those_of_delta_spark() {
    let histogram = FileSizeHistogram::default();
    assert_eq!(histogram.sorted_bin_boundaries.len(), 95);
    assert!(histogram.sorted_bin_boundaries.is_sorted());
    assert_eq!(histogram.sorted_bin_boundaries[..4], [0, 8192, 16384, 32768]);
    assert_eq!(histogram.sorted_bin_boundaries[93..], [137_438_953_472, 274_877_906_944]);
    // The sum of the list that Delta Spark 4.4 writes.
    assert_eq!(histogram.sorted_bin_boundaries.iter().sum::<i64>(), 603740692480);
}

#[test]
fn files_are_counted_where_they_belong() {
    let mut sizes =
        FileSizeHistogram { sorted_bin_boundaries: vec![0, 10, 20], file_counts: vec![0; 3], total_bytes: vec![0; 3] };
    for size in [0, 9, 10, 19, 20, 1000] {
        sizes.count(size, 1);
    }
    sizes.count(9, -1);
    assert_eq!((sizes.file_counts, sizes.total_bytes), (vec![1, 2, 2], vec![0, 29, 1020]));
    let mut deleted = DeletedRecordCounts::default();
    for rows in [0, 1, 9, 10, 99, 100, 9_999_999, 10_000_000, 2_147_483_646, 2_147_483_647, i64::MAX] {
        deleted.count(rows, 1);
    }
    assert_eq!(deleted.0, [1, 2, 2, 1, 0, 0, 0, 1, 2, 2]);
}

mod succession {
    use crate::action::json::CommitLines;

    use super::*;

    fn next(previous: &VersionChecksum, lines: &str) -> Option<VersionChecksum> {
        let mut next = Successor::of(previous, FileChanges::Exact);
        next.read(CommitLines::whole(lines.as_bytes(), NAME)).unwrap();
        next.finish()
    }

    #[test]
    fn each_sum_follows_the_commit() {
        let previous = parse(&complete()).unwrap();
        let mut vector = vector("u", VECTOR_FILE, 1);
        vector["cardinality"] = json!(3);
        let lines = [
            with(add("n"), json!({"size": 66})),
            with_vector(remove_of(&add("o")), vector),
            json!({"txn": {"appId": "a", "version": 9}}),
            json!({"domainMetadata": {"domain": "delta.rowTracking", "configuration": "{}", "removed": true}}),
            json!({"commitInfo": {"txnId": "t-2"}}),
        ];
        let next = next(&previous, &lines.map(|line| line.to_string()).join("\n")).unwrap();
        assert_eq!((next.num_files, next.table_size_bytes), (2, 1200));
        assert_eq!(next.txn_id.as_deref(), Some("t-2"));
        assert_eq!(next.set_transactions, Some(vec![SetTransaction { app_id: "a".to_owned(), version: 9, last_updated: None }]));
        assert_eq!(next.domain_metadata, Some(Vec::new()));
        assert_eq!(next.file_size_histogram.unwrap().total_bytes, [1200]);
        // The sample's table does not support deletion vectors, whatever its counts are.
        assert_eq!(next.num_deletion_vectors, None);
    }

    #[test]
    fn what_was_not_known_stays_unknown() {
        let mut value = complete();
        value["setTransactions"] = Value::Null;
        value["histogramOpt"] = Value::Null;
        let next = next(&parse(&value).unwrap(), r#"{"txn":{"appId":"a","version":9}}"#).unwrap();
        assert_eq!((next.set_transactions, next.file_size_histogram), (None, None));
    }

    #[test]
    fn next_checksum_omits_transactions_that_expire() {
        let mut value = complete();
        value["metadata"]["configuration"] = json!({"delta.setTransactionRetentionDuration": "interval 1 day"});
        assert_eq!(next(&parse(&value).unwrap(), "").unwrap().set_transactions, None);
    }

    #[test]
    fn long_lists_are_left_out() {
        let lines: Vec<String> = (0..100).map(|app| format!(r#"{{"txn":{{"appId":"b{app}","version":1}}}}"#)).collect();
        let previous = parse(&complete()).unwrap();
        assert_eq!(next(&previous, &lines[..99].join("\n")).unwrap().set_transactions.unwrap().len(), 100);
        assert_eq!(next(&previous, &lines.join("\n")).unwrap().set_transactions, None);
    }

    #[test]
    fn a_table_begins_with_its_first_commit() {
        let mut first = Successor::of_nothing();
        first.read(CommitLines::whole(b"{\"commitInfo\":{}}", NAME)).unwrap();
        assert_eq!(first.finish(), None, "no protocol, no metadata");
    }
}
