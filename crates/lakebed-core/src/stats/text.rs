//! Strings of JSON: read where they have escapes, and written.

/// What a string says whose text between the quotes is this; none if an escape is wrong or half of a surrogate pair.
pub(super) fn unescape(text: &str) -> Option<String> {
    let mut said = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((plain, escape)) = rest.split_once('\\') {
        said.push_str(plain);
        let mut letters = escape.chars();
        let letter = match letters.next()? {
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
            letter @ ('"' | '\\' | '/') => letter,
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

/// Writes a string with its quotes.
pub(super) fn write_string(out: &mut String, text: &str) {
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
