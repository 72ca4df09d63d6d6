use lakebed_core::action::{Add, Cdc};
use lakebed_core::dv::DeletionVector;
use lakebed_core::path::FilePath;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::rows::deleted::NamedRows;
use crate::write::data_file::WrittenFile;

mod named;

fn add(path: &str, stats: Option<String>, value: Option<String>) -> WrittenFile {
    WrittenFile::safe(Add {
        path: FilePath::encode(path),
        partition_values: [("day".to_owned(), value)].into(),
        size: 5,
        modification_time: 1,
        data_change: true,
        stats,
        tags: None,
        deletion_vector: None,
        base_row_id: None,
        default_row_commit_version: None,
        clustering_provider: None,
    })
}

fn files(path: &str, new_rows: u64, stats: Option<String>, value: Option<String>) -> Effects {
    Effects { added: vec![add(path, stats, value)], new_rows, marks: vec![(2, i64::MIN)], ..Effects::default() }
}

/// Returns effects of a change of rows, with something in every part.
fn change(deleted: Vec<NamedRows>) -> Effects {
    let partition_values = [("day".to_owned(), None)].into();
    let cdc = Cdc { path: "_change_data/c".to_owned(), partition_values, size: 7, data_change: false, tags: None };
    Effects {
        changes: vec![WrittenFile::of_changes(cdc)],
        deleted: DeletedRows { named: deleted, ..DeletedRows::default() },
        copied_rows: 4,
        keeps_row_ids: true,
        ..files("a", 3, None, None)
    }
}

fn in_file(path: &str, rows: impl IntoIterator<Item = u64>) -> NamedRows {
    NamedRows { path: path.to_owned(), vector: Some("ux@1".to_owned()), rows: Some(DeletionVector::from_iter(rows)) }
}

fn whole_file(path: &str) -> NamedRows {
    NamedRows { path: path.to_owned(), vector: None, rows: None }
}

fn usual() -> Effects {
    change(vec![in_file("b", [1, 2, 7]), whole_file("s3://other/c.parquet")])
}

/// Returns the usual bytes after `change` modified their JSON.
fn changed(change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut value: Value = serde_json::from_slice(&usual().to_bytes().unwrap()).unwrap();
    change(&mut value);
    serde_json::to_vec(&value).unwrap()
}

#[track_caller]
fn check_refused(change: impl FnOnce(&mut Value), expected: &str) {
    let error = Effects::from_bytes(&changed(change)).unwrap_err();
    assert!(error.to_string().contains(expected), "{error}");
}

#[track_caller]
fn check_same(read: &Effects, effects: &Effects) {
    let adds = |files: &[WrittenFile]| files.iter().map(|file| file.add.clone()).collect::<Vec<_>>();
    let counts = |effects: &Effects| (effects.new_rows, effects.copied_rows, effects.keeps_row_ids, effects.marks.clone());
    assert_eq!(adds(&read.added), adds(&effects.added));
    assert_eq!(adds(&read.changes), adds(&effects.changes));
    assert_eq!(read.deleted.named, effects.deleted.named);
    assert_eq!(counts(read), counts(effects));
}

#[test]
fn bytes_of_something_else_are_refused() {
    for bytes in [b"".as_slice(), b"PAR1", b"{}", b"[]", b"{\"effects\":1}"] {
        let error = Effects::from_bytes(bytes).unwrap_err();
        assert_eq!(error.message(), "these are not effects that can be read: the bytes are damaged, or they are of another kind");
    }
    check_refused(|effects| effects["effects"] = 2.into(), "its format is 2, and this version of lakebed reads format 1");
}

#[test]
fn unknown_and_missing_fields_are_refused() {
    let damaged = "damaged, or they are of another kind";
    check_refused(|effects| effects["surprise"] = 1.into(), damaged);
    check_refused(|effects| effects["deleted"][0]["surprise"] = 1.into(), damaged);
    check_refused(|effects| effects["deleted"][0]["rows"]["some"]["surprise"] = 1.into(), damaged);
    check_refused(|effects| effects["deleted"][0]["rows"] = json!({"others": 1}), damaged);
    for field in ["added", "changes", "deleted", "new_rows", "copied_rows", "keeps_row_ids", "marks"] {
        check_refused(|effects| drop(effects.as_object_mut().unwrap().remove(field)), damaged);
    }
    // Without its rows, a file must not count as deleted.
    check_refused(|effects| drop(effects["deleted"][0].as_object_mut().unwrap().remove("rows")), damaged);
    check_refused(|effects| effects["deleted"][0]["rows"] = Value::Null, damaged);
    check_refused(|effects| effects["new_rows"] = (-1).into(), damaged);
    check_refused(|effects| effects["marks"][0][0] = (-1).into(), damaged);
}

#[test]
fn new_files_outside_table_are_refused() {
    for (path, why) in [
        ("/etc/passwd", "it is outside the table"),
        ("s3://other/x.parquet", "it is outside the table"),
        ("../x.parquet", ".."),
        ("_delta_log/00000000000000000000.json", "it is a file of the log"),
        ("_delta%5Flog/0", "it is a file of the log"),
    ] {
        check_refused(|effects| effects["added"][0]["path"] = path.into(), why);
        check_refused(|effects| effects["changes"][0]["path"] = path.into(), why);
    }
    check_refused(|effects| effects["changes"][0]["path"] = "c".into(), "it is change data, but is not in _change_data");
    check_refused(|effects| effects["deleted"][0]["path"] = "../b".into(), "..");
}

