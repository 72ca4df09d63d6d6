use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use serde_json::{Value, json};

use super::*;
use crate::kit::action::{VECTOR_FILE, add, remove, vector, with, with_vector};
use crate::log::replay::{Layer, Layers};

/// Returns one action on few files, applications and domains.
fn any_action() -> impl Strategy<Value = String> {
    let path = 0..6_u8;
    let offset = prop::option::of(0..2_u8);
    let line = |action: Value, offset: Option<u8>| match offset {
        Some(offset) => with_vector(action, vector("u", VECTOR_FILE, offset.into())).to_string(),
        None => action.to_string(),
    };
    let add = (path.clone(), offset.clone(), any::<u8>())
        .prop_map(move |(path, offset, size)| line(with(add(&format!("f{path}")), json!({"size": size})), offset));
    let remove = (path, offset, prop::option::of(0..9_u8)).prop_map(move |(path, offset, time)| {
        line(with(remove(&format!("f{path}")), json!({"deletionTimestamp": time})), offset)
    });
    let txn = (0..3_u8, any::<u8>()).prop_map(|(app, version)| format!(r#"{{"txn":{{"appId":"a{app}","version":{version}}}}}"#));
    let domain = (0..3_u8, any::<bool>())
        .prop_map(|(name, gone)| format!(r#"{{"domainMetadata":{{"domain":"d{name}","configuration":"","removed":{gone}}}}}"#));
    let protocol =
        any::<u8>().prop_map(|version| format!(r#"{{"protocol":{{"minReaderVersion":1,"minWriterVersion":{version}}}}}"#));
    let nothing = prop::sample::select(vec![
        r#"{"commitInfo":{"operation":"WRITE"}}"#,
        r#"{"cdc":{"path":"c","partitionValues":{},"size":1,"dataChange":false}}"#,
        r#"{"fromTheFuture":{}}"#,
        "",
    ]);
    prop_oneof![4 => add, 4 => remove, 1 => txn, 1 => domain, 1 => protocol, 1 => nothing.prop_map(str::to_owned)]
}

fn any_commits() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(prop::collection::vec(any_action(), 0..8).prop_map(|lines| lines.join("\n")), 1..9)
}

/// Returns everything that a reader can see of commits: the files that they added, the files that
/// they hide in older state, and all other state.
fn state(newest_first: &[&[u8]]) -> (BTreeMap<String, i64>, BTreeSet<String>, String) {
    let parts = newest_first.iter().map(|bytes| CommitLines::whole(bytes, "x"));
    let layers = Layers::new(Layer::fold(parts).unwrap());
    let mut files = BTreeMap::new();
    for added in layers.visible_files() {
        for batch in added.unwrap().into_files([]).unwrap() {
            let sizes = batch.longs("size").unwrap();
            for row in 0..batch.len() {
                let vector = batch.deletion_vector(row).unwrap().map(|vector| vector.unique_id());
                files.insert(format!("{} {vector:?}", batch.paths().unwrap().value(row)), sizes.value(row));
            }
        }
    }
    let mut hidden = BTreeSet::new();
    for path in 0..6 {
        for vector in [None, Some("uab^-aqEH.-t@S}K{vb[*k^@0"), Some("uab^-aqEH.-t@S}K{vb[*k^@1")] {
            if layers.hides(&FileKey::new(&format!("f{path}"), vector)) {
                hidden.insert(format!("f{path} {vector:?}"));
            }
        }
    }
    let protocol = layers.newest(|layer| layer.protocol.as_ref());
    (files, hidden, format!("{protocol:?} {:?} {:?}", layers.transactions(), layers.domains()))
}

fn compacted(newest_first: &[&[u8]]) -> Vec<u8> {
    compact(newest_first.iter().map(|bytes| CommitLines::whole(bytes, "x"))).unwrap().join(&b'\n')
}

#[test]
fn lines_are_kept_byte_for_byte() {
    let line = br#"{"add":{"path":"a","size":1,"fromTheFuture":{"x":1},"partitionValues":{}}}"#;
    assert_eq!(compact([CommitLines::whole(line, "x")]).unwrap(), [line]);
}

#[test]
fn a_broken_line_is_named() {
    let error = compact([CommitLines::whole(b"{}\n{\"add\":", "7.json")]).unwrap_err();
    assert!(error.is_corrupt() && error.message().starts_with("7.json: line 2: "), "{error}");
}

proptest! {
    #[test]
    fn a_compaction_stands_for_its_commits(commits in any_commits(), from in 0_usize..9, to in 0_usize..9) {
        let oldest_first: Vec<&[u8]> = commits.iter().map(String::as_bytes).collect();
        let (from, to) = (from.min(to).min(commits.len() - 1), from.max(to).min(commits.len() - 1));
        let window: Vec<&[u8]> = oldest_first[from..=to].iter().rev().copied().collect();
        let compaction = compacted(&window);
        let replaced: Vec<&[u8]> = oldest_first[..from].iter().copied().chain([compaction.as_slice()]).chain(oldest_first[to + 1..].iter().copied()).collect();
        let reversed = |commits: &[&[u8]]| -> (BTreeMap<String, i64>, BTreeSet<String>, String) {
            state(&commits.iter().rev().copied().collect::<Vec<_>>())
        };
        prop_assert_eq!(reversed(&replaced), reversed(&oldest_first));
    }

    #[test]
    fn of_each_thing_one_action_is_left(commits in any_commits()) {
        let newest_first: Vec<&[u8]> = commits.iter().rev().map(String::as_bytes).collect();
        let once = compacted(&newest_first);
        prop_assert_eq!(compacted(&[&once]), once);
    }
}
