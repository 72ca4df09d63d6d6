//! Local paths, and `file` URLs.

use std::path::{Component, Path as FilePath, PathBuf};

use lakebed_core::error::{Error, Result};
use url::Url;

use crate::store::url::location::{Service, StoreLocation, decoded, refuse};

impl StoreLocation {
    pub(crate) fn local(absolute: &FilePath) -> Result<Self> {
        let shown = absolute.display();
        let url = Url::from_file_path(absolute).map_err(|()| Error::invalid_input(format!("{shown}: not an absolute path")))?;
        let path = decoded(url.path(), &shown.to_string())?;
        Self::new(Service::Local, url, path, Vec::new())
    }

    pub(in crate::store) fn from_file_url(url: &Url, text: &str) -> Result<Self> {
        match url.host_str() {
            None | Some("localhost") => {}
            Some(host) => {
                return Err(refuse(
                    text,
                    format!("the URL names the host {host}; a path on this machine has three slashes: file:///{host}/…"),
                ));
            }
        }
        let path = url.to_file_path().map_err(|()| refuse(text, "not a path on this machine"))?;
        Self::local(&path)
    }
}

/// Returns the absolute form of a path. A leading `~` is the home folder of the user that runs the
/// process.
pub(in crate::store) fn local_path(text: &str) -> Result<PathBuf> {
    let path = match text.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            let home = std::env::home_dir().filter(|home| home.is_absolute());
            let home = home.ok_or_else(|| refuse(text, "the home folder is not known: set HOME, or write the full path"))?;
            home.join(rest.trim_start_matches('/'))
        }
        Some(_) => {
            return Err(refuse(text, format!("write the full path of that home folder, or ./{text} for a folder of that name")));
        }
        None => PathBuf::from(text),
    };
    absolute(&path).map_err(|error| refuse(text, format!("it cannot be made absolute ({error})")))
}

/// Makes a path absolute. `.` is removed, and `..` follows links as the file system does.
fn absolute(path: &FilePath) -> std::io::Result<PathBuf> {
    let mut out = PathBuf::new();
    for component in std::path::absolute(path)?.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                out = std::fs::canonicalize(&out).unwrap_or(out);
                out.pop();
            }
            other => out.push(other),
        }
    }
    Ok(out)
}
