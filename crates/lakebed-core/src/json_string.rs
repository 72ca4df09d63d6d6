//! Reads JSON strings with escapes, and writes JSON strings.

use std::borrow::Cow;

use memchr::memchr;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Reads a string that is long and has many escapes, such as statistics. serde_json takes twice as
/// long.
pub(crate) fn long_string<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Cow<'a, str>>, D::Error> {
    let Some(raw) = Option::<&'de RawValue>::deserialize(deserializer)? else { return Ok(None) };
    let inside = raw.get().strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let inside = inside.ok_or_else(|| Error::custom("not a string"))?;
    if memchr(b'\\', inside.as_bytes()).is_none() {
        return Ok(Some(Cow::Borrowed(inside)));
    }
    unescape(inside).map(|said| Some(Cow::Owned(said))).ok_or_else(|| Error::custom("a string with a wrong escape"))
}

/// Returns the value of a JSON string, given the text between its quotes. Returns `None` if an
/// escape is invalid or a surrogate pair is incomplete.
pub(crate) fn unescape(text: &str) -> Option<String> {
    let mut said = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((plain, escape)) = memchr(b'\\', rest.as_bytes()).and_then(|at| rest.split_at_checked(at)) {
        said.push_str(plain);
        let mut letters = escape.get(1..)?.chars();
        let letter = match letters.next()? {
            letter @ ('"' | '\\' | '/') => letter,
            'u' => {
                let (unit, after) = code_unit(letters.as_str())?;
                let (letter, after) = match unit {
                    0xd800..=0xdbff => {
                        let (second, after) = code_unit(after.strip_prefix("\\u")?)?;
                        (char::decode_utf16([unit, second]).next()?.ok()?, after)
                    }
                    _ => (char::from_u32(unit.into())?, after),
                };
                letters = after.chars();
                letter
            }
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            _ => return None,
        };
        said.push(letter);
        rest = letters.as_str();
    }
    said.push_str(rest);
    Some(said)
}

fn code_unit(text: &str) -> Option<(u16, &str)> {
    let (digits, rest) = text.split_at_checked(4)?;
    let hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    Some((u16::from_str_radix(digits, 16).ok().filter(|_| hex)?, rest))
}

/// The number of bytes of a string that are escaped at a time.
const CHUNK_BYTES: usize = 32;

/// Writes a string in quotes, in the same form as serde_json. This takes about half as long if the
/// string has a quotation mark every few bytes, as statistics have.
pub(crate) fn push_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut escaped = [0; 2 * CHUNK_BYTES];
    for chunk in text.as_bytes().chunks(CHUNK_BYTES) {
        if chunk.iter().fold(false, |found, byte| found | (*byte < 0x20)) {
            chunk.iter().for_each(|byte| push_byte(out, *byte));
            continue;
        }
        // A branch for each byte would often be predicted wrongly.
        let mut length = 0;
        for &byte in chunk {
            escaped[length] = b'\\';
            length += usize::from(byte == b'"' || byte == b'\\');
            escaped[length] = byte;
            length += 1;
        }
        out.extend_from_slice(&escaped[..length]);
    }
    out.push(b'"');
}

fn push_byte(out: &mut Vec<u8>, byte: u8) {
    let letter = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        0x00..=0x1f => return out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
        _ => return out.push(byte),
    };
    out.extend_from_slice(&[b'\\', letter]);
}

/// Writes a string in quotes.
pub(crate) fn write_string(out: &mut String, text: &str) {
    out.push('"');
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0x00..=0x1f => "",
            _ => continue,
        };
        out.push_str(&text[plain..at]);
        out.push_str(escape);
        if escape.is_empty() {
            out.push_str(&format!("\\u{byte:04x}"));
        }
        plain = at + 1;
    }
    out.push_str(&text[plain..]);
    out.push('"');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Deserialize)]
    struct Long<'a>(#[serde(borrow, deserialize_with = "long_string")] Option<Cow<'a, str>>);

    fn read(json: &str) -> Option<Option<Cow<'_, str>>> {
        serde_json::from_str::<Long<'_>>(json).ok().map(|long| long.0)
    }

    #[test]
    fn only_text_with_escapes_is_copied() {
        assert!(matches!(read(r#""plain ü""#), Some(Some(Cow::Borrowed("plain ü")))));
        assert!(matches!(read(r#""a\"b""#), Some(Some(Cow::Owned(said))) if said == "a\"b"));
        assert_eq!(read("null"), Some(None));
        for other in ["1", "{}", "[]", "true"] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn read_long_string_agrees_with_serde_json(pieces in prop::collection::vec(prop_oneof![
            4 => "[a-z ü😀]{0,12}".prop_map(String::from),
            4 => prop::sample::select(vec![r#"\""#, r"\\", r"\/", r"\n", r"\u00e9", r"\ud83d\ude00"]).prop_map(str::to_owned),
            1 => prop::sample::select(vec![r"\x", r"\u12", r"\ud83d", r"\ude00", r"\ud83d\u0041", "\"", "\n"]).prop_map(str::to_owned),
        ], 0..12)) {
            let json = format!("\"{}\"", pieces.concat());
            let expected = serde_json::from_str::<Option<String>>(&json).ok();
            prop_assert_eq!(read(&json).map(|said| said.map(Cow::into_owned)), expected);
        }

        #[test]
        fn pushed_string_equals_that_of_serde_json(text in "[\\x00-\\x7fü😀\"\\\\]{0,80}") {
            let mut pushed = Vec::new();
            push_string(&mut pushed, &text);
            prop_assert_eq!(String::from_utf8(pushed).unwrap(), serde_json::to_string(&text).unwrap());
        }
    }
}
