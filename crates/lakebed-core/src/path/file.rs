//! The location that an action names: the decoded `path` of a file action, sidecar or deletion
//! vector.
//!
//! The log spells paths as URIs. They are decoded exactly once, here. For example, Hive escaping
//! names a directory `p=a%2Fb`, the log spells it `p=a%252Fb`, and the request to the store must
//! use `p=a%2Fb`.

use std::fmt;

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

use crate::{Error, Result};

/// The decoded path of an action.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FilePath {
    /// A path below the table root. For a sidecar, a path below the directory of sidecars.
    Relative(String),
    /// An absolute path.
    Absolute(AbsolutePath),
}

/// An absolute path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AbsolutePath {
    /// The scheme in lower case. If the path has none, it belongs to the table's own store.
    pub scheme: Option<String>,
    /// The bucket, container or host as written. It is mostly empty for local files.
    pub authority: String,
    /// The decoded path, which begins with `/`.
    pub path: String,
}

/// The characters that Delta Spark escapes in a path, and the colon, because a colon in the first
/// directory would look like a scheme.
const ESCAPED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b':')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

impl FilePath {
    /// Parses the `path` of an action.
    ///
    /// A scheme counts only if a slash follows it: `s3://b/f`, `file:/f` and `/f` are absolute, and
    /// `a:b.parquet` is a relative name with a colon. Invalid escapes (`100%`) and `+` stay as they
    /// are. The segments `.` and `..`, plain or escaped, are refused, because a table is untrusted
    /// input. Empty segments (`a//b`) are dropped, as in Hadoop's paths.
    pub fn parse(text: &str) -> Result<Self> {
        let (scheme, rest) = split_scheme(text);
        if scheme.is_none() && !rest.starts_with('/') {
            return Ok(Self::Relative(decode(text, rest)?));
        }
        let (authority, path) = match rest.strip_prefix("//") {
            Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
            None => ("", rest),
        };
        Ok(Self::Absolute(AbsolutePath {
            scheme: scheme.map(str::to_ascii_lowercase),
            authority: authority.to_owned(),
            path: format!("/{}", decode(text, path)?),
        }))
    }

    /// Returns whether the `path` of an action is relative, and means exactly the file of this
    /// spelling. Most paths are so. Other paths may be, too.
    pub fn is_plain(text: &str) -> bool {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_' | b'.' | b'=');
        text.bytes().all(is_plain) && text.split('/').all(|segment| !matches!(segment, "" | "." | ".."))
    }

    /// Spells a path relative to the table root as Delta Spark does.
    pub fn encode(relative: &str) -> String {
        // Spark does not escape characters beyond ASCII.
        let mut encoded = String::with_capacity(relative.len());
        for chunk in relative.split_inclusive(|letter: char| !letter.is_ascii()) {
            let ascii = chunk.trim_end_matches(|letter: char| !letter.is_ascii());
            encoded.extend(utf8_percent_encode(ascii, ESCAPED));
            encoded.push_str(&chunk[ascii.len()..]);
        }
        encoded
    }
}

/// Splits off `scheme:` if a slash follows it.
fn split_scheme(text: &str) -> (Option<&str>, &str) {
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
    };
    match text.split_once(':') {
        Some((scheme, rest)) if rest.starts_with('/') && is_scheme(scheme) => (Some(scheme), rest),
        _ => (None, text),
    }
}

/// Decodes a path once and drops its empty segments. `whole` is the path for the error message.
fn decode(whole: &str, path: &str) -> Result<String> {
    let decoded = percent_decode_str(path).decode_utf8().map_err(|_| refused(whole, "is not UTF-8 once decoded"))?;
    if decoded.contains('\0') {
        return Err(refused(whole, "contains a NUL"));
    }
    let mut clean = String::with_capacity(decoded.len());
    for segment in decoded.split('/').filter(|segment| !segment.is_empty()) {
        if segment == "." || segment == ".." {
            return Err(refused(whole, "has a segment `.` or `..`, which could lead outside the table"));
        }
        if !clean.is_empty() {
            clean.push('/');
        }
        clean.push_str(segment);
    }
    if clean.is_empty() {
        return Err(refused(whole, "names no file"));
    }
    Ok(clean)
}

