//! Distinguishes URLs from paths, and refuses strings that are surely meant to be something else.

use std::path::Path as FilePath;

use lakebed_core::error::{Error, Result};

use super::location::refuse;

/// The schemes that [`StoreLocation::parse`] accepts, for messages.
pub(in crate::store) const SCHEMES: &str =
    "file, memory, s3, s3a, az, abfs, abfss, adl, wasb, wasbs, gs, hdfs, viewfs, http, https";

/// All spellings of the schemes that [`StoreLocation::parse`] accepts, except `file`. A path does
/// not begin with one of them by chance.
const KNOWN_SCHEMES: [&str; 17] = [
    "memory", "s3", "s3a", "s3n", "gs", "gcs", "az", "azure", "abfs", "abfss", "adl", "wasb", "wasbs", "hdfs", "viewfs", "http",
    "https",
];

/// Schemes of locations that lakebed cannot read.
const FOREIGN_SCHEMES: [&str; 3] = ["dbfs", "oss", "ftp"];

/// Returns whether a string is a path that means another location in another process, because it
/// begins in the working directory or with `~`.
pub fn is_relative(text: &str) -> bool {
    !is_url(text) && !FilePath::new(text).is_absolute()
}

/// Returns whether a string is `scheme://…` or `file:/…`. Other strings with a colon are paths.
pub(in crate::store) fn is_url(text: &str) -> bool {
    let scheme = text.split(':').next().unwrap_or_default();
    let rest = text.get(scheme.len()..).unwrap_or_default();
    is_scheme(scheme) && (rest.starts_with("://") || (rest.starts_with(":/") && scheme.eq_ignore_ascii_case("file")))
}

/// Returns whether a word may be the scheme of a URL. A single letter is a drive of Windows.
fn is_scheme(word: &str) -> bool {
    word.len() > 1
        && word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

/// Returns whether URLs of a scheme may have a query. Azure puts shared access signatures into the
/// query, and web servers may use it for anything.
pub(in crate::store) fn may_have_query(scheme: &str) -> bool {
    matches!(scheme, "az" | "azure" | "abfs" | "abfss" | "adl" | "wasb" | "wasbs" | "http" | "https")
}

/// Refuses strings that are not a location.
pub(in crate::store) fn check_text(text: &str) -> Result<()> {
    if text.trim().is_empty() {
        return Err(Error::invalid_input("an empty string is not a table location"));
    }
    if text.contains('\0') {
        return Err(refuse(&text.replace('\0', "\\0"), "it contains a NUL character, which no path can"));
    }
    if text != text.trim() && is_url(text.trim()) {
        return Err(refuse(text, "it begins or ends with whitespace"));
    }
    Ok(())
}

/// Refuses local paths that are surely meant to be something else.
pub(in crate::store) fn check_path(text: &str) -> Result<()> {
    let Some((word, rest)) = text.split_once(':') else { return Ok(()) };
    let scheme = word.to_ascii_lowercase();
    let begins_with = |schemes: &[&str]| schemes.contains(&scheme.as_str());
    if scheme == "dbfs" {
        let path = rest.trim_start_matches('/');
        return Err(refuse(
            text,
            format!(
                "write a DBFS path as /dbfs/{path}, or use the URL of the store that has the table; ./{text} is a folder of that \
                 name"
            ),
        ));
    }
    if is_scheme(word) && rest.starts_with('/') {
        let written = if begins_with(&KNOWN_SCHEMES) { format!("{}, or ", written(&scheme, rest)) } else { String::new() };
        return Err(refuse(
            text,
            format!("a URL has two slashes after its scheme: write {written}./{text} for a folder of that name"),
        ));
    }
    if scheme == "file" {
        return Err(refuse(text, "a file URL is absolute: write file:///folder/table, or the path without file:"));
    }
    if begins_with(&KNOWN_SCHEMES) {
        return Err(refuse(
            text,
            format!("a URL has two slashes: write {}, or ./{text} for a folder of that name", written(&scheme, rest)),
        ));
    }
    if begins_with(&FOREIGN_SCHEMES) {
        return Err(refuse(
            text,
            format!("unknown scheme {scheme}; lakebed supports {SCHEMES}; ./{text} is a folder of that name"),
        ));
    }
    let is_drive = word.len() == 1 && word.starts_with(|c: char| c.is_ascii_alphabetic());
    if cfg!(not(windows)) && is_drive && rest.starts_with(['\\', '/']) {
        return Err(refuse(
            text,
            format!("this is a drive of Windows, which this machine does not have; write ./{text} for a folder of that name"),
        ));
    }
    Ok(())
}

/// Returns the correct form of a URL with missing slashes. URLs of HDFS need no host, and those of
/// memory stores need no name.
fn written(scheme: &str, rest: &str) -> String {
    let needs_no_host = rest.starts_with('/') && matches!(scheme, "hdfs" | "viewfs" | "memory");
    format!("{scheme}://{}{}", if needs_no_host { "/" } else { "" }, rest.trim_start_matches('/'))
}
