//! The quick reading of a line with one file action as nearly all writers spell it.
//!
//! It takes a line only if it understands all of it, and then says exactly what the thorough reading would say; a test holds it to that.
//! Anything else, from a field it does not know to a syntax error, it leaves to the thorough reading. Start with [`file_line`].

use std::borrow::Cow;

use super::file::{AddRef, FileLine, RemoveRef, TextMap};
use crate::action::{DeletionVectorDescriptor, DvStorage};

/// The file action of a line; `None` says nothing about the line.
pub(super) fn file_line(line: &[u8]) -> Option<FileLine<'_>> {
    let mut cursor = Cursor { text: std::str::from_utf8(line).ok()?, at: 0 };
    let mut found = None;
    let mut fields = cursor.object();
    while let Some(key) = fields.next_key(&mut cursor)? {
        if cursor.null() {
            // The same key may have stood here before: then it is the null that counts.
            if matches!((key.as_ref(), &found), ("add", Some(FileLine::Add(_))) | ("remove", Some(FileLine::Remove(_)))) {
                return None;
            }
            continue;
        }
        let file = match key.as_ref() {
            "add" => FileLine::Add(add(&mut cursor)?),
            "remove" => FileLine::Remove(remove(&mut cursor)?),
            _ => return None,
        };
        if found.replace(file).is_some() {
            return None;
        }
    }
    cursor.skip_blanks();
    if cursor.at < line.len() {
        return None;
    }
    found
}

fn add<'a>(cursor: &mut Cursor<'a>) -> Option<AddRef<'a>> {
    let (mut path, mut size) = (None, None);
    let mut add = AddRef::default();
    let mut fields = cursor.object();
    while let Some(key) = fields.next_key(cursor)? {
        match key.as_ref() {
            "path" => path = cursor.optional(Cursor::text)?,
            "partitionValues" => add.partition_values = cursor.optional(Cursor::texts)?.unwrap_or_default(),
            "size" => size = cursor.optional(Cursor::long)?,
            "modificationTime" => add.modification_time = cursor.optional(Cursor::long)?.unwrap_or_default(),
            "dataChange" => add.data_change = cursor.optional(Cursor::flag)?.unwrap_or_default(),
            "stats" => add.stats = cursor.optional(Cursor::text)?,
            "tags" => add.tags = cursor.optional(Cursor::texts)?,
            "deletionVector" => add.deletion_vector = cursor.optional(deletion_vector)?,
            "baseRowId" => add.base_row_id = cursor.optional(Cursor::long)?,
            "defaultRowCommitVersion" => add.default_row_commit_version = cursor.optional(Cursor::long)?,
            "clusteringProvider" => add.clustering_provider = cursor.optional(Cursor::text)?,
            _ => return None,
        }
    }
    Some(AddRef { path: path?, size: size?, ..add })
}

fn remove<'a>(cursor: &mut Cursor<'a>) -> Option<RemoveRef<'a>> {
    let mut path = None;
    let mut remove = RemoveRef::default();
    let mut fields = cursor.object();
    while let Some(key) = fields.next_key(cursor)? {
        match key.as_ref() {
            "path" => path = cursor.optional(Cursor::text)?,
            "deletionTimestamp" => remove.deletion_timestamp = cursor.optional(Cursor::long)?,
            "dataChange" => remove.data_change = cursor.optional(Cursor::flag)?.unwrap_or_default(),
            "extendedFileMetadata" => remove.extended_file_metadata = cursor.optional(Cursor::flag)?,
            "partitionValues" => remove.partition_values = cursor.optional(Cursor::texts)?,
            "size" => remove.size = cursor.optional(Cursor::long)?,
            "stats" => remove.stats = cursor.optional(Cursor::text)?,
            "tags" => remove.tags = cursor.optional(Cursor::texts)?,
            "deletionVector" => remove.deletion_vector = cursor.optional(deletion_vector)?,
            "baseRowId" => remove.base_row_id = cursor.optional(Cursor::long)?,
            "defaultRowCommitVersion" => remove.default_row_commit_version = cursor.optional(Cursor::long)?,
            _ => return None,
        }
    }
    Some(RemoveRef { path: path?, ..remove })
}

fn deletion_vector(cursor: &mut Cursor<'_>) -> Option<DeletionVectorDescriptor> {
    let (mut storage_type, mut path_or_inline_dv, mut offset, mut size_in_bytes, mut cardinality) = (None, None, None, None, None);
    let mut fields = cursor.object();
    while let Some(key) = fields.next_key(cursor)? {
        match key.as_ref() {
            "storageType" => storage_type = Some(DvStorage::of_letter(&cursor.text()?)?),
            "pathOrInlineDv" => path_or_inline_dv = Some(cursor.text()?.into_owned()),
            "offset" => offset = cursor.optional(Cursor::int)?,
            "sizeInBytes" => size_in_bytes = Some(cursor.int()?),
            "cardinality" => cardinality = Some(cursor.long()?),
            _ => return None,
        }
    }
    Some(DeletionVectorDescriptor {
        storage_type: storage_type?,
        path_or_inline_dv: path_or_inline_dv?,
        offset,
        size_in_bytes: size_in_bytes?,
        cardinality: cardinality?,
    })
}