fn refused(path: &str, why: &str) -> Error {
    Error::corrupt(format!("path {path:?}"), why)
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Relative(path) => f.write_str(path),
            Self::Absolute(AbsolutePath { scheme: Some(scheme), authority, path }) => write!(f, "{scheme}://{authority}{path}"),
            Self::Absolute(AbsolutePath { scheme: None, authority, path }) if authority.is_empty() => f.write_str(path),
            Self::Absolute(AbsolutePath { scheme: None, authority, path }) => write!(f, "//{authority}{path}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check_relative(text: &str, expected: &str) {
        assert_eq!(FilePath::parse(text).unwrap(), FilePath::Relative(expected.to_owned()));
    }

    #[track_caller]
    fn check_absolute(text: &str, scheme: Option<&str>, authority: &str, path: &str) {
        let expected = AbsolutePath { scheme: scheme.map(str::to_owned), authority: authority.to_owned(), path: path.to_owned() };
        assert_eq!(FilePath::parse(text).unwrap(), FilePath::Absolute(expected));
    }

    #[test]
    fn relative_paths_are_decoded_exactly_once() {
        check_relative("part-0.parquet", "part-0.parquet");
        check_relative("p=a%252Fb/part-0.parquet", "p=a%2Fb/part-0.parquet");
        check_relative("p=a%20b/f.parquet", "p=a b/f.parquet");
        check_relative("p=a+b/f.parquet", "p=a+b/f.parquet");
        check_relative("p=a b/f.parquet", "p=a b/f.parquet");
        check_relative("p=%C3%A9/f.parquet", "p=é/f.parquet");
        check_relative("p=é/f.parquet", "p=é/f.parquet");
        check_relative("p=100%/f%zz.parquet", "p=100%/f%zz.parquet");
        check_relative("p=%25/f?x#y.parquet", "p=%/f?x#y.parquet");
        check_relative("a//b/", "a/b");
        check_relative("..a/b../...", "..a/b../...");
    }

    #[test]
    fn parse_colon_without_slash_is_relative() {
        check_relative("a:b.parquet", "a:b.parquet");
        check_relative("p=1:/f.parquet", "p=1:/f.parquet");
        check_relative("1a:/f.parquet", "1a:/f.parquet");
        check_relative("dir/s3://b/f.parquet", "dir/s3:/b/f.parquet");
    }

    #[test]
    fn absolute_paths_keep_scheme_and_authority() {
        check_absolute("s3://bucket/t/p=a%2520b/f.parquet", Some("s3"), "bucket", "/t/p=a%20b/f.parquet");
        check_absolute("S3A://Bucket/f", Some("s3a"), "Bucket", "/f");
        check_absolute("file:/x/f%20g", Some("file"), "", "/x/f g");
        check_absolute("file:///x/f", Some("file"), "", "/x/f");
        check_absolute("abfss://c@acc.dfs.core.windows.net/x/f", Some("abfss"), "c@acc.dfs.core.windows.net", "/x/f");
        check_absolute("/x/a%3Ab", None, "", "/x/a:b");
        check_absolute("//host/x", None, "host", "/x");
    }

    #[test]
    fn parse_path_outside_table_is_refused() {
        for text in [
            "",
            "/",
            "//",
            "s3://bucket",
            "s3://bucket/",
            ".",
            "..",
            "../f",
            "a/../f",
            "a/./f",
            "%2e%2e/f",
            "a/%2E%2E",
            "a%2F..%2Ff",
            "/x/../y",
            "s3://b/x/../y",
            "a%00b",
            "a\0b",
            "%ff",
            "s3://b/%C3",
        ] {
            let error = FilePath::parse(text).unwrap_err();
            assert!(error.is_corrupt(), "{text}: {error}");
            assert!(error.to_string().contains(&format!("{text:?}")), "{error}");
        }
    }

    #[test]
    fn encode_path_matches_delta_spark() {
        assert_eq!(FilePath::encode("p=a%2Fb c/f-é.parquet"), "p=a%252Fb%20c/f-é.parquet");
        assert_eq!(FilePath::encode("k=,;!$&'()*+@~_-./ü{}"), "k=,;!$&'()*+@~_-./ü%7B%7D");
    }

    #[test]
    fn display_spells_where_a_file_is() {
        for text in ["a b/c", "/x/y", "s3://b/x", "file:///x", "//host/x"] {
            assert_eq!(FilePath::parse(text).unwrap().to_string(), text);
        }
    }

    proptest! {
        #[test]
        fn what_is_encoded_decodes_to_itself(segments in prop::collection::vec("[^/\0]{1,12}", 1..4)) {
            prop_assume!(segments.iter().all(|segment| segment != "." && segment != ".."));
            let path = segments.join("/");
            prop_assert_eq!(FilePath::parse(&FilePath::encode(&path)).unwrap(), FilePath::Relative(path));
        }

        #[test]
        fn plain_path_is_parsed_as_itself(text in "[a./%:=_Z9-]{0,12}") {
            if FilePath::is_plain(&text) {
                prop_assert_eq!(FilePath::parse(&text).unwrap(), FilePath::Relative(text));
            }
        }

        #[test]
        fn no_parsed_path_leads_upwards(text in "[a./%2eE5C:\\\\]{0,20}|\\PC{0,20}") {
            if let Ok(FilePath::Relative(path) | FilePath::Absolute(AbsolutePath { path, .. })) = FilePath::parse(&text) {
                prop_assert!(path.split('/').all(|segment| segment != ".." && segment != "."), "{}", path);
            }
        }
    }
}
