use arrow_array::cast::AsArray;

use super::*;

fn add(path: &str, dv: Option<&str>) -> String {
    let dv = dv.map_or(String::new(), |id| {
        format!(r#","deletionVector":{{"storageType":"u","pathOrInlineDv":"{id}","sizeInBytes":1,"cardinality":1}}"#)
    });
    format!(r#"{{"add":{{"path":"{path}","partitionValues":{{}},"size":1,"modificationTime":0,"dataChange":true{dv}}}}}"#)
}

fn remove(path: &str, dv: Option<&str>) -> String {
    add(path, dv).replace("\"add\"", "\"remove\"")
}

/// Folds commits, given oldest first, and lists what is visible as `path` or `path#dv`.
fn visible(layers: &[&[&[String]]]) -> Vec<String> {
    let mut stack = Layers::default();
    for commits in layers {
        let mut layer = Layer::default();
        for commit in commits.iter().rev() {
            layer.fold_older(commit.join("\n").as_bytes(), "commit").unwrap();
        }
        stack = stack.with_newer(layer);
    }
    let mut names = Vec::new();
    for batch in stack.visible_files() {
        let batch = batch.unwrap();
        for row in 0..batch.len() {
            let dv = batch.deletion_vector(row).unwrap().map_or(String::new(), |dv| format!("#{}", dv.path_or_inline_dv));
            names.push(format!("{}{dv}", batch.paths().unwrap().value(row)));
        }
    }
    names
}

#[test]
fn files_are_visible_in_the_order_of_their_commits() {
    let commits = [vec![add("a", None), add("b", None)], vec![add("c", None)], vec![remove("b", None), add("d", None)]];
    let commits: Vec<&[String]> = commits.iter().map(Vec::as_slice).collect();
    assert_eq!(visible(&[&commits]), ["a", "c", "d"]);
    let split: Vec<&[&[String]]> = commits.chunks(1).collect();
    assert_eq!(visible(&split), ["a", "c", "d"], "one layer a commit gives the same");
}

/// More statistics than one text column holds would end the process.
#[test]
fn large_commits_become_several_batches() {
    let stats = "x".repeat(10 << 20);
    let large = |path: &str| add(path, None).replace("\"dataChange\"", &format!("\"stats\":\"{stats}\",\"dataChange\""));
    let commit = [large("a"), large("b"), large("c"), remove("b", None), large("d"), large("e")];
    let mut layer = Layer::default();
    layer.fold_older(commit.join("\n").as_bytes(), "commit").unwrap();
    layer.fold_older(add("older", None).as_bytes(), "commit").unwrap();
    let layers = Layers::new(layer);
    let batches: Vec<_> = layers.visible_files().collect::<Result<_, _>>().unwrap();
    let paths: Vec<Vec<Option<&str>>> = batches.iter().map(|batch| batch.paths().unwrap().iter().collect()).collect();
    assert_eq!(paths, [vec![Some("older")], vec![Some("a")], vec![Some("c"), Some("d")], vec![Some("e")]]);
}

#[test]
fn a_file_with_another_vector_is_another_file() {
    let swap = vec![remove("a", None), add("a", Some("one"))];
    assert_eq!(visible(&[&[&[add("a", None)], &swap]]), ["a#one"]);
    assert_eq!(
        visible(&[&[&[add("a", Some("one"))], &[remove("a", None)]]]),
        ["a#one"],
        "a remove without the vector is of another file"
    );
}

#[test]
fn adding_a_file_again_replaces_it() {
    assert_eq!(visible(&[&[&[add("a", None)], &[add("b", None)], &[add("a", None)]]]), ["b", "a"]);
}

#[test]
fn the_last_of_two_actions_of_one_commit_wins() {
    assert_eq!(visible(&[&[&[add("a", None), remove("a", None)]]]), [""; 0]);
    assert_eq!(visible(&[&[&[remove("a", None), add("a", None)]]]), ["a"]);
}

#[test]
fn local_paths_are_the_same_with_and_without_a_scheme() {
    assert_eq!(FileKey::new("file:///x/a", None), FileKey::new("/x/a", None));
    assert_eq!(FileKey::new("file:/x/a", None), FileKey::new("/x/a", None));
    assert_ne!(FileKey::new("x/a", None), FileKey::new("/x/a", None));
    assert_ne!(FileKey::new("a", Some("b")), FileKey::new("ab", None));
}

#[test]
fn the_newest_of_everything_else_wins() {
    let old = r#"{"txn":{"appId":"x","version":9}}
{"domainMetadata":{"domain":"d","configuration":"1","removed":false}}"#;
    let new = r#"{"txn":{"appId":"x","version":2}}
{"domainMetadata":{"domain":"d","configuration":"1","removed":true}}"#;
    let mut layer = Layer::default();
    layer.fold_older(new.as_bytes(), "new").unwrap();
    layer.fold_older(old.as_bytes(), "old").unwrap();
    assert_eq!(layer.transactions["x"].version, 2, "versions may go down");
    assert!(layer.domains["d"].removed);
}

#[test]
fn maps_and_numbers_come_through() {
    let line = r#"{"add":{"path":"a","partitionValues":{"p":"1","q":null},"size":7,"modificationTime":8,"dataChange":true,"baseRowId":5}}"#;
    let mut layer = Layer::default();
    layer.fold_older(line.as_bytes(), "commit").unwrap();
    let batch = Layers::new(layer).visible_files().next().unwrap().unwrap();
    assert_eq!(batch.longs("size").unwrap().value(0), 7);
    assert_eq!(batch.longs("baseRowId").unwrap().value(0), 5);
    assert!(arrow_array::Array::is_null(&batch.longs("defaultRowCommitVersion").unwrap(), 0));
    assert_eq!(batch.partition_texts("p").unwrap().value(0), "1");
    assert!(arrow_array::Array::is_null(&batch.partition_texts("q").unwrap(), 0));
    assert_eq!(arrow_array::Array::len(batch.column("partitionValues").unwrap().as_map()), 1);
}
