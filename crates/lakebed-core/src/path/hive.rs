//! Hive-style partition directories: `day=2024-01-01/city=a%2Fb`.
//!
//! Readers never take values from directory names. The names are for other tools and for people.
//! [`partition_dir`] builds one.

use std::borrow::Cow;
use std::fmt::Write;

use percent_encoding::percent_decode_str;

/// The value of null in a directory name.
pub const NULL_NAME: &str = "__HIVE_DEFAULT_PARTITION__";

/// Escapes a column name or value for a directory name, as Hive and Spark do: `%` and two
/// upper-case hex digits.
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.bytes().any(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        match u8::try_from(letter) {
            Ok(byte) if is_escaped(byte) => {
                // Writing to a String cannot fail.
                let _ = write!(escaped, "%{byte:02X}");
            }
            _ => escaped.push(letter),
        }
    }
    Cow::Owned(escaped)
}

/// Reverses [`escape`]. `%` with two hex digits is the character of that code. Any other `%` stays.
pub fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        plain.push_str(before);
        match after.get(..2).filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit())).map(|hex| u8::from_str_radix(hex, 16))
        {
            Some(Ok(code)) => {
                plain.push(char::from(code));
                rest = after.get(2..).unwrap_or("");
            }
            _ => {
                plain.push('%');
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// Reverses the escapes of a name that any writer may have made. Spark escapes only ASCII characters.
/// Others, such as pyarrow, escape the bytes of UTF-8, so `%C3%A9` is `é`.
pub fn unescape_any(text: &str) -> Cow<'_, str> {
    percent_decode_str(text).decode_utf8().unwrap_or_else(|_| unescape(text))
}

/// Returns the directory of these columns and values, not yet spelled as a URI. Null and the empty
/// string give the same name.
pub fn partition_dir<'a>(values: impl IntoIterator<Item = (&'a str, Option<&'a str>)>) -> String {
    let mut dir = String::new();
    for (name, value) in values {
        if !dir.is_empty() {
            dir.push('/');
        }
        dir.push_str(&escape(name));
        dir.push('=');
        match value {
            None | Some("") => dir.push_str(NULL_NAME),
            Some(value) => dir.push_str(&escape(value)),
        }
    }
    dir
}

fn is_escaped(byte: u8) -> bool {
    byte.is_ascii_control()
        || matches!(byte, b'"' | b'#' | b'%' | b'\'' | b'*' | b'/' | b':' | b'=' | b'?' | b'\\' | b'{' | b'[' | b']' | b'^')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hive_escapes_what_hive_escapes() {
        assert_eq!(escape("plain value-1.5_x"), "plain value-1.5_x");
        assert_eq!(escape("\"#%'*/:=?\\{[]^"), "%22%23%25%27%2A%2F%3A%3D%3F%5C%7B%5B%5D%5E");
        assert_eq!(escape("a\tb\n\u{1}\u{1f}\u{7f}"), "a%09b%0A%01%1F%7F");
        assert_eq!(escape(" }<>|+,;&é日"), " }<>|+,;&é日");
    }

    #[test]
    fn what_is_no_escape_stays() {
        assert_eq!(unescape("100%"), "100%");
        assert_eq!(unescape("%zz%4"), "%zz%4");
        assert_eq!(unescape("%+5%é1"), "%+5%é1");
        assert_eq!(unescape("%2f%2F%%41"), "//%A");
        assert_eq!(unescape("%E9"), "é");
    }

    #[test]
    fn escapes_of_bytes_are_utf8() {
        for (text, expected) in [("%C3%A9", "é"), ("a%20b%3D%25", "a b=%"), ("%C3", "Ã"), ("100%", "100%"), ("é%2F", "é/")] {
            assert_eq!(unescape_any(text), expected);
        }
    }

    #[test]
    fn hive_directory_keeps_order_and_names_nulls() {
        let dir = partition_dir([("a=b", Some("x/y")), ("n", None), ("e", Some("")), ("s", Some(" "))]);
        assert_eq!(dir, "a%3Db=x%2Fy/n=__HIVE_DEFAULT_PARTITION__/e=__HIVE_DEFAULT_PARTITION__/s= ");
        assert_eq!(partition_dir([]), "");
    }

    proptest! {
        #[test]
        fn unescape_undoes_escape(text in "\\PC*|[\\x00-\\x7f]*") {
            prop_assert_eq!(unescape(&escape(&text)).into_owned(), text);
        }

        #[test]
        fn an_escaped_name_is_one_segment(text in "\\PC*|[\\x00-\\x7f]*") {
            let escaped = escape(&text);
            prop_assert!(!escaped.contains(['/', '=', '\0', '\n']));
        }
    }
}
