//! The options that may be sent to other processes, because they are known to contain no secret.
//!
//! Read [`options_without_secrets`].

use std::collections::HashMap;
use std::str::FromStr;

use object_store::ClientConfigKey;
use object_store::aws::AmazonS3ConfigKey;
use object_store::azure::AzureConfigKey;
use object_store::gcp::GoogleConfigKey;
use url::Url;

use super::known::WITHOUT_EFFECT;
use super::own::OWN;
use super::secrecy::{Secrecy, of_client};
use crate::store::azure::options::of_azure;
use crate::store::gcs::options::of_gcs;
use crate::store::hdfs::options::is_of_hadoop;
use crate::store::s3::options::of_s3;
use crate::store::url::location::without_secrets;

/// Returns the options that are known to contain no secret. User, password and query are removed
/// from addresses. If a part of an identity is a secret, all its parts are left out, because parts
/// of two identities must not be mixed.
pub fn options_without_secrets(options: &HashMap<String, String>) -> HashMap<String, String> {
    let held = |name: &String| held(&name.trim().to_ascii_lowercase());
    let is_whole = !options.keys().any(|name| held(name) == Secrecy::SecretOfIdentity);
    let mut kept = HashMap::new();
    for (name, value) in options {
        let value = match held(name) {
            Secrecy::Plain => Some(value.clone()),
            Secrecy::Address => address(value),
            // Some callers pass the key itself instead of its path.
            Secrecy::Identity if is_whole && !value.contains(['{', '\n']) => Some(value.clone()),
            _ => None,
        };
        kept.extend(value.map(|value| (name.clone(), value)));
    }
    kept
}

/// Returns an address without parts that may be secret. It returns `None` if the value is not an
/// address, because it may contain anything in this case.
fn address(value: &str) -> Option<String> {
    let parsed = |text: &str| Url::parse(text).ok().filter(Url::has_host);
    // `user:password@host` is also a URL, with the scheme `user`, but it has no host.
    let url = if value.contains("://") { parsed(value)? } else { parsed(&format!("http://{value}"))? };
    let holds_secrets =
        !url.username().is_empty() || url.password().is_some() || url.query().is_some() || url.fragment().is_some();
    let kept = if holds_secrets { without_secrets(url).into() } else { value.to_owned() };
    // A password with a slash ends up in the path.
    (!kept.contains('@')).then_some(kept)
}

/// Returns the secrecy of an option. If several services know the name, the strictest of them
/// decides.
fn held(name: &str) -> Secrecy {
    let found = [
        AmazonS3ConfigKey::from_str(name).ok().map(of_s3),
        AzureConfigKey::from_str(name).ok().map(of_azure),
        GoogleConfigKey::from_str(name).ok().map(of_gcs),
        ClientConfigKey::from_str(name).ok().map(of_client),
    ];
    let own = OWN.contains(&name) || WITHOUT_EFFECT.contains(&name) || is_of_hadoop(name);
    found.into_iter().flatten().chain(own.then_some(Secrecy::Plain)).max().unwrap_or(Secrecy::Unknown)
}

#[cfg(test)]
mod tests;
