//! URLs of plain web servers.

use lakebed_core::error::Result;
use object_store::path::Path;
use percent_encoding::percent_decode_str;
use url::Url;

use crate::store::url::location::{Service, StoreLocation, without_secrets};

impl StoreLocation {
    /// Returns the location of a folder on a plain web server.
    pub(in crate::store) fn from_web_server(url: &Url, path: Path) -> Result<Self> {
        let clean = without_secrets(url.clone());
        let mut origin = clean.clone();
        origin.set_path("");
        let mut embedded = Vec::new();
        if !url.username().is_empty() {
            let plain = |part: &str| percent_decode_str(part).decode_utf8_lossy().into_owned();
            embedded.push(("http_user", plain(url.username())));
            embedded.push(("http_password", plain(url.password().unwrap_or_default())));
        }
        if let Some(query) = url.query() {
            embedded.push(("http_query", query.to_owned()));
        }
        Self::new(Service::Http { origin: origin.to_string() }, clean, path, embedded)
    }
}
