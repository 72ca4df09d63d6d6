//! Fixtures that the unit tests of this crate share.
//!
//! A fixture for a single module is in the tests of that module.

/// The actions of the workspace's test kit.
#[expect(dead_code, reason = "the unit tests of this crate use a part of the file")]
#[path = "../../../../tests/kit/action.rs"]
pub mod action;
/// The arrays and batches of the workspace's test kit.
#[path = "../../../../tests/kit/arrow.rs"]
pub mod arrow;
pub mod commit;
pub mod listing;
pub mod schema;
pub mod table;

use crate::Result;

/// Checks that the result is an error about corrupt data with exactly this message.
#[track_caller]
pub fn check_corrupt<T>(result: Result<T>, message: &str) {
    let Err(error) = result else { panic!("no error, instead of: {message}") };
    assert_eq!((error.is_corrupt(), error.message()), (true, message));
}

/// Returns owned strings.
pub fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}
