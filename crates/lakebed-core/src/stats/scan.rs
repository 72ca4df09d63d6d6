//! Scans one JSON string of statistics. The scan enters objects on the path to requested values and
//! skips all other values.
//!
//! A table of a million files has half a gigabyte of such JSON, and a query needs a few numbers of
//! it. So the scan builds no values, and only finds the end of values that it skips. If a name
//! occurs twice in an object, the last one counts, as in Delta Spark. So a scan always continues to
//! the end, past the last requested value.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memchr_iter, memchr2};

use super::paths::{Child, NodeId, Paths};
use crate::json_string::unescape;

/// Finds the requested values in one JSON string after another.
pub(super) struct Scan<'p> {
    paths: &'p Paths,
    found: Vec<ValueRange>,
}

/// The position of a value in its text: a string without its quotes, or a number, `true`, `false`
/// or `null`.
#[derive(Debug, Clone, Copy)]
enum ValueRange {
    Absent,
    Bare { from: usize, to: usize },
    Quoted { from: usize, to: usize, escaped: bool },
}

/// A value as it is written.
#[derive(Debug, PartialEq)]
pub(super) enum JsonLiteral<'a> {
    /// A number, `true` or `false`.
    Bare(&'a str),
    /// The content of a string.
    Quoted(Cow<'a, str>),
}

impl<'p> Scan<'p> {
    pub(super) fn new(paths: &'p Paths) -> Self {
        Self { paths, found: vec![ValueRange::Absent; paths.slots()] }
    }

    /// Scans a JSON string. Returns false if it is not one object. In that case no values are
    /// found.
    pub(super) fn walk(&mut self, text: &str) -> bool {
        self.found.fill(ValueRange::Absent);
        let bytes = text.as_bytes();
        let end = object(bytes, after_space(bytes, 0)).and_then(|inside| self.walk_object(bytes, inside, Paths::ROOT));
        let whole = end.is_some_and(|end| after_space(bytes, end) == bytes.len());
        if !whole {
            self.found.fill(ValueRange::Absent);
        }
        whole
    }

    /// Returns the value that the last scan found for this slot in `text`, or `None` if it is
    /// absent, null or not a plain value.
    pub(super) fn value<'a>(&self, text: &'a str, slot: usize) -> Option<JsonLiteral<'a>> {
        match *self.found.get(slot)? {
            ValueRange::Absent => None,
            ValueRange::Bare { from, to } => text.get(from..to).filter(|bare| *bare != "null").map(JsonLiteral::Bare),
            ValueRange::Quoted { from, to, escaped: false } => {
                text.get(from..to).map(|said| JsonLiteral::Quoted(Cow::Borrowed(said)))
            }
            ValueRange::Quoted { from, to, escaped: true } => {
                unescape(text.get(from..to)?).map(|said| JsonLiteral::Quoted(Cow::Owned(said)))
            }
        }
    }

    /// Walks through an object. `inside` is the position after its opening brace. Returns the
    /// position after its end.
    fn walk_object(&mut self, text: &[u8], inside: usize, node: NodeId) -> Option<usize> {
        let mut at = after_space(text, inside);
        if *text.get(at)? == b'}' {
            return Some(at + 1);
        }
        loop {
            let name = string(text, at)?;
            at = after_space(text, name.end);
            if *text.get(at)? != b':' {
                return None;
            }
            at = after_space(text, at + 1);
            at = match self.child(node, text, &name) {
                Some(child) => self.walk_value(text, at, child)?,
                None => skip(text, at)?,
            };
            at = after_space(text, at);
            match *text.get(at)? {
                b',' => at = after_space(text, at + 1),
                b'}' => return Some(at + 1),
                _ => return None,
            }
        }
    }

    fn child(&self, node: NodeId, text: &[u8], name: &Quoted) -> Option<NodeId> {
        let written = text.get(name.from..name.to)?;
        if name.escaped {
            return self.paths.child(node, unescape(std::str::from_utf8(written).ok()?)?.as_bytes());
        }
        self.paths.child(node, written)
    }

    /// Takes the value of a requested name, or the values inside it. Returns the position after the
    /// value.
    fn walk_value(&mut self, text: &[u8], at: usize, node: NodeId) -> Option<usize> {
        for slot in self.paths.within(node) {
            self.set(*slot, ValueRange::Absent);
        }
        let slot = self.paths.slot(node);
        match *text.get(at)? {
            b'{' if self.paths.goes_on(node) => match self.paths.few_leaves(node).zip(skip_flat(text, at)) {
                Some((leaves, end)) => {
                    leaves.iter().for_each(|leaf| self.search_flat(text, at..end, leaf));
                    Some(end)
                }
                None => self.walk_object(text, at + 1, node),
            },
            b'{' | b'[' => skip(text, at),
            b'"' => {
                let Quoted { from, to, escaped, end } = string(text, at)?;
                slot.inspect(|slot| self.set(*slot, ValueRange::Quoted { from, to, escaped }));
                Some(end)
            }
            _ => {
                let to = bare(text, at)?;
                slot.inspect(|slot| self.set(*slot, ValueRange::Bare { from: at, to }));
                Some(to)
            }
        }
    }

    /// Searches a name in an object without nested objects and without escapes. In such an object,
    /// a quoted name is always a complete string, and it is a key if a colon follows.
    fn search_flat(&mut self, text: &[u8], object: Range<usize>, leaf: &Child) {
        let Some(inside) = text.get(object.clone()) else { return };
        for place in leaf.quoted.find_iter(inside) {
            let colon = after_space(text, object.start + place + leaf.quoted.needle().len());
            if text.get(colon) == Some(&b':') {
                self.walk_value(text, after_space(text, colon + 1), leaf.node);
            }
        }
    }

    fn set(&mut self, slot: usize, found: ValueRange) {
        if let Some(place) = self.found.get_mut(slot) {
            *place = found;
        }
    }
}

