//! Vacuums that read only commits.

use lakebed::ErrorKind;
use lakebed::vacuum::{VacuumMode, VacuumOptions};
use lakebed_tests::TableBuilder;
use lakebed_tests::action::{add, cdc, remove_at, vector, with_vector};

use super::kit::*;
use super::{PREFIXED, SHARED};

fn lite() -> VacuumOptions {
    VacuumOptions { mode: VacuumMode::Lite, ..VacuumOptions::default() }
}

/// Returns a table with commits of 50, 40, 9, 8 and 2 days ago, each of which removes a file. The
/// fourth commit adds the file of the second one again.
async fn lived() -> TableBuilder {
    let builder = timed().await;
    builder
        .commit(&[
            info(&builder, 50),
            with_vector(remove_at("a.parquet", builder.days_ago(50)), vector("u", PREFIXED.0, 1)),
            cdc("_change_data/c.parquet"),
        ])
        .await;
    builder.commit(&[info(&builder, 40), remove_at("back.parquet", builder.days_ago(40))]).await;
    builder
        .commit(&[info(&builder, 9), with_vector(remove_at("b.parquet", builder.days_ago(9)), vector("u", SHARED.0, 1))])
        .await;
    builder.commit(&[info(&builder, 8), add("back.parquet"), remove_at("again.parquet", builder.days_ago(8))]).await;
    let shared = vector("u", SHARED.0, 60);
    builder
        .commit(&[
            info(&builder, 2),
            with_vector(remove_at("young.parquet", builder.days_ago(2)), shared),
            remove_at("again.parquet", builder.days_ago(2)),
        ])
        .await;
    builder.put_all(&["a.parquet", "b.parquet", "back.parquet", "again.parquet", "young.parquet", "nobody.parquet"]).await;
    builder.put_all(&[PREFIXED.1, SHARED.1, "_change_data/c.parquet"]).await;
    builder
}

async fn last(builder: &TableBuilder) -> String {
    let store = builder.store();
    let bytes = store.get(&store.log_path("_last_vacuum_info").unwrap()).await.unwrap();
    String::from_utf8(bytes.to_vec()).unwrap().trim().to_owned()
}

#[tokio::test]
async fn lite_vacuum_keeps_files_needed_again() {
    let builder = lived().await;
    let outcome = vacuum(&builder, lite()).await.unwrap();
    assert_eq!(outcome.paths, sorted(["a.parquet", "b.parquet", PREFIXED.1, "_change_data/c.parquet"]));
    assert_eq!(builder.objects().await, sorted(["again.parquet", "back.parquet", "nobody.parquet", "young.parquet", SHARED.1]));
    assert_eq!(last(&builder).await, r#"{"latestCommitVersionOutsideOfRetentionWindow":4}"#);
}

#[tokio::test]
async fn lite_vacuum_skips_commits_already_seen() {
    let builder = lived().await;
    vacuum(&builder, lite()).await.unwrap();
    builder.put_all(&["a.parquet"]).await;
    builder.checkpoint(5, &[add("back.parquet")]).await;
    for version in 0..4 {
        builder.delete_log(&format!("{version:020}.json")).await;
    }
    assert_eq!(vacuum(&builder, lite()).await.unwrap().metrics.listed_files, 0);
    // A full vacuum finds the files that no commit ever named, and writes the same note.
    let outcome = vacuum(&builder, VacuumOptions::default()).await.unwrap();
    assert!(outcome.paths.contains(&"a.parquet".to_owned()), "{outcome:?}");
    assert_eq!(last(&builder).await, r#"{"latestCommitVersionOutsideOfRetentionWindow":4}"#);
}

#[tokio::test]
async fn lite_vacuum_without_commits_demands_full() {
    let builder = lived().await;
    builder.checkpoint(5, &[add("back.parquet")]).await;
    builder.delete_log("00000000000000000001.json").await;
    let error = vacuum(&builder, lite()).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::VersionNotFound);
    assert!(error.to_string().contains("version 1 is missing") && error.to_string().contains("run a full vacuum"), "{error}");
    // Delta Spark's full vacuum does not note how far it has covered the log.
    builder.put_log("_last_vacuum_info", b"{}".to_vec()).await;
    assert_eq!(*vacuum(&builder, lite()).await.unwrap_err().kind(), ErrorKind::VersionNotFound);
    vacuum(&builder, VacuumOptions::default()).await.unwrap();
    assert_eq!(last(&builder).await, r#"{"latestCommitVersionOutsideOfRetentionWindow":4}"#);
    assert_eq!(vacuum(&builder, lite()).await.unwrap().metrics.found_files, 0);
}

#[tokio::test]
async fn lite_vacuum_remembers_removal_from_future() {
    let builder = timed().await;
    builder.commit(&[info(&builder, 20), remove_at("a.parquet", builder.days_ago(20))]).await;
    builder.commit(&[info(&builder, 10), remove_at("b.parquet", builder.days_ago(1))]).await;
    builder.put_all(&["a.parquet", "b.parquet"]).await;
    assert_eq!(vacuum(&builder, lite()).await.unwrap().paths, ["a.parquet"]);
    assert_eq!(last(&builder).await, r#"{"latestCommitVersionOutsideOfRetentionWindow":1}"#);
}
