//! The error for bytes that are no variant.

use crate::Error;

const SOURCE: &str = "variant";

pub(super) fn broken(said: &str) -> Error {
    Error::corrupt(SOURCE, said)
}
