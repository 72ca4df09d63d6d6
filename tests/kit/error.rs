//! Checks of errors.
//!
//! The unit tests of `lakebed-io` and `lakebed` include this file.

use lakebed_core::{Error, ErrorKind};

/// Checks that an error has this kind, and that its message has these facts, such as names and
/// numbers.
#[track_caller]
pub fn check_error(error: &Error, kind: &ErrorKind, facts: &[&str]) {
    assert_eq!(error.kind(), kind, "{error}");
    for fact in facts {
        assert!(error.message().contains(fact), "{fact}: {error}");
    }
}

/// Checks that an error reports this object as damaged, and that its message has these facts.
#[track_caller]
pub fn check_corrupt(error: &Error, object: &str, facts: &[&str]) {
    check_error(error, &ErrorKind::Corrupt { path: object.to_owned() }, facts);
    assert!(error.message().contains(object), "{error}");
}
