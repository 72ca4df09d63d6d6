use std::collections::HashMap;

use arrow_array::cast::AsArray;
use proptest::prelude::*;

use super::*;
use crate::action::json::CommitLines;
use crate::kit::commit::{add_line, remove_line};
use crate::log::files::FileBatch;

fn whole(text: &String) -> CommitLines<'_> {
    CommitLines::whole(text.as_bytes(), "commit")
}

/// Folds commits, given oldest first, and lists the visible files as `path` or `path#dv`.
fn visible(layers: &[&[&[String]]]) -> Vec<String> {
    let mut stack = Layers::default();
    for commits in layers {
        let texts: Vec<String> = commits.iter().rev().map(|commit| commit.join("\n")).collect();
        stack = stack.with_newer(Layer::fold(texts.iter().map(whole)).unwrap());
    }
    names(&stack)
}

fn names(layers: &Layers) -> Vec<String> {
    names_with(layers, &HashMap::new())
}

/// Lists the visible files of the layers. Actions that were not kept are read from these commits.
fn names_with(layers: &Layers, texts: &HashMap<&str, String>) -> Vec<String> {
    let mut names = Vec::new();
    for added in layers.visible_files() {
        let added = added.unwrap();
        let places = added.ranges().to_vec();
        let text = |place: &CommitRange| {
            let bytes = usize::try_from(place.bytes.start).unwrap()..usize::try_from(place.bytes.end).unwrap();
            texts[&*place.name][bytes].as_bytes()
        };
        for batch in added.into_files(places.iter().map(text)).unwrap() {
            for row in 0..batch.len() {
                let dv = batch.deletion_vector(row).unwrap().map_or(String::new(), |dv| format!("#{}", dv.path_or_inline_dv));
                names.push(format!("{}{dv}", batch.paths().unwrap().value(row)));
            }
        }
    }
    names
}

fn batches(layers: &Layers) -> Vec<FileBatch> {
    layers.visible_files().flat_map(|added| added.unwrap().into_files([]).unwrap()).collect()
}

#[test]
fn replay_orders_files_by_commit() {
    let commits = [
        vec![add_line("a", None), add_line("b", None)],
        vec![add_line("c", None)],
        vec![remove_line("b", None), add_line("d", None)],
    ];
    let commits: Vec<&[String]> = commits.iter().map(Vec::as_slice).collect();
    assert_eq!(visible(&[&commits]), ["a", "c", "d"]);
    let split: Vec<&[&[String]]> = commits.chunks(1).collect();
    assert_eq!(visible(&split), ["a", "c", "d"], "one layer a commit gives the same");
}

/// If the statistics exceeded the limit of one string column, the process would abort.
#[test]
fn large_commits_become_several_batches() {
    let stats = "x".repeat(10 << 20);
    let large = |path: &str| add_line(path, None).replace("\"dataChange\"", &format!("\"stats\":\"{stats}\",\"dataChange\""));
    let commit = [large("a"), large("b"), large("c"), remove_line("b", None), large("d"), large("e")];
    let layers = Layers::new(Layer::fold([&commit.join("\n"), &add_line("older", None)].map(whole)).unwrap());
    let batches = batches(&layers);
    let paths: Vec<Vec<Option<&str>>> = batches.iter().map(|batch| batch.paths().unwrap().iter().collect()).collect();
    assert_eq!(paths, [vec![Some("older")], vec![Some("a")], vec![Some("c"), Some("d"), Some("e")]]);
}

#[test]
fn replay_separates_files_by_deletion_vector() {
    let swap = vec![remove_line("a", None), add_line("a", Some("one"))];
    assert_eq!(visible(&[&[&[add_line("a", None)], &swap]]), ["a#one"]);
    assert_eq!(
        visible(&[&[&[add_line("a", Some("one"))], &[remove_line("a", None)]]]),
        ["a#one"],
        "a remove without the vector is of another file"
    );
}

#[test]
fn adding_a_file_again_replaces_it() {
    assert_eq!(visible(&[&[&[add_line("a", None)], &[add_line("b", None)], &[add_line("a", None)]]]), ["b", "a"]);
}

#[test]
fn replay_takes_last_action_of_a_commit() {
    assert_eq!(visible(&[&[&[add_line("a", None), remove_line("a", None)]]]), [""; 0]);
    assert_eq!(visible(&[&[&[remove_line("a", None), add_line("a", None)]]]), ["a"]);
}

#[test]
fn replay_ignores_scheme_of_local_paths() {
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
    let layer = Layer::fold([CommitLines::whole(new.as_bytes(), "new"), CommitLines::whole(old.as_bytes(), "old")]).unwrap();
    assert_eq!(layer.transactions["x"].version, 2, "versions may go down");
    assert!(layer.domains["d"].removed);
}

