//! Writing a version: put-if-absent, and finding out what became of it when the store's answer does not say.
//!
//! An answer can be lost after the commit was written, and a client that asks again on its own is then told that the version is taken: by
//! the commit itself. To report that as a conflict would write the same files twice. So every commit carries an identifier of its own, and
//! whatever is not plainly done is decided by reading the version.

use std::time::Duration;

use bytes::Bytes;
use futures::TryStreamExt;
use lakebed_core::action::Action;
use lakebed_core::action::json::{lines, parse_line};
use lakebed_core::error::{Error, ErrorKind, Result};
use lakebed_core::path::LogPath;

use super::listed::unquoted;
use super::{CommitPart, read_commits};
use crate::env::Env;
use crate::probe;
use crate::store::{Put, PutOutcome, Store, Unflushed};

/// How long it is tried to write a commit, or to find out whether it was: the client of the store has its own, longer budget with each
/// request.
const BUDGET: Duration = Duration::from_secs(30);
/// So often at least, however long a request took.
const ROUNDS: u32 = 3;
/// The pauses are drawn at random, from nothing up to these, which double.
const FIRST_PAUSE_MS: u64 = 100;
const LONGEST_PAUSE_MS: u64 = 4000;

/// What came of an attempt to write a version.
#[derive(Debug)]
pub enum PutCommit {
    /// The version is this commit; the store's mark of its file, without quotation marks, if the store has told it.
    Done(Option<String>),
    /// The version is another writer's; its commit, if it had to be read to know that.
    Taken(Option<Vec<CommitPart>>),
}

/// Writes a version if nobody has, and not before the `files` that it names are safe. `txn_id` is `commitInfo.txnId` of the commit, and the `commitInfo` its first line.
///
/// An error of kind [`ErrorKind::CommitUnknown`] says that the commit may be there or not, or may yet come; after any other error it is not
/// there.
pub async fn put_commit(store: &Store, version: u64, bytes: Bytes, txn_id: &str, files: &[Unflushed]) -> Result<PutCommit> {
    probe::check_put_if_absent(store).await?;
    let commit = LogPath::commit(version);
    let object = store.log_path(&commit.name)?;
    let mut budget = RetryBudget::begin(&store.options().env);
    // Once an answer was lost, that request may yet be carried out, whatever the store says to later ones.
    let mut in_doubt = false;
    loop {
        let refused = match store.put_if_absent_after(files, &object, bytes.clone()).await {
            Ok(Put { outcome: PutOutcome::Done, e_tag }) => return Ok(PutCommit::Done(e_tag.map(|tag| unquoted(&tag)))),
            // No network stands between, and no client that asks again.
            Ok(_) if store.is_local() => return Ok(PutCommit::Taken(None)),
            Ok(_) => None,
            Err(error) => Some(error),
        };
        let unclear = match (find_winner(store, &commit, txn_id).await, refused) {
            (Ok(Winner::Ours), _) => return Ok(PutCommit::Done(None)),
            (Ok(Winner::Other(parts)), _) => return Ok(PutCommit::Taken(Some(parts))),
            (Ok(Winner::Nobody), Some(error)) if !in_doubt && !is_passing(&error) => return Err(error),
            // The request may yet be carried out: to make it again is safe, as at most one of both can succeed.
            (Ok(Winner::Nobody), Some(error)) => error,
            // As S3 answers when another write of the name is under way, which then came to nothing.
            (Ok(Winner::Nobody), None) => taken_by_nobody(store, &object),
            // This version's file exists and is damaged. It cannot be ours, and ours can no longer be written.
            (Err(error), None) if !in_doubt && matches!(error.kind(), ErrorKind::Corrupt { .. }) => {
                return Err(error.within(store.url()));
            }
            // After a lost answer the file may be ours, and only the answer that shows it damaged be wrong.
            (Err(error), _) => error,
        };
        in_doubt = true;
        if !budget.pause().await {
            return Err(unknown(&store.describe(&object), txn_id, unclear));
        }
    }
}

/// Whose commit a version is.
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
    // Whoever wrote something else on the first line, or nothing that can be read, was not we.
    let first = parts.first().and_then(|part| lines(&part.lines).next()).and_then(|(_, line)| parse_line(line).ok().flatten());
    let is_ours = matches!(&first, Some(Action::CommitInfo(info)) if info.text("txnId") == Some(txn_id));
    Ok(if is_ours { Winner::Ours } else { Winner::Other(parts) })
}

/// Pauses between attempts, for as long as it is worth trying.
struct RetryBudget<'a> {
    env: &'a Env,
    until: Duration,
    rounds: u32,
}

impl<'a> RetryBudget<'a> {
    fn begin(env: &'a Env) -> Self {
        Self { env, until: env.monotonic() + BUDGET, rounds: 0 }
    }

    /// Waits, unless budget is at its end.
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
    let message = format!("{object}: the store says both that it exists and that it does not");
    Error::new(ErrorKind::Store { object, retryable: true, not_found: false }, message)
}

fn unknown(object: &str, txn_id: &str, cause: Error) -> Error {
    let message = format!(
        "{object}: whether this commit was written cannot be found out. Before you repeat it, look in the newest versions for a commitInfo \
         with txnId {txn_id}: if it is there, all is done"
    );
    Error::new(ErrorKind::CommitUnknown { txn_id: txn_id.to_owned() }, message).with_source(cause)
}

#[cfg(test)]
mod tests;
