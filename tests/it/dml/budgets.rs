//! The requests of DML to the store, on an open table.

use lakebed::dml::merge::{Action, Clause, MergeSource, When};
use lakebed_tests::Lake;
use lakebed_tests::lake::stream;

const VECTORS: (&str, bool) = ("delta.enableDeletionVectors", true);
const FEED: (&str, bool) = ("delta.enableChangeDataFeed", true);

/// Checks a delete on a table with these properties: the number of deleted rows, and the requests.
#[track_caller]
fn check_delete(
    properties: &'static [(&'static str, bool)],
    filter: &'static str,
    rows: u64,
    expected: (usize, usize, usize),
) -> impl Future<Output = ()> {
    let caller = std::panic::Location::caller();
    async move {
        let lake = Lake::with(properties, None).await;
        let outcome = lake.table.delete().filter(filter).run().await.unwrap();
        assert_eq!(outcome.metrics.deleted_rows, Some(rows), "{caller}");
        assert_eq!(lake.counts().reads_and_writes(), expected, "{caller}");
        assert_eq!(lake.rows().await.len() as u64, 20 - rows, "{caller}");
        lake.check_files().await;
    }
}

#[tokio::test]
async fn delete_of_whole_files_reads_no_data() {
    check_delete(&[], "id <= 10", 10, (0, 2, 0)).await;
    check_delete(&[VECTORS], "id <= 10", 10, (0, 2, 0)).await;
    check_delete(&[FEED], "id <= 10", 10, (0, 2, 0)).await;
    check_delete(&[VECTORS, FEED], "id > 0", 20, (0, 2, 0)).await;
}

#[tokio::test]
async fn a_delete_by_partition_reads_no_file() {
    let lake = Lake::with(&[VECTORS, FEED], Some("id")).await;
    let outcome = lake.table.delete().filter("id IN (3, 4, 15)").run().await.unwrap();
    assert_eq!((outcome.metrics.deleted_rows, outcome.metrics.removed_files), (Some(3), 3));
    assert_eq!(lake.counts().reads_and_writes(), (0, 2, 0));
    assert_eq!(lake.rows().await.len(), 17);
}

#[tokio::test]
async fn delete_of_rows_reads_only_candidate_files() {
    check_delete(&[VECTORS], "id = 3", 1, (1, 3, 0)).await;
    check_delete(&[VECTORS], "id BETWEEN 3 AND 5", 3, (1, 3, 0)).await;
    // One file holds the deletion vectors of both data files.
    check_delete(&[VECTORS], "id IN (3, 15)", 2, (2, 3, 0)).await;
    // The deletion vectors show the changes.
    check_delete(&[VECTORS, FEED], "id IN (3, 15)", 2, (2, 3, 0)).await;
}

#[tokio::test]
async fn delete_without_vectors_copies_remaining_rows() {
    check_delete(&[], "id = 3", 1, (1, 3, 0)).await;
    // The deleted rows are written as well.
    check_delete(&[FEED], "id = 3", 1, (1, 4, 0)).await;
}

#[tokio::test]
async fn nothing_to_delete_writes_nothing() {
    check_delete(&[VECTORS], "id > 100", 0, (0, 0, 0)).await;
    check_delete(&[], "id > 100", 0, (0, 0, 0)).await;
    // Statistics prove that the first predicate matches no row. For `id % 7 = 8`, both files are
    // read.
    check_delete(&[VECTORS], "id = 3 AND v = 1", 0, (0, 0, 0)).await;
    check_delete(&[VECTORS, FEED], "id % 7 = 8", 0, (2, 0, 0)).await;
    check_delete(&[FEED], "id % 7 = 8", 0, (2, 0, 0)).await;
}

#[tokio::test]
async fn second_delete_reads_vector_of_first() {
    let lake = Lake::new(true).await;
    lake.table.delete().filter("id = 3").run().await.unwrap();
    lake.counts();
    let outcome = lake.table.delete().filter("id = 4").run().await.unwrap();
    assert_eq!((outcome.metrics.deleted_rows, outcome.metrics.deletion_vectors_updated), (Some(1), 1));
    let counts = lake.counts();
    let (vectors, data): (Vec<_>, Vec<_>) =
        counts.objects.keys().filter(|name| !name.contains("_delta_log")).partition(|name| name.ends_with(".bin"));
    assert_eq!((vectors.len(), data.len(), counts.puts), (1, 1, 3), "{counts:?}");
    assert_eq!(lake.rows().await.len(), 18);
}

#[tokio::test]
async fn update_writes_changed_rows_and_vector() {
    for (properties, puts) in [(&[VECTORS][..], 4), (&[VECTORS, FEED][..], 5), (&[][..], 3), (&[FEED][..], 4)] {
        let lake = Lake::with(properties, None).await;
        let outcome = lake.table.update().set("v", "1").filter("id = 3").run().await.unwrap();
        assert_eq!(outcome.metrics.updated_rows, 1);
        assert_eq!(lake.counts().reads_and_writes(), (1, puts, 0), "{properties:?}");
        let nothing = lake.table.update().set("v", "1").filter("id = 33").run().await.unwrap();
        assert!(!nothing.committed);
        assert_eq!(lake.counts().reads_and_writes(), (0, 0, 0), "{properties:?}");
    }
}

#[tokio::test]
async fn merge_reads_only_candidate_files() {
    let lake = Lake::new(true).await;
    let clause = |when, action| Clause { when, condition: None, action };
    let upsert = async |ids: [i64; 2]| {
        let source = MergeSource::read(stream(ids.map(|id| (id, 9)))).await.unwrap();
        let merge = lake.table.merge(&source, "target.id = source.id").when(clause(When::Matched, Action::UpdateAll));
        let outcome = merge.when(clause(When::NotMatched, Action::InsertAll)).run().await.unwrap();
        let counts = lake.counts();
        let data = counts.objects.keys().filter(|name| name.ends_with(".parquet") && !name.contains("_delta_log")).count();
        (outcome.metrics.updated_rows, outcome.metrics.inserted_rows, data, counts.puts)
    };
    // The put requests write the new rows, the deletion vectors, the commit and its checksum.
    assert_eq!(upsert([3, 4]).await, (2, 0, 1, 4));
    assert_eq!(upsert([30, 31]).await, (0, 2, 0, 3));
    assert_eq!(upsert([15, 32]).await, (1, 1, 1, 4));
    let source = MergeSource::read(stream([(3, 0), (40, 0)])).await.unwrap();
    let nothing = lake.table.merge(&source, "target.id = source.id AND target.v = 77");
    let nothing = nothing.when(clause(When::Matched, Action::Delete)).run().await.unwrap();
    assert!(!nothing.committed);
    assert_eq!(lake.counts().reads_and_writes().1, 0);
}
