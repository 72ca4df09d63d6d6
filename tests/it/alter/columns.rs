//! Changes of columns.

use lakebed::ErrorKind;
use lakebed::alter::{AlterChange, NewColumn, Position};
use lakebed_tests::Lake;
use lakebed_tests::lake::MADE;
use serde_json::{Value, json};

use super::{MAPPED, check_refused, columns, lake_with, operation};

fn add(column: NewColumn) -> AlterChange {
    AlterChange::AddColumns { columns: vec![column] }
}

#[tokio::test]
async fn add_column_puts_it_where_asked() {
    let lake = Lake::new(false).await;
    let first = NewColumn { position: Some(Position::First), ..NewColumn::new("a", "int") };
    let after = NewColumn {
        position: Some(Position::After("ID".to_owned())),
        comment: Some("why".to_owned()),
        ..NewColumn::new("s", "struct<x:int,y:array<struct<z:date>>>")
    };
    lake.table.alter().change(add(first)).change(add(after)).run().await.unwrap();
    let inside = NewColumn { position: Some(Position::First), ..NewColumn::new("s.y.element.w", "string") };
    lake.table.alter().change(add(inside)).run().await.unwrap();
    let expected = "a: integer, id: long!, s: struct<x: integer, y: array<struct<w: string, z: date>>>, v: long!";
    assert_eq!(columns(&lake.table).await, expected);
    let (name, parameters) = operation(&lake, MADE + 1).await;
    assert_eq!(name, "ADD COLUMNS");
    let added: Value = serde_json::from_str(parameters["columns"].as_str().unwrap()).unwrap();
    assert_eq!(
        added,
        json!([
            {"column": {"name": "a", "type": "integer", "nullable": true, "metadata": {}}, "position": "FIRST"},
            {"column": {"name": "s", "type": "struct", "nullable": true, "metadata": {"comment": "why"}}, "position": "AFTER ID"},
        ])
    );
    assert_eq!(lake.rows().await.len(), 20);
}

#[tokio::test]
async fn lengths_inside_columns_follow_their_fields() {
    let lake = lake_with(&[MAPPED, ("delta.enableTypeWidening", "true")]).await;
    let lengths = || async {
        let snapshot = lake.table.snapshot().await.unwrap();
        let found = snapshot.schema().field("s").unwrap().metadata.get("__CHAR_VARCHAR_TYPE_STRING").cloned();
        found.map(|words| words.as_str().unwrap().to_owned())
    };
    let change = |change: AlterChange| lake.table.alter().change(change).run();
    lake.table.alter().add_column("s", "struct<x:varchar(3),n:int,l:array<struct<c:char(2)>>>").run().await.unwrap();
    lake.table.alter().rename_column("s.x", "a b").run().await.unwrap();
    assert_eq!(lengths().await.unwrap(), "struct<`a b`:varchar(3),n:int,l:array<struct<c:char(2)>>>");
    lake.table.alter().change_type("s.n", "bigint").run().await.unwrap();
    assert_eq!(lengths().await.unwrap(), "struct<`a b`:varchar(3),n:bigint,l:array<struct<c:char(2)>>>");
    change(AlterChange::MoveColumn { column: "s.l".to_owned(), position: Position::First }).await.unwrap();
    assert_eq!(lengths().await.unwrap(), "struct<l:array<struct<c:char(2)>>,`a b`:varchar(3),n:bigint>");
    change(add(NewColumn { position: Some(Position::First), ..NewColumn::new("s.l.element.d", "varchar(9)") })).await.unwrap();
    assert_eq!(lengths().await.unwrap(), "struct<l:array<struct<d:varchar(9),c:char(2)>>,`a b`:varchar(3),n:bigint>");
    lake.table.alter().drop_columns(["s.`a b`", "s.l"]).run().await.unwrap();
    assert_eq!(lengths().await, None);
    lake.table.alter().add_column("s.v", "varchar(1)").run().await.unwrap();
    assert_eq!(lengths().await.unwrap(), "struct<n:bigint,v:varchar(1)>");
    assert_eq!(lake.rows().await.len(), 20);
}

#[tokio::test]
async fn add_column_refuses_bad_names_and_types() {
    let lake = Lake::new(false).await;
    let invalid = ErrorKind::InvalidInput;
    for (name, data_type, expected) in [
        ("ID", "int", "column ID: the table has the column id already (case does not count)"),
        ("", "int", "column \"\": its name is empty"),
        ("`a", "int", "column `a: a backtick is not closed"),
        ("nope.a", "int", "there is no column `nope`; there are: id, v"),
        ("id.a", "int", "column id.a: a field cannot be added to id, which is not a struct"),
        (
            "a",
            "integr",
            "column a: type \"integr\": at character 1: the name of a type, such as bigint, string or array<int> is expected",
        ),
        (
            "a b",
            "int",
            "column \"a b\": column names must not contain blanks or any of ,;{}()=; rename the column, or set the property \
             delta.columnMapping.mode to name",
        ),
    ] {
        check_refused(&lake, lake.table.alter().add_column(name, data_type), invalid.clone(), expected).await;
    }
    let cases = [
        (
            NewColumn { nullable: false, ..NewColumn::new("n", "int") },
            "column n: it would be null in the rows that the table has; add it with nulls allowed, fill it, and then forbid nulls",
        ),
        (
            NewColumn { default: Some("7".to_owned()), ..NewColumn::new("n", "int") },
            "column n: the rows that the table has would be null in it, so it cannot have a default: add the column without it, \
             and set the default afterwards, for later rows",
        ),
        (
            NewColumn { generated: Some("id * 2".to_owned()), ..NewColumn::new("n", "bigint") },
            "column n: the rows that the table has would be null in it, so it cannot have a generation expression: create a table \
             with the column, and copy the rows",
        ),
    ];
    for (column, expected) in cases {
        check_refused(&lake, lake.table.alter().change(add(column)), invalid.clone(), expected).await;
    }
    lake.table.delete().run().await.unwrap();
    let generated = NewColumn { generated: Some("id * 2".to_owned()), ..NewColumn::new("g", "bigint") };
    let required = NewColumn { nullable: false, ..NewColumn::new("n", "int") };
    lake.table.alter().change(add(generated)).change(add(required)).run().await.unwrap();
    assert_eq!(columns(&lake.table).await, "id: long!, v: long!, g: long, n: integer!");
}

