//! From a [`Place`] and options to a connected store of object_store's. Nothing here talks to the network yet.
//!
//! Read [`connect`] first.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use lakebed_core::error::{Error, Result};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::client::ClientConfigKey;
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::{HttpBuilder, HttpStore};
use object_store::list::PaginatedListStore;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::{BackoffConfig, ClientOptions, HeaderMap, HeaderValue, ObjectStore, RetryConfig};
use url::Url;

use super::credentials::{Refreshing, for_azure, for_gcs, for_s3};
use super::options::{self, Settings, StoreOptions, settings};
use super::place::{AZURE_CLOUDS, Place, Service};
use crate::at::without;

/// A store with what [`Store`](super::Store) must know of it.
pub(crate) struct Connection {
    pub(crate) store: Arc<dyn ObjectStore>,
    /// Values that must not appear in messages.
    pub(crate) secrets: Vec<String>,
    /// How often a request is made again.
    pub(crate) max_retries: usize,
    /// For web servers: the same store without retries, to find out whether it lists folders at all.
    pub(crate) lister: Option<Arc<dyn ObjectStore>>,
    /// The same store as one that lists page by page, if it can.
    pub(crate) pages: Option<Arc<dyn PaginatedListStore>>,
    /// With what the options said of it, such as Azure's account.
    pub(crate) service: Service,
    /// Where the service is, if that is not its maker's address: then it may only speak like it.
    pub(crate) endpoint: Option<String>,
}

/// Connects to the service of `place`. `environment` is [`options::environment`] but in tests.
pub(crate) fn connect(place: &Place, with: &StoreOptions, environment: &[(String, String)]) -> Result<Connection> {
    options::check_known(&with.options)?;
    let retry = options::retry(&with.options)?;
    let asked = Asked { place, with, environment, retry };
    let secrets = asked.secrets();
    let connected = match &place.service {
        Service::Local => Ok(asked.plain(Arc::new(LocalFileSystem::new()))),
        Service::Memory { name } => Ok(asked.plain(memory(name))),
        Service::S3 { bucket } => asked.s3(bucket),
        Service::Azure { account, container } => asked.azure(account.as_deref(), container),
        Service::Gcs { bucket } => asked.gcs(bucket),
        Service::Hdfs { url } => asked.hdfs(url),
        Service::Http { origin } => asked.http(origin),
    };
    let connection = connected.map_err(|error| match error {
        Refused::Ours(error) => error,
        Refused::Theirs(error) => Error::invalid_input(format!(
            "{}: these storage options do not fit: {}",
            place.url,
            without(&error.to_string(), &secrets)
        )),
    })?;
    Ok(Connection { secrets, ..connection })
}

/// What every service needs to be connected to.
struct Asked<'a> {
    place: &'a Place,
    with: &'a StoreOptions,
    environment: &'a [(String, String)],
    retry: RetryConfig,
}

/// An error that already says everything, or one of object_store's to be wrapped.
enum Refused {
    Ours(Error),
    Theirs(object_store::Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Ours(error)
    }
}

impl From<object_store::Error> for Refused {
    fn from(error: object_store::Error) -> Self {
        Self::Theirs(error)
    }
}

