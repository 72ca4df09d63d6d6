//! URLs of Azure, and the account in a host name.

use lakebed_core::error::Result;
use object_store::path::Path;
use percent_encoding::percent_decode_str;
use url::Url;

use crate::store::url::location::{Service, StoreLocation, decoded, host, refuse, split_first};

impl StoreLocation {
    /// Parses `scheme://container@account.host/path`, as Hadoop writes it, or
    /// `scheme://container/path` with the account in the options.
    pub(in crate::store) fn from_azure_url(url: &Url, text: &str) -> Result<Self> {
        let host = host(url, text, "container")?;
        let path = decoded(url.path(), text)?;
        let mut embedded = sas(url);
        let user = percent_decode_str(url.username()).decode_utf8_lossy().into_owned();
        let service = if user.is_empty() {
            Service::Azure { account: None, container: host }
        } else {
            let account = azure_account(&host, &mut embedded)
                .ok_or_else(|| refuse(text, "`@` must be followed by an account, such as account.dfs.core.windows.net"))?;
            Service::Azure { account: Some(account), container: user }
        };
        Self::new(service, url.clone(), path, embedded)
    }

    /// Returns the location of a web address, if the host is one of Azure.
    pub(in crate::store) fn from_azure_address(url: &Url, host: &str, path: &Path) -> Result<Option<Self>> {
        let mut embedded = sas(url);
        match (azure_account(host, &mut embedded), split_first(path)) {
            (Some(account), Some((container, rest))) if host.contains('.') && is_azure_host(host) => {
                let shown = format!("abfss://{container}@{host}");
                let shown = Url::parse(&shown).map_err(|error| refuse(url.as_str(), error))?;
                Self::new(Service::Azure { account: Some(account), container }, shown, rest, embedded).map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// Returns `account` for `account.dfs.core.windows.net` and similar hosts. Adds the endpoint to
/// `embedded` if object_store would not find it.
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
pub(in crate::store) const AZURE_CLOUDS: [&str; 5] =
    ["core.windows.net", "fabric.microsoft.com", "core.chinacloudapi.cn", "core.usgovcloudapi.net", "core.cloudapi.de"];

fn is_azure_host(host: &str) -> bool {
    AZURE_CLOUDS.iter().any(|domain| host.ends_with(&format!(".dfs.{domain}")) || host.ends_with(&format!(".blob.{domain}")))
}

fn sas(url: &Url) -> Vec<(&'static str, String)> {
    url.query().filter(|query| !query.is_empty()).map(|query| ("sas_key", query.to_owned())).into_iter().collect()
}
