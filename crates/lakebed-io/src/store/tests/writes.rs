//! Tests writes of whole objects, mostly on the file system of this machine.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::task::JoinSet;

use super::*;
use crate::env::Env;

const WRITERS: usize = 32;
/// The environment variable that names the folder for a process that this test starts.
const FOLDER: &str = "LAKEBED_TEST_FOLDER";
const WRITER: &str = "LAKEBED_TEST_WRITER";

fn open(folder: &std::path::Path) -> Store {
    Store::open(folder.to_str().unwrap(), StoreOptions::default()).unwrap()
}

fn log_file(store: &Store, version: usize) -> Path {
    store.path_of(&format!("_delta_log/{version:020}.json")).unwrap()
}

/// Returns content that identifies its writer and shows whether it is complete.
fn body(writer: usize, size: usize) -> Bytes {
    let line = format!("{writer:06} {size:08}\n");
    line.repeat(size).into()
}

fn is_whole(bytes: &[u8]) -> bool {
    let text = std::str::from_utf8(bytes).unwrap();
    let (writer, size) = text.get(..15).unwrap_or_default().split_once(' ').unwrap_or_default();
    matches!((writer.parse(), size.parse()), (Ok(writer), Ok(size)) if body(writer, size) == bytes)
}

fn names_in(folder: &std::path::Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn content_goes_on_with_file() {
    let folder = tempfile::tempdir().unwrap();
    let rest = vec![7; (1 << 20) + 5];
    let mut file = tempfile::tempfile().unwrap();
    io::Write::write_all(&mut file, &rest).unwrap();
    let content = Content::from(Bytes::from_static(b"head")).and_file(Arc::new(file));
    for store in [open(folder.path()), Store::open("memory://content/table", StoreOptions::default()).unwrap()] {
        let path = log_file(&store, 0);
        let put = store.put_if_absent_after(&[], &path, content.clone()).await.unwrap();
        assert_eq!(put.outcome, PutOutcome::Done);
        assert!(store.get(&path).await.unwrap() == [b"head".as_slice(), &rest].concat());
    }
}

async fn race(store: &Store, rounds: usize) {
    for round in 0..rounds {
        let mut tasks = JoinSet::new();
        for writer in 0..WRITERS {
            let (store, path) = (store.clone(), log_file(store, round));
            tasks.spawn(async move { (writer, store.put_if_absent(&path, body(writer, 1 + writer * 37)).await.unwrap()) });
        }
        let done: Vec<usize> = tasks
            .join_all()
            .await
            .into_iter()
            .filter(|(_, outcome)| *outcome == PutOutcome::Done)
            .map(|(writer, _)| writer)
            .collect();
        let [winner] = done.as_slice() else { panic!("round {round}: {done:?}") };
        assert_eq!(store.get(&log_file(store, round)).await.unwrap(), body(*winner, 1 + winner * 37));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_tasks_one_is_the_first() {
    race(&memory(), 20).await;
    let folder = tempfile::tempdir().unwrap();
    // The first round also creates the folders.
    race(&open(&folder.path().join("a/b")), 20).await;
    assert_eq!(names_in(&folder.path().join("a/b/_delta_log")).len(), 20);
}

/// Starts this test again in another process.
fn start(test: &str, folder: &std::path::Path, writer: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("store::tests::writes::{test}"), "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .env(WRITER, writer.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

/// Returns the store and the writer's number, if this process was started by [`start`].
fn told() -> Option<(Store, usize)> {
    let writer = std::env::var(WRITER).ok()?.parse().unwrap();
    Some((open(std::path::Path::new(&std::env::var_os(FOLDER)?)), writer))
}

const VERSIONS: usize = 60;

#[tokio::test]
#[ignore = "a part of of_many_processes_one_is_the_first"]
async fn racing_process() {
    let Some((store, writer)) = told() else { return };
    let mut won = String::new();
    for version in 0..VERSIONS {
        if store.put_if_absent(&log_file(&store, version), body(writer, 100)).await.unwrap() == PutOutcome::Done {
            won.push_str(&format!("{version}\n"));
        }
    }
    store.put(&store.path_of(&format!("won/{writer}")).unwrap(), won.into()).await.unwrap();
}

#[test]
fn of_many_processes_one_is_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let racing: Vec<Child> = (0..6).map(|writer| start("racing_process", folder.path(), writer)).collect();
    assert!(racing.into_iter().all(|mut child| child.wait().unwrap().success()));
    let mut winners = BTreeMap::new();
    for writer in 0..6 {
        for version in fs::read_to_string(folder.path().join(format!("won/{writer}"))).unwrap().lines() {
            let other = winners.insert(version.parse::<usize>().unwrap(), writer);
            assert_eq!(other, None, "version {version}: {writer} too");
        }
    }
    assert_eq!(winners.len(), VERSIONS);
    for (version, writer) in winners {
        let found = fs::read(folder.path().join(format!("_delta_log/{version:020}.json"))).unwrap();
        assert_eq!(found, body(writer, 100), "version {version}");
    }
    assert_eq!(names_in(&folder.path().join("_delta_log")).len(), VERSIONS);
}

#[tokio::test]
#[ignore = "a part of a_killed_process_leaves_whole_files_only"]
async fn endless_process() {
    let Some((store, writer)) = told() else { return };
    for round in 0.. {
        let commit = log_file(&store, writer * 1_000_000 + round);
        let commit = store.put_if_absent(&commit, body(writer, 20_000));
        let hint = store.path_of("_delta_log/_last_checkpoint").unwrap();
        let data = store.path_of(&format!("data/{writer}-{round}")).unwrap();
        let upload = async {
            let mut upload = store.upload(&data, Existing::Replace).await?;
            for _ in 0..20 {
                upload.write(body(writer, 1000)).await?;
            }
            upload.finish().await
        };
        let (commit, hint, upload) = tokio::join!(commit, store.put(&hint, body(round, 3000)), upload);
        assert!(commit.unwrap() == PutOutcome::Done && hint.is_ok() && upload.is_ok());
    }
}

#[cfg(unix)]
#[test]
fn a_killed_process_leaves_whole_files_only() {
    let folder = tempfile::tempdir().unwrap();
    let env = Env::seeded(11);
    for writer in 1..=12 {
        let mut child = start("endless_process", folder.path(), writer);
        std::thread::sleep(Duration::from_millis(20 + env.random_u64() % 80));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let mut files = 0;
    for sub in ["_delta_log", "data"] {
        for name in names_in(&folder.path().join(sub)) {
            if name.starts_with(".lakebed-") {
                continue;
            }
            let found = fs::read(folder.path().join(sub).join(&name)).unwrap();
            match sub {
                "data" => assert_eq!(found.len(), 20 * 1000 * 16, "{name}"),
                _ => assert!(is_whole(&found), "{name}: {} bytes", found.len()),
            }
            files += 1;
        }
    }
    assert!(files > 12, "only {files} files were written");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_replaces_is_seen_whole() {
    let folder = tempfile::tempdir().unwrap();
    for store in [open(folder.path()), memory()] {
        let path = store.path_of("a").unwrap();
        store.put(&path, body(0, 1)).await.unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let mut readers = JoinSet::new();
        for _ in 0..3 {
            let (store, path, over) = (store.clone(), path.clone(), Arc::clone(&over));
            readers.spawn(async move {
                while !over.load(Ordering::SeqCst) {
                    assert!(is_whole(&store.get(&path).await.unwrap()));
                }
            });
        }
        for round in 0..60 {
            store.put(&path, body(round, 1 + (round * 7919) % 5000)).await.unwrap();
        }
        over.store(true, Ordering::SeqCst);
        readers.join_all().await;
    }
    assert_eq!(names_in(folder.path()), ["a"]);
}

#[tokio::test]
async fn deleting_spares_nothing_and_nobody() {
    let folder = tempfile::tempdir().unwrap();
    for store in [open(folder.path()), memory()] {
        let paths: Vec<Path> = ["a", "d/b#1", "none", "d/none"].iter().map(|name| store.path_of(name).unwrap()).collect();
        for path in paths.get(..2).unwrap() {
            store.put(path, "x".into()).await.unwrap();
        }
        store.put(&store.path_of("kept").unwrap(), "x".into()).await.unwrap();
        store.delete(&paths).await.unwrap();
        store.delete(&[]).await.unwrap();
        assert_eq!(names(&store.list_after(store.root(), "").await.unwrap()), ["kept"]);
    }
}

#[tokio::test]
async fn failed_delete_does_not_stop_others() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    fs::create_dir_all(folder.path().join("folder/x")).unwrap();
    fs::write(folder.path().join("file"), "x").unwrap();
    let error = store.delete(&[store.path_of("folder").unwrap(), store.path_of("file").unwrap()]).await.unwrap_err();
    assert!(error.to_string().contains("/folder: it is a directory"), "{error}");
    assert_eq!(names_in(folder.path()), ["folder"]);
}

#[tokio::test]
async fn a_web_server_is_read_only() {
    let store = Store::open("http://127.0.0.1:1/t", StoreOptions::default()).unwrap();
    let path = store.path_of("a").unwrap();
    let errors = [
        store.put_if_absent(&path, "x".into()).await.unwrap_err(),
        store.put(&path, "x".into()).await.unwrap_err(),
        store.upload(&path, Existing::Refuse).await.unwrap_err(),
        store.delete(std::slice::from_ref(&path)).await.unwrap_err(),
    ];
    for error in errors {
        assert!(error.to_string().starts_with("http://127.0.0.1:1/t/a: a web server is read-only"), "{error}");
        assert!(matches!(error.kind(), ErrorKind::Store { retryable: false, .. }));
    }
}

#[tokio::test]
async fn store_without_conditional_put_is_refused() {
    let options = [("aws_conditional_put", "disabled"), ("aws_access_key_id", "id"), ("aws_secret_access_key", "hunter2")];
    let options = options.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let store = Store::open("s3://lake/t", StoreOptions { options, ..StoreOptions::default() }).unwrap();
    let error = store.put_if_absent(&store.path_of("a").unwrap(), "x".into()).await.unwrap_err();
    assert!(error.to_string().contains("without the option aws_conditional_put = disabled"), "{error}");
    assert!(matches!(error.kind(), ErrorKind::Store { retryable: false, .. }));
}