#[test]
fn maps_and_numbers_come_through() {
    let line = r#"{"add":{"path":"a","partitionValues":{"p":"1","q":null},"size":7,"modificationTime":8,"dataChange":true,"baseRowId":5}}"#;
    let layer = Layer::fold([CommitLines::whole(line.as_bytes(), "commit")]).unwrap();
    let batch = &batches(&Layers::new(layer))[0];
    assert_eq!(batch.longs("size").unwrap().value(0), 7);
    assert_eq!(batch.longs("baseRowId").unwrap().value(0), 5);
    assert!(arrow_array::Array::is_null(&batch.longs("defaultRowCommitVersion").unwrap(), 0));
    assert_eq!(batch.partition_texts("p").unwrap().value(0), "1");
    assert!(arrow_array::Array::is_null(&batch.partition_texts("q").unwrap(), 0));
    assert_eq!(arrow_array::Array::len(batch.column("partitionValues").unwrap().as_map()), 1);
}

/// An action on a file: whether the file is added, its path, and its deletion vector.
type Said = (bool, &'static str, Option<&'static str>);

fn any_said() -> impl Strategy<Value = Said> {
    let path = prop::sample::select(vec!["a", "b", "c", "d"]);
    (any::<bool>(), path, prop::option::of(prop::sample::select(vec!["one", "two"])))
}

fn any_commits() -> impl Strategy<Value = Vec<Vec<Said>>> {
    prop::collection::vec(prop::collection::vec(any_said(), 0..6), 0..=COMMITS.len())
}

/// Returns the files that are left, in the order in which they were last added.
fn replayed(commits: &[Vec<Said>]) -> Vec<String> {
    let mut there: Vec<(&str, Option<&str>)> = Vec::new();
    for (added, path, dv) in commits.iter().flatten().copied() {
        there.retain(|file| *file != (path, dv));
        there.extend(added.then_some((path, dv)));
    }
    there.iter().map(|(path, dv)| format!("{path}{}", dv.map_or(String::new(), |dv| format!("#{dv}")))).collect()
}

fn text(commit: &[Said]) -> String {
    let line = |(added, path, dv): &Said| if *added { add_line(path, *dv) } else { remove_line(path, *dv) };
    commit.iter().map(line).collect::<Vec<_>>().join("\n")
}

const COMMITS: [&str; 8] = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];

proptest! {
    #[test]
    fn all_ways_of_folding_agree(
        commits in any_commits(), runs in prop::collection::vec((1..4_usize, any::<bool>(), any::<bool>()), 8)
    ) {
        let texts: HashMap<&str, String> = COMMITS.into_iter().zip(commits.iter().map(|commit| text(commit))).collect();
        let mut rest = &COMMITS[..commits.len()];
        let mut layers: Vec<Layer> = Vec::new();
        for (run, is_joined, is_left) in runs {
            let (now, later) = rest.split_at(run.min(rest.len()));
            rest = later;
            let lines = now.iter().rev().map(|name| CommitLines::whole(texts[name].as_bytes(), name));
            let place = |name: &&str| CommitRange { name: (*name).into(), bytes: 0..texts[name].len() as u64, lines_before: 0 };
            let places = || now.iter().rev().map(place).collect();
            let layer = if is_left { Layer::fold_keys(lines, places()) } else { Layer::fold(lines) }.unwrap();
            match layers.pop() {
                Some(older) if is_joined => layers.push(layer.above(older).unwrap()),
                older => layers.extend(older.into_iter().chain([layer])),
            }
        }
        let stack = layers.into_iter().fold(Layers::default(), |stack, layer| stack.with_newer(layer));
        prop_assert_eq!(names_with(&stack, &texts), replayed(&commits));
    }

    #[test]
    fn parts_of_a_commit_are_layers_too(
        commit in prop::collection::vec(any_said(), 0..30), bytes in 1..2000_usize, is_left in any::<bool>()
    ) {
        let text = text(&commit);
        let part = |piece: CommitLines<'_>| {
            let start = (piece.bytes.as_ptr() as usize - text.as_ptr() as usize) as u64;
            let place = CommitRange { name: "c0".into(), bytes: start..start + piece.bytes.len() as u64, lines_before: piece.lines_before };
            if is_left { Layer::fold_keys([piece], vec![place]) } else { Layer::fold([piece]) }.unwrap()
        };
        let parts = whole(&text).pieces(bytes).into_iter().map(part);
        let commit_layer = parts.reduce(|older, part| part.above(older).unwrap()).unwrap();
        let texts = HashMap::from([("c0", text.clone())]);
        prop_assert_eq!(names_with(&Layers::new(commit_layer), &texts), replayed(&[commit]));
    }
}
