//! Log compactions: the commits of a window in one file, without what later ones of them undid.
//! PROTOCOL "Log Compaction Files".
//!
//! A compaction stands above state that is older than its window, so everything that undoes
//! something must stay in it, whatever its age: the removal of a file that was added before the
//! window, the removal of a domain. Read [`compact`].

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use super::files::FileKey;
use crate::action::Action;
use crate::action::json::{CommitLines, FileLine, Line, lines, read_line};
use crate::{Error, Result};

/// What an action is about: of all actions about the same only the newest counts.
#[derive(PartialEq, Eq, Hash)]
enum Subject {
    Protocol,
    Metadata,
    Transaction(String),
    Domain(String),
    File(FileKey),
}

/// The lines of the compaction of these commits, which come newest first, each of them whole.
///
/// They are the commits' own lines, byte for byte, so that fields that nobody here knows are kept.
pub fn compact<'a>(newest_first: impl IntoIterator<Item = CommitLines<'a>>) -> Result<Vec<&'a [u8]>> {
    let mut seen = HashSet::new();
    let mut kept = Vec::new();
    for commit in newest_first {
        let mut of_commit = Vec::new();
        for (number, line) in lines(commit.bytes) {
            let said = read_line(line).map_err(|error| {
                Error::corrupt(commit.name, format!("line {}: {}", number + commit.lines_before, error.message()))
            })?;
            of_commit.extend(subject(said).map(|subject| (subject, line)));
        }
        // Should a commit say two things of one subject, the later line is the newer one, as when
        // it is replayed.
        for (subject, line) in of_commit.into_iter().rev() {
            if seen.insert(subject) {
                kept.push(line);
            }
        }
    }
    kept.reverse();
    Ok(kept)
}

/// Nothing for what concerns one commit alone.
fn subject(line: Line<'_>) -> Option<Subject> {
    Some(match line {
        Line::File(FileLine::Add(add)) => {
            Subject::File(FileKey::new(&add.path, add.deletion_vector.map(|dv| dv.unique_id()).as_deref()))
        }
        Line::File(FileLine::Remove(remove)) => {
            Subject::File(FileKey::new(&remove.path, remove.deletion_vector.map(|dv| dv.unique_id()).as_deref()))
        }
        Line::Other(Action::Protocol(_)) => Subject::Protocol,
        Line::Other(Action::Metadata(_)) => Subject::Metadata,
        Line::Other(Action::SetTransaction(txn)) => Subject::Transaction(txn.app_id),
        Line::Other(Action::DomainMetadata(domain)) => Subject::Domain(domain.domain),
        Line::Other(_) | Line::Nothing => return None,
    })
}
