//! Renaming and dropping columns, which need column mapping.

use lakebed::ErrorKind;
use lakebed::alter::AlterChange;
use lakebed_tests::Lake;
use lakebed_tests::lake::MADE;
use serde_json::{Value, json};

use super::{MAPPED, check_refused, columns, lake_with, operation};

#[tokio::test]
async fn mapping_of_existing_table_keeps_names() {
    let lake = lake_with(&[MAPPED]).await;
    let snapshot = lake.table.snapshot().await.unwrap();
    let metadata = snapshot.schema().fields.iter().map(|field| Value::Object(field.metadata.clone()));
    let expected =
        [("id", 1), ("v", 2)].map(|(name, id)| json!({"delta.columnMapping.id": id, "delta.columnMapping.physicalName": name}));
    assert_eq!(metadata.collect::<Vec<_>>(), expected);
    assert_eq!(snapshot.properties().column_mapping_max_column_id, Some(2));
    assert_eq!((snapshot.protocol().min_reader_version, snapshot.protocol().min_writer_version), (2, 7));
    assert_eq!(lake.rows().await.len(), 20);
    let refused = [
        (
            "none",
            "property delta.columnMapping.mode: it is name and cannot become none, because the data files have the physical names of the columns; drop the table feature columnMapping, which rewrites them",
        ),
        (
            "id",
            "property delta.columnMapping.mode: it is name and cannot become id, because the data files have the physical names of the columns; write the rows to a new table",
        ),
    ];
    for (mode, expected) in refused {
        let alter = lake.table.alter().set_properties([("delta.columnMapping.mode", mode)]);
        check_refused(&lake, alter, ErrorKind::InvalidInput, expected).await;
    }
}

#[tokio::test]
async fn rename_and_drop_need_mapping() {
    let lake = Lake::new(false).await;
    let advice = "only in a table with column mapping; set the property delta.columnMapping.mode to name first";
    let expected = format!("column v: a column can be renamed {advice}");
    check_refused(&lake, lake.table.alter().rename_column("v", "w"), ErrorKind::InvalidInput, &expected).await;
    let expected = format!("column v: a column can be dropped {advice}");
    check_refused(&lake, lake.table.alter().drop_columns(["v"]), ErrorKind::InvalidInput, &expected).await;
}

#[tokio::test]
async fn rename_reads_old_files_by_physical_names() {
    let lake = lake_with(&[MAPPED]).await;
    lake.table.alter().rename_column("v", "w x").rename_column("id", "v").rename_column("w x", "id").run().await.unwrap();
    assert_eq!(columns(&lake.table).await, "v: long!, id: long!");
    let rows = lake.rows().await;
    assert_eq!(rows.iter().map(|(id, v)| (*v, *id)).collect::<Vec<_>>(), (1..=20).map(|id| (id, 0)).collect::<Vec<_>>());
}

#[tokio::test]
async fn rename_follows_partitioning_and_statistics() {
    let lake = Lake::with(&[], Some("v")).await;
    lake.table.alter().set_properties([MAPPED, ("delta.dataSkippingStatsColumns", "id")]).run().await.unwrap();
    lake.table.alter().rename_column("V", "p").run().await.unwrap();
    lake.table.alter().rename_column("id", "a.b").run().await.unwrap();
    let snapshot = lake.table.snapshot().await.unwrap();
    assert_eq!(snapshot.partition_columns(), ["p"]);
    assert_eq!(snapshot.metadata().property("delta.dataSkippingStatsColumns"), Some("`a.b`"));
    assert_eq!(
        operation(&lake, MADE + 2).await,
        ("RENAME COLUMN".to_owned(), json!({"oldColumnPath": "v", "newColumnPath": "p"}))
    );
    assert_eq!(operation(&lake, MADE + 3).await.1, json!({"oldColumnPath": "id", "newColumnPath": "`a.b`"}));
    assert_eq!(snapshot.scan().filter("p = 0 AND `a.b` > 15").count().await.unwrap(), 5);
    let expected = "column p cannot be dropped, because it is used by the partitioning of the table; change or drop these first";
    check_refused(&lake, lake.table.alter().drop_columns(["p"]), ErrorKind::InvalidInput, expected).await;
}

#[tokio::test]
async fn drop_names_everything_that_uses_the_column() {
    let lake = lake_with(&[MAPPED]).await;
    lake.table.alter().add_constraint("c", "id > v - 1").add_constraint("d", "v = 0").run().await.unwrap();
    lake.table.cluster_by(["v"]).await.unwrap();
    let expected = "column v cannot be dropped, because it is used by the clustering of the table, the CHECK constraint c (id > v - 1), \
                    the CHECK constraint d (v = 0); change or drop these first";
    check_refused(&lake, lake.table.alter().drop_columns(["V"]), ErrorKind::InvalidInput, expected).await;
    let expected =
        "column id cannot be renamed, because it is used by the CHECK constraint c (id > v - 1); change or drop these first";
    check_refused(&lake, lake.table.alter().rename_column("id", "x"), ErrorKind::InvalidInput, expected).await;
    let drop = |name: &str| AlterChange::DropConstraint { name: name.to_owned(), if_exists: false };
    let alter = lake.table.alter().change(drop("C")).change(drop("d")).change(AlterChange::ClusterBy { columns: vec![] });
    alter.drop_columns(["v"]).run().await.unwrap();
    assert_eq!(columns(&lake.table).await, "id: long!");
    let expected = "column id: it is the last one, and a table or struct needs at least one";
    check_refused(&lake, lake.table.alter().drop_columns(["id"]), ErrorKind::InvalidInput, expected).await;
    lake.table.alter().add_column("v", "string").run().await.unwrap();
    let snapshot = lake.table.snapshot().await.unwrap();
    assert_eq!(snapshot.scan().filter("v IS NULL").count().await.unwrap(), 20, "the old values stay hidden");
}

#[tokio::test]
async fn drop_records_use_of_mapping() {
    let lake = lake_with(&[MAPPED]).await;
    let property = "delta.columnMapping.hasDroppedOrRenamed";
    lake.table.alter().rename_column("v", "w").run().await.unwrap();
    assert_eq!(lake.table.snapshot().await.unwrap().metadata().property(property), None);
    lake.table.alter().change(AlterChange::AddFeature { name: "columnMappingUsageTracking".to_owned() }).run().await.unwrap();
    lake.table.alter().drop_columns(["w"]).run().await.unwrap();
    assert_eq!(lake.table.snapshot().await.unwrap().metadata().property(property), Some("true"));
    let unset = AlterChange::UnsetProperties { names: vec![property.to_owned()], if_exists: false };
    let expected = format!("property {property} cannot be unset: it records what happened to the columns");
    check_refused(&lake, lake.table.alter().change(unset), ErrorKind::InvalidInput, &expected).await;
}
