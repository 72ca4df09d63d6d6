//! Tables that lakebed refuses to open. It refuses them before it reads data.

use lakebed::Error;
use lakebed_core::ErrorKind;
use lakebed_tests::TableBuilder;
use lakebed_tests::action::{add, metadata, protocol};
use serde_json::{Value, json};

/// Returns the error of opening a table with an additional column `c` of this type and metadata.
async fn error_of(data_type: Value, of_column: Value, configuration: &[(&str, &str)]) -> Error {
    let mut action = metadata(&["id long"], &[], configuration);
    let mut schema: Value = serde_json::from_str(action["metaData"]["schemaString"].as_str().unwrap()).unwrap();
    schema["fields"][0]["metadata"] = json!({"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "p1"});
    let column = json!({"name": "c", "type": data_type, "nullable": true, "metadata": of_column});
    schema["fields"].as_array_mut().unwrap().push(column);
    action["metaData"]["schemaString"] = json!(schema.to_string());
    let features = ["columnMapping", "typeWidening"];
    let builder = TableBuilder::with(protocol(&features, &features), action);
    builder.commit(&[add("f0")]).await;
    builder.table().snapshot().await.unwrap_err()
}

#[tokio::test]
async fn unknown_type_change_names_feature_and_column() {
    let change = json!({"delta.typeChanges": [{"fromType": "string", "toType": "long"}]});
    let error = error_of(json!("long"), change, &[]).await;
    assert!(matches!(error.kind(), ErrorKind::UnsupportedFeature { features } if features == &["typeWidening"]), "{error}");
    let expected = "memory://kit/lake/t: schema: column c: its type was changed from string to long, and lakebed does not support this change";
    assert_eq!(error.message(), expected);
}

#[tokio::test]
async fn columns_sharing_data_are_corrupt() {
    for (id, physical, said) in [(1, "p2", "field id 1"), (2, "p1", "physical name \"p1\"")] {
        let mapping = json!({"delta.columnMapping.id": id, "delta.columnMapping.physicalName": physical});
        for mode in ["name", "id"] {
            let error = error_of(json!("string"), mapping.clone(), &[("delta.columnMapping.mode", mode)]).await;
            assert!(error.is_corrupt(), "{error}");
            let expected = format!("memory://kit/lake/t: schema: column c: has the {said}, which is that of column id");
            assert_eq!(error.message(), expected);
        }
    }
}

#[tokio::test]
async fn types_nested_too_deep_are_refused() {
    let wrap =
        |inside: Value| json!({"type": "struct", "fields": [{"name": "s", "type": inside, "nullable": true, "metadata": {}}]});
    let deep = (0..60).fold(json!("long"), |inside, _| wrap(inside));
    let error = error_of(deep, json!({}), &[]).await;
    assert!(matches!(error.kind(), ErrorKind::UnsupportedFeature { .. }), "{error}");
    assert!(error.message().starts_with("memory://kit/lake/t: schema: ") && error.message().contains("nested deeper"), "{error}");
}
