//! What a service is connected with, and what comes of it.
//!
//! Each service's own folder has a method of [`ConnectRequest`] that makes its [`Connection`].

use std::sync::Arc;

use lakebed_core::error::{Error, Result};
use object_store::client::ClientConfigKey;
use object_store::list::PaginatedListStore;
use object_store::{ObjectStore, RetryConfig};
use url::Url;

use super::abilities::Listing;
use super::options::own::duration;
use super::options::{self, Settings, StoreOptions, settings};
use super::url::location::{Service, StoreLocation};

/// A store with what [`Store`](super::Store) must know of it.
pub(crate) struct Connection {
    pub(crate) store: Arc<dyn ObjectStore>,
    /// The implementation was given, not made from a URL.
    pub(crate) is_given: bool,
    /// Values that must not appear in messages.
    pub(crate) secrets: Vec<String>,
    /// How often a request is made again.
    pub(crate) max_retries: usize,
    /// How folders are listed.
    pub(crate) listing: Listing,
    /// The same store as one that lists page by page, if it can.
    pub(crate) pages: Option<Arc<dyn PaginatedListStore>>,
    /// With what the options said of it, such as Azure's account.
    pub(crate) service: Service,
    /// Where the service is, if that is not its maker's address: then it may only speak like it.
    pub(crate) endpoint: Option<String>,
}

/// What every service needs to be connected to.
pub(in crate::store) struct ConnectRequest<'a> {
    pub(in crate::store) location: &'a StoreLocation,
    pub(in crate::store) with: &'a StoreOptions,
    pub(in crate::store) environment: &'a [(String, String)],
    pub(in crate::store) retry: RetryConfig,
}

/// An error that already says everything, or one of object_store's to be wrapped.
pub(in crate::store) enum ConnectError {
    Ours(Error),
    Theirs(object_store::Error),
}

impl From<Error> for ConnectError {
    fn from(error: Error) -> Self {
        Self::Ours(error)
    }
}

impl From<object_store::Error> for ConnectError {
    fn from(error: object_store::Error) -> Self {
        Self::Theirs(error)
    }
}

impl Connection {
    /// A connection that somebody else made to this service.
    pub(in crate::store) fn given(store: Arc<dyn ObjectStore>, service: Service) -> Self {
        let listing = Listing::Ordered;
        // Whoever gives an implementation decides how often it makes a request again.
        let max_retries = 0;
        Self { store, is_given: true, secrets: Vec::new(), max_retries, listing, pages: None, service, endpoint: None }
    }
}

impl ConnectRequest<'_> {
    /// A connection to a service that lists in order and has no other ability.
    pub(in crate::store) fn plain(&self, store: Arc<dyn ObjectStore>) -> Connection {
        let (service, max_retries) = (self.location.service.clone(), self.retry.max_retries);
        let listing = Listing::Ordered;
        Connection { store, is_given: false, secrets: Vec::new(), max_retries, listing, pages: None, service, endpoint: None }
    }

    /// A connection to a service that also lists page by page.
    pub(in crate::store) fn paged<S: ObjectStore + PaginatedListStore>(&self, store: Arc<S>) -> Connection {
        let pages: Arc<dyn PaginatedListStore> = store.clone();
        Connection { pages: Some(pages), ..self.plain(store) }
    }

    pub(in crate::store) fn settings<K: options::Key>(&self) -> Result<Settings<K>> {
        settings(self.environment, &self.location.embedded, &self.with.options, self.with.credentials.is_some())
    }

    /// Everything among options, URL and environment that looks like a secret.
    pub(in crate::store) fn secrets(&self) -> Vec<String> {
        const SECRET: [&str; 8] = ["secret", "token", "key", "sas", "password", "query", "credential", "master"];
        let named = self.with.options.iter().map(|(name, value)| (name.as_str(), value));
        let embedded = self.location.embedded.iter().map(|(name, value)| (*name, value));
        let environment = self
            .environment
            .iter()
            .map(|(name, value)| (name.as_str(), value))
            .filter(|(name, _)| ["AWS_", "AZURE_", "GOOGLE_"].iter().any(|prefix| name.starts_with(prefix)));
        let mut secrets: Vec<String> = named
            .chain(embedded)
            .chain(environment)
            .filter(|(name, value)| {
                let name = name.to_ascii_lowercase();
                // Short values would be found everywhere; files, URLs and ids of secrets help in messages and open nothing by themselves.
                let harmless = ["file", "url", "_id", "_uri"].iter().any(|end| name.ends_with(end));
                value.len() >= 6 && SECRET.iter().any(|word| name.contains(word)) && !harmless
            })
            .map(|(_, value)| value.clone())
            .collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.dedup();
        secrets
    }

    pub(in crate::store) fn refuse_credentials(&self, what: &str) -> Result<()> {
        match self.with.credentials {
            Some(_) => Err(Error::invalid_input(format!("{}: {what} takes no credentials source", self.location.url))),
            None => Ok(()),
        }
    }
}

pub(in crate::store) const USER_AGENT: &str = concat!("lakebed/", env!("CARGO_PKG_VERSION"));

/// Times get the spelling that object_store reads.
pub(in crate::store) fn client_value(key: ClientConfigKey, value: String) -> Result<String> {
    use ClientConfigKey as K;
    match key {
        K::Timeout | K::ConnectTimeout | K::PoolIdleTimeout | K::Http2KeepAliveInterval | K::Http2KeepAliveTimeout => {
            Ok(format!("{}ms", duration(key.as_ref(), &value)?.as_millis()))
        }
        _ => Ok(value),
    }
}

/// An unencrypted endpoint is refused here rather than by a riddle at the first request.
pub(in crate::store) fn check_encrypted<K: options::Key>(found: &Settings<K>, endpoints: &[K], allow: K) -> Result<()> {
    let allowed = found.get(&allow).is_some_and(|value| is_on(value));
    match endpoints.iter().filter_map(|key| found.get(key)).find(|endpoint| endpoint.starts_with("http://")) {
        Some(endpoint) if !allowed => Err(Error::invalid_input(format!(
            "the endpoint {} is not encrypted; if that is meant, set the storage option allow_http=true",
            crate::at::redact(endpoint)
        ))),
        _ => Ok(()),
    }
}

/// As object_store reads a switch.
pub(in crate::store) fn is_on(value: &str) -> bool {
    ["true", "1", "yes", "y", "on"].contains(&value.trim().to_ascii_lowercase().as_str())
}

/// An address, fit to be shown, unless it is of one of these domains.
pub(in crate::store) fn elsewhere(address: &str, domains: &[&str]) -> Option<String> {
    let url = Url::parse(address).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
    let is_of = |domain: &&str| host.strip_suffix(*domain).is_some_and(|before| before.is_empty() || before.ends_with('.'));
    (!domains.iter().any(is_of)).then(|| crate::at::redact(address))
}
