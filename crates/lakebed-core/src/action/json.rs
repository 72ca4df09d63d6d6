//! Parses the lines of a commit into actions, and prints actions as JSON.
//!
//! A commit may hold millions of file actions, so they borrow from the line ([`FileLine`]). Other
//! actions are owned. A line is first parsed strictly. A line that does not follow the protocol is
//! parsed a second time by `lenient`, which accepts the known deviations of other writers. Unknown
//! actions are ignored. Start with [`each_line`].

mod file;
mod lenient;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io::BufRead;

use memchr::{memchr, memchr_iter};
use serde::de::{DeserializeOwned, Error as _, IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

pub use file::{AddRef, DvRef, FileLine, RemoveRef, StringEntries};
pub(crate) use lenient::long;

use super::{Action, CommitInfo};
use crate::{Error, ErrorKind, Result};

/// The content of one line.
#[derive(Debug, Clone, PartialEq)]
pub enum Line<'a> {
    /// A file action: a file was added or removed.
    File(FileLine<'a>),
    /// Any other known action.
    Other(Action),
    /// An unknown action, or no action.
    Nothing,
}

/// Whole lines of a commit: all of them, or a run of consecutive lines.
#[derive(Debug, Clone, Copy)]
pub struct CommitLines<'a> {
    /// The name of the commit's file.
    pub name: &'a str,
    /// The bytes, which hold only whole lines.
    pub bytes: &'a [u8],
    /// The number of lines of the file before these lines.
    pub lines_before: usize,
}

impl<'a> CommitLines<'a> {
    /// Returns all lines of a commit.
    pub fn whole(bytes: &'a [u8], name: &'a str) -> Self {
        Self { name, bytes, lines_before: 0 }
    }

    /// Splits the lines into pieces. A piece is at least `bytes` long and ends with the line in
    /// which it reaches that length.
    pub fn pieces(self, bytes: usize) -> Vec<CommitLines<'a>> {
        let mut pieces = Vec::new();
        let mut rest = self;
        while let Some(end) = rest.bytes.get(bytes..).and_then(|tail| memchr(b'\n', tail)) {
            let (piece, tail) = rest.bytes.split_at(bytes + end + 1);
            pieces.push(Self { bytes: piece, ..rest });
            rest = Self { bytes: tail, lines_before: rest.lines_before + memchr_iter(b'\n', piece).count(), ..rest };
        }
        pieces.push(rest);
        pieces
    }

    /// Parses the lines that are not blank, and passes each to `take` at once.
    fn each(self, skip: impl Fn(&[u8]) -> bool, mut take: impl FnMut(Line<'a>) -> Result<()>) -> Result<()> {
        for (number, line) in lines(self.bytes).filter(|(_, line)| !skip(line)) {
            let number = number + self.lines_before;
            take(parse(line).map_err(|reason| Error::corrupt(self.name, format!("line {number}: {reason}")))?)?;
        }
        Ok(())
    }
}

/// Returns the lines that are not blank, with their numbers from 1. Byte order mark, line breaks
/// and surrounding blanks are removed.
pub fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut rest = bytes;
    let mut number = 0;
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let start = rest;
            // This is the only function of std that searches a byte slice for a byte as fast as
            // memchr.
            let length = rest.skip_until(b'\n').ok()?;
            number += 1;
            let line = clean(start.get(..length)?);
            if !line.is_empty() {
                return Some((number, line));
            }
        }
        None
    })
}

fn clean(line: &[u8]) -> &[u8] {
    line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii()
}

/// Passes every line to `take`, in order. Errors name the file and the line.
pub fn each_line<'a>(part: CommitLines<'a>, take: impl FnMut(Line<'a>) -> Result<()>) -> Result<()> {
    part.each(|_| false, take)
}

/// Passes every action except `add` and `remove` to `take`. File actions are mostly recognized by
/// their first bytes and not parsed, so errors in them are not noticed.
pub fn each_other(part: CommitLines<'_>, mut take: impl FnMut(Action) -> Result<()>) -> Result<()> {
    // A line holds one action, so no other action can follow.
    let is_file = |line: &[u8]| line.starts_with(b"{\"add\":{") || line.starts_with(b"{\"remove\":{");
    part.each(is_file, |line| match line {
        Line::Other(action) => take(action),
        Line::File(_) | Line::Nothing => Ok(()),
    })
}

/// Returns all actions of a commit, compaction or JSON checkpoint. Errors name the file and the
/// line.
pub fn parse_commit(bytes: &[u8], name: &str) -> Result<Vec<Action>> {
    let mut actions = Vec::new();
    each_line(CommitLines::whole(bytes, name), |line| {
        actions.extend(line.into_action());
        Ok(())
    })?;
    Ok(actions)
}

