use std::sync::Arc;

use arrow_array::TimestampMicrosecondArray;
use futures::TryStreamExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use url::Url;

use super::*;
use crate::ErrorKind;
use crate::kit::arrow::{array, batch, longs, string_array};
use crate::kit::error::check_error;

/// Reads an inventory of the table `memory://test/t` to its end.
async fn candidates(columns: Vec<(&str, ArrayRef)>) -> Result<Vec<Candidate>> {
    let url = Url::parse("memory://test/t").unwrap();
    let store = Store::from_object_store(Arc::new(InMemory::new()), Path::from("t"), url);
    let rows = batch(columns);
    let objects = RecordBatchStream::from_batches(rows.schema(), vec![rows]);
    let parts: Vec<CandidateBatch> = read(&store, HiddenNames::default(), objects)?.try_collect().await?;
    Ok(parts.into_iter().flat_map(|part| part.files).collect())
}

/// The columns of an inventory with these paths. Each object has 5 bytes and the time 7.
fn inventory(paths: &[Option<&str>]) -> Vec<(&'static str, ArrayRef)> {
    let rows = paths.len();
    vec![
        ("path", string_array(paths)),
        ("length", longs(&vec![Some(5); rows])),
        ("isDir", array(BooleanArray::from(vec![false; rows]))),
        ("modificationTime", longs(&vec![Some(7); rows])),
    ]
}

fn found(path: &str, size_bytes: u64, modified_ms: i64) -> Candidate {
    Candidate { path: path.to_owned(), size_bytes, modified_ms: Some(modified_ms) }
}

#[tokio::test]
async fn inventory_gives_visible_files_below_table() {
    let paths = [
        Some("a.parquet"),
        Some("memory://test/t/p=1/b.parquet"),
        Some("memory://test/other/d.parquet"),
        Some("_delta_log/00000000000000000000.json"),
        Some("100%25"),
    ];
    let expected = [found("a.parquet", 5, 7), found("p=1/b.parquet", 5, 7), found("100%25", 5, 7)];
    assert_eq!(candidates(inventory(&paths)).await.unwrap(), expected);
}

#[tokio::test]
async fn inventory_skips_folders_and_reads_timestamps() {
    let mut columns = inventory(&[Some("a"), Some("b")]);
    columns[1].1 = longs(&[Some(-1), None]);
    columns[2].1 = array(BooleanArray::from(vec![Some(true), None]));
    columns[3].1 = array(TimestampMicrosecondArray::from(vec![1_000, 2_999]).with_timezone("UTC"));
    assert_eq!(candidates(columns.clone()).await.unwrap(), [found("b", 0, 2)]);
    columns[2].1 = array(BooleanArray::from(vec![false, false]));
    assert_eq!(candidates(columns).await.unwrap(), [found("a", 0, 1), found("b", 0, 2)]);
}

#[tokio::test]
async fn incomplete_inventory_names_its_lack() {
    let refused = async |columns: Vec<(&str, ArrayRef)>, facts: &[&str]| {
        check_error(&candidates(columns).await.unwrap_err(), &ErrorKind::InvalidInput, facts);
    };
    for (place, name) in ["path", "length", "isDir", "modificationTime"].into_iter().enumerate() {
        let mut columns = inventory(&[Some("a")]);
        columns.remove(place);
        refused(columns, &[&format!("no column {name}")]).await;
    }
    let mut columns = inventory(&[Some("a")]);
    columns[1].1 = string_array(&[Some("5")]);
    refused(columns, &["column length", "string", "an integer"]).await;
    refused(inventory(&[Some("a"), None]), &["row 1 "]).await;
}
