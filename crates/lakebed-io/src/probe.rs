//! Tests whether a store supports put-if-absent. Commits depend on it: if a store confirms two
//! writers of one version, one commit is lost. Some services that speak the protocol of S3 ignore
//! the condition, or check it first and write later.
//!
//! [`check_put_if_absent`] tests the store itself. A store that fails the test is refused before
//! anything is written, and no option overrides that. If commits ever go through a table beside the
//! store, this is the place to allow it.

use std::collections::HashSet;
use std::sync::Mutex;

use bytes::Bytes;
use futures::future::join_all;
use lakebed_core::error::{Error, ErrorKind, Result};
use object_store::path::Path;

use crate::store::{PutOutcome, Store};

/// The number of writers that try at once.
const WRITERS: usize = 8;

/// The stores that passed the test. They are kept as long as the process runs.
static PASSED: Mutex<Option<HashSet<String>>> = Mutex::new(None);

/// Tests, once for each table and process, that exactly one of several writers of one name
/// succeeds. If the store fails the test, or if it cannot be written at all, the result is an
/// error.
///
/// Some stores are not tested. S3, Azure and GCS at their own addresses guarantee the condition.
/// The rename of HDFS never overwrites unless a caller requests it. On the local disk, lakebed uses
/// system calls that guarantee it.
pub async fn check_put_if_absent(store: &Store) -> Result<()> {
    if store.is_web() {
        return Err(store.read_only(store.root()));
    }
    let Some(name) = store.unproven() else { return Ok(()) };
    if passed(|passed| passed.contains(name)) {
        return Ok(());
    }
    // No listing of versions returns this name, because it is hidden and sorts before all digits.
    let canary = store.log_path(&format!(".lakebed-probe-{}", store.options().env.new_uuid()))?;
    let is_kept = is_kept(store, &canary).await;
    // If the delete fails, a hidden file is left. It does no harm.
    let _ = store.delete(std::slice::from_ref(&canary)).await;
    match is_kept {
        Ok(true) => {
            passed(|passed| passed.insert(name.to_owned()));
            Ok(())
        }
        Ok(false) => Err(refused(store, name)),
        // A store that does not support the condition replies in this way.
        Err(error) if error.to_string().contains("501 Not Implemented") => Err(refused(store, name).with_source(error)),
        Err(error) => Err(error),
    }
}

/// Returns whether exactly one of several concurrent writers, and of two more in sequence,
/// succeeds, and whether the object is that writer's object.
async fn is_kept(store: &Store, canary: &Path) -> Result<bool> {
    let body = |writer: usize| Bytes::from(format!("lakebed tests whether this store keeps put-if-absent: writer {writer}\n"));
    // A writer that retries after a lost reply may find its own object. The check below accounts
    // for that.
    let put = |writer| store.put_disposable_if_absent(canary, body(writer));
    let mut answers = join_all((0..WRITERS).map(put)).await;
    // A few lost replies do not matter. A test with only one writer proves nothing.
    if answers.iter().filter(|answer| answer.is_ok()).count() < 2
        && let Some(failed) = answers.iter().position(Result::is_err)
    {
        return answers.swap_remove(failed).map(|_| false);
    }
    // All writers may have blocked each other. In this case the first of the next two writers
    // succeeds.
    answers.push(Ok(put(WRITERS).await?));
    answers.push(Ok(put(WRITERS + 1).await?));
    let found = store.get(canary).await?;
    let winners: Vec<usize> =
        (0..=WRITERS + 1).filter(|writer| matches!(answers.get(*writer), Some(Ok(PutOutcome::Done)))).collect();
    Ok(match winners.as_slice() {
        [winner] => *winner <= WRITERS && found == body(*winner),
        // The reply to the winner was lost.
        [] => (0..=WRITERS).any(|writer| found == body(writer)),
        _ => false,
    })
}

fn refused(store: &Store, name: &str) -> Error {
    let message = format!(
        "{name}: this store does not support put-if-absent (a write with `If-None-Match: *` must fail if the object exists), so \
         two writers could create the same version and one commit would be lost. The table was not changed. Use a store, or a \
         version of this one, that supports it, such as S3, Azure, GCS, R2 or MinIO, or a local folder; or write with an engine \
         that has a lock for this store"
    );
    Error::new(ErrorKind::Store { object: store.url().to_owned(), retryable: false, not_found: false }, message)
}

/// Looks at the stores that passed. The lock is held only briefly. If a fork copied it while it was
/// held, the store is tested once more.
fn passed(look: impl FnOnce(&mut HashSet<String>) -> bool) -> bool {
    const ATTEMPTS: u32 = 1000;
    let mut free = (0..ATTEMPTS).filter_map(|_| PASSED.try_lock().inspect_err(|_| std::thread::yield_now()).ok());
    free.next().is_some_and(|mut passed| look(passed.get_or_insert_default()))
}

#[cfg(test)]
mod tests;
