//! Turns errors of stores, files and Parquet into errors of lakebed. Such an error names its
//! object, records whether a retry may help, and contains no secret.
//!
//! Read [`At`] first. The cause is kept as text that went through [`redact`], because the clients
//! of stores print URLs and replies of servers.

use std::error::Error as StdError;
use std::fmt::Display;
use std::io;

use arrow_schema::ArrowError;
use lakebed_core::error::{Error, ErrorKind, Result};
use object_store::client::{HttpError, HttpErrorKind};
use parquet::errors::ParquetError;

/// Adds the object of a failed call to its error.
pub trait At<T> {
    /// Adds the name `object` to an error. The kind of the error follows from its cause.
    fn at(self, object: impl Display) -> Result<T>;
}

impl<T> At<T> for Result<T, object_store::Error> {
    fn at(self, object: impl Display) -> Result<T> {
        self.map_err(|error| store_error(&error, &object.to_string(), &[]))
    }
}

impl<T> At<T> for Result<T, io::Error> {
    fn at(self, object: impl Display) -> Result<T> {
        self.map_err(|error| file_error(error, &object.to_string(), "could not be read"))
    }
}

impl<T> At<T> for Result<T, ParquetError> {
    fn at(self, object: impl Display) -> Result<T> {
        self.map_err(|error| parquet_error(error, &object.to_string()))
    }
}

impl<T> At<T> for Result<T, tokio::task::JoinError> {
    fn at(self, object: impl Display) -> Result<T> {
        self.map_err(|error| Error::internal(format!("{object}: a background task did not finish")).with_source(error))
    }
}

/// Returns the error of a store with options that contain `secrets`. They are removed from the text
/// of the cause.
pub(crate) fn store_error(error: &object_store::Error, object: &str, secrets: &[String]) -> Error {
    use object_store::Error as E;
    let (said, retryable, not_found) = match error {
        E::NotFound { .. } => ("not found", false, true),
        E::PermissionDenied { .. } => ("the store denies access: check the permissions of the credentials in use", false, false),
        E::Unauthenticated { .. } => {
            ("the store does not accept the credentials: are they complete and not expired?", false, false)
        }
        E::AlreadyExists { .. } => ("already exists", false, false),
        E::Precondition { .. } => ("it was changed by another process", false, false),
        E::NotSupported { .. } | E::NotImplemented { .. } => ("the store does not support this operation", false, false),
        E::InvalidPath { .. } => ("the store allows no object of this name", false, false),
        E::UnknownConfigurationKey { .. } => ("the store does not know this option", false, false),
        _ if denied(error) => ("permission denied", false, false),
        _ => ("the store failed", may_pass(error), false),
    };
    let kind = ErrorKind::Store { object: redact(object), retryable, not_found };
    let result = Error::new(kind, redact(&format!("{object}: {said}")));
    // "not found" needs no explanation, and its cause only repeats the path in the store's own
    // spelling.
    if not_found { result } else { result.with_source(without(&redact(&error.to_string()), secrets)) }
}

/// Returns the error for a file that could not be written.
pub(crate) fn written(error: io::Error, object: &str) -> Error {
    file_error(error, object, "could not be written")
}

fn file_error(error: io::Error, object: &str, otherwise: &str) -> Error {
    use io::ErrorKind as K;
    let error = match error.downcast::<Error>() {
        Ok(ours) => return ours,
        Err(error) => error,
    };
    let said = match error.kind() {
        K::NotFound => "not found",
        K::PermissionDenied => "permission denied",
        K::IsADirectory => "it is a directory, not a file",
        K::NotADirectory => "a part of this path is a file, not a directory",
        K::ReadOnlyFilesystem => "the file system is read-only",
        K::StorageFull => "no space is left on the device",
        K::QuotaExceeded => "the disk quota is used up",
        _ => otherwise,
    };
    let not_found = error.kind() == io::ErrorKind::NotFound;
    let kind = ErrorKind::Store { object: redact(object), retryable: passing_io(error.kind()), not_found };
    let result = Error::new(kind, redact(&format!("{object}: {said}")));
    if not_found { result } else { result.with_source(error) }
}

fn parquet_error(error: ParquetError, object: &str) -> Error {
    match error {
        ParquetError::External(cause) => match own(cause) {
            Ok(ours) => *ours,
            Err(cause) => match cause.downcast::<object_store::Error>() {
                Ok(store) => store_error(&store, object, &[]),
                Err(cause) => match cause.downcast::<io::Error>() {
                    Ok(file) => file_error(*file, object, "could not be read"),
                    Err(cause) => Error::corrupt(object, redact(&cause.to_string())),
                },
            },
        },
        other => Error::corrupt(object, other),
    }
}

/// Finds an error of lakebed that passed through the decoder, which may have wrapped it in an error
/// of Arrow.
fn own(cause: Box<dyn StdError + Send + Sync>) -> Result<Box<Error>, Box<dyn StdError + Send + Sync>> {
    let cause = match cause.downcast::<ArrowError>() {
        Ok(arrow) => match *arrow {
            ArrowError::ExternalError(cause) => cause,
            other => return Err(other.into()),
        },
        Err(cause) => cause,
    };
    cause.downcast::<Error>()
}

