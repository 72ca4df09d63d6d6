use std::sync::Arc;

use arrow_array::builder::{LargeStringBuilder, MapBuilder, StringBuilder};
use arrow_array::{ArrayRef, Int32Array, Int64Array, LargeStringArray, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field, Fields};
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::action::arbitrary::any_add;
use crate::action::{Action, Add};
use crate::kit::check_corrupt;
use crate::kit::commit::added_files;

fn printed(files: &FileBatch) -> String {
    let mut lines = Vec::new();
    write_add_lines(files, true, &mut lines).unwrap();
    String::from_utf8(lines).unwrap()
}

proptest! {
    #[test]
    fn printed_lines_equal_those_of_actions(adds in vec(any_add(), 1..6)) {
        let number = |(number, add): (usize, Add)| Add { path: format!("{number}{}", add.path), data_change: true, ..add };
        let lines = adds.into_iter().enumerate().map(|pair| Action::Add(number(pair)).to_line().unwrap());
        let lines: Vec<String> = lines.collect();
        prop_assert_eq!(printed(&added_files(&lines)), lines.iter().map(|line| format!("{line}\n")).collect::<String>());
    }
}

#[test]
fn print_files_of_foreign_checkpoint() {
    let mut values = MapBuilder::new(None, LargeStringBuilder::new(), StringBuilder::new());
    for (key, value) in [("b", Some("2")), ("a", Some("0")), ("a", None)] {
        values.keys().append_value(key);
        values.values().append_option(value);
    }
    values.append(true).unwrap();
    values.append(false).unwrap();
    let counts = Fields::from(vec![Field::new("numRecords", DataType::Int64, true)]);
    let parsed = StructArray::new(counts, vec![Arc::new(Int64Array::from(vec![3, 4]))], None);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("size", Arc::new(Int32Array::from(vec![7, 8]))),
        ("path", Arc::new(LargeStringArray::from(vec!["x\n\"", "y"]))),
        ("partitionValues", Arc::new(values.finish())),
        ("stats", Arc::new(StringArray::from(vec![None, Some("{}")]))),
        ("stats_parsed", Arc::new(parsed)),
    ];
    let files = FileBatch::new(RecordBatch::try_from_iter(columns).unwrap()).unwrap();
    let expected = concat!(
        r#"{"add":{"path":"x\n\"","partitionValues":{"a":null,"b":"2"},"size":7,"modificationTime":0,"dataChange":true,"#,
        r#""stats":"{\"numRecords\":3}"}}"#,
        "\n",
        r#"{"add":{"path":"y","partitionValues":{},"size":8,"modificationTime":0,"dataChange":true,"stats":"{}"}}"#,
        "\n"
    );
    assert_eq!(printed(&files), expected);
    let actions = files.to_adds().unwrap().into_iter().map(|add| Action::Add(Add { data_change: true, ..add }));
    assert_eq!(actions.map(|action| action.to_line().unwrap() + "\n").collect::<String>(), expected);
}

#[test]
fn file_without_path_or_size_is_refused() {
    let check = |path: Option<&str>, size: Option<i64>, message: &str| {
        let columns: Vec<(&str, ArrayRef)> =
            vec![("path", Arc::new(StringArray::from(vec![path]))), ("size", Arc::new(Int64Array::from(vec![size])))];
        let files = FileBatch::new(RecordBatch::try_from_iter(columns).unwrap()).unwrap();
        check_corrupt(write_add_lines(&files, true, &mut Vec::new()), message);
    };
    check(None, Some(1), "_delta_log: add without path");
    check(Some("a"), None, "_delta_log: add without size");
}
