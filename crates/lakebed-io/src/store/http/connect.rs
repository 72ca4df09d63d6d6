//! Connects to plain web servers.

use std::sync::Arc;

use base64::Engine;
use lakebed_core::error::{Error, Result};
use object_store::client::ClientConfigKey;
use object_store::http::{HttpBuilder, HttpStore};
use object_store::{BackoffConfig, ClientOptions, HeaderMap, HeaderValue, RetryConfig};
use url::Url;

use crate::store::abilities::Listing;
use crate::store::connection::{ConnectError, ConnectRequest, Connection, USER_AGENT, client_value};

impl ConnectRequest<'_> {
    pub(in crate::store) fn http(&self, origin: &str) -> Result<Connection, ConnectError> {
        self.refuse_credentials("a web server")?;
        let mut url = Url::parse(origin).map_err(|error| Error::internal(format!("{origin}: {error}")))?;
        let embedded = |name: &str| self.location.embedded.iter().find(|(key, _)| *key == name).map(|(_, value)| value.as_str());
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
        // This client does not retry, because many servers cannot list folders at all.
        let once = RetryConfig { max_retries: 0, backoff: BackoffConfig::default(), ..self.retry.clone() };
        Ok(Connection { listing: Listing::Web(build(once)?), ..self.plain(build(self.retry.clone())?) })
    }
}

fn basic_authorization(user: &str, password: &str) -> Result<HeaderMap> {
    let text = format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}")));
    let mut value =
        HeaderValue::from_str(&text).map_err(|_| Error::internal("a basic authorization is not a valid header value"))?;
    value.set_sensitive(true);
    let mut headers = HeaderMap::new();
    headers.insert("authorization", value);
    Ok(headers)
}
