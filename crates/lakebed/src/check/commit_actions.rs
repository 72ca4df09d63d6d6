//! Actions of a commit that the protocol allows only once.

use std::collections::HashSet;

use lakebed_core::action::Action;
use lakebed_core::action::json::{AddRef, FileLine, Line, RemoveRef};
use lakebed_core::log::files::FileKey;

/// The actions of one commit so far.
#[derive(Default)]
pub(super) struct CommitActions {
    files: HashSet<FileKey>,
    /// The kinds of the other actions, with the names of those that are named.
    others: HashSet<(&'static str, String)>,
    /// The first repeated action, in words.
    pub(super) repeated: Option<String>,
}

impl CommitActions {
    /// Takes a line of the commit. PROTOCOL "Action Reconciliation": a commit has at most one action
    /// for a file with its deletion vector, for an application and for a domain, and at most one
    /// `metaData` and one `protocol`.
    pub(super) fn take(&mut self, line: &Line<'_>) {
        let repeated = match line {
            Line::File(file) => self.take_file(file),
            Line::Other(Action::Metadata(_)) => self.take_other("metaData", ""),
            Line::Other(Action::Protocol(_)) => self.take_other("protocol", ""),
            Line::Other(Action::SetTransaction(transaction)) => self.take_other("txn", &transaction.app_id),
            Line::Other(Action::DomainMetadata(domain)) => self.take_other("domainMetadata", &domain.domain),
            _ => None,
        };
        if self.repeated.is_none() {
            self.repeated = repeated;
        }
    }

    fn take_file(&mut self, file: &FileLine<'_>) -> Option<String> {
        let is_new = self.files.insert(FileKey::of_line(file));
        let (FileLine::Add(AddRef { path, .. }) | FileLine::Remove(RemoveRef { path, .. })) = file;
        (!is_new).then(|| format!("it has two actions for the file {path}"))
    }

    fn take_other(&mut self, kind: &'static str, name: &str) -> Option<String> {
        let is_new = self.others.insert((kind, name.to_owned()));
        let of = if name.is_empty() { String::new() } else { format!(" for {name}") };
        (!is_new).then(|| format!("it has two {kind} actions{of}"))
    }
}
