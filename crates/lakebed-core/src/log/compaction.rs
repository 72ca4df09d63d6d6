//! Log compactions: the commits of a range of versions in one file, without the actions that later
//! commits of the range undid. PROTOCOL "Log Compaction Files".
//!
//! A reader puts a compaction on top of older state. So every action that undoes something stays in
//! it, whatever its age: the removal of a file that was added before the range, and the removal of
//! a domain. Read [`compact`].

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use super::files::FileKey;
use crate::action::Action;
use crate::action::json::{CommitLines, Line, lines, read_line};
use crate::{Error, Result};

/// The key of an action. Only the newest of all actions with one key counts.
#[derive(PartialEq, Eq, Hash)]
enum ActionKey {
    Protocol,
    Metadata,
    Transaction(String),
    Domain(String),
    File(FileKey),
}

/// Returns the lines of the compaction of these commits, which must be whole and come newest first.
///
/// The lines are copied byte for byte from the commits, so unknown fields are kept.
pub fn compact<'a>(newest_first: impl IntoIterator<Item = CommitLines<'a>>) -> Result<Vec<&'a [u8]>> {
    let mut seen = HashSet::new();
    let mut kept = Vec::new();
    for commit in newest_first {
        let mut of_commit = Vec::new();
        for (number, line) in lines(commit.bytes) {
            let said = read_line(line).map_err(|error| {
                Error::corrupt(commit.name, format!("line {}: {}", number + commit.lines_before, error.message()))
            })?;
            of_commit.extend(key(said).map(|key| (key, line)));
        }
        // If a commit has two actions with one key, the later line counts, as in replay.
        for (key, line) in of_commit.into_iter().rev() {
            if seen.insert(key) {
                kept.push(line);
            }
        }
    }
    kept.reverse();
    Ok(kept)
}

/// Returns the key of a line's action, or `None` for actions that concern only their own
/// commit.
fn key(line: Line<'_>) -> Option<ActionKey> {
    Some(match line {
        Line::File(file) => ActionKey::File(FileKey::of_line(&file)),
        Line::Other(Action::Protocol(_)) => ActionKey::Protocol,
        Line::Other(Action::Metadata(_)) => ActionKey::Metadata,
        Line::Other(Action::SetTransaction(txn)) => ActionKey::Transaction(txn.app_id),
        Line::Other(Action::DomainMetadata(domain)) => ActionKey::Domain(domain.domain),
        Line::Other(_) | Line::Nothing => return None,
    })
}
