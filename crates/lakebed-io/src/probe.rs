//! Does this store keep put-if-absent? Commits rest on it: a store that says "done" to two writers of one version loses one of them. There
//! are services that speak like S3 and ignore the condition, or look first and write later.
//!
//! [`check_put_if_absent`] asks the store itself. A store that does not keep it is refused before anything is written there; no option
//! overrides that. Where commits would go through a table beside the store, this is the place to let them pass.

use std::collections::HashSet;
use std::sync::Mutex;

use bytes::Bytes;
use futures::future::join_all;
use lakebed_core::error::{Error, ErrorKind, Result};
use object_store::path::Path;

use crate::store::{PutOutcome, Store};

/// So many writers try at once.
const WRITERS: usize = 8;

/// The stores that passed, for the life of the process.
static PASSED: Mutex<Option<HashSet<String>>> = Mutex::new(None);

/// Finds out, once per table and process, whether of several writers of one name exactly one succeeds. A store that does not keep that, or
/// that cannot be written at all, is an error.
///
/// Not asked are S3, Azure and GCS at their own addresses, which promise it, and HDFS, whose rename never overwrites unless told to; the
/// local disk is taken care of by the system's own calls.
pub async fn check_put_if_absent(store: &Store) -> Result<()> {
    if store.is_web() {
        return Err(store.read_only(store.root()));
    }
    let Some(name) = store.unproven() else { return Ok(()) };
    if passed(|passed| passed.contains(name)) {
        return Ok(());
    }
    // A name that no listing of versions has: it is hidden, and comes before all digits.
    let canary = store.log_path(&format!(".lakebed-probe-{}", store.options().env.new_uuid()))?;
    let is_kept = is_kept(store, &canary).await;
    // If this fails a hidden file is left, which does no harm.
    let _ = store.delete(std::slice::from_ref(&canary)).await;
    match is_kept {
        Ok(true) => {
            passed(|passed| passed.insert(name.to_owned()));
            Ok(())
        }
        Ok(false) => Err(refused(store, name)),
        // So says a store that does not know the condition.
        Err(error) if error.to_string().contains("501 Not Implemented") => Err(refused(store, name).with_source(error)),
        Err(error) => Err(error),
    }
}

/// Whether of several writers at once, and two more one after the other, only one succeeds, and the object is its.
async fn is_kept(store: &Store, canary: &Path) -> Result<bool> {
    let body = |writer: usize| Bytes::from(format!("lakebed tests whether this store keeps put-if-absent: writer {writer}\n"));
    // Who asks again after a lost answer may find its own object there; that is looked into below.
    let put = |writer| store.put_disposable_if_absent(canary, body(writer));
    let mut answers = join_all((0..WRITERS).map(put)).await;
    // A few lost answers do not matter; of one writer alone nothing is learnt.
    if answers.iter().filter(|answer| answer.is_ok()).count() < 2
        && let Some(failed) = answers.iter().position(Result::is_err)
    {
        return answers.swap_remove(failed).map(|_| false);
    }
    // All may have stood in each other's way. Then the first of these two is the one.
    answers.push(Ok(put(WRITERS).await?));
    answers.push(Ok(put(WRITERS + 1).await?));
    let found = store.get(canary).await?;
    let winners: Vec<usize> =
        (0..=WRITERS + 1).filter(|writer| matches!(answers.get(*writer), Some(Ok(PutOutcome::Done)))).collect();
    Ok(match winners.as_slice() {
        [winner] => *winner <= WRITERS && found == body(*winner),
        // The answer to the winner was lost.
        [] => (0..=WRITERS).any(|writer| found == body(writer)),
        _ => false,
    })
}

fn refused(store: &Store, name: &str) -> Error {
    let message = format!(
        "{name}: this store does not keep put-if-absent (a write with `If-None-Match: *` must fail when the object is there), so two writers \
         could take the same version and one commit would be lost. The table was not touched. Use a store or a version of this service that \
         keeps it, such as S3, Azure, GCS, R2 or MinIO, or a local folder; or write with an engine that has a lock for this store"
    );
    Error::new(ErrorKind::Store { object: store.url().to_owned(), retryable: false, not_found: false }, message)
}

/// The lock is held briefly, unless a fork copied it while held. Then the store is probed once more.
fn passed(look: impl FnOnce(&mut HashSet<String>) -> bool) -> bool {
    const ATTEMPTS: u32 = 1000;
    let mut free = (0..ATTEMPTS).filter_map(|_| PASSED.try_lock().inspect_err(|_| std::thread::yield_now()).ok());
    free.next().is_some_and(|mut passed| look(passed.get_or_insert_default()))
}

#[cfg(test)]
mod tests;
