#![cfg(unix)]

use super::{CommitTurn, LONGEST_WAIT, Queue, Waiting};
use crate::env::Env;
use crate::store::{Store, StoreOptions};

fn store(folder: &tempfile::TempDir, env: Env) -> Store {
    let options = StoreOptions { env, ..StoreOptions::default() };
    Store::open(folder.path().to_str().unwrap(), options).unwrap()
}

fn table() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("_delta_log")).unwrap();
    folder
}

async fn asked(store: &Store) -> Option<CommitTurn> {
    match store.turn().await.unwrap() {
        Queue::Mine(turn) => Some(turn),
        Queue::Waiting(_) => None,
    }
}

async fn waiting(store: &Store) -> Waiting {
    match store.turn().await.unwrap() {
        Queue::Mine(turn) => panic!("{turn:?}"),
        Queue::Waiting(waiting) => waiting,
    }
}

#[tokio::test]
async fn turn_is_exclusive_until_dropped() {
    let folder = table();
    let (one, other) = (store(&folder, Env::seeded(1)), store(&folder, Env::seeded(2)));
    let turn = asked(&one).await.unwrap();
    assert!(turn.is_held());
    assert!(asked(&other).await.is_none());
    drop(turn);
    assert!(asked(&other).await.unwrap().is_held());
}

#[tokio::test]
async fn waiter_gets_turn_when_free() {
    let folder = table();
    let (one, other) = (store(&folder, Env::default()), store(&folder, Env::default()));
    let turn = asked(&one).await.unwrap();
    let waiting = waiting(&other).await.turn();
    let (turn, ()) = futures::join!(waiting, async { drop(turn) });
    assert!(turn.is_held());
}

#[tokio::test]
async fn turn_ends_despite_inherited_file() {
    let folder = table();
    let (one, other) = (store(&folder, Env::seeded(1)), store(&folder, Env::seeded(2)));
    let turn = asked(&one).await.unwrap();
    // After a fork, the same open file exists once more.
    let copy = turn.0.as_ref().unwrap().try_clone().unwrap();
    drop(turn);
    assert!(asked(&other).await.unwrap().is_held());
    drop(copy);
}

#[tokio::test]
async fn impatient_waiter_proceeds_without_turn() {
    let folder = table();
    let (one, other) = (store(&folder, Env::seeded(1)), store(&folder, Env::seeded(2)));
    let turn = asked(&one).await.unwrap();
    let begun = other.options().env.monotonic();
    assert!(!waiting(&other).await.turn().await.is_held());
    assert_eq!(other.options().env.monotonic() - begun, LONGEST_WAIT);
    drop(turn);
    let third = store(&folder, Env::default());
    let turn = match third.turn().await.unwrap() {
        Queue::Mine(turn) => turn,
        Queue::Waiting(waiting) => waiting.turn().await,
    };
    assert!(turn.is_held());
}

#[tokio::test]
async fn missing_log_needs_no_turn() {
    let folder = tempfile::tempdir().unwrap();
    assert!(!asked(&store(&folder, Env::seeded(1))).await.unwrap().is_held());
    assert!(!folder.path().join("_delta_log").exists());
}