/// Returns whether another attempt may succeed: the network failed, a time limit passed, or a
/// server was overloaded.
pub(crate) fn may_pass(error: &(dyn StdError + 'static)) -> bool {
    causes(error).any(|cause| {
        if let Some(io) = cause.downcast_ref::<io::Error>() {
            return passing_io(io.kind());
        }
        if let Some(http) = cause.downcast_ref::<HttpError>() {
            return !matches!(http.kind(), HttpErrorKind::Decode);
        }
        // The type with the HTTP status is private to object_store. Its text is "… status code: 503
        // …".
        let text = cause.to_string();
        text.split_once("status code: ")
            .and_then(|(_, rest)| rest.get(..3)?.parse::<u16>().ok())
            .is_some_and(|status| status >= 500 || status == 429 || status == 408)
    })
}

fn denied(error: &(dyn StdError + 'static)) -> bool {
    causes(error).any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|io| io.kind() == io::ErrorKind::PermissionDenied))
}

fn passing_io(kind: io::ErrorKind) -> bool {
    use io::ErrorKind as K;
    matches!(
        kind,
        K::Interrupted
            | K::TimedOut
            | K::WouldBlock
            | K::ConnectionRefused
            | K::ConnectionReset
            | K::ConnectionAborted
            | K::NotConnected
            | K::BrokenPipe
            | K::UnexpectedEof
            | K::HostUnreachable
            | K::NetworkUnreachable
            | K::NetworkDown
            | K::ResourceBusy
            | K::StaleNetworkFileHandle
    )
}

fn causes<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

/// The names of parameters with secret values, in queries and in replies of servers. They are
/// compared in lower case.
const SECRET_NAMES: [&str; 18] = [
    "sig",
    "x-amz-signature",
    "x-amz-credential",
    "x-amz-security-token",
    "x-goog-signature",
    "x-goog-credential",
    "awsaccesskeyid",
    "signature",
    "token",
    "access_token",
    "id_token",
    "refresh_token",
    "client_secret",
    "client_assertion",
    "password",
    "secret",
    "key",
    "code",
];

/// Returns `text` without anything that could open a store: values of secret query parameters,
/// passwords in URLs, and tokens that S3 repeats.
pub(crate) fn redact(text: &str) -> String {
    redact_parameters(&redact_passwords(&shorten(text)))
}

/// Reduces a reply in XML, as S3, Azure and GCS send it, to its code and its message. The other
/// parts do not help the reader, and may contain the expired session token of S3.
fn shorten(text: &str) -> String {
    let element = |name: &str| {
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        rest.split_once(&format!("</{name}>")).map(|(content, _)| content.trim())
    };
    let (Some(start), Some(code)) = (text.find("<?xml").or_else(|| text.find("<Error>")), element("Code")) else {
        return redact_tokens(text);
    };
    let before = text.get(..start).unwrap_or_default();
    format!("{before}{code}: {}", element("Message").unwrap_or_default())
}

/// Returns `text` without these values, wherever they occur.
pub(crate) fn without(text: &str, secrets: &[String]) -> String {
    secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret, "***"))
}

/// Removes the text before the `@` from `scheme://user:password@host`. In `container@account` this
/// text is no secret and stays.
fn redact_passwords(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let end = after
            .find(|c: char| c == '/' || c == '?' || c == '#' || c.is_whitespace() || "\"'<>`,)".contains(c))
            .unwrap_or(after.len());
        let (authority, tail) = after.split_at(end);
        match authority.rsplit_once('@') {
            Some((user, host)) if user.contains(':') => {
                out.push_str("***@");
                out.push_str(host);
            }
            _ => out.push_str(authority),
        }
        rest = tail;
    }
    out.push_str(rest);
    out
}

/// Removes the values of [`SECRET_NAMES`] from `…?name=value&name=value`.
fn redact_parameters(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['?', '&']) {
        let (before, after) = rest.split_at(at + 1);
        out.push_str(before);
        rest = after;
        let Some(equals) = after.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_')) else { break };
        let (name, value) = after.split_at(equals);
        if value.starts_with('=') && SECRET_NAMES.contains(&name.to_ascii_lowercase().as_str()) {
            out.push_str(name);
            out.push_str("=***");
            let end = value.find(|c: char| c == '&' || c.is_whitespace() || "\"'<>`)".contains(c)).unwrap_or(value.len());
            rest = value.get(end..).unwrap_or_default();
        }
    }
    out.push_str(rest);
    out
}

