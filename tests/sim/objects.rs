//! The objects of a simulated store, and the effect of a request at the step of its arrival.
//!
//! Objects change in this file only. A [`Flaw`] is behavior that no store may have, and the checker
//! has to notice it.

use std::collections::BTreeMap;

use bytes::Bytes;
use object_store::Error;
use serde_json::Value;

use super::actors::ROOT;
use super::request::{About, Answer, Request, Span};

/// A guarantee that a store breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// Puts succeed whether the object exists or not.
    IgnoresConditions,
    /// The commit of version 3 disappears.
    LosesCommit,
    /// Listings show an older state of the store.
    ListsThePast,
    /// A reader that reads a commit back gets it as another writer's commit.
    DisownsCommits,
    /// A read of a data file returns the data file of another commit.
    SwapsDataFiles,
    /// The put of the commit of version 2 gets an answer, but the store does not keep the object.
    ForgetsPut,
    /// A commit that several writers may share lacks one of its files.
    ForgetsMember,
    /// A commit that several writers may share repeats a file of an earlier such commit under
    /// another name.
    RepeatsMember,
    /// Listings show data files as very old.
    DatesBack,
}

#[derive(Debug, Clone)]
struct Object {
    bytes: Bytes,
    written_ms: i64,
    written_step: u64,
}

/// All objects, by path.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    objects: BTreeMap<String, Object>,
    /// The deleted objects, and the step of their deletion: listings may show them for a while.
    deleted: Vec<(String, Object, u64)>,
    /// Every commit that was ever written, for checks of the history at the end.
    commits: BTreeMap<String, Bytes>,
    /// The number of objects on a page of a listing.
    page: usize,
    flaw: Option<Flaw>,
    /// A file of the last commit that several writers may have shared.
    last_added: Option<String>,
}

/// The step and the time at which a request arrives.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    pub(crate) step: u64,
    pub(crate) clock_ms: i64,
    /// The step of the state that listings show.
    pub(crate) listed_step: u64,
}

impl Objects {
    /// Creates a store with `page` objects on a page of a listing.
    pub(crate) fn new(page: usize, flaw: Option<Flaw>) -> Self {
        Self { page, flaw, ..Self::default() }
    }

    /// Carries a request out.
    pub(crate) fn apply(&mut self, request: &Request, now: Moment) -> Result<Answer, Error> {
        match request {
            Request::Put { path, only_new, bytes } => self.put(path, *only_new, bytes, now),
            Request::Get { path, span } => self.get(path, *span),
            Request::List { folder, after } => {
                let is_late = self.flaw == Some(Flaw::ListsThePast) && now.step > 60;
                Ok(self.list(folder, after, now.listed_step - if is_late { 40 } else { 0 }))
            }
            Request::Delete { path } => {
                if let Some(object) = self.objects.remove(path) {
                    self.deleted.push((path.clone(), object, now.step));
                }
                Ok(Answer::Done)
            }
        }
    }

    /// Returns every commit that was ever written, by name.
    pub(crate) fn commits(&self) -> &BTreeMap<String, Bytes> {
        &self.commits
    }

    /// Returns the newest version.
    pub(crate) fn latest(&self) -> Option<u64> {
        u64::try_from(self.commits.len()).ok()?.checked_sub(1)
    }

    pub(crate) fn bytes(&self, path: &str) -> Option<&Bytes> {
        self.objects.get(path).map(|object| &object.bytes)
    }

    /// Returns the bytes of an object that may be deleted.
    pub(crate) fn bytes_ever(&self, path: &str) -> Option<&Bytes> {
        let gone = || self.deleted.iter().rev().find(|(deleted, ..)| deleted == path).map(|(_, object, _)| &object.bytes);
        self.bytes(path).or_else(gone)
    }

    /// Returns whether `_last_checkpoint` exists.
    pub(crate) fn has_hint(&self) -> bool {
        self.paths().any(|path| path.ends_with("_last_checkpoint"))
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.objects.keys().map(String::as_str)
    }

    fn put(&mut self, path: &str, only_new: bool, bytes: &Bytes, now: Moment) -> Result<Answer, Error> {
        let keeps_condition = self.flaw != Some(Flaw::IgnoresConditions);
        if only_new && keeps_condition && self.objects.contains_key(path) {
            return Err(Error::AlreadyExists { path: path.to_owned(), source: "as simulated".into() });
        }
        if self.flaw == Some(Flaw::ForgetsPut) && path.ends_with("00000000000000000002.json") {
            return Ok(Answer::Done);
        }
        let bytes = if is_commit(path) { &self.as_kept(bytes, now) } else { bytes };
        // An object that replaces another one is listed at once.
        let written_step = self.objects.get(path).map_or(now.step, |before| before.written_step);
        let object = Object { bytes: bytes.clone(), written_ms: now.clock_ms, written_step };
        self.objects.insert(path.to_owned(), object);
        if is_commit(path) {
            self.commits.insert(path.to_owned(), bytes.clone());
        }
        Ok(Answer::Done)
    }

