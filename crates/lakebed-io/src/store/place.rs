//! What a table's URL or path says: which service, which bucket or machine, and which folder there. Pure but for the working directory,
//! the home folder, and a look whether a file is in a table's place.
//!
//! Read [`Place::parse`] first. A [`Place`] holds no secret: what a URL carried in its query or user part moves to [`Place::embedded`].

use std::path::{Component, Path as FilePath, PathBuf};

use lakebed_core::error::{Error, Result};
use lakebed_core::path::LOG_DIR;
use object_store::path::Path;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use url::Url;

use crate::at::redact;

/// The schemes that [`Place::parse`] knows, for messages.
const SCHEMES: &str = "file, memory, s3, s3a, az, abfs, abfss, adl, wasb, wasbs, gs, hdfs, viewfs, http, https";

/// Schemes that [`Place::parse`] knows beside `file`, in all their spellings: a path does not begin so by chance.
const KNOWN_SCHEMES: [&str; 17] = [
    "memory", "s3", "s3a", "s3n", "gs", "gcs", "az", "azure", "abfs", "abfss", "adl", "wasb", "wasbs", "hdfs", "viewfs", "http",
    "https",
];

/// Schemes of places where tables are that lakebed does not reach.
const FOREIGN_SCHEMES: [&str; 3] = ["dbfs", "oss", "ftp"];

/// A folder in a store.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) service: Service,
    /// The folder, decoded, as the store names it.
    pub(crate) path: Path,
    /// The same as a URL, without secrets and without a slash at the end.
    pub(crate) url: Url,
    /// Options that the URL implies; they give way to options that the caller names.
    pub(crate) embedded: Vec<(&'static str, String)>,
}

/// What tells one store from another: two places with equal services share one connection.
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

impl Place {
    /// Takes a URL, or a path on this machine, absolute or relative.
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

    /// The same for the folder of a table, which is neither a log nor a file.
    pub(crate) fn of_table(text: &str) -> Result<Self> {
        let place = Self::parse(text)?;
        if place.path.parts().any(|name| name.as_ref() == LOG_DIR) {
            return Err(refuse(text, format!("leads into the log of a table: name the folder that holds {LOG_DIR}")));
        }
        if place.service == Service::Local
            && place.url.to_file_path().is_ok_and(|path| std::fs::metadata(path).is_ok_and(|found| found.is_file()))
        {
            return Err(refuse(text, "is a file; a table is a folder"));
        }
        Ok(place)
    }

    /// Takes the parts of a URL whose path is decoded already.
    pub(crate) fn of_parts(scheme: &str, authority: &str, path: &str) -> Result<Self> {
        Self::parse(&format!("{scheme}://{authority}{}", encoded(path)))
    }

    fn from_url(url: &Url, text: &str) -> Result<Self> {
        let scheme = url.scheme();
        if url.fragment().is_some() || (url.query().is_some() && !may_have_query(scheme)) {
            return Err(refuse(text, "`?` and `#` in a name are written %3F and %23 in a URL"));
        }
        let password = url.password().is_some();
        if password && !matches!(scheme, "http" | "https") {
            return Err(refuse(text, "keys belong in storage options, not in the URL"));
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
            other => Err(refuse(text, format!("unknown scheme {other}; known are {SCHEMES}, and paths without a scheme"))),
        }
    }

