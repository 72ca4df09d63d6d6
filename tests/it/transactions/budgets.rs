//! What a commit asks of the store.

use std::collections::BTreeMap;

use lakebed::transaction::Transaction;
use lakebed_tests::table::protocol;
use serde_json::json;

use super::kit::*;

/// Puts, gets and listings.
type Requests = (usize, usize, usize);

/// What beginning and committing an append costs on a snapshot that is there, after so many others.
async fn cost(case: &Case, others: u64) -> [Requests; 2] {
    let snapshot = case.table.snapshot().await.unwrap();
    let requests = || {
        let counts = case.observed.take_counts();
        assert_eq!(counts.deletes, 0);
        (counts.puts, counts.gets + counts.heads, counts.lists)
    };
    requests();
    let mut append: Transaction = case.begin_on(&snapshot).await;
    let to_begin = requests();
    append.add([add(&file("n", "1", 0))]);
    for version in 1..=others {
        case.put_commit(snapshot.version() + version, &[json!({"commitInfo": {"isBlindAppend": true}})]).await;
    }
    commit(append).await.unwrap();
    [to_begin, requests()]
}

#[tokio::test]
async fn an_append_is_one_put_and_one_more_for_the_checksum() {
    let case = Case::with(protocol(&[], &[]), &[]).await;
    assert_eq!(cost(&case, 0).await, [(0, 0, 0), (1, 1, 0)]);
}

#[tokio::test]
async fn winners_are_read_once_in_few_rounds() {
    let found: BTreeMap<u64, [Requests; 2]> = {
        let mut found = BTreeMap::new();
        for others in [1, 2, 3, 10] {
            found.insert(others, cost(&Case::with(protocol(&[], &[]), &[]).await, others).await);
        }
        found
    };
    assert_eq!(found, BTreeMap::new());
}

#[tokio::test]
async fn row_ids_and_timestamps_are_looked_up_once() {
    let properties = [("delta.enableInCommitTimestamps", "true")];
    let case = Case::with(protocol(&[], &["inCommitTimestamp", "rowTracking", "domainMetadata"]), &properties).await;
    assert_eq!(cost(&case, 0).await, [(0, 0, 0), (1, 0, 0)]);
}
