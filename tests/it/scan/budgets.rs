//! The requests of a scan.

use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch, StringArray};
use lakebed_tests::TableBuilder;
use lakebed_tests::action::{add, stats_of_ids, with};
use serde_json::json;

#[tokio::test]
async fn selective_scan_opens_only_candidate_files() {
    let builder = TableBuilder::new();
    let mut actions = Vec::new();
    for file in 0..8_i64 {
        let ids = Int64Array::from_iter_values(file * 10..file * 10 + 10);
        let names = StringArray::from_iter_values((0..10).map(|row| format!("n{row}")));
        let batch = RecordBatch::try_from_iter([("id", Arc::new(ids) as _), ("name", Arc::new(names) as _)]).unwrap();
        let name = format!("f{file}.parquet");
        let size = builder.put_data(&name, &batch).await;
        let stats = stats_of_ids(file * 10..=file * 10 + 9).to_string();
        actions.push(with(add(&name), json!({"size": size, "stats": stats})));
    }
    builder.commit(&actions).await;
    let snapshot = builder.table().snapshot().await.unwrap();
    builder.observed().take_counts();

    let rows = snapshot.scan().filter("id BETWEEN 38 AND 41").stream().await.unwrap().collect_all().await.unwrap();
    assert_eq!(rows.iter().map(RecordBatch::num_rows).sum::<usize>(), 4);
    let counts = builder.observed().take_counts();
    assert_eq!(counts.data_files(), 2, "{counts:?}");

    assert_eq!(snapshot.scan().count().await.unwrap(), 80);
    let counts = builder.observed().take_counts();
    assert_eq!(counts.total(), 0, "a count of everything comes from the log: {counts:?}");

    let first = snapshot.scan().limit(3).stream().await.unwrap().collect_all().await.unwrap();
    assert_eq!(first.iter().map(RecordBatch::num_rows).sum::<usize>(), 3);
    let counts = builder.observed().take_counts();
    assert_eq!(counts.data_files(), 1, "a limit that the first file meets opens no other: {counts:?}");
}
