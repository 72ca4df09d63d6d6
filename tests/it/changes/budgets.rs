//! The requests of a stream to the store.

use lakebed_tests::Counts;

use super::kit::{file, files, follow, numbered};

#[track_caller]
fn check(counts: &Counts, lists: usize, gets: usize) {
    assert_eq!((counts.lists, counts.gets), (lists, gets), "{counts:?}");
}

#[tokio::test]
async fn poll_lists_once_reads_new_commits() {
    let builder = numbered(20).await;
    let stream = follow(&builder, &[]).await.unwrap();
    let end = stream.latest_offset(None, &files(100)).await.unwrap().unwrap();
    builder.observed().take_counts();
    assert_eq!(stream.latest_offset(Some(&end), &files(100)).await.unwrap(), Some(end.clone()));
    check(&builder.observed().take_counts(), 1, 0);
    let more = file(&builder, "more", &["more/x"]).await;
    builder.commit(&[more]).await;
    builder.observed().take_counts();
    let next = stream.latest_offset(Some(&end), &files(100)).await.unwrap().unwrap();
    check(&builder.observed().take_counts(), 1, 1);
    assert_eq!(stream.tasks(Some(&end), &next, 1).await.unwrap().len(), 1);
    check(&builder.observed().take_counts(), 1, 1);
}

#[tokio::test]
async fn batch_reads_only_its_own_commits() {
    let builder = numbered(60).await;
    let stream = follow(&builder, &[("startingVersion", "1")]).await.unwrap();
    let end = stream.latest_offset(None, &files(3)).await.unwrap().unwrap();
    builder.observed().take_counts();
    let next = stream.latest_offset(Some(&end), &files(3)).await.unwrap().unwrap();
    let counts = builder.observed().take_counts();
    // Several commits are read ahead at a time.
    assert!(counts.lists == 1 && counts.gets <= 24, "{counts:?}");
    assert_eq!(stream.tasks(Some(&end), &next, 1 << 30).await.unwrap().len(), 1);
    let counts = builder.observed().take_counts();
    assert!(counts.lists == 1 && counts.gets == 3, "{counts:?}");
}