/// A place in a line of JSON. A method that gives `None` leaves the place undefined: the reading ends there.
struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

/// An object being read.
struct Fields {
    at_start: bool,
}

impl Fields {
    /// The key of the next field, the cursor before its value; the inner `None` is the end of the object.
    fn next_key<'a>(&mut self, cursor: &mut Cursor<'a>) -> Option<Option<Cow<'a, str>>> {
        cursor.skip_blanks();
        if self.at_start {
            cursor.expect(b'{')?;
            cursor.skip_blanks();
            self.at_start = false;
            if cursor.eat(b'}') {
                return Some(None);
            }
        } else if cursor.eat(b'}') {
            return Some(None);
        } else {
            cursor.expect(b',')?;
            cursor.skip_blanks();
        }
        let key = cursor.text()?;
        cursor.skip_blanks();
        cursor.expect(b':')?;
        cursor.skip_blanks();
        Some(Some(key))
    }
}

impl<'a> Cursor<'a> {
    fn object(&self) -> Fields {
        Fields { at_start: true }
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.byte() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.eat(byte).then_some(())
    }

    fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.byte() {
            self.at += 1;
        }
    }

    fn word(&mut self, word: &str) -> bool {
        let found = self.text.as_bytes().get(self.at..).is_some_and(|rest| rest.starts_with(word.as_bytes()));
        self.at += if found { word.len() } else { 0 };
        found
    }

    fn null(&mut self) -> bool {
        self.word("null")
    }

    fn optional<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if self.null() { Some(None) } else { read(self).map(Some) }
    }

    fn flag(&mut self) -> Option<bool> {
        if self.word("true") {
            return Some(true);
        }
        self.word("false").then_some(false)
    }

    fn long(&mut self) -> Option<i64> {
        let negative = self.eat(b'-');
        let start = self.at;
        // Below zero there is room for one number more.
        let mut below_zero = 0_i64;
        while let Some(digit @ b'0'..=b'9') = self.byte() {
            below_zero = below_zero.checked_mul(10)?.checked_sub(i64::from(digit - b'0'))?;
            self.at += 1;
        }
        let digits = self.at - start;
        let odd_zero = self.text.as_bytes().get(start) == Some(&b'0') && (digits > 1 || negative);
        if digits == 0 || odd_zero || matches!(self.byte(), Some(b'.' | b'e' | b'E')) {
            return None;
        }
        if negative { Some(below_zero) } else { below_zero.checked_neg() }
    }

    fn int(&mut self) -> Option<i32> {
        i32::try_from(self.long()?).ok()
    }

    fn texts(&mut self) -> Option<TextMap<'a>> {
        let mut texts = Vec::new();
        let mut fields = self.object();
        while let Some(key) = fields.next_key(self)? {
            texts.push((key, self.optional(Cursor::text)?));
        }
        Some(texts)
    }

    fn text(&mut self) -> Option<Cow<'a, str>> {
        self.expect(b'"')?;
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut escapes = false;
        loop {
            match *bytes.get(self.at)? {
                b'"' => break,
                b'\\' => {
                    escapes = true;
                    self.at += 2;
                }
                0..=0x1F => return None,
                _ => self.at += 1,
            }
        }
        let text = self.text.get(start..self.at)?;
        self.at += 1;
        if escapes { unescape(text).map(Cow::Owned) } else { Some(Cow::Borrowed(text)) }
    }
}

/// The text without its escapes; those of surrogates are left to the thorough reading.
fn unescape(text: &str) -> Option<String> {
    let mut plain = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            plain.push(byte);
            continue;
        }
        match bytes.next()? {
            same @ (b'"' | b'\\' | b'/') => plain.push(same),
            b'n' => plain.push(b'\n'),
            b't' => plain.push(b'\t'),
            b'r' => plain.push(b'\r'),
            b'b' => plain.push(0x08),
            b'f' => plain.push(0x0C),
            b'u' => {
                let mut code = 0;
                for _ in 0..4 {
                    code = code * 16 + char::from(bytes.next()?).to_digit(16)?;
                }
                plain.extend_from_slice(char::from_u32(code)?.encode_utf8(&mut [0; 4]).as_bytes());
            }
            _ => return None,
        }
    }
    String::from_utf8(plain).ok()
}
