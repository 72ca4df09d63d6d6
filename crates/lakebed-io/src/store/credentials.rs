//! Credentials that come from the caller's code and expire. They are fetched once, kept until
//! shortly before they expire, and then fetched again.
//!
//! Read [`CredentialSource`] first. The clients of stores use a [`Refreshing`].

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use lakebed_core::error::{Error, Result};
use object_store::CredentialProvider;

use crate::env::Env;

/// A source of current credentials, such as a catalog or an SDK.
pub trait CredentialSource: Send + Sync {
    /// Fetches the credentials. The call may block. lakebed calls it on a thread for blocking work,
    /// and only one call runs at a time.
    fn get(&self) -> Result<Credentials>;
}

/// Credentials under the names of storage options, such as `aws_access_key_id` or
/// `azure_storage_sas_token`.
#[derive(Clone, Default)]
pub struct Credentials {
    /// Names and values. GCS takes `token`.
    pub options: HashMap<String, String>,
    /// The expiry in milliseconds since the epoch. Without it the source is called again every five
    /// minutes.
    pub expires_at_ms: Option<i64>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: std::collections::BTreeSet<_> = self.options.keys().collect();
        f.debug_struct("Credentials").field("options", &names).field("expires_at_ms", &self.expires_at_ms).finish()
    }
}

/// The time for which credentials without an expiry are used.
const UNDATED_MS: i64 = 5 * 60 * 1000;
/// New credentials are fetched this long before the expiry, or after four fifths of their life,
/// whichever comes later.
const MARGIN_MS: i64 = 5 * 60 * 1000;
/// The least time between two calls of a source that returns expired credentials.
const PATIENCE_MS: i64 = 1000;

/// A source behind a cache, as a provider of object_store for the credentials of one service.
pub(crate) struct Refreshing<C> {
    source: Arc<dyn CredentialSource>,
    env: Env,
    convert: fn(&Credentials) -> Result<C>,
    /// The lock is held during the call of the source, so that all other tasks wait for that one
    /// result.
    current: tokio::sync::Mutex<Option<Current<C>>>,
}

struct Current<C> {
    credential: Arc<C>,
    refresh_at_ms: i64,
    expires_at_ms: Option<i64>,
}

impl<C> Refreshing<C> {
    pub(crate) fn new(source: Arc<dyn CredentialSource>, env: Env, convert: fn(&Credentials) -> Result<C>) -> Self {
        Self { source, env, convert, current: tokio::sync::Mutex::new(None) }
    }

    async fn get(&self) -> Result<Arc<C>> {
        let mut current = self.current.lock().await;
        let now = self.env.now_ms();
        if let Some(known) = current.as_ref().filter(|known| now < known.refresh_at_ms) {
            return Ok(Arc::clone(&known.credential));
        }
        match self.fetch().await {
            Ok(fresh) => {
                let credential = Arc::clone(&fresh.credential);
                *current = Some(fresh);
                Ok(credential)
            }
            Err(error) => match current.as_mut().filter(|known| known.expires_at_ms.is_some_and(|expiry| now < expiry)) {
                Some(known) => {
                    tracing::warn!(%error, "new credentials could not be fetched; the current ones are still valid");
                    known.refresh_at_ms = now.saturating_add(PATIENCE_MS);
                    Ok(Arc::clone(&known.credential))
                }
                None => Err(error),
            },
        }
    }

    async fn fetch(&self) -> Result<Current<C>> {
        let source = Arc::clone(&self.source);
        let credentials = tokio::task::spawn_blocking(move || source.get())
            .await
            .map_err(|error| Error::invalid_input("the credentials source panicked").with_source(error))??;
        let now = self.env.now_ms();
        let refresh_at_ms = match credentials.expires_at_ms {
            None => now.saturating_add(UNDATED_MS),
            Some(expiry) => {
                let life = expiry.saturating_sub(now);
                expiry.saturating_sub(MARGIN_MS.min(life / 5)).max(now.saturating_add(PATIENCE_MS))
            }
        };
        Ok(Current {
            credential: Arc::new((self.convert)(&credentials)?),
            refresh_at_ms,
            expires_at_ms: credentials.expires_at_ms,
        })
    }
}

impl<C> fmt::Debug for Refreshing<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Refreshing")
    }
}

#[async_trait]
impl<C: Send + Sync> CredentialProvider for Refreshing<C> {
    type Credential = C;

    async fn get_credential(&self) -> object_store::Result<Arc<C>> {
        self.get()
            .await
            .map_err(|error| object_store::Error::Unauthenticated { path: "credentials".to_owned(), source: error.into() })
    }
}

/// Returns the error for missing credentials. It lists the names of the received options and none
/// of their values.
pub(in crate::store) fn lacks(service: &str, wanted: &str, credentials: &Credentials) -> Error {
    let mut names: Vec<&str> = credentials.options.keys().map(String::as_str).collect();
    names.sort_unstable();
    Error::invalid_input(format!("for {service} the credentials source must return {wanted}; it returned [{}]", names.join(", ")))
}

#[cfg(test)]
mod tests;
