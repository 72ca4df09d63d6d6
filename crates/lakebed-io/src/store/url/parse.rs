//! Turns a URL or path into a location. Parsing depends on the working directory, on the home
//! folder, and on whether a file exists at the location of a table.
//!
//! Read [`StoreLocation::parse`] first.

use lakebed_core::error::Result;
use lakebed_core::path::LOG_DIR;
use url::Url;

use super::location::{Service, StoreLocation, decoded, encoded, host, refuse, without_secrets};
use super::spelling::{SCHEMES, check_path, check_text, is_url, may_have_query};
use crate::store::local::url::local_path;

impl StoreLocation {
    /// Parses a URL, or a local path that is absolute or relative.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        check_text(text)?;
        if is_url(text) {
            let url = Url::parse(text).map_err(|error| refuse(text, format!("not a URL ({error})")))?;
            Self::from_url(&url, text)
        } else {
            check_path(text)?;
            Self::local(&local_path(text)?)
        }
    }

    /// Parses the folder of a table, which is neither a log nor a file.
    pub(crate) fn of_table(text: &str) -> Result<Self> {
        let location = Self::parse(text)?;
        if location.path.parts().any(|name| name.as_ref() == LOG_DIR) {
            return Err(refuse(text, format!("it leads into the log of a table: name the folder that contains {LOG_DIR}")));
        }
        if location.service == Service::Local
            && location.url.to_file_path().is_ok_and(|path| std::fs::metadata(path).is_ok_and(|found| found.is_file()))
        {
            return Err(refuse(text, "it is a file; a table is a folder"));
        }
        Ok(location)
    }

    /// Returns the location for the parts of a URL. The path is already decoded.
    pub(crate) fn of_parts(scheme: &str, authority: &str, path: &str) -> Result<Self> {
        Self::parse(&format!("{scheme}://{authority}{}", encoded(path)))
    }

    fn from_url(url: &Url, text: &str) -> Result<Self> {
        let scheme = url.scheme();
        if url.fragment().is_some() || (url.query().is_some() && !may_have_query(scheme)) {
            return Err(refuse(text, "write `?` and `#` in a name as %3F and %23 in a URL"));
        }
        let password = url.password().is_some();
        if password && !matches!(scheme, "http" | "https") {
            return Err(refuse(text, "pass keys as storage options, not in the URL"));
        }
        match scheme {
            "file" => Self::from_file_url(url, text),
            "memory" => {
                let name = url.host_str().unwrap_or_default().to_owned();
                Self::new(Service::Memory { name }, url.clone(), decoded(url.path(), text)?, Vec::new())
            }
            "s3" | "s3a" | "s3n" => {
                let service = Service::S3 { bucket: host(url, text, "bucket")? };
                Self::new(service, url.clone(), decoded(url.path(), text)?, Vec::new())
            }
            "gs" | "gcs" => {
                let service = Service::Gcs { bucket: host(url, text, "bucket")? };
                Self::new(service, url.clone(), decoded(url.path(), text)?, Vec::new())
            }
            "az" | "azure" | "abfs" | "abfss" | "adl" | "wasb" | "wasbs" => Self::from_azure_url(url, text),
            "hdfs" | "viewfs" => Self::from_hdfs_url(url, text),
            "http" | "https" => Self::from_http_url(url, text),
            other => Err(refuse(text, format!("unknown scheme {other}; lakebed supports {SCHEMES}, and paths without a scheme"))),
        }
    }

    /// Parses web addresses: those of S3, R2 and Azure, and those of plain web servers.
    fn from_http_url(url: &Url, text: &str) -> Result<Self> {
        let host = host(url, text, "host")?;
        let path = decoded(url.path(), text)?;
        if url.scheme() == "https" {
            if let Some(location) = Self::from_s3_address(url, &host, &path)? {
                return Ok(location);
            }
            if let Some(location) = Self::from_azure_address(url, &host, &path)? {
                return Ok(location);
            }
        }
        Self::from_web_server(url, path)
    }
}

/// Returns the URL or path of a table without keys and signatures. It is absolute, so that it has
/// the same meaning in another process.
pub fn url_without_secrets(text: &str) -> Result<String> {
    let location = StoreLocation::parse(text)?;
    if location.service == Service::Local {
        return Ok(location.url.into());
    }
    // The rest of a web address, such as a region, is kept.
    let mut url = Url::parse(text).map_err(|error| refuse(text, error))?;
    if url.password().is_some() || matches!(url.scheme(), "http" | "https") {
        url = without_secrets(url);
    }
    url.set_query(None);
    Ok(url.into())
}

/// Returns the location of a table in a form that does not depend on the working directory or the
/// home folder. A local path becomes absolute. A URL is unchanged and keeps its keys and
/// signatures.
pub fn absolute_location(text: &str) -> Result<String> {
    let location = StoreLocation::of_table(text)?;
    match location.service {
        Service::Local => {
            let path = location.url.to_file_path().map_err(|()| refuse(text, "not a path on this machine"))?;
            path.into_os_string().into_string().map_err(|_| refuse(text, "not UTF-8"))
        }
        Service::Memory { .. } => Ok(location.url.into()),
        _ => Ok(text.to_owned()),
    }
}
