use std::sync::Arc;

use lakebed_core::log::files::FileKey;
use object_store::memory::InMemory;
use object_store::path::Path;
use serde_json::{Value, json};
use url::Url;

use super::*;
use crate::kit::action::{add, metadata, protocol, remove, text};
use crate::kit::{to_metadata, to_protocol};

/// Returns a store with these commits, from version 0 on, and their paths, newest first.
async fn written(commits: &[&[Value]]) -> (Store, Vec<LogPath>) {
    let url = Url::parse("memory://test/").unwrap();
    let store = Store::from_object_store(Arc::new(InMemory::new()), Path::default(), url);
    let mut paths = Vec::new();
    for (version, actions) in (0..).zip(commits) {
        let commit = LogPath::commit(version);
        store.put(&store.log_path(&commit.name).unwrap(), text(actions).into()).await.unwrap();
        paths.insert(0, commit);
    }
    (store, paths)
}

fn of_columns(columns: &[&str]) -> Value {
    metadata(columns, &[], &[])
}

#[tokio::test]
async fn newest_protocol_and_metadata_win() {
    let (old, new) = (protocol(&[], &["appendOnly"]), protocol(&[], &["appendOnly", "rowTracking"]));
    let first = [old, of_columns(&["id long"])];
    let (store, paths) = written(&[&first, std::slice::from_ref(&new), &[of_columns(&["id long", "v long"])], &[add("a")]]).await;
    let read = ReadCommits::read(&store, &paths).await.unwrap();
    assert_eq!(read.protocol, Some(to_protocol(&new)));
    assert_eq!(read.metadata, Some(to_metadata(&of_columns(&["id long", "v long"]))));
    // The commits are small, so they are kept, and give the same without another request.
    let parts = read.parts.unwrap();
    assert_eq!(parts.len(), 4);
    let again = ReadCommits::of_parts(parts).unwrap();
    assert_eq!((again.protocol, again.metadata), (read.protocol, read.metadata));
}

#[tokio::test]
async fn commits_without_metadata_leave_it_open() {
    let set = protocol(&[], &[]);
    let (store, paths) = written(&[&[add("a"), set.clone()], &[add("b")]]).await;
    let read = ReadCommits::read(&store, &paths).await.unwrap();
    assert_eq!((read.protocol, read.metadata), (Some(to_protocol(&set)), None));
}

#[tokio::test]
async fn missing_commit_is_not_found() {
    let (store, mut paths) = written(&[&[add("a")]]).await;
    paths.insert(0, LogPath::commit(1));
    let error = ReadCommits::read(&store, &paths).await.map(|_| ()).unwrap_err();
    assert!(error.is_not_found() && error.message().contains("00000000000000000001.json"), "{error}");
}

#[tokio::test]
async fn commit_info_may_follow_other_actions() {
    let info = json!({"commitInfo": {"operation": "WRITE", "inCommitTimestamp": 7}});
    let (store, paths) = written(&[&[add("a")], &[add("b"), info]]).await;
    let found = commit_info(&store, &paths[0]).await.unwrap().unwrap();
    assert_eq!((found.text("operation"), found.in_commit_timestamp()), (Some("WRITE"), Some(7)));
    assert_eq!(commit_info(&store, &paths[1]).await.unwrap(), None);
}

#[tokio::test]
async fn folded_commits_hide_removed_files() {
    let (store, paths) = written(&[&[add("a"), add("b")], &[remove("a"), add("c")]]).await;
    // Either all files are kept, or only the places of their commits.
    for (kept_bytes, places) in [(KEPT_BYTES, 0), (0, 2)] {
        let layers = Layers::new(fold(&store, None, &paths, kept_bytes).await.unwrap());
        let hides = |path: &str| layers.hides(&FileKey::new(path, None));
        assert_eq!(["a", "b", "c", "d"].map(hides), [true, true, true, false]);
        let ranges: usize = layers.visible_files().map(|added| added.unwrap().ranges().len()).sum();
        assert_eq!(ranges, places);
    }
}