impl Asked<'_> {
    fn plain(&self, store: Arc<dyn ObjectStore>) -> Connection {
        let (service, max_retries) = (self.place.service.clone(), self.retry.max_retries);
        Connection { store, secrets: Vec::new(), max_retries, lister: None, pages: None, service, endpoint: None }
    }

    fn paged<S: ObjectStore + PaginatedListStore>(&self, store: Arc<S>) -> Connection {
        let pages: Arc<dyn PaginatedListStore> = store.clone();
        Connection { pages: Some(pages), ..self.plain(store) }
    }

    fn settings<K: options::Key>(&self) -> Result<Settings<K>> {
        settings(self.environment, &self.place.embedded, &self.with.options, self.with.credentials.is_some())
    }

    /// Everything among options, URL and environment that looks like a secret.
    fn secrets(&self) -> Vec<String> {
        const SECRET: [&str; 8] = ["secret", "token", "key", "sas", "password", "query", "credential", "master"];
        let named = self.with.options.iter().map(|(name, value)| (name.as_str(), value));
        let embedded = self.place.embedded.iter().map(|(name, value)| (*name, value));
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

    fn s3(&self, bucket: &str) -> Result<Connection, Refused> {
        use AmazonS3ConfigKey as K;
        let found = self.settings::<K>()?;
        check_encrypted(&found, &[K::Endpoint, K::S3Endpoint], K::Client(ClientConfigKey::AllowHttp))?;
        let endpoint = [K::S3Endpoint, K::Endpoint].iter().find_map(|key| elsewhere(found.get(key)?, &AWS));
        let mut builder = AmazonS3Builder::new().with_config(K::Client(ClientConfigKey::UserAgent), USER_AGENT);
        for (key, value) in found {
            let value = if let K::Client(client) = key { client_value(client, value)? } else { value };
            builder = builder.with_config(key, value);
        }
        builder = builder.with_bucket_name(bucket).with_retry(self.retry.clone());
        if let Some(source) = &self.with.credentials {
            builder = builder.with_credentials(Arc::new(Refreshing::new(Arc::clone(source), self.with.env.clone(), for_s3)));
        }
        Ok(Connection { endpoint, ..self.paged(Arc::new(builder.build()?)) })
    }

    fn azure(&self, account: Option<&str>, container: &str) -> Result<Connection, Refused> {
        use AzureConfigKey as K;
        let mut found = self.settings::<K>()?;
        // The URL names the account on purpose; an account from the options is for URLs that do not.
        if let Some(account) = account {
            found.insert(K::AccountName, account.to_owned());
        }
        check_encrypted(&found, &[K::Endpoint], K::Client(ClientConfigKey::AllowHttp))?;
        let emulator = found.get(&K::UseEmulator).filter(|value| is_on(value)).map(|_| "the emulator's address".to_owned());
        let endpoint = found.get(&K::Endpoint).and_then(|endpoint| elsewhere(endpoint, &AZURE_CLOUDS)).or(emulator);
        let account = found.get(&K::AccountName).cloned();
        if account.is_none() && !found.contains_key(&K::UseEmulator) {
            let message = format!(
                "{}: the account is missing: set azure_storage_account_name, or write abfss://{container}@ACCOUNT.dfs.core.windows.net/…",
                self.place.url
            );
            return Err(Error::invalid_input(message).into());
        }
        let mut builder = MicrosoftAzureBuilder::new().with_config(K::Client(ClientConfigKey::UserAgent), USER_AGENT);
        for (key, value) in found {
            let value = if let K::Client(client) = key { client_value(client, value)? } else { value };
            builder = builder.with_config(key, value);
        }
        builder = builder.with_container_name(container).with_retry(self.retry.clone());
        if let Some(source) = &self.with.credentials {
            builder = builder.with_credentials(Arc::new(Refreshing::new(Arc::clone(source), self.with.env.clone(), for_azure)));
        }
        let service = Service::Azure { account, container: container.to_owned() };
        Ok(Connection { service, endpoint, ..self.paged(Arc::new(builder.build()?)) })
    }

    fn gcs(&self, bucket: &str) -> Result<Connection, Refused> {
        use GoogleConfigKey as K;
        let found = self.settings::<K>()?;
        let endpoint = gcs_address(&found).and_then(|address| elsewhere(&address, &GOOGLE));
        // serde's message about a broken key may quote a part of it.
        if let Some(key) = found.get(&K::ServiceAccountKey)
            && !serde_json::from_str::<serde_json::Value>(key).is_ok_and(|key| key.is_object())
        {
            return Err(Error::invalid_input(
                "storage option google_service_account_key is not the JSON text of a service account's key",
            )
            .into());
        }
        let mut builder = GoogleCloudStorageBuilder::new().with_config(K::Client(ClientConfigKey::UserAgent), USER_AGENT);
        for (key, value) in found {
            let value = if let K::Client(client) = key { client_value(client, value)? } else { value };
            builder = builder.with_config(key, value);
        }
        builder = builder.with_bucket_name(bucket).with_retry(self.retry.clone());
        if let Some(source) = &self.with.credentials {
            builder = builder.with_credentials(Arc::new(Refreshing::new(Arc::clone(source), self.with.env.clone(), for_gcs)));
        }
        Ok(Connection { endpoint, ..self.paged(Arc::new(builder.build()?)) })
    }

    fn hdfs(&self, url: &str) -> Result<Connection, Refused> {
        self.refuse_credentials("HDFS")?;
        let config: HashMap<&str, &str> = self
            .with
            .options
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .filter(|(name, _)| options::HADOOP_PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
            .collect();
        let store = hdfs_native_object_store::HdfsObjectStoreBuilder::new().with_url(url).with_config(config).build()?;
        Ok(self.plain(Arc::new(store)))
    }

    fn http(&self, origin: &str) -> Result<Connection, Refused> {
        self.refuse_credentials("a web server")?;
        let mut url = Url::parse(origin).map_err(|error| Error::internal(format!("{origin}: {error}")))?;
        let embedded = |name: &str| self.place.embedded.iter().find(|(key, _)| *key == name).map(|(_, value)| value.as_str());
        url.set_query(embedded("http_query"));
        let mut client =
            ClientOptions::new().with_config(ClientConfigKey::UserAgent, USER_AGENT).with_allow_http(url.scheme() == "http");
        for (key, value) in self.settings::<ClientConfigKey>()? {
            client = client.with_config(key, client_value(key, value)?);
        }
        if let Some(user) = embedded("http_user") {
            client = client.with_default_headers(basic_authorization(user, embedded("http_password").unwrap_or_default())?);
        }
        let build = |retry: RetryConfig| -> object_store::Result<Arc<HttpStore>> {
            Ok(Arc::new(HttpBuilder::new().with_url(url.as_str()).with_client_options(client.clone()).with_retry(retry).build()?))
        };
        let once = RetryConfig { max_retries: 0, backoff: BackoffConfig::default(), ..self.retry.clone() };
        Ok(Connection { lister: Some(build(once)?), ..self.plain(build(self.retry.clone())?) })
    }

    fn refuse_credentials(&self, what: &str) -> Result<()> {
        match self.with.credentials {
            Some(_) => Err(Error::invalid_input(format!("{}: {what} takes no credentials source", self.place.url))),
            None => Ok(()),
        }
    }
}

const USER_AGENT: &str = concat!("lakebed/", env!("CARGO_PKG_VERSION"));

/// Times get the spelling that object_store reads.
fn client_value(key: ClientConfigKey, value: String) -> Result<String> {
    use ClientConfigKey as K;
    match key {
        K::Timeout | K::ConnectTimeout | K::PoolIdleTimeout | K::Http2KeepAliveInterval | K::Http2KeepAliveTimeout => {
            Ok(format!("{}ms", options::duration(key.as_ref(), &value)?.as_millis()))
        }
        _ => Ok(value),
    }
}

/// An unencrypted endpoint is refused here rather than by a riddle at the first request.
fn check_encrypted<K: options::Key>(found: &Settings<K>, endpoints: &[K], allow: K) -> Result<()> {
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
fn is_on(value: &str) -> bool {
    ["true", "1", "yes", "y", "on"].contains(&value.trim().to_ascii_lowercase().as_str())
}

/// The domains at which the makers of the services run them.
const AWS: [&str; 3] = ["amazonaws.com", "amazonaws.com.cn", "api.aws"];
const GOOGLE: [&str; 1] = ["googleapis.com"];

/// An address, fit to be shown, unless it is of one of these domains.
fn elsewhere(address: &str, domains: &[&str]) -> Option<String> {
    let url = Url::parse(address).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
    let is_of = |domain: &&str| host.strip_suffix(*domain).is_some_and(|before| before.is_empty() || before.ends_with('.'));
    (!domains.iter().any(is_of)).then(|| crate::at::redact(address))
}

/// The address of GCS that an option names, or the key of a service account.
fn gcs_address(found: &Settings<GoogleConfigKey>) -> Option<String> {
    let of_key = || {
        let key: serde_json::Value = serde_json::from_str(found.get(&GoogleConfigKey::ServiceAccountKey)?).ok()?;
        Some(key.get("gcs_base_url")?.as_str()?.to_owned())
    };
    found.get(&GoogleConfigKey::BaseUrl).cloned().or_else(of_key)
}

fn basic_authorization(user: &str, password: &str) -> Result<HeaderMap> {
    let text = format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}")));
    let mut value = HeaderValue::from_str(&text).map_err(|_| Error::internal("base64 made a header that is none"))?;
    value.set_sensitive(true);
    let mut headers = HeaderMap::new();
    headers.insert("authorization", value);
    Ok(headers)
}

/// The stores of `memory://name`, one a name, for the life of the process.
fn memory(name: &str) -> Arc<dyn ObjectStore> {
    static STORES: Mutex<Option<HashMap<String, Arc<InMemory>>>> = Mutex::new(None);
    let mut stores = STORES.lock().unwrap_or_else(PoisonError::into_inner);
    let store = stores.get_or_insert_default().entry(name.to_owned()).or_default();
    Arc::clone(store) as _
}

#[cfg(test)]
mod tests;