#[tokio::test]
async fn move_column_changes_the_order_alone() {
    let lake = Lake::new(false).await;
    let change = |column: &str, position| AlterChange::MoveColumn { column: column.to_owned(), position };
    lake.table.alter().change(change("v", Position::First)).run().await.unwrap();
    assert_eq!(columns(&lake.table).await, "v: long!, id: long!");
    let (name, parameters) = operation(&lake, MADE + 1).await;
    let column: Value = serde_json::from_str(parameters["column"].as_str().unwrap()).unwrap();
    assert_eq!((name.as_str(), parameters["position"].as_str()), ("CHANGE COLUMN", Some("FIRST")));
    assert_eq!(column, json!({"name": "v", "type": "long", "nullable": false, "metadata": {}}));
    lake.table.alter().change(change("v", Position::After("id".to_owned()))).run().await.unwrap();
    assert_eq!(columns(&lake.table).await, "id: long!, v: long!");
    assert_eq!(lake.rows().await.len(), 20);
    let refused = [
        (Position::After("v".to_owned()), "column v: it cannot be moved behind itself"),
        (Position::After("x".to_owned()), "column v: there is no column x after which to put it; there are: id"),
    ];
    for (position, expected) in refused {
        check_refused(&lake, lake.table.alter().change(change("v", position)), ErrorKind::InvalidInput, expected).await;
    }
}

#[tokio::test]
async fn change_type_keeps_its_history() {
    let lake = lake_with(&[("delta.enableTypeWidening", "true")]).await;
    lake.table.alter().add_column("n", "map<int, array<struct<x:smallint>>>").run().await.unwrap();
    let alter = lake.table.alter().change_type("n.key", "bigint").change_type("n.value.element.x", "int");
    alter.change_type("n.value.element.x", "bigint").run().await.unwrap();
    assert_eq!(columns(&lake.table).await, "id: long!, v: long!, n: map<long, array<struct<x: long>>>");
    let snapshot = lake.table.snapshot().await.unwrap();
    let schema: Value = serde_json::from_str(&snapshot.metadata().schema_string).unwrap();
    let map = &schema["fields"][2];
    let changes = json!([{"toType": "long", "fromType": "integer", "fieldPath": "key"}]);
    assert_eq!(map["metadata"]["delta.typeChanges"], changes);
    let inner = &map["type"]["valueType"]["elementType"]["fields"][0];
    let changes = json!([{"toType": "integer", "fromType": "short"}, {"toType": "long", "fromType": "integer"}]);
    assert_eq!(inner["metadata"]["delta.typeChanges"], changes);
    let refused = [
        (
            "id",
            "int",
            "column id: its type long cannot become integer, because old values might not fit; only wider types are allowed",
        ),
        (
            "n",
            "bigint",
            "column n: its type map<long, array<struct<x: long>>> cannot become long; name its keys or values as n.key or n.value",
        ),
    ];
    for (column, data_type, expected) in refused {
        check_refused(&lake, lake.table.alter().change_type(column, data_type), ErrorKind::InvalidInput, expected).await;
    }
}

#[tokio::test]
async fn change_type_needs_the_property() {
    let lake = Lake::new(false).await;
    lake.table.alter().add_column("n", "int").run().await.unwrap();
    let expected = "column n: its type integer can become long only if the table allows it; set the property \
                    delta.enableTypeWidening to true first";
    check_refused(&lake, lake.table.alter().change_type("n", "bigint"), ErrorKind::InvalidInput, expected).await;
}

#[tokio::test]
async fn change_type_lengthens_strings_without_property() {
    let lake = Lake::new(false).await;
    let length = |table: lakebed::Table| async move {
        let snapshot = table.snapshot().await.unwrap();
        snapshot.schema().field("c").unwrap().metadata.get("__CHAR_VARCHAR_TYPE_STRING").cloned()
    };
    lake.table.alter().add_column("c", "char(3)").run().await.unwrap();
    assert_eq!(length(lake.table.clone()).await, Some(json!("char(3)")));
    lake.table.alter().change_type("c", "varchar(3)").run().await.unwrap();
    lake.table.alter().change_type("c", "varchar(5)").run().await.unwrap();
    assert_eq!(length(lake.table.clone()).await, Some(json!("varchar(5)")));
    let expected = "column c: its type varchar(5) cannot become varchar(4), because old values might not fit; a char or varchar can \
                    become a varchar that is not shorter, or string";
    check_refused(&lake, lake.table.alter().change_type("c", "varchar(4)"), ErrorKind::InvalidInput, expected).await;
    lake.table.alter().change_type("c", "string").run().await.unwrap();
    assert_eq!(length(lake.table.clone()).await, None);
}
