//! Vacuums during commits of other writers.

use lakebed::ErrorKind;
use lakebed::vacuum::VacuumOptions;
use lakebed_tests::action::{add, metadata, protocol, remove_at};
use lakebed_tests::error::check_error;
use serde_json::Value;

use super::kit::*;

/// Runs a vacuum during which another writer commits after it has chosen the files to delete.
/// Returns the deleted paths or the error, and the paths that are left.
async fn overtaken_by(actions: &[Value]) -> (Result<Vec<String>, lakebed::Error>, Vec<String>) {
    let builder = table().await;
    builder.commit(&[remove_at("a.parquet", builder.days_ago(9)), remove_at("b.parquet", builder.days_ago(9))]).await;
    builder.put_all(&["a.parquet", "b.parquet"]).await;
    let keeper = builder.observed().hold("00000000000000000002.json".to_owned());
    let vacuum = vacuum(&builder, VacuumOptions::default());
    let overtake = async {
        keeper.reached.await.unwrap();
        builder.commit(actions).await;
        keeper.open.send(()).unwrap();
    };
    let (outcome, ()) = futures::join!(vacuum, overtake);
    (outcome.map(|outcome| outcome.paths), builder.objects().await)
}

#[tokio::test]
async fn vacuum_keeps_file_added_meanwhile() {
    let (gone, left) = overtaken_by(&[add("a.parquet")]).await;
    assert_eq!((gone.unwrap(), left), (vec!["b.parquet".to_owned()], vec!["a.parquet".to_owned()]));
}

#[tokio::test]
async fn vacuum_keeps_file_readded_and_removed() {
    let now = table().await.days_ago(0);
    let (gone, _) = overtaken_by(&[remove_at("a.parquet", now)]).await;
    assert_eq!(gone.unwrap(), ["b.parquet"]);
}

#[tokio::test]
async fn vacuum_stops_at_new_unsupported_feature() {
    let (gone, left) = overtaken_by(&[protocol(&[], &["somethingNew"])]).await;
    let features = vec!["somethingNew".to_owned()];
    assert_eq!(*gone.unwrap_err().kind(), ErrorKind::UnsupportedFeature { features });
    assert_eq!(left, ["a.parquet", "b.parquet"]);
}

#[tokio::test]
async fn vacuum_stops_at_longer_retention() {
    let properties = [("delta.deletedFileRetentionDuration", "interval 30 days")];
    let changed = metadata(&["id long"], &[], &properties);
    let (gone, left) = overtaken_by(&[changed]).await;
    check_error(&gone.unwrap_err(), &ErrorKind::InvalidInput, &["168 hours", "720 hours"]);
    assert_eq!(left, ["a.parquet", "b.parquet"]);
}
