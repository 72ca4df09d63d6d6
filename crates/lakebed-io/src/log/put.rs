//! Writes a version with put-if-absent, and finds out what happened if the store's reply is not
//! clear.
//!
//! A reply can be lost after the commit was written. If the client then retries on its own, the
//! store replies that the version is taken, although the client's own commit took it. If lakebed
//! reported this as a conflict, the same files would be written twice. So each commit has an
//! identifier of its own. Unless the reply clearly confirms the commit, lakebed reads the version
//! and compares the identifier.

use std::time::Duration;

use futures::TryStreamExt;
use lakebed_core::action::Action;
use lakebed_core::action::json::{lines, parse_line};
use lakebed_core::error::{Error, ErrorKind, Result};
use lakebed_core::path::LogPath;

use super::listed::unquoted;
use super::{CommitPart, read_commits};
use crate::env::Env;
use crate::probe;
use crate::store::{Content, Put, PutOutcome, Store, Unflushed};

/// The time limit for writing a commit, and for finding out whether it was written. The client of
/// the store has its own, longer limit for each request.
const BUDGET: Duration = Duration::from_secs(30);
/// The least number of attempts, independent of the duration of a request.
const ROUNDS: u32 = 3;
/// The limit of the first pause. Pauses are random, from zero up to a limit. The limit doubles
/// until it reaches the second value.
const FIRST_PAUSE_MS: u64 = 100;
const LONGEST_PAUSE_MS: u64 = 4000;

/// The result of an attempt to write a version.
#[derive(Debug)]
pub enum PutCommit {
    /// This commit has the version. The value is the entity tag of its file without quotation
    /// marks, if the store returned it.
    Done(Option<String>),
    /// Another writer has the version. The value is that writer's commit, if it had to be read to
    /// find out.
    Taken(Option<Vec<CommitPart>>),
}

/// Writes a version if it does not exist, and only after the `files` that it names are durable.
/// `txn_id` is `commitInfo.txnId` of the commit, and the `commitInfo` is its first line.
///
/// After an error of kind [`ErrorKind::CommitUnknown`] the commit may exist, or may still appear.
/// After any other error it does not exist.
pub async fn put_commit(
    store: &Store,
    version: u64,
    content: impl Into<Content>,
    txn_id: &str,
    files: &[Unflushed],
) -> Result<PutCommit> {
    let content = content.into();
    probe::check_put_if_absent(store).await?;
    let commit = LogPath::commit(version);
    let object = store.log_path(&commit.name)?;
    let mut budget = RetryBudget::begin(&store.options().env);
    // After a lost reply, the store may still carry out that request, whatever its replies to later
    // requests are.
    let mut in_doubt = false;
    loop {
        let refused = match store.put_if_absent_after(files, &object, content.clone()).await {
            Ok(Put { outcome: PutOutcome::Done, e_tag }) => return Ok(PutCommit::Done(e_tag.map(|tag| unquoted(&tag)))),
            // There is no network in between, and no client that retries.
            Ok(_) if store.is_local() => return Ok(PutCommit::Taken(None)),
            Ok(_) => None,
            Err(error) => Some(error),
        };
        let unclear = match (find_winner(store, &commit, txn_id).await, refused) {
            (Ok(Winner::Ours), _) => return Ok(PutCommit::Done(None)),
            (Ok(Winner::Other(parts)), _) => return Ok(PutCommit::Taken(Some(parts))),
            (Ok(Winner::Nobody), Some(error)) if !in_doubt && !is_passing(&error) => return Err(error),
            // The store may still carry out the request. A second request is safe, because at most
            // one of the two can succeed.
            (Ok(Winner::Nobody), Some(error)) => error,
            // S3 replies in this way if another write to the name was under way and then failed.
            (Ok(Winner::Nobody), None) => taken_by_nobody(store, &object),
            // The file of this version exists and is damaged. It is not this commit, and this
            // commit can no longer be written.
            (Err(error), None) if !in_doubt && matches!(error.kind(), ErrorKind::Corrupt { .. }) => {
                return Err(error.within(store.url()));
            }
            // After a lost reply the file may be this commit, and the reply in which it is damaged
            // may be wrong.
            (Err(error), _) => error,
        };
        in_doubt = true;
        if !budget.pause().await {
            return Err(unknown(&store.describe(&object), txn_id, unclear));
        }
    }
}

/// The writer of a version.
enum Winner {
    Ours,
    Other(Vec<CommitPart>),
    Nobody,
}

async fn find_winner(store: &Store, commit: &LogPath, txn_id: &str) -> Result<Winner> {
    let read: Result<Vec<CommitPart>> = read_commits(store, std::slice::from_ref(commit)).try_collect().await;
    let parts = match read {
        Ok(parts) => parts,
        Err(error) if error.is_not_found() => return Ok(Winner::Nobody),
        Err(error) => return Err(error),
    };
    // A commit with another first line, or with an unreadable one, was written by another writer.
    let first = parts.first().and_then(|part| lines(&part.lines).next()).and_then(|(_, line)| parse_line(line).ok().flatten());
    let is_ours = matches!(&first, Some(Action::CommitInfo(info)) if info.text("txnId") == Some(txn_id));
    Ok(if is_ours { Winner::Ours } else { Winner::Other(parts) })
}

/// The pauses between attempts, and the time until the last attempt.
struct RetryBudget<'a> {
    env: &'a Env,
    until: Duration,
    rounds: u32,
}

impl<'a> RetryBudget<'a> {
    fn begin(env: &'a Env) -> Self {
        Self { env, until: env.monotonic() + BUDGET, rounds: 0 }
    }

    /// Waits. Returns false if the time is used up.
    async fn pause(&mut self) -> bool {
        self.rounds += 1;
        if self.rounds >= ROUNDS && self.env.monotonic() >= self.until {
            return false;
        }
        let longest = (FIRST_PAUSE_MS << self.rounds.min(16)).min(LONGEST_PAUSE_MS);
        self.env.sleep(Duration::from_millis(self.env.random_u64() % longest)).await;
        true
    }
}

fn is_passing(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Store { retryable: true, .. })
}

fn taken_by_nobody(store: &Store, object: &object_store::path::Path) -> Error {
    let object = store.describe(object);
    let message = format!("{object}: the store reported that the object exists, and then that it does not");
    Error::new(ErrorKind::Store { object, retryable: true, not_found: false }, message)
}

fn unknown(object: &str, txn_id: &str, cause: Error) -> Error {
    let message = format!(
        "{object}: lakebed cannot find out whether this commit was written. Before you retry, look in the newest versions for a \
         commitInfo with txnId {txn_id}: if one has it, the commit succeeded"
    );
    Error::new(ErrorKind::CommitUnknown { txn_id: txn_id.to_owned() }, message).with_source(cause)
}

#[cfg(test)]
mod tests;