/// A string in the JSON: the text between its quotes, and its end.
struct Quoted {
    from: usize,
    to: usize,
    escaped: bool,
    end: usize,
}

/// Returns the string that has its opening quote at this position.
fn string(text: &[u8], at: usize) -> Option<Quoted> {
    if *text.get(at)? != b'"' {
        return None;
    }
    let from = at + 1;
    let mut to = quote_or_backslash(text, from)?;
    let escaped = *text.get(to)? == b'\\';
    while *text.get(to)? == b'\\' {
        to = quote_or_backslash(text, to + 2)?;
    }
    Some(Quoted { from, to, escaped, end: to + 1 })
}

/// Returns the position of the next quote or backslash. Strings are short in this JSON, so
/// comparing eight bytes at a time is faster than calling a search function.
fn quote_or_backslash(text: &[u8], mut at: usize) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const TOPS: u64 = 0x8080_8080_8080_8080;
    let mut rest = text.get(at..)?;
    while let Some((word, next)) = rest.split_first_chunk::<8>() {
        let word = u64::from_le_bytes(*word);
        let quote = word ^ (ONES * b'"' as u64);
        let backslash = word ^ (ONES * b'\\' as u64);
        // The lowest top bit marks the first byte that became zero. The bits above it may be wrong.
        let zeros = (quote.wrapping_sub(ONES) & !quote | backslash.wrapping_sub(ONES) & !backslash) & TOPS;
        if zeros != 0 {
            return Some(at + (zeros.trailing_zeros() / 8) as usize);
        }
        at += 8;
        rest = next;
    }
    rest.iter().position(|byte| matches!(byte, b'"' | b'\\')).map(|place| at + place)
}

/// Returns the position after the value that starts here, for any kind of value.
fn skip(text: &[u8], at: usize) -> Option<usize> {
    match *text.get(at)? {
        b'"' => string(text, at).map(|string| string.end),
        b'{' => skip_flat(text, at).or_else(|| skip_nested(text, at)),
        b'[' => skip_nested(text, at),
        _ => bare(text, at),
    }
}

/// Returns the position after an object without nested objects. The object ends at its first
/// closing brace if the brace is not part of a string. Without backslashes before it, the brace is
/// part of a string exactly if the number of quotes before it is odd.
fn skip_flat(text: &[u8], at: usize) -> Option<usize> {
    let inside = text.get(at + 1..)?;
    let to = memchr(b'}', inside)?;
    let inside = inside.get(..to)?;
    let flat = memchr2(b'{', b'\\', inside).is_none() && memchr_iter(b'"', inside).count().is_multiple_of(2);
    flat.then_some(at + 1 + to + 1)
}

/// Returns the position after any object or array.
fn skip_nested(text: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    loop {
        match *text.get(at)? {
            b'"' => at = string(text, at)?.end,
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' => {
                depth -= 1;
                at += 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => at += 1,
        }
    }
}

/// Returns the position after a number, `true`, `false` or `null`.
fn bare(text: &[u8], at: usize) -> Option<usize> {
    let length = text.get(at..)?.iter().position(|byte| matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t'))?;
    (length > 0).then_some(at + length)
}

/// Returns the position after the opening brace of an object.
fn object(text: &[u8], at: usize) -> Option<usize> {
    (*text.get(at)? == b'{').then_some(at + 1)
}

fn after_space(text: &[u8], mut at: usize) -> usize {
    while matches!(text.get(at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
        at += 1;
    }
    at
}
