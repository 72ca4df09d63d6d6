//! A queue for the processes of one machine that commit to the same table.
//!
//! Correctness does not depend on the queue, because put-if-absent lets exactly one writer of a
//! name succeed. But if a writer flushes a commit and then finds that the version is taken, the
//! disk has worked for nothing. With many writers this is most of the disk's work. So a writer
//! first requests the lock of the log folder. It continues without the lock if the system has no
//! such lock, or if the holder takes too long.

use std::fs::{File, TryLockError};
use std::path::Path as FilePath;
use std::pin::pin;
use std::thread;
use std::time::Duration;

use futures::future::{Either, select};
use lakebed_core::Result;
use lakebed_core::path::LOG_DIR;
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

use crate::at::At;
use crate::store::Store;

/// The time after which a writer continues without a turn.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// The turn to commit. It ends when this value is dropped.
#[derive(Debug, Default)]
pub struct CommitTurn(Option<File>);

/// The reply to a request for the turn.
#[derive(Debug)]
pub enum Queue {
    /// The caller has the turn. If the system has no turns, every caller gets one.
    Mine(CommitTurn),
    /// Another process has the turn.
    Waiting(Waiting),
}

/// A request for the turn that has not been granted yet.
#[derive(Debug)]
pub struct Waiting {
    store: Store,
    folder: File,
}

impl Store {
    /// Requests the turn to commit.
    pub async fn turn(&self) -> Result<Queue> {
        let Some(folder) = self.local_path(&self.path_of(LOG_DIR)?) else { return Ok(Queue::Mine(CommitTurn::default())) };
        let asked = spawn_blocking(move || try_lock(&folder)).await.at(LOG_DIR)?;
        Ok(match asked {
            Ok(turn) => Queue::Mine(turn),
            Err(folder) => Queue::Waiting(Waiting { store: self.clone(), folder }),
        })
    }
}

impl Waiting {
    /// Waits for the turn, in the order of requests. After a long wait it returns without the turn,
    /// and the caller continues.
    pub async fn turn(self) -> CommitTurn {
        let Self { store, folder } = self;
        let (answer, turn) = oneshot::channel();
        // No task waits for this thread, because the holder may keep the turn for ever.
        let waiting = thread::Builder::new().name("lakebed-turn".to_owned()).spawn(move || {
            // If the waiter has given up, the turn ends at once.
            let _ = answer.send(folder.lock().map_or_else(|_| CommitTurn::default(), |()| CommitTurn(Some(folder))));
        });
        let patience = store.options().env.sleep(LONGEST_WAIT);
        match (waiting, select(turn, pin!(patience)).await) {
            (Ok(_), Either::Left((Ok(turn), _))) => turn,
            _ => CommitTurn::default(),
        }
    }
}

fn try_lock(folder: &FilePath) -> Result<CommitTurn, File> {
    // Before the first commit there is no folder, and some systems cannot open or lock folders.
    let Ok(file) = File::open(folder) else { return Ok(CommitTurn::default()) };
    match file.try_lock() {
        Ok(()) => Ok(CommitTurn(Some(file))),
        Err(TryLockError::WouldBlock) => Err(file),
        Err(TryLockError::Error(_)) => Ok(CommitTurn::default()),
    }
}

impl CommitTurn {
    /// Returns whether other processes see the turn and wait for it.
    pub fn is_held(&self) -> bool {
        self.0.is_some()
    }
}

impl Drop for CommitTurn {
    fn drop(&mut self) {
        // Closing the file does not end the turn if a child process has inherited the file.
        if let Some(folder) = &self.0 {
            let _ = folder.unlock();
        }
    }
}

#[cfg(test)]
mod tests;