    /// `url` may still hold user, query and an unclean path; what is kept of it is made from the other arguments.
    fn new(service: Service, mut url: Url, path: Path, embedded: Vec<(&'static str, String)>) -> Result<Self> {
        url.set_query(None);
        if url.password().is_some() {
            // Only schemes with an authority have passwords, and these accept the change.
            let _ = url.set_password(None).and_then(|()| url.set_username(""));
        }
        if service != Service::Local {
            url.set_path(&encoded(path.as_ref()));
        }
        Ok(Self { service, path, url, embedded })
    }

    pub(crate) fn local(absolute: &FilePath) -> Result<Self> {
        let shown = absolute.display();
        let url = Url::from_file_path(absolute).map_err(|()| Error::invalid_input(format!("{shown}: not an absolute path")))?;
        let path = decoded(url.path(), &shown.to_string())?;
        Self::new(Service::Local, url, path, Vec::new())
    }

    fn from_file_url(url: &Url, text: &str) -> Result<Self> {
        match url.host_str() {
            None | Some("localhost") => {}
            Some(host) => {
                return Err(refuse(
                    text,
                    format!("names a machine, {host}; a path on this machine has three slashes: file:///{host}/…"),
                ));
            }
        }
        let path = url.to_file_path().map_err(|()| refuse(text, "not a path on this machine"))?;
        Self::local(&path)
    }

    /// `scheme://container@account.host/path` as Hadoop writes it, or `scheme://container/path` with the account among the options.
    fn from_azure_url(url: &Url, text: &str) -> Result<Self> {
        let host = host(url, text, "container")?;
        let path = decoded(url.path(), text)?;
        let mut embedded = sas(url);
        let user = percent_decode_str(url.username()).decode_utf8_lossy().into_owned();
        let service = if user.is_empty() {
            Service::Azure { account: None, container: host }
        } else {
            let account = azure_account(&host, &mut embedded)
                .ok_or_else(|| refuse(text, "after `@` stands an account, such as account.dfs.core.windows.net"))?;
            Service::Azure { account: Some(account), container: user }
        };
        Self::new(service, url.clone(), path, embedded)
    }

    fn from_hdfs_url(url: &Url, text: &str) -> Result<Self> {
        let path = decoded(url.path(), text)?;
        let mut origin = url.clone();
        origin.set_path("");
        // Without a host, `fs.defaultFS` of Hadoop's configuration names it.
        Self::new(Service::Hdfs { url: origin.to_string() }, url.clone(), path, Vec::new())
    }

    /// Plain web servers, and the web addresses of S3, R2 and Azure.
    fn from_http_url(url: &Url, text: &str) -> Result<Self> {
        let host = host(url, text, "host")?;
        let path = decoded(url.path(), text)?;
        if let Some(place) = Self::from_cloud_address(url, &host, &path)? {
            return Ok(place);
        }
        let mut origin = url.clone();
        origin.set_path("");
        origin.set_query(None);
        let _ = origin.set_password(None).and_then(|()| origin.set_username(""));
        let mut embedded = Vec::new();
        if !url.username().is_empty() {
            let plain = |part: &str| percent_decode_str(part).decode_utf8_lossy().into_owned();
            embedded.push(("http_user", plain(url.username())));
            embedded.push(("http_password", plain(url.password().unwrap_or_default())));
        }
        if let Some(query) = url.query() {
            embedded.push(("http_query", query.to_owned()));
        }
        let mut clean = url.clone();
        let _ = clean.set_username("");
        Self::new(Service::Http { origin: origin.to_string() }, clean, path, embedded)
    }

    fn from_cloud_address(url: &Url, host: &str, path: &Path) -> Result<Option<Self>> {
        if url.scheme() != "https" {
            return Ok(None);
        }
        let labels: Vec<&str> = host.split('.').collect();
        let found = match labels.as_slice() {
            ["s3", region, "amazonaws", "com"] => {
                split_first(path).map(|(bucket, rest)| (Service::S3 { bucket }, rest, vec![("region", (*region).to_owned())]))
            }
            [bucket @ .., "s3", "amazonaws", "com"] if !bucket.is_empty() => Some((
                Service::S3 { bucket: bucket.join(".") },
                path.clone(),
                vec![("virtual_hosted_style_request", "true".to_owned())],
            )),
            [bucket @ .., "s3", region, "amazonaws", "com"] if !bucket.is_empty() => Some((
                Service::S3 { bucket: bucket.join(".") },
                path.clone(),
                vec![("region", (*region).to_owned()), ("virtual_hosted_style_request", "true".to_owned())],
            )),
            [_, "r2", "cloudflarestorage", "com"] => split_first(path).map(|(bucket, rest)| {
                (Service::S3 { bucket }, rest, vec![("region", "auto".to_owned()), ("endpoint", format!("https://{host}"))])
            }),
            _ => {
                let mut embedded = sas(url);
                match (azure_account(host, &mut embedded), split_first(path)) {
                    (Some(account), Some((container, rest))) if host.contains('.') && is_azure_host(host) => {
                        Some((Service::Azure { account: Some(account), container }, rest, embedded))
                    }
                    _ => None,
                }
            }
        };
        let Some((service, rest, embedded)) = found else { return Ok(None) };
        let shown = match &service {
            Service::S3 { bucket } => format!("s3://{bucket}"),
            Service::Azure { container, .. } => format!("abfss://{container}@{host}"),
            _ => url.to_string(),
        };
        let shown = Url::parse(&shown).map_err(|error| refuse(url.as_str(), error))?;
        Self::new(service, shown, rest, embedded).map(Some)
    }
}

/// The URL or path of a table without keys and signatures, absolute, so that it means the same in another process.
pub fn url_without_secrets(text: &str) -> Result<String> {
    let place = Place::parse(text)?;
    if place.service == Service::Local {
        return Ok(place.url.into());
    }
    // What a web address says beside the place, such as a region, is kept.
    let mut url = Url::parse(text).map_err(|error| refuse(text, error))?;
    url.set_query(None);
    if url.password().is_some() || matches!(url.scheme(), "http" | "https") {
        let _ = url.set_password(None).and_then(|()| url.set_username(""));
    }
    Ok(url.into())
}

/// Where a table is, in words that mean the same once the working directory or the home folder is another one: a path on this machine as a
/// whole path, a URL as it is, keys and signatures included.
pub fn absolute_location(text: &str) -> Result<String> {
    let place = Place::of_table(text)?;
    match place.service {
        Service::Local => {
            let path = place.url.to_file_path().map_err(|()| refuse(text, "not a path on this machine"))?;
            path.into_os_string().into_string().map_err(|_| refuse(text, "not UTF-8"))
        }
        Service::Memory { .. } => Ok(place.url.into()),
        _ => Ok(text.to_owned()),
    }
}

/// Whether a text is a path that means another place in another process: it begins in the working directory, or with `~`.
pub fn is_relative(text: &str) -> bool {
    !is_url(text) && !FilePath::new(text).is_absolute()
}

/// Refuses what is no place at all.
fn check_text(text: &str) -> Result<()> {
    if text.trim().is_empty() {
        return Err(Error::invalid_input("an empty string is no table location"));
    }
    if text.contains('\0') {
        return Err(refuse(&text.replace('\0', "\\0"), "holds a NUL character, which no path can"));
    }
    if text != text.trim() && is_url(text.trim()) {
        return Err(refuse(text, "has blanks before or behind it"));
    }
    Ok(())
}

/// Refuses paths on this machine that are surely meant to be something else.
fn check_path(text: &str) -> Result<()> {
    let Some((word, rest)) = text.split_once(':') else { return Ok(()) };
    let scheme = word.to_ascii_lowercase();
    let begins_with = |schemes: &[&str]| schemes.contains(&scheme.as_str());
    if scheme == "dbfs" {
        let path = rest.trim_start_matches('/');
        return Err(refuse(
            text,
            format!(
                "a path of DBFS is written /dbfs/{path}, or by the URL of the store that has the table; ./{text} is a folder of that name"
            ),
        ));
    }
    if is_scheme(word) && rest.starts_with('/') {
        let written = if begins_with(&KNOWN_SCHEMES) { format!("{}, or ", written(&scheme, rest)) } else { String::new() };
        return Err(refuse(text, format!("one slash makes neither a URL nor a path: write {written}./{text} for a folder of that name")));
    }
    if scheme == "file" {
        return Err(refuse(text, "a file URL is absolute: write file:///folder/table, or the path without file:"));
    }
    if begins_with(&KNOWN_SCHEMES) {
        return Err(refuse(text, format!("a URL has two slashes: write {}, or ./{text} for a folder of that name", written(&scheme, rest))));
    }
    if begins_with(&FOREIGN_SCHEMES) {
        return Err(refuse(text, format!("unknown scheme {scheme}; known are {SCHEMES}; ./{text} is a folder of that name")));
    }
    let is_drive = word.len() == 1 && word.starts_with(|c: char| c.is_ascii_alphabetic());
    if cfg!(not(windows)) && is_drive && rest.starts_with(['\\', '/']) {
        return Err(refuse(
            text,
            format!("a drive of Windows, which this machine does not have; write ./{text} for a folder of that name"),
        ));
    }
    Ok(())
}

/// How the URL is written whose slashes are missing. Those of HDFS need no host, and memory no name.
fn written(scheme: &str, rest: &str) -> String {
    let needs_no_host = rest.starts_with('/') && matches!(scheme, "hdfs" | "viewfs" | "memory");
    format!("{scheme}://{}{}", if needs_no_host { "/" } else { "" }, rest.trim_start_matches('/'))
}

/// A path made absolute. A leading `~` is the home folder of the user that runs the process.
fn local_path(text: &str) -> Result<PathBuf> {
    let path = match text.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            let home = std::env::home_dir().filter(|home| home.is_absolute());
            let home = home.ok_or_else(|| refuse(text, "the home folder is not known: set HOME, or write the whole path"))?;
            home.join(rest.trim_start_matches('/'))
        }
        Some(_) => {
            return Err(refuse(text, format!("write the whole path of that home folder, or ./{text} for a folder of that name")));
        }
        None => PathBuf::from(text),
    };
    absolute(&path).map_err(|error| refuse(text, format!("cannot be made absolute ({error})")))
}

