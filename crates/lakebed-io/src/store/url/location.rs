//! The location of a table: the service, its bucket or host, and the folder there.

use lakebed_core::error::{Error, Result};
use object_store::path::Path;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use url::Url;

use crate::at::redact;

/// The location of a folder.
#[derive(Debug, Clone)]
pub(crate) struct StoreLocation {
    pub(crate) service: Service,
    /// The folder in the store, decoded.
    pub(crate) path: Path,
    /// The location as a URL, without secrets and without a slash at the end.
    pub(crate) url: Url,
    /// Options that the URL implies. Options of the caller override them.
    pub(crate) embedded: Vec<(&'static str, String)>,
}

/// The service of a location. Two locations with equal services share one connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Service {
    Local,
    Memory { name: String },
    S3 { bucket: String },
    Azure { account: Option<String>, container: String },
    Gcs { bucket: String },
    Hdfs { url: String },
    Http { origin: String },
}

impl StoreLocation {
    /// Creates a location. `url` may still contain user, query and another spelling of the path.
    /// They are replaced by the other arguments.
    pub(in crate::store) fn new(
        service: Service,
        mut url: Url,
        path: Path,
        embedded: Vec<(&'static str, String)>,
    ) -> Result<Self> {
        // A user without a password is a container of Azure.
        if url.password().is_some() {
            url = without_secrets(url);
        }
        url.set_query(None);
        if service != Service::Local {
            url.set_path(&encoded(path.as_ref()));
        }
        Ok(Self { service, path, url, embedded })
    }
}

/// Returns the URL without user, password, query and fragment.
pub(in crate::store) fn without_secrets(mut url: Url) -> Url {
    // Only URLs without a host refuse the change, and they have neither user nor password.
    let _ = url.set_password(None).and_then(|()| url.set_username(""));
    url.set_query(None);
    url.set_fragment(None);
    url
}

pub(in crate::store) fn host(url: &Url, text: &str, what: &str) -> Result<String> {
    match url.host_str() {
        Some(host) if !host.is_empty() => Ok(percent_decode_str(host).decode_utf8_lossy().into_owned()),
        _ => Err(refuse(text, format!("the URL names no {what}"))),
    }
}

/// Returns the path of a URL, with each name decoded once. Repeated slashes count as one, as in
/// Hadoop.
pub(in crate::store) fn decoded(path: &str, text: &str) -> Result<Path> {
    let mut names = Vec::new();
    for segment in path.split('/').filter(|segment| !segment.is_empty()) {
        let name = percent_decode_str(segment).decode_utf8().map_err(|_| refuse(text, "it is not UTF-8 when decoded"))?;
        if name.contains('/') {
            return Err(refuse(text, "%2F would be a slash inside a name"));
        }
        names.push(name);
    }
    Path::parse(names.join("/")).map_err(|error| refuse(text, error))
}

/// The characters that the path of a URL must encode. Control characters are among them, because
/// the URL parser would drop some of them silently.
const ESCAPED: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'%').add(b'<').add(b'>').add(b'?').add(b'\\').add(b'`').add(b'{').add(b'}');

/// Returns the encoded form of a path. This is the inverse of [`decoded`], with a slash at the
/// beginning.
pub(in crate::store) fn encoded(path: &str) -> String {
    let names = path.split('/').filter(|name| !name.is_empty());
    names.map(|name| format!("/{}", utf8_percent_encode(name, ESCAPED))).collect()
}

pub(in crate::store) fn split_first(path: &Path) -> Option<(String, Path)> {
    let text = path.as_ref();
    let (first, rest) = text.split_once('/').unwrap_or((text, ""));
    (!first.is_empty()).then(|| Some((first.to_owned(), Path::parse(rest).ok()?)))?
}

pub(in crate::store) fn refuse(text: &str, why: impl std::fmt::Display) -> Error {
    Error::invalid_input(format!("{}: {why}", redact(text)))
}