#[test]
fn contradictory_new_files_are_refused() {
    check_refused(
        |effects| effects["added"][0]["size"] = (-1).into(),
        "a: effects cannot contain this file: its size is negative",
    );
    check_refused(
        |effects| effects["added"][0]["dataChange"] = false.into(),
        "its rows are marked as unchanged (dataChange is false)",
    );
    check_refused(|effects| effects["added"][0]["baseRowId"] = 0.into(), "its rows have row ids already");
    check_refused(|effects| effects["added"][0]["defaultRowCommitVersion"] = 0.into(), "its rows have row ids already");
    let vector = json!({"storageType": "u", "pathOrInlineDv": "x", "sizeInBytes": 1, "cardinality": 1});
    check_refused(|effects| effects["added"][0]["deletionVector"] = vector, "some of its rows are deleted");
    check_refused(|effects| effects["changes"][0]["size"] = (-1).into(), "its size is negative");
    check_refused(
        |effects| effects["changes"][0]["dataChange"] = true.into(),
        "it is change data, but says that its rows are new",
    );
    check_refused(|effects| effects["changes"][0]["tags"] = json!({}), "it is change data, but has tags");
    check_refused(
        |effects| effects["added"] = json!([effects["added"][0], effects["added"][0]]),
        "a: effects cannot contain this file: it is added twice",
    );
    check_refused(
        |effects| effects["deleted"][1]["path"] = "b".into(),
        "b: effects cannot contain this file: it has deleted rows twice",
    );
}

#[test]
fn damaged_bitmaps_are_refused() {
    fn with(count: u64, bitmap: &str) -> impl FnOnce(&mut Value) {
        let rows = json!({"some": {"count": count, "bitmap": bitmap}});
        move |effects| effects["deleted"][0]["rows"] = rows
    }
    check_refused(with(3, "*"), "b: its deleted rows cannot be read: the bitmap is not Base64");
    check_refused(with(3, ""), "b: its deleted rows cannot be read: the bitmap is damaged");
    check_refused(with(3, "AAAA"), "the bitmap is damaged");
    let rows = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap()["deleted"][0]["rows"]["some"].clone();
    let good = rows(&usual().to_bytes().unwrap());
    check_refused(with(4, good["bitmap"].as_str().unwrap()), "the bitmap has 3 rows, 4 were announced");
    let none = rows(&change(vec![in_file("b", [])]).to_bytes().unwrap());
    check_refused(with(0, none["bitmap"].as_str().unwrap()), "the bitmap is empty");
}

#[test]
fn joined_effects_add_up() {
    let mut all = usual();
    all.join(Effects { new_rows: u64::MAX, marks: vec![(2, 9)], ..Effects::default() });
    assert_eq!((all.new_rows, all.copied_rows, all.keeps_row_ids), (u64::MAX, 4, true));
    assert_eq!(all.marks, [(2, i64::MIN), (2, 9)]);
    assert_eq!((all.files().len(), all.deleted.named.len()), (2, 2));
}

#[test]
fn effects_of_changes_do_more_than_add() {
    let one = [
        Effects { changes: usual().changes, ..Effects::default() },
        Effects { deleted: usual().deleted, ..Effects::default() },
        Effects { copied_rows: 1, ..Effects::default() },
        Effects { keeps_row_ids: true, ..Effects::default() },
    ];
    assert!(one.iter().all(|effects| !effects.only_adds_rows()));
    assert!(files("a", 1, None, None).only_adds_rows());
}

/// Returns rows of files with different names.
fn deleted() -> impl Strategy<Value = Vec<NamedRows>> {
    let vector = prop::option::of("[a-z@0-9]{1,9}");
    let rows = prop::option::of(prop::collection::vec(0..i64::MAX as u64, 1..50));
    let file = (vector, rows).prop_map(|(vector, rows)| (vector, rows.map(DeletionVector::from_iter)));
    prop::collection::vec(file, 0..4).prop_map(|files| {
        let name = |(number, (vector, rows))| NamedRows { path: format!("f{number}"), vector, rows };
        files.into_iter().enumerate().map(name).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn files_come_back_from_their_bytes(
        path in "[^/.\0]{1,20}", rows in any::<u64>(), stats in any::<Option<String>>(), value in any::<Option<String>>(),
    ) {
        let files = files(&path, rows, stats, value);
        check_same(&Effects::from_bytes(&files.to_bytes().unwrap()).unwrap(), &files);
    }

    #[test]
    fn changes_come_back_from_their_bytes(deleted in deleted()) {
        let (effects, bytes) = (change(deleted.clone()), change(deleted).to_bytes().unwrap());
        let read = Effects::from_bytes(&bytes).unwrap();
        check_same(&read, &effects);
        prop_assert_eq!(read.to_bytes().unwrap(), bytes);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0_usize..2000, with in any::<u8>()) {
        let _ = Effects::from_bytes(&bytes);
        let mut damaged = usual().to_bytes().unwrap();
        let at = at % damaged.len();
        damaged[at] = with;
        // Damage of a text or a number may go unnoticed. Then the value is one that bytes can hold.
        if let Ok(read) = Effects::from_bytes(&damaged) {
            check_same(&Effects::from_bytes(&read.to_bytes().unwrap()).unwrap(), &read);
            let rows = read.deleted.named.iter().filter_map(|file| file.rows.as_ref());
            prop_assert!(rows.map(DeletionVector::len).eq([3]));
        }
    }
}