/// `scheme://…`, and `file:/…`. A path that merely contains a colon is a path.
fn is_url(text: &str) -> bool {
    let scheme = text.split(':').next().unwrap_or_default();
    let rest = text.get(scheme.len()..).unwrap_or_default();
    is_scheme(scheme) && (rest.starts_with("://") || (rest.starts_with(":/") && scheme.eq_ignore_ascii_case("file")))
}

/// Whether a word may be a URL's scheme. One letter is a drive of Windows.
fn is_scheme(word: &str) -> bool {
    word.len() > 1
        && word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

/// Azure carries shared access signatures in the query, web servers anything.
fn may_have_query(scheme: &str) -> bool {
    matches!(scheme, "az" | "azure" | "abfs" | "abfss" | "adl" | "wasb" | "wasbs" | "http" | "https")
}

fn host(url: &Url, text: &str, what: &str) -> Result<String> {
    match url.host_str() {
        Some(host) if !host.is_empty() => Ok(percent_decode_str(host).decode_utf8_lossy().into_owned()),
        _ => Err(refuse(text, format!("names no {what}"))),
    }
}

/// The path of a URL, each name decoded once. Doubled slashes count as one, as Hadoop has it.
fn decoded(path: &str, text: &str) -> Result<Path> {
    let mut names = Vec::new();
    for segment in path.split('/').filter(|segment| !segment.is_empty()) {
        let name = percent_decode_str(segment).decode_utf8().map_err(|_| refuse(text, "not UTF-8 when decoded"))?;
        if name.contains('/') {
            return Err(refuse(text, "%2F hides a slash inside a name"));
        }
        names.push(name);
    }
    Path::parse(names.join("/")).map_err(|error| refuse(text, error))
}

/// What a URL's path must not hold as it is. Control letters count: the URL parser would drop some of them without a word.
const ESCAPED: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'%').add(b'<').add(b'>').add(b'?').add(b'\\').add(b'`').add(b'{').add(b'}');

