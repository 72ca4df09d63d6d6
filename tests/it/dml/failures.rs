//! Changes with deletion vectors that cannot be written. They leave only files that a commit names.

use lakebed::ErrorKind;
use lakebed::dml::merge::{Action, Clause, MergeSource, When};
use lakebed::dml::write::{WriteMode, WriteOptions};
use lakebed_tests::Lake;
use lakebed_tests::lake::{MADE, stream};
use lakebed_tests::store::Fault;

/// Returns a table with deletion vectors. The store refuses the files of deletion vectors.
async fn without_vector_files() -> Lake {
    let lake = Lake::new(true).await;
    lake.observed.fail_with(".bin", Fault::Denied, usize::MAX);
    lake
}

async fn check_unchanged<T: std::fmt::Debug>(lake: &Lake, outcome: lakebed::Result<T>) {
    let error = outcome.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Store { .. }), "{error}");
    assert_eq!(lake.check_files().await, MADE);
    assert_eq!(lake.rows().await, (1..=20).map(|id| (id, 0)).collect());
}

#[tokio::test]
async fn update_without_vector_file_leaves_nothing() {
    let lake = without_vector_files().await;
    check_unchanged(&lake, lake.table.update().set("v", "1").filter("id IN (3, 15)").run().await).await;
}

#[tokio::test]
async fn merge_without_vector_file_leaves_nothing() {
    let lake = without_vector_files().await;
    let source = MergeSource::read(stream([(3, 7), (30, 7)])).await.unwrap();
    let merge = lake.table.merge(&source, "target.id = source.id");
    let merge = merge.when(Clause { when: When::Matched, condition: None, action: Action::UpdateAll });
    let merge = merge.when(Clause { when: When::NotMatched, condition: None, action: Action::InsertAll });
    check_unchanged(&lake, merge.run().await).await;
}

#[tokio::test]
async fn overwrite_without_vector_file_leaves_nothing() {
    let lake = without_vector_files().await;
    let options =
        WriteOptions { mode: WriteMode::Overwrite, replace_where: Some("id <= 3".to_owned()), ..WriteOptions::default() };
    check_unchanged(&lake, lake.table.write(stream([(1, 7), (2, 7)])).options(options).run().await).await;
}
