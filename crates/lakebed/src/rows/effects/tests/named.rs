//! Effects that travel as bytes and are registered in the process that commits.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Int64Array, RecordBatch};

use super::*;
use crate::dml::write::WriteOptions;
use crate::rows::rewrite::{Moves, Rewrite};
use crate::rows::search::Search;
use crate::rows::selection::{Matching, Selection};
use crate::transaction::{CommitSettings, Operation};
use crate::write::settings::FileSettings;
use crate::{RecordBatchStream, Table};

/// Returns a table with the rows 0 to 9 and 10 to 19 in one file each.
async fn table(name: &str, properties: &[(&str, &str)]) -> Table {
    let table = Table::at(format!("memory://effects/{name}")).build().unwrap();
    let properties = properties.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let options = WriteOptions { properties, ..WriteOptions::default() };
    for first in [0, 10] {
        let rows = Int64Array::from_iter_values(first..first + 10);
        let rows = RecordBatch::try_from_iter([("id", Arc::new(rows) as _)]).unwrap();
        let rows = RecordBatchStream::from_batches(rows.schema(), vec![rows]);
        table.write(rows).options(options.clone()).run().await.unwrap();
    }
    table
}

async fn ids(table: &Table) -> Vec<i64> {
    let batches = table.snapshot().await.unwrap().scan().stream().await.unwrap().collect_all().await.unwrap();
    let ids = batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec());
    let mut ids: Vec<i64> = ids.collect();
    ids.sort_unstable();
    ids
}

/// Returns the effects of a delete, as another process gives them.
async fn deletion(snapshot: &Snapshot, predicate: &str) -> Effects {
    let filter = snapshot.parse_row_filter(predicate, 0).unwrap();
    let selection = Selection::Matching(Matching::new(snapshot, filter).unwrap());
    let deleted = Search::of_places(snapshot, &selection).unwrap().all().await.unwrap();
    let target = Target::of_table(snapshot, None, &FileSettings::default(), 0).await.unwrap();
    let mut rewrite = Rewrite::begin(snapshot, &target, true).unwrap();
    rewrite.record_deleted(&deleted).await.unwrap();
    let effects = rewrite.finish(deleted, Moves::default()).await.unwrap();
    Effects::from_bytes(&effects.to_bytes().unwrap()).unwrap()
}

async fn commit(snapshot: &Snapshot, effects: Effects) -> Result<FileTotals> {
    let mut transaction = Transaction::begin(snapshot, CommitSettings::default()).await?;
    let totals = effects.register(None, &mut transaction).await?;
    transaction.commit(Operation::new("DELETE")).await?;
    Ok(totals)
}

#[tokio::test]
async fn named_rows_get_deletion_vectors() {
    let table = table("vectors", &[("delta.enableDeletionVectors", "true")]).await;
    let first = table.snapshot().await.unwrap();
    let totals = commit(&first, deletion(&first, "id >= 8 AND id < 15").await).await.unwrap();
    assert_eq!((totals.deletion_vectors_added, totals.added_files, totals.removed_files), (2, 0, 0));
    assert_eq!(ids(&table).await, [0, 1, 2, 3, 4, 5, 6, 7, 15, 16, 17, 18, 19]);

    let second = table.snapshot().await.unwrap();
    let (one, other) = (deletion(&second, "id = 0").await, deletion(&second, "id < 2 OR id >= 10").await);
    let mut both = one;
    both.join(other);
    assert_eq!(both.deleted.named.len(), 3);
    let totals = commit(&second, both).await.unwrap();
    assert_eq!((totals.deletion_vectors_updated, totals.removed_files), (1, 1));
    assert_eq!(ids(&table).await, [2, 3, 4, 5, 6, 7]);
}

#[tokio::test]
async fn named_files_are_replaced_by_copies() {
    let properties = [("delta.enableDeletionVectors", "false"), ("delta.enableChangeDataFeed", "true")];
    let table = table("copies", &properties).await;
    let snapshot = table.snapshot().await.unwrap();
    let effects = deletion(&snapshot, "id >= 8").await;
    assert_eq!((effects.copied_rows, effects.keeps_row_ids, effects.deleted.rows().unwrap()), (8, true, None));
    let totals = commit(&snapshot, effects).await.unwrap();
    assert_eq!((totals.added_files, totals.removed_files, totals.change_files), (1, 2, 1));
    assert_eq!(ids(&table).await, [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[tokio::test]
async fn rows_of_another_version_are_refused() {
    let table = table("versions", &[("delta.enableDeletionVectors", "true")]).await;
    let first = table.snapshot().await.unwrap();
    let effects = deletion(&first, "id IN (3, 13)").await;
    commit(&first, deletion(&first, "id = 3").await).await.unwrap();
    let second = table.snapshot().await.unwrap();
    let error = commit(&second, effects.clone()).await.unwrap_err();
    assert!(error.message().contains("the file has another deletion vector than it had when it was read"), "{error}");

    commit(&second, deletion(&second, "true").await).await.unwrap();
    let third = table.snapshot().await.unwrap();
    let error = commit(&third, effects.clone()).await.unwrap_err();
    assert!(error.message().contains("are to be deleted, but version 3 does not have this file"), "{error}");

    let mut both = effects;
    both.join(deletion(&second, "id = 4").await);
    let error = commit(&first, both).await.unwrap_err();
    assert!(error.message().contains("come from two versions of the table"), "{error}");
}

#[tokio::test]
async fn rows_beyond_end_of_file_are_refused() {
    let table = table("beyond", &[("delta.enableDeletionVectors", "true")]).await;
    let snapshot = table.snapshot().await.unwrap();
    let mut effects = deletion(&snapshot, "id = 3").await;
    effects.deleted.named[0].rows = Some(DeletionVector::from_iter([2, 10]));
    let error = commit(&snapshot, effects).await.unwrap_err();
    assert!(error.message().contains("row 10 is to be deleted, but the file has 10 rows"), "{error}");
}
