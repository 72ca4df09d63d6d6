//! Appends of one process at the same time.

use std::collections::HashMap;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, join, join_all, poll_immediate};
use lakebed::transaction::{Committed, Operation, Transaction};
use lakebed::{ErrorKind, Result};
use lakebed_core::action::Add;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::time::timeout;

use lakebed_tests::Lake;

use super::kit::*;

async fn append(lake: &Lake, path: &str) -> Transaction {
    let mut transaction = begin(lake).await;
    transaction.add([to_add(&file(path, "1", 0))]);
    transaction
}

#[tokio::test]
async fn appends_that_meet_share_a_version() {
    let lake = two_files().await;
    let all = join_all(["c", "d", "e"].map(|path| append(&lake, path))).await;
    let versions: Vec<u64> = join_all(all.into_iter().map(commit)).await.into_iter().map(|done| done.unwrap().version).collect();
    assert_eq!(versions, [1, 1, 1]);
    assert_eq!(seen(&lake).await, (1, ["a", "b", "c", "d", "e"].map(str::to_owned).into(), 50));
}

#[tokio::test]
async fn an_append_that_is_refused_fails_alone() {
    let lake = two_files().await;
    let sound = append(&lake, "c").await;
    let mut other = begin(&lake).await;
    other.add([Add { partition_values: HashMap::new(), ..to_add(&file("d", "1", 0)) }]);
    let (refused, done) = join(commit(other), commit(sound)).await;
    assert_eq!(*refused.unwrap_err().kind(), ErrorKind::Internal);
    assert_eq!(done.unwrap().version, 1);
    assert_eq!(seen(&lake).await.2, 30);
}

type Committing = BoxFuture<'static, Result<Committed>>;

/// Two appends that cannot share a version. The second one waits for the first one. Each has a
/// runtime of its own, like threads that block for each call: a runtime runs only while a call
/// waits in it.
struct Meeting {
    lake: Lake,
    first: (Runtime, Committing),
    second: (Runtime, Committing),
}

impl Meeting {
    fn new() -> Self {
        let runtimes = [(); 2].map(|()| Builder::new_current_thread().enable_all().build().unwrap());
        let [here, there] = runtimes;
        let lake = here.block_on(two_files());
        let [first, second] = ["c", "d"].map(|path| here.block_on(append(&lake, path)));
        let mut first = commit(first).boxed();
        let mut second = second.commit(Operation::new("OTHER")).boxed();
        for (runtime, committing) in [(&here, &mut first), (&there, &mut second)] {
            assert!(runtime.block_on(async { poll_immediate(committing).await }).is_none());
        }
        Self { lake, first: (here, first), second: (there, second) }
    }
}

fn wait<T>(runtime: &Runtime, work: impl Future<Output = T>) -> T {
    runtime.block_on(async { timeout(Duration::from_secs(60), work).await }).unwrap()
}

#[test]
fn append_commits_beside_stalled_runtime() {
    let Meeting { lake, first: (here, first), second: (there, second) } = Meeting::new();
    assert_eq!(wait(&here, first).unwrap().version, 1);
    assert_eq!(wait(&there, second).unwrap().version, 2);
    assert_eq!(wait(&there, seen(&lake)).2, 40);
}

#[test]
fn append_commits_after_runtime_shutdown() {
    let Meeting { lake, first: (here, first), second: (there, second) } = Meeting::new();
    drop(here);
    let (broken_off, done) = wait(&there, join(first, second));
    assert!(matches!(broken_off.unwrap_err().kind(), ErrorKind::CommitUnknown { .. }));
    assert_eq!(done.unwrap().version, 1);
    assert_eq!(wait(&there, seen(&lake)), (1, ["a", "b", "d"].map(str::to_owned).into(), 30));
}

#[test]
fn append_cancelled_while_waiting_commits_nothing() {
    let Meeting { lake, first: (here, first), second } = Meeting::new();
    drop(second);
    assert_eq!(wait(&here, first).unwrap().version, 1);
    assert_eq!(wait(&here, seen(&lake)), (1, ["a", "b", "c"].map(str::to_owned).into(), 30));
}

#[test]
fn append_cancelled_while_leading_keeps_others() {
    let Meeting { lake, first: (here, first), second: (there, second) } = Meeting::new();
    drop(first);
    let (done, is_done) = oneshot::channel::<()>();
    let running = std::thread::spawn(move || here.block_on(is_done));
    assert_eq!(wait(&there, second).unwrap().version, 2);
    assert_eq!(wait(&there, seen(&lake)).2, 40);
    drop(done);
    running.join().unwrap().unwrap_err();
}
