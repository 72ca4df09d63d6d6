//! The request for a connection to a service, and the connection.
//!
//! The folder of each service adds a method to [`ConnectRequest`] that creates its [`Connection`].

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

/// A client of object_store, with the facts about it that [`Store`](super::Store) needs.
pub(crate) struct Connection {
    pub(crate) store: Arc<dyn ObjectStore>,
    /// Whether the caller passed the implementation. Otherwise it was created from a URL.
    pub(crate) is_given: bool,
    /// Values that must not appear in messages.
    pub(crate) secrets: Vec<String>,
    /// The greatest number of times that a failed request is repeated.
    pub(crate) max_retries: usize,
    /// The way in which folders are listed.
    pub(crate) listing: Listing,
    /// The same client in the form that lists page by page, if it supports this.
    pub(crate) pages: Option<Arc<dyn PaginatedListStore>>,
    /// The service, completed by the options. For Azure, for example, the options may add the
    /// account.
    pub(crate) service: Service,
    /// The address of the service, if it is not an address of the service's maker. Such a service
    /// may only imitate the protocol.
    pub(crate) endpoint: Option<String>,
}

/// The facts that a connection to any service needs.
pub(in crate::store) struct ConnectRequest<'a> {
    pub(in crate::store) location: &'a StoreLocation,
    pub(in crate::store) with: &'a StoreOptions,
    pub(in crate::store) environment: &'a [(String, String)],
    pub(in crate::store) retry: RetryConfig,
}

/// An error of lakebed, or an error of object_store that is still to be wrapped.
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
    /// Returns a connection around an implementation that the caller passed.
    pub(in crate::store) fn given(store: Arc<dyn ObjectStore>, service: Service) -> Self {
        let listing = Listing::Ordered;
        // The implementation decides itself how often it repeats a request.
        let max_retries = 0;
        Self { store, is_given: true, secrets: Vec::new(), max_retries, listing, pages: None, service, endpoint: None }
    }
}

impl ConnectRequest<'_> {
    /// Returns a connection to a service that lists in order, and not page by page.
    pub(in crate::store) fn plain(&self, store: Arc<dyn ObjectStore>) -> Connection {
        let (service, max_retries) = (self.location.service.clone(), self.retry.max_retries);
        let listing = Listing::Ordered;
        Connection { store, is_given: false, secrets: Vec::new(), max_retries, listing, pages: None, service, endpoint: None }
    }

    /// Returns a connection to a service that can also list page by page.
    pub(in crate::store) fn paged<S: ObjectStore + PaginatedListStore>(&self, store: Arc<S>) -> Connection {
        let pages: Arc<dyn PaginatedListStore> = store.clone();
        Connection { pages: Some(pages), ..self.plain(store) }
    }

    pub(in crate::store) fn settings<K: options::Key>(&self) -> Result<Settings<K>> {
        settings(self.environment, &self.location.embedded, &self.with.options, self.with.credentials.is_some())
    }

    /// Returns all values of options, URL and environment that may be secrets.
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
                // Short values would match everywhere. Paths, URLs and ids of secrets open nothing
                // by themselves, and they help in messages.
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
            Some(_) => Err(Error::invalid_input(format!(
                "{}: {what} does not use credentials: leave the credentials source out",
                self.location.url
            ))),
            None => Ok(()),
        }
    }
}

pub(in crate::store) const USER_AGENT: &str = concat!("lakebed/", env!("CARGO_PKG_VERSION"));

/// Converts durations to the spelling that object_store reads.
pub(in crate::store) fn client_value(key: ClientConfigKey, value: String) -> Result<String> {
    use ClientConfigKey as K;
    match key {
        K::Timeout | K::ConnectTimeout | K::PoolIdleTimeout | K::Http2KeepAliveInterval | K::Http2KeepAliveTimeout => {
            Ok(format!("{}ms", duration(key.as_ref(), &value)?.as_millis()))
        }
        _ => Ok(value),
    }
}

/// Refuses an unencrypted endpoint here, because the error of the first request would not name the
/// reason.
pub(in crate::store) fn check_encrypted<K: options::Key>(found: &Settings<K>, endpoints: &[K], allow: K) -> Result<()> {
    let allowed = found.get(&allow).is_some_and(|value| is_on(value));
    match endpoints.iter().filter_map(|key| found.get(key)).find(|endpoint| endpoint.starts_with("http://")) {
        Some(endpoint) if !allowed => Err(Error::invalid_input(format!(
            "the endpoint {} is not encrypted; if that is intended, set the storage option allow_http=true",
            crate::at::redact(endpoint)
        ))),
        _ => Ok(()),
    }
}

/// Returns whether a switch is on, by the same rule as in object_store.
pub(in crate::store) fn is_on(value: &str) -> bool {
    ["true", "1", "yes", "y", "on"].contains(&value.trim().to_ascii_lowercase().as_str())
}

/// Returns the address without secrets, unless it belongs to one of these domains.
pub(in crate::store) fn elsewhere(address: &str, domains: &[&str]) -> Option<String> {
    let url = Url::parse(address).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
    let is_of = |domain: &&str| host.strip_suffix(*domain).is_some_and(|before| before.is_empty() || before.ends_with('.'));
    (!domains.iter().any(is_of)).then(|| crate::at::redact(address))
}
