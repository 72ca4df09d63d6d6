use lakebed_core::action::json::AddRef;
use lakebed_core::log::builder::FileBatchBuilder;
use serde_json::{Value, json};

use super::*;
use crate::kit::action::{add, with};
use crate::kit::to_add;

/// One file for each pair of values of the columns `p` and `q`.
fn files(values: &[(Value, Value)]) -> FileBatch {
    let mut batch = FileBatchBuilder::default();
    for (p, q) in values {
        let file = with(add("f"), json!({"partitionValues": {"p": p, "q": q}}));
        batch.append(&AddRef::from(to_add(&file))).unwrap();
    }
    batch.finish().unwrap()
}

/// The partitions with these values of `p` and `q`. Without a snapshot the columns are text.
fn partitions(values: &[[Option<&str>; 2]]) -> Partitions {
    let values = values.iter().map(|values| values.iter().map(|value| value.map(str::to_owned)).collect()).collect();
    Partitions::new(None, vec!["p".to_owned(), "q".to_owned()], values)
}

#[test]
fn holding_tells_files_of_partitions() {
    let partitions = partitions(&[[Some("1"), Some("x")], [Some("2"), None]]);
    let files = files(&[
        (json!("1"), json!("x")),
        (json!("1"), json!("y")),
        (json!("2"), Value::Null),
        (json!("2"), json!("x")),
        // An empty text is null in the log.
        (json!("2"), json!("")),
    ]);
    let held = partitions.holding(&files).unwrap();
    assert_eq!(held.values().iter().collect::<Vec<_>>(), [true, false, true, false, true]);
    assert!(partitions.may_hold(&files).unwrap());
}

#[test]
fn other_partitions_hold_no_file() {
    let files = files(&[(json!("1"), json!("y")), (json!("3"), json!("x"))]);
    assert!(!partitions(&[[Some("1"), Some("x")]]).may_hold(&files).unwrap());
    assert!(!partitions(&[]).may_hold(&files).unwrap());
}
