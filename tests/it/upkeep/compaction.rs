//! Log compactions that lakebed writes.

use lakebed::{Env, ErrorKind};
use lakebed_core::action::json;
use lakebed_core::path::LOG_DIR;
use lakebed_tests::TableBuilder;
use lakebed_tests::action::{add, remove};
use serde_json::json;

#[tokio::test]
async fn a_compaction_keeps_what_undoes_older_things() {
    let domain = |removed: bool| json!({"domainMetadata": {"domain": "d", "configuration": "{}", "removed": removed}});
    let builder = TableBuilder::new();
    builder.commit(&[add("a"), add("b"), domain(false)]).await;
    builder.commit(&[remove("a"), add("c"), json!({"commitInfo": {"operation": "x"}})]).await;
    builder.commit(&[remove("c"), domain(true), add("d")]).await;
    let snapshot = builder.table_with(Env::seeded(7)).snapshot().await.unwrap();
    let name = snapshot.compact_log(1..=2).await.unwrap().unwrap();
    assert_eq!(name, "00000000000000000001.00000000000000000002.compacted.json");
    let path = builder.store().path_of(&format!("{LOG_DIR}/{name}")).unwrap();
    let bytes = builder.store().get(&path).await.unwrap();
    let mut found: Vec<String> =
        json::parse_commit(&bytes, &name).unwrap().iter().map(|action| action.to_line().unwrap()).collect();
    let mut expected: Vec<String> = [remove("a"), remove("c"), domain(true), add("d")]
        .into_iter()
        .map(|action| json::from_value(action).unwrap().unwrap().to_line().unwrap())
        .collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    assert_eq!(snapshot.compact_log(1..=2).await.unwrap(), None, "it is there already");
}

#[tokio::test]
async fn windows_that_make_no_sense_are_refused() {
    let builder = TableBuilder::new();
    builder.commit(&[add("a")]).await;
    builder.commit(&[add("b")]).await;
    let snapshot = builder.table_with(Env::seeded(7)).snapshot().await.unwrap();
    for (window, versions) in [(0..=0, "versions 0 to 0: "), (1..=2, "versions 1 to 2: "), (5..=9, "versions 5 to 9: ")] {
        let error = snapshot.compact_log(window).await.unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::InvalidInput);
        assert!(error.message().starts_with(versions) && error.message().ends_with("none of them after 1"), "{error}");
    }
}