/// Parses one line. A blank line is [`Line::Nothing`]. The error names neither the file nor the
/// line number.
pub fn read_line(line: &[u8]) -> Result<Line<'_>> {
    let line = clean(line);
    if line.is_empty() {
        return Ok(Line::Nothing);
    }
    parse(line).map_err(|reason| Error::new(ErrorKind::Corrupt { path: String::new() }, reason))
}

/// Returns the action of one line. It returns `None` if the action is unknown.
pub fn parse_line(line: &[u8]) -> Result<Option<Action>> {
    read_line(line).map(Line::into_action)
}

/// Returns the action of a line that is already parsed JSON, such as those inside
/// `_last_checkpoint`.
pub fn from_value(line: Value) -> Result<Option<Action>> {
    let line = match line {
        Value::Object(line) => line,
        _ => return Err(Error::invalid_input("an action is not a JSON object")),
    };
    parse_object(line).map_err(Error::invalid_input)
}

impl Line<'_> {
    /// Returns the action as an owned value.
    pub fn into_action(self) -> Option<Action> {
        match self {
            Line::File(FileLine::Add(add)) => Some(Action::Add(add.into())),
            Line::File(FileLine::Remove(remove)) => Some(Action::Remove(remove.into())),
            Line::Other(action) => Some(action),
            Line::Nothing => None,
        }
    }
}

impl Action {
    /// Returns the line of a commit without its line break. The keys of maps are sorted, so equal
    /// actions give equal lines.
    pub fn to_line(&self) -> Result<String> {
        serde_json::to_string(&Printed(self)).map_err(not_printed)
    }

    /// Appends the line of a commit with its line break.
    pub fn write_line(&self, lines: &mut Vec<u8>) -> Result<()> {
        serde_json::to_writer(&mut *lines, &Printed(self)).map_err(not_printed)?;
        lines.push(b'\n');
        Ok(())
    }

    /// Returns the line as a JSON value.
    pub fn to_value(&self) -> Result<Value> {
        serde_json::to_value(Printed(self)).map_err(not_printed)
    }
}

fn not_printed(error: serde_json::Error) -> Error {
    Error::internal("an action that JSON cannot hold").with_source(error)
}

/// An action as a line: an object with the kind of the action and its value.
struct Printed<'a>(&'a Action);

impl Serialize for Printed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut line = serializer.serialize_map(Some(1))?;
        match self.0 {
            Action::Add(add) => line.serialize_entry(Kind::Add.name(), add),
            Action::Remove(remove) => line.serialize_entry(Kind::Remove.name(), remove),
            Action::Cdc(cdc) => line.serialize_entry(Kind::Cdc.name(), cdc),
            Action::Metadata(metadata) => line.serialize_entry(Kind::MetaData.name(), metadata),
            Action::Protocol(protocol) => line.serialize_entry(Kind::Protocol.name(), protocol),
            Action::SetTransaction(txn) => line.serialize_entry(Kind::Txn.name(), txn),
            Action::DomainMetadata(domain) => line.serialize_entry(Kind::DomainMetadata.name(), domain),
            Action::CommitInfo(info) => line.serialize_entry(Kind::CommitInfo.name(), &info.0),
            Action::CheckpointMetadata(checkpoint) => line.serialize_entry(Kind::CheckpointMetadata.name(), checkpoint),
            Action::Sidecar(sidecar) => line.serialize_entry(Kind::Sidecar.name(), sidecar),
        }?;
        line.end()
    }
}

fn parse(line: &[u8]) -> Result<Line<'_>, String> {
    let text = std::str::from_utf8(line).map_err(|error| format!("not UTF-8: {error}"))?;
    match serde_json::from_str(text) {
        Ok(Strict::Nothing) => Ok(Line::Nothing),
        Ok(Strict::File(file)) => Ok(Line::File(file)),
        Ok(Strict::Other(kind, value)) => Ok(typed(kind, value)?.map_or(Line::Nothing, Line::Other)),
        Err(error) if error.is_data() => parse_leniently(text),
        Err(error) => Err(not_json(&error)),
    }
}

fn parse_leniently<'a>(line: &str) -> Result<Line<'a>, String> {
    let object: Map<String, Value> = match serde_json::from_str(line) {
        Ok(object) => object,
        Err(error) if error.is_data() => return Err("not a JSON object".to_owned()),
        Err(error) => return Err(not_json(&error)),
    };
    Ok(match parse_object(object)? {
        Some(Action::Add(add)) => Line::File(FileLine::Add(add.into())),
        Some(Action::Remove(remove)) => Line::File(FileLine::Remove(remove.into())),
        Some(action) => Line::Other(action),
        None => Line::Nothing,
    })
}