/// Removes session tokens. When a session has expired, S3 sends the session token itself in
/// elements named `Token` and `Token-0`.
fn redact_tokens(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("<Token") {
        let (before, after) = rest.split_at(at);
        out.push_str(before);
        let open = after.find('>').map_or(after.len(), |end| end + 1);
        let (tag, body) = after.split_at(open);
        out.push_str(tag);
        out.push_str("***");
        rest = body.find('<').and_then(|end| body.get(end..)).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(redact(text), expected);
    }

    #[test]
    fn urls_lose_only_their_secrets() {
        check("GET https://u:p%40ss@host/a?x=1 failed", "GET https://***@host/a?x=1 failed");
        check("abfss://container@account.dfs.core.windows.net/t", "abfss://container@account.dfs.core.windows.net/t");
        check(
            "https://a.blob.core.windows.net/c/t?sv=2020&sig=AbC%2B/==&se=2030 (x)",
            "https://a.blob.core.windows.net/c/t?sv=2020&sig=***&se=2030 (x)",
        );
        check("https://h/t?X-Amz-Signature=ff00&list-type=2", "https://h/t?X-Amz-Signature=***&list-type=2");
        check("why? because a&b", "why? because a&b");
        check("end with ?token=abc", "end with ?token=***");
        check("two: x://a:b@c, y://d:e@f", "two: x://***@c, y://***@f");
    }

    #[test]
    fn xml_answer_keeps_code_and_message() {
        let answer = r#"<?xml version="1.0"?><Error><Code>ExpiredToken</Code><Token-0>FwoGZX</Token-0><Message>It is over.</Message></Error>"#;
        check(&format!("GET x - 400 Bad Request: {answer}"), "GET x - 400 Bad Request: ExpiredToken: It is over.");
        check("a <Error><Code>NoSuchBucket</Code></Error>", "a NoSuchBucket: ");
        check("<x><Token-0>FwoGZX</Token-0><Token>b</x>", "<x><Token-0>***</Token-0><Token>***</x>");
    }

    #[test]
    fn kinds_follow_the_cause() {
        let generic = |source: Box<dyn StdError + Send + Sync>| object_store::Error::Generic { store: "S3", source };
        let cases = [
            (object_store::Error::NotFound { path: "p".into(), source: "x".into() }, false, true),
            (object_store::Error::PermissionDenied { path: "p".into(), source: "x".into() }, false, false),
            (generic(io::Error::from(io::ErrorKind::TimedOut).into()), true, false),
            (generic(io::Error::from(io::ErrorKind::PermissionDenied).into()), false, false),
            (generic(HttpError::new(HttpErrorKind::Connect, io::Error::other("x")).into()), true, false),
            (generic("Server returned non-2xx status code: 503 Service Unavailable: ".into()), true, false),
            (generic("Server returned non-2xx status code: 400 Bad Request: ".into()), false, false),
            (generic("something else".into()), false, false),
        ];
        for (error, retryable, not_found) in cases {
            let text = error.to_string();
            let ours = Err::<(), _>(error).at("s3://b/t/x.json").unwrap_err();
            let object = "s3://b/t/x.json".to_owned();
            assert_eq!(*ours.kind(), ErrorKind::Store { object, retryable, not_found }, "{text}");
            assert!(ours.to_string().starts_with("s3://b/t/x.json: "), "{ours}");
        }
    }

    #[test]
    fn a_file_error_says_what_happened() {
        let error = Err::<(), _>(io::Error::from(io::ErrorKind::PermissionDenied)).at("/data/t/x.json").unwrap_err();
        assert_eq!(error.message(), "/data/t/x.json: permission denied");
        let error = Err::<(), _>(io::Error::from(io::ErrorKind::NotFound)).at("/data/t/x.json").unwrap_err();
        assert!(error.is_not_found());
    }

    #[test]
    fn failed_file_write_says_why() {
        use io::ErrorKind as K;
        for (kind, said, retryable) in [
            (K::StorageFull, "no space is left on the device", false),
            (K::QuotaExceeded, "the disk quota is used up", false),
            (K::ReadOnlyFilesystem, "the file system is read-only", false),
            (K::PermissionDenied, "permission denied", false),
            (K::StaleNetworkFileHandle, "could not be written", true),
        ] {
            let error = written(kind.into(), "/data/t/x.json");
            assert_eq!(error.message(), format!("/data/t/x.json: {said}"));
            let object = "/data/t/x.json".to_owned();
            assert_eq!(*error.kind(), ErrorKind::Store { object, retryable, not_found: false });
        }
    }

    #[test]
    fn parquet_errors_separate_file_from_store() {
        let at = |error: ParquetError| Err::<(), _>(error).at("t/a.parquet").unwrap_err();
        assert!(at(ParquetError::General("bad magic".into())).is_corrupt());
        let missing = object_store::Error::NotFound { path: "a".into(), source: "x".into() };
        assert!(at(ParquetError::External(Box::new(missing))).is_not_found());
        let ours = Error::invalid_input("stop");
        assert_eq!(*at(ParquetError::External(Box::new(ours))).kind(), ErrorKind::InvalidInput);
        assert!(at(ParquetError::External("thrift".into())).is_corrupt());
    }

    #[test]
    fn no_secret_survives_in_display_or_debug() {
        let source = "Error performing GET https://u:hunter2@h/t?sig=hunter2 - <Token-0>hunter2</Token-0>".into();
        let error = object_store::Error::Generic { store: "S3", source };
        let ours = Err::<(), _>(error).at("https://h/t?sig=hunter2").unwrap_err();
        assert!(!format!("{ours} {ours:?}").contains("hunter2"), "{ours:?}");
    }
}
