//! The encoding of values that travel between processes: JSON with a version number, without
//! secrets.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use crate::{Error, Result};

/// Encodes a value.
pub(crate) fn to_bytes(value: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(value)
        .map_err(|error| Error::internal("a value for another process cannot be written as JSON").with_source(error))
}

/// Decodes a value. The bytes contain the number of their form under the name of their kind.
pub(crate) fn from_bytes<T: DeserializeOwned>(bytes: &[u8], kind: &str, form: u32) -> Result<T> {
    let malformed =
        |error: serde_json::Error| invalid(kind, "the bytes are damaged, or they are of another kind").with_source(error);
    let value: Value = serde_json::from_slice(bytes).map_err(malformed)?;
    match value.get(kind).and_then(Value::as_u64) {
        Some(found) if found == u64::from(form) => serde_json::from_value(value).map_err(malformed),
        Some(other) => Err(invalid(
            kind,
            format!(
                "its format is {other}, and this version of lakebed reads format {form}; use the same version of lakebed in all \
                 processes"
            ),
        )),
        None => Err(invalid(kind, "the bytes are damaged, or they are of another kind")),
    }
}

/// Refuses a root with a password or a signature in it, because the bytes travel through schedulers
/// and logs.
pub(crate) fn check_root(root: &str) -> Result<()> {
    let refuse = |why: &str| Error::invalid_input(format!("{why}; it must not be sent to other processes"));
    let url = Url::parse(root).map_err(|error| refuse("the table's URL is not a valid URL").with_source(error))?;
    if url.password().is_some() || url.query().is_some() {
        return Err(refuse("the table's URL contains credentials: pass them to the readers and writers instead"));
    }
    Ok(())
}

fn invalid(kind: &str, message: impl std::fmt::Display) -> Error {
    // The name of a kind may be a plural.
    let this_is = if kind.ends_with('s') { "these are not" } else { "this is not a" };
    Error::invalid_input(format!("{this_is} {} that can be read: {message}", kind.replace('_', " ")))
}