/// Removes the line number of serde_json, which would look like a line of the file.
fn not_json(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let reason = text.split(" at line ").next().unwrap_or_default();
    format!("not JSON: {reason} at column {}", error.column())
}

fn parse_object(line: Map<String, Value>) -> Result<Option<Action>, String> {
    let mut found = None;
    for (key, value) in line {
        let Some(kind) = Kind::parse(&key) else { continue };
        if value.is_null() {
            continue;
        }
        if let Some((other, _)) = found.replace((kind, value)) {
            return Err(two_actions(other, kind));
        }
    }
    match found {
        Some((kind, value)) => typed(kind, value),
        None => Ok(None),
    }
}

fn two_actions(one: Kind, other: Kind) -> String {
    format!("{} and {} in one line", one.name(), other.name())
}

/// Returns the action of this kind. It returns `None` if it is a `commitInfo` that is not an
/// object.
fn typed(kind: Kind, value: Value) -> Result<Option<Action>, String> {
    let object = match (kind, value) {
        (Kind::CommitInfo, Value::Object(info)) => return Ok(Some(Action::CommitInfo(CommitInfo(info)))),
        (Kind::CommitInfo, _) => return Ok(None),
        (_, Value::Object(object)) => object,
        _ => return Err(format!("{} is not a JSON object", kind.name())),
    };
    let value = Value::Object(lenient::repair(object));
    Ok(match kind {
        Kind::Add => Some(Action::Add(owned(kind, value)?)),
        Kind::Remove => Some(Action::Remove(owned(kind, value)?)),
        Kind::Cdc => Some(Action::Cdc(owned(kind, value)?)),
        Kind::MetaData => Some(Action::Metadata(owned(kind, value)?)),
        Kind::Protocol => Some(Action::Protocol(owned(kind, value)?)),
        Kind::Txn => Some(Action::SetTransaction(owned(kind, value)?)),
        Kind::DomainMetadata => Some(Action::DomainMetadata(owned(kind, value)?)),
        Kind::CheckpointMetadata => Some(Action::CheckpointMetadata(owned(kind, value)?)),
        Kind::Sidecar => Some(Action::Sidecar(owned(kind, value)?)),
        Kind::CommitInfo | Kind::Unknown => None,
    })
}

fn owned<T: DeserializeOwned>(kind: Kind, value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|error| {
        let reason = error.to_string();
        match reason.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
            Some(field) => format!("{} without {field}", kind.name()),
            None => format!("{}: {reason}", kind.name()),
        }
    })
}

/// The keys of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum Kind {
    Add,
    Remove,
    Cdc,
    MetaData,
    Protocol,
    Txn,
    DomainMetadata,
    CommitInfo,
    CheckpointMetadata,
    Sidecar,
    #[serde(other)]
    Unknown,
}

impl Kind {
    fn parse(key: &str) -> Option<Self> {
        const ALL: [Kind; 10] = [
            Kind::Add,
            Kind::Remove,
            Kind::Cdc,
            Kind::MetaData,
            Kind::Protocol,
            Kind::Txn,
            Kind::DomainMetadata,
            Kind::CommitInfo,
            Kind::CheckpointMetadata,
            Kind::Sidecar,
        ];
        ALL.into_iter().find(|kind| kind.name() == key)
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Add => "add",
            Kind::Remove => "remove",
            Kind::Cdc => "cdc",
            Kind::MetaData => "metaData",
            Kind::Protocol => "protocol",
            Kind::Txn => "txn",
            Kind::DomainMetadata => "domainMetadata",
            Kind::CommitInfo => "commitInfo",
            Kind::CheckpointMetadata => "checkpointMetadata",
            Kind::Sidecar => "sidecar",
            Kind::Unknown => "an unknown action",
        }
    }
}

/// A strictly parsed line with its typed file action.
enum Strict<'a> {
    Nothing,
    File(FileLine<'a>),
    Other(Kind, Value),
}

impl<'de> Deserialize<'de> for Strict<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(StrictVisitor)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Strict<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut line: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(kind) = line.next_key::<Kind>()? {
            let value = match kind {
                Kind::Add => line.next_value::<Option<AddRef<'de>>>()?.map(|add| Strict::File(FileLine::Add(add))),
                Kind::Remove => line.next_value::<Option<RemoveRef<'de>>>()?.map(|remove| Strict::File(FileLine::Remove(remove))),
                Kind::Unknown => {
                    line.next_value::<IgnoredAny>()?;
                    None
                }
                _ => line.next_value::<Option<Value>>()?.map(|value| Strict::Other(kind, value)),
            };
            if let Some(value) = value
                && let Some((other, _)) = found.replace((kind, value))
            {
                return Err(A::Error::custom(two_actions(other, kind)));
            }
        }
        Ok(found.map_or(Strict::Nothing, |(_, value)| value))
    }
}
