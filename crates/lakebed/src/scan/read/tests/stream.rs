//! Tests of the order of batches, of the memory budget, and of the end when the consumer stops.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::{ArrayRef, Int64Array, StringArray};
use futures::StreamExt;

use lakebed_core::schema::PrimitiveType;

use super::*;
use crate::runtime::memory::MemoryBudget;

/// Returns a table with files of `rows` rows each, in small row groups. The numbers continue from
/// file to file.
async fn numbered(files: i64, rows: i64, group: usize) -> Table {
    let mut table =
        Table::new(vec![StructField::new("a", PrimitiveType::Long, true), StructField::new("t", PrimitiveType::String, true)]);
    for file in 0..files {
        let numbers = || file * rows..(file + 1) * rows;
        let a: ArrayRef = Arc::new(Int64Array::from_iter_values(numbers()));
        let t: ArrayRef = Arc::new(StringArray::from_iter_values(numbers().map(|number| format!("{number:050}"))));
        let batch = RecordBatch::try_from_iter_with_nullable([("a", a, true), ("t", t, true)]).unwrap();
        table.add(write(&batch, WriterProperties::builder().set_max_row_group_row_count(Some(group)).build())).await;
    }
    table.columns(&["a"]);
    table
}

fn numbers(range: std::ops::Range<i64>) -> Vec<String> {
    range.map(|number| number.to_string()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stream_keeps_order_of_files_and_rows() {
    let mut table = numbered(7, 1000, 130).await;
    assert_eq!(table.rows().await, numbers(0..7000));
    assert_eq!(table.filter("a % 3 = 0").rows().await, (0..7000).step_by(3).map(|number| number.to_string()).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tiny_budget_still_reads_all_rows() {
    let mut table = numbered(3, 1000, 100).await;
    table.task.spec.columns = None;
    let memory = MemoryBudget::new(1);
    table.options.memory = Some(memory.clone());
    assert_eq!(table.rows().await.len(), 3000);
    assert_eq!(memory.used_bytes(), 0);
}

#[tokio::test]
async fn two_streams_share_tiny_budget_without_deadlock() {
    let mut table = numbered(3, 1000, 100).await;
    table.options.memory = Some(MemoryBudget::new(1));
    let mut first = read_files(&table.store, &table.task.spec, table.task.files.clone(), table.options.clone()).unwrap();
    let mut second = read_files(&table.store, &table.task.spec, table.task.files.clone(), table.options.clone()).unwrap();
    let together = async {
        let (mut rows, mut both) = (0, true);
        while both {
            let (one, other) = (first.next().await, second.next().await);
            both = one.is_some();
            rows += one.into_iter().chain(other).map(|batch| batch.unwrap().num_rows()).sum::<usize>();
        }
        rows
    };
    assert_eq!(tokio::time::timeout(Duration::from_secs(20), together).await.unwrap(), 6000);
}

#[tokio::test]
async fn reader_ahead_of_consumer_is_bounded() {
    let mut table = numbered(40, 1000, 1000).await;
    let memory = MemoryBudget::new(1 << 30);
    table.options.memory = Some(memory.clone());
    let mut stream = read_files(&table.store, &table.task.spec, table.task.files.clone(), table.options.clone()).unwrap();
    stream.next().await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    // A piece needs 8 kB for its numbers, and memory for the bytes that were fetched. Two cores may
    // have four pieces.
    assert!(memory.used_bytes() > 0 && memory.used_bytes() < 8 * 20_000, "{}", memory.used_bytes());
    drop(stream);
    tokio::time::timeout(Duration::from_secs(10), async {
        while memory.used_bytes() > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn small_batches_join_to_requested_size() {
    let mut table = numbered(1, 1000, 1000).await;
    table.options.batch_rows = Some(300);
    let sizes = |batches: Vec<RecordBatch>| batches.iter().map(RecordBatch::num_rows).collect::<Vec<_>>();
    assert_eq!(sizes(table.batches().await.unwrap()), [300, 300, 300, 100]);
    // One row in ten matches, which is thirty rows of each decoded batch.
    table.filter("a % 10 = 0");
    assert_eq!(sizes(table.batches().await.unwrap()), [100]);
}