/// The inverse of [`decoded`], with a slash in front.
fn encoded(path: &str) -> String {
    let names = path.split('/').filter(|name| !name.is_empty());
    names.map(|name| format!("/{}", utf8_percent_encode(name, ESCAPED))).collect()
}

/// `account.dfs.core.windows.net` and its relatives → `account`; the endpoint too where object_store would not find it.
fn azure_account(host: &str, embedded: &mut Vec<(&'static str, String)>) -> Option<String> {
    let (account, domain) = match host.split_once('.') {
        Some((account, domain)) => (account, domain),
        None => return (!host.is_empty()).then(|| host.to_owned()),
    };
    match domain.split_once('.')? {
        ("dfs" | "blob", "core.windows.net") => {}
        ("dfs" | "blob", "fabric.microsoft.com") => embedded.push(("use_fabric_endpoint", "true".to_owned())),
        ("dfs" | "blob", cloud) => embedded.push(("endpoint", format!("https://{account}.blob.{cloud}"))),
        _ => return None,
    }
    Some(account.to_owned())
}

/// The domains of Azure's clouds.
pub(crate) const AZURE_CLOUDS: [&str; 5] =
    ["core.windows.net", "fabric.microsoft.com", "core.chinacloudapi.cn", "core.usgovcloudapi.net", "core.cloudapi.de"];

fn is_azure_host(host: &str) -> bool {
    AZURE_CLOUDS.iter().any(|domain| host.ends_with(&format!(".dfs.{domain}")) || host.ends_with(&format!(".blob.{domain}")))
}

fn sas(url: &Url) -> Vec<(&'static str, String)> {
    url.query().filter(|query| !query.is_empty()).map(|query| ("sas_key", query.to_owned())).into_iter().collect()
}

fn split_first(path: &Path) -> Option<(String, Path)> {
    let text = path.as_ref();
    let (first, rest) = text.split_once('/').unwrap_or((text, ""));
    (!first.is_empty()).then(|| Some((first.to_owned(), Path::parse(rest).ok()?)))?
}

/// Against the working directory, `.` dropped and `..` followed as the file system follows it: through links.
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

fn refuse(text: &str, why: impl std::fmt::Display) -> Error {
    Error::invalid_input(format!("{}: {why}", redact(text)))
}

#[cfg(test)]
mod tests;
