//! The table of these tests, its rows by id, and the deeds on them.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use futures::TryStreamExt;
use lakebed::dml::write::WriteOptions;
use lakebed::table_transaction::{TableTransaction, TransactionOptions};
use lakebed::{Snapshot, Table};
use lakebed_core::action::{Action, Add};
use lakebed_tests::Lake;
use lakebed_tests::deeds::{self, Verb};
pub(super) use lakebed_tests::id_and_v::{AddOne, Between, IdAndV};

pub(super) type Deed = deeds::Deed<IdAndV>;

pub(super) fn append(rows: impl IntoIterator<Item = (i64, i64)>) -> Deed {
    Deed { verb: Verb::Append, rows: rows.into_iter().collect() }
}

pub(super) fn delete(first: i64, last: i64) -> Deed {
    Deed { verb: Verb::Delete(Between(first, last)), rows: Vec::new() }
}

pub(super) fn update(first: i64, last: i64) -> Deed {
    Deed { verb: Verb::Update(Between(first, last), AddOne), rows: Vec::new() }
}

pub(super) async fn begin(table: &Table) -> TableTransaction {
    begin_with(table, TransactionOptions::default()).await
}

pub(super) async fn begin_with(table: &Table, options: TransactionOptions) -> TableTransaction {
    table.transaction().options(options).begin().await.unwrap().unwrap()
}

pub(super) async fn run(deed: &Deed, table: &Table) {
    deed.run(table, WriteOptions::default(), true).await.unwrap();
}

/// Returns the rows of a snapshot by id.
pub(super) async fn rows(snapshot: &Snapshot) -> BTreeMap<i64, i64> {
    read(snapshot, &["id", "v"]).await.into_iter().map(|row| (row[0].unwrap(), row[1].unwrap())).collect()
}

/// Returns columns of whole numbers. No two rows have the same id.
pub(super) async fn read(snapshot: &Snapshot, columns: &[&str]) -> Vec<Vec<Option<i64>>> {
    let batches: Vec<RecordBatch> =
        snapshot.scan().select(columns.iter().copied()).stream().await.unwrap().try_collect().await.unwrap();
    let mut rows = Vec::new();
    for batch in batches {
        let columns: Vec<_> = batch.columns().iter().map(|column| column.as_primitive::<Int64Type>().clone()).collect();
        let value = |column: &arrow_array::Int64Array, row: usize| column.is_valid(row).then(|| column.value(row));
        rows.extend((0..batch.num_rows()).map(|row| columns.iter().map(|column| value(column, row)).collect::<Vec<_>>()));
    }
    rows.sort();
    rows
}

/// Returns the version's changes, sorted: the type, the id and `v`.
pub(super) async fn changes(table: &Table, version: u64) -> Vec<(String, i64, i64)> {
    let feed = table.changes(version..=version).await.unwrap();
    let batches: Vec<RecordBatch> = feed.stream().await.unwrap().try_collect().await.unwrap();
    let mut all = Vec::new();
    for batch in batches {
        let long = |name: &str| batch.column_by_name(name).unwrap().as_primitive::<Int64Type>().clone();
        let kinds = batch.column_by_name("_change_type").unwrap().as_string::<i32>().clone();
        let (ids, values) = (long("id"), long("v"));
        all.extend((0..batch.num_rows()).map(|row| (kinds.value(row).to_owned(), ids.value(row), values.value(row))));
    }
    all.sort();
    all
}

pub(super) async fn adds(lake: &Lake, version: u64) -> Vec<Add> {
    let actions = lake.actions(version).await.unwrap();
    actions.into_iter().filter_map(|action| if let Action::Add(add) = action { Some(add) } else { None }).collect()
}

/// Returns the `commitInfo` of a version.
pub(super) async fn info(lake: &Lake, version: u64) -> serde_json::Map<String, serde_json::Value> {
    match lake.actions(version).await.unwrap().swap_remove(0) {
        Action::CommitInfo(info) => info.0,
        other => panic!("{other:?}"),
    }
}