    fn get(&self, path: &str, span: Span) -> Result<Answer, Error> {
        let missing = || Error::NotFound { path: path.to_owned(), source: "as simulated".into() };
        let object = self.objects.get(path).filter(|_| !self.is_lost(path)).ok_or_else(missing)?;
        let bytes = self.as_shown(path, &object.bytes);
        let size = bytes.len() as u64;
        let about = About { path: path.to_owned(), size, written_ms: object.written_ms };
        match span.within(size) {
            Some(range) => {
                let bytes = bytes.slice(range.start as usize..range.end as usize);
                Ok(Answer::Found { bytes, range, about })
            }
            None => Err(Error::Generic { store: "simulated", source: format!("{path}: no bytes {span:?} of {size}").into() }),
        }
    }

    fn list(&self, folder: &str, after: &str, seen_step: u64) -> Answer {
        let inside = |path: &str| path.starts_with(folder) && path > after && !self.is_lost(path);
        let there = self.objects.iter().filter(|(_, object)| object.written_step <= seen_step);
        let gone = self.deleted.iter().filter(|(_, object, deleted)| object.written_step <= seen_step && *deleted > seen_step);
        let shown: BTreeMap<&str, &Object> = gone
            .map(|(path, object, _)| (path.as_str(), object))
            .chain(there.map(|(path, object)| (path.as_str(), object)))
            .collect();
        let mut objects: Vec<About> = shown
            .into_iter()
            .filter(|(path, _)| inside(path))
            .take(self.page + 1)
            .map(|(path, object)| About {
                path: path.to_owned(),
                size: object.bytes.len() as u64,
                written_ms: self.listed_ms(path, object),
            })
            .collect();
        let is_last = objects.len() <= self.page;
        objects.truncate(self.page);
        Answer::Page { objects, is_last }
    }

    fn listed_ms(&self, path: &str, object: &Object) -> i64 {
        if self.flaw == Some(Flaw::DatesBack) && !path.contains("_delta_log") { 0 } else { object.written_ms }
    }

    /// Returns a commit that several writers may share, as a store with a flaw keeps it. A faulty
    /// group commit could write the same.
    fn as_kept(&mut self, commit: &Bytes, now: Moment) -> Bytes {
        let text = String::from_utf8_lossy(commit).into_owned();
        let (adds, others): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with("{\"add\""));
        if adds.len() < 2 || text.contains("userMetadata") {
            return commit.clone();
        }
        let kept = match (self.flaw, self.last_added.replace(adds[0].to_owned())) {
            (Some(Flaw::ForgetsMember), _) => adds[1..].join("\n"),
            (Some(Flaw::RepeatsMember), Some(before)) => format!("{}\n{}", adds.join("\n"), self.copied(&before, now)),
            _ => return commit.clone(),
        };
        format!("{}\n{kept}\n", others.join("\n")).into()
    }

    /// Returns the same file under another name.
    fn copied(&mut self, add: &str, now: Moment) -> String {
        let Ok(mut action) = serde_json::from_str::<Value>(add) else { return String::new() };
        let path = action["add"]["path"].as_str().unwrap_or_default().to_owned();
        let (from, to) = (format!("{ROOT}/{path}"), format!("{}/{path}", now.step));
        if let Some(object) = self.objects.get(&from).cloned() {
            self.objects.insert(format!("{ROOT}/{to}"), object);
        }
        action["add"]["path"] = to.into();
        action.to_string()
    }

    /// Returns the bytes as a store with a flaw shows them.
    fn as_shown(&self, path: &str, bytes: &Bytes) -> Bytes {
        match self.flaw {
            Some(Flaw::DisownsCommits) if is_commit(path) => {
                String::from_utf8_lossy(bytes).replace("\"txnId\":\"", "\"txnId\":\"not-").into_bytes().into()
            }
            Some(Flaw::SwapsDataFiles) if path.ends_with(".parquet") && !path.contains("_delta_log") => {
                let alike = |(other, object): &(&String, &Object)| *other != path && object.bytes.len() == bytes.len();
                let other = self.objects.iter().find(alike);
                other.map_or_else(|| bytes.clone(), |(_, object)| object.bytes.clone())
            }
            _ => bytes.clone(),
        }
    }

    fn is_lost(&self, path: &str) -> bool {
        self.flaw == Some(Flaw::LosesCommit) && path.ends_with("00000000000000000003.json")
    }
}

/// Returns whether this is the name of a commit.
pub(crate) fn is_commit(path: &str) -> bool {
    let name = path.rsplit_once("/_delta_log/").map(|(_, name)| name);
    name.and_then(|name| name.strip_suffix(".json")).is_some_and(|version| version.len() == 20)
}
