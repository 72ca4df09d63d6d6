//! Processes of one machine that commit to one table go one after the other, where the system lets them know of each other.
//!
//! Nothing rests on it: of any number of writers of one name exactly one is the first, turn or no turn. But who writes and flushes a commit
//! only to find that another was faster has done it in vain, and with many writers most of what the disk does is in vain. So a writer asks
//! for the lock of the log's folder, and goes ahead without it where there is no such thing or whoever has it takes too long.

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

/// Who has waited so long goes ahead.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Whose turn it is; the turn ends when this is dropped.
#[derive(Debug, Default)]
pub struct Turn(Option<File>);

/// Whether it is one's turn.
#[derive(Debug)]
pub enum Queue {
    /// It is; where there are no turns, always.
    Mine(Turn),
    /// Somebody else has it.
    Waiting(Waiting),
}

/// A place in the queue that is not taken yet.
#[derive(Debug)]
pub struct Waiting {
    store: Store,
    folder: File,
}

impl Store {
    /// Asks for the turn to commit.
    pub async fn turn(&self) -> Result<Queue> {
        let Some(folder) = self.local_path(&self.path_of(LOG_DIR)?) else { return Ok(Queue::Mine(Turn::default())) };
        let asked = spawn_blocking(move || try_lock(&folder)).await.at(LOG_DIR)?;
        Ok(match asked {
            Ok(turn) => Queue::Mine(turn),
            Err(folder) => Queue::Waiting(Waiting { store: self.clone(), folder }),
        })
    }
}

impl Waiting {
    /// Waits for the turn, those who came first before those who came later; after a long wait gives leave to go ahead without it.
    pub async fn turn(self) -> Turn {
        let Self { store, folder } = self;
        let (answer, turn) = oneshot::channel();
        // Nobody waits for this thread: whoever has the turn may keep it for ever.
        let waiting = thread::Builder::new().name("lakebed-turn".to_owned()).spawn(move || {
            // Who does not wait any more gives it back at once.
            let _ = answer.send(folder.lock().map_or_else(|_| Turn::default(), |()| Turn(Some(folder))));
        });
        let patience = store.options().env.sleep(LONGEST_WAIT);
        match (waiting, select(turn, pin!(patience)).await) {
            (Ok(_), Either::Left((Ok(turn), _))) => turn,
            _ => Turn::default(),
        }
    }
}

fn try_lock(folder: &FilePath) -> Result<Turn, File> {
    // Before the first commit there is no folder, and not every system opens folders or locks them.
    let Ok(file) = File::open(folder) else { return Ok(Turn::default()) };
    match file.try_lock() {
        Ok(()) => Ok(Turn(Some(file))),
        Err(TryLockError::WouldBlock) => Err(file),
        Err(TryLockError::Error(_)) => Ok(Turn::default()),
    }
}

impl Turn {
    /// Whether others know of it and wait.
    pub fn is_held(&self) -> bool {
        self.0.is_some()
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // Closing does not end it if a child of this process has the file too.
        if let Some(folder) = &self.0 {
            let _ = folder.unlock();
        }
    }
}

#[cfg(test)]
mod tests;
