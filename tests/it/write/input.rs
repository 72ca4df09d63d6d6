//! Streams of batches with different schemas, and files of any size. Either every row is in the
//! table, or none is.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Float64Array, Int8Array, Int64Array, RecordBatch};
use lakebed::dml::merge::{Action, Clause, MergeSource, When};
use lakebed::dml::write::{WriteMode, WriteOptions};
use lakebed::{ErrorKind, RecordBatchStream};
use lakebed_tests::TableBuilder;

fn long(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

fn batch<const N: usize>(columns: [(&str, ArrayRef); N]) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap()
}

fn stream(batches: Vec<RecordBatch>) -> RecordBatchStream {
    RecordBatchStream::from_batches(batches[0].schema(), batches)
}

/// Returns the rows of `a` and `b`, in order.
async fn rows(table: &TableBuilder) -> Vec<(i64, i64)> {
    let scan = table.table().snapshot().await.unwrap().scan().select(["a", "b"]);
    let batches = scan.stream().await.unwrap().collect_all().await.unwrap();
    let pairs = |batch: &RecordBatch| {
        let column = |index: usize| batch.column(index).as_primitive::<Int64Type>().values().to_vec();
        column(0).into_iter().zip(column(1)).collect::<Vec<_>>()
    };
    let mut rows: Vec<(i64, i64)> = batches.iter().flat_map(pairs).collect();
    rows.sort_unstable();
    rows
}

#[tokio::test]
async fn columns_of_batches_match_by_name() {
    let table = TableBuilder::new();
    let small: ArrayRef = Arc::new(Int8Array::from(vec![-2]));
    let given = vec![batch([("a", long(&[1])), ("b", long(&[10]))]), batch([("b", small), ("a", long(&[2]))])];
    table.table().write(stream(given.clone())).run().await.unwrap();
    assert_eq!(rows(&table).await, [(1, 10), (2, -2)]);
    let source = MergeSource::read(stream(given)).await.unwrap();
    let merge = table.table().merge(&source, "target.a = source.b");
    merge.when(Clause { when: When::NotMatched, condition: None, action: Action::InsertAll }).run().await.unwrap();
    assert_eq!(rows(&table).await, [(1, 10), (1, 10), (2, -2), (2, -2)]);
}

#[tokio::test]
async fn mismatched_batches_are_refused_before_commit() {
    let table = TableBuilder::new();
    let first = batch([("a", long(&[1])), ("b", long(&[10]))]);
    let cases = [
        (batch([("a", long(&[2]))]), "- b: long is in the first batch, but not in this one"),
        (batch([("a", long(&[2])), ("b", long(&[2])), ("c", long(&[2]))]), "+ c: long is in this batch, but not in the first"),
        (
            batch([("a", long(&[2])), ("b", Arc::new(Float64Array::from(vec![1.5])))]),
            "~ b: long in the first batch, double in this one",
        ),
    ];
    for (second, told) in cases {
        let error = table.table().write(stream(vec![first.clone(), second])).run().await.unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::SchemaMismatch);
        assert!(error.message().starts_with("batch 2 of the data: ") && error.message().contains(told), "{error}");
        assert!(table.table().try_snapshot().await.unwrap().is_none());
    }
}

#[tokio::test]
async fn files_of_any_size_have_all_rows() {
    for size in [0, 1, 2, 1000, u64::MAX] {
        let table = TableBuilder::new();
        let given = batch([("a", long(&[1, 2, 3])), ("b", long(&[4, 5, 6]))]);
        for mode in [WriteMode::Append, WriteMode::Overwrite] {
            let options = WriteOptions { mode, target_file_size_bytes: Some(size), ..WriteOptions::default() };
            match table.table().write(stream(vec![given.clone()])).options(options).run().await {
                Ok(outcome) => assert_eq!(outcome.metrics.output_rows, 3, "{size}"),
                Err(error) => assert_eq!(error.kind(), &ErrorKind::InvalidInput, "{size}: {error}"),
            }
        }
        if table.table().try_snapshot().await.unwrap().is_some() {
            assert_eq!(rows(&table).await, [(1, 4), (2, 5), (3, 6)], "{size}");
        }
    }
}
