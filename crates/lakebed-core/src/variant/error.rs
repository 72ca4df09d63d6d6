//! The error for bytes that are not a valid variant.

use crate::Error;

const SOURCE: &str = "variant";

pub(super) fn broken(said: &str) -> Error {
    Error::corrupt(SOURCE, said)
}
