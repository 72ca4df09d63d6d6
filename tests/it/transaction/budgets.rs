//! The requests of a commit to the store.

use lakebed::Snapshot;
use serde_json::json;

use lakebed_tests::Lake;

use super::kit::*;

/// The numbers of puts, gets and listings.
type Requests = (usize, usize, usize);

fn requests(lake: &Lake) -> Requests {
    let counts = lake.observed.take_counts();
    assert_eq!(counts.deletes, 0);
    (counts.puts, counts.gets + counts.heads, counts.lists)
}

/// Returns the requests to begin an append on a loaded snapshot, and to commit it after this number
/// of commits by other writers.
async fn cost(lake: &Lake, snapshot: &Snapshot, others: u64) -> [Requests; 2] {
    requests(lake);
    let mut append = begin_on(snapshot).await;
    let to_begin = requests(lake);
    append.add([to_add(&file("n", "1", 0))]);
    for version in 1..=others {
        lake.put_commit(snapshot.version() + version, &[json!({"commitInfo": {"isBlindAppend": true}})]).await;
    }
    assert_eq!(commit(append).await.unwrap().version, snapshot.version() + others + 1);
    [to_begin, requests(lake)]
}

#[track_caller]
fn check(features: &[&str], properties: &[(&str, &str)], others: u64, expected: [Requests; 2]) -> impl Future<Output = ()> {
    let caller = std::panic::Location::caller();
    async move {
        let lake = Lake::empty();
        let made = commit(create(&lake, features, properties)).await.unwrap();
        assert_eq!(cost(&lake, &made.snapshot.unwrap(), others).await, expected, "{caller}");
        // The cost is the same for a process that opens the table.
        let lake = Lake::empty();
        commit(create(&lake, features, properties)).await.unwrap();
        let opened = lake.table.snapshot().await.unwrap();
        assert_eq!(cost(&lake, &opened, others).await, expected, "{caller}");
    }
}

const TRACKED: [&str; 3] = ["domainMetadata", "inCommitTimestamp", "rowTracking"];
const TIMESTAMPS: (&str, &str) = ("delta.enableInCommitTimestamps", "true");

#[tokio::test]
async fn append_puts_commit_and_checksum() {
    check(&[], &[], 0, [(0, 0, 0), (2, 0, 0)]).await;
}

#[tokio::test]
async fn row_ids_and_timestamps_cost_nothing_more() {
    check(&TRACKED, &[TIMESTAMPS], 0, [(0, 0, 0), (2, 0, 0)]).await;
}

#[tokio::test]
async fn each_winner_is_read_once() {
    // The requests are: one more put that is too late; a read of each winner and one more read of
    // the first winner to find its writer; a read of the version after the last; the checksum that
    // none of the winners wrote.
    check(&[], &[], 1, [(0, 0, 0), (2, 3, 0)]).await;
    check(&[], &[], 2, [(0, 0, 0), (2, 4, 0)]).await;
    check(&[], &[], 10, [(0, 0, 0), (2, 12, 0)]).await;
}

#[tokio::test]
async fn append_without_checksum_asks_for_timestamp() {
    let lake = two_files_with(lakebed_tests::action::protocol(&[], &TRACKED), &[TIMESTAMPS]).await;
    let snapshot = lake.table.snapshot().await.unwrap();
    assert_eq!(cost(&lake, &snapshot, 0).await, [(0, 1, 0), (1, 1, 0)]);
}
