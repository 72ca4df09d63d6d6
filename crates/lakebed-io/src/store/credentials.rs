//! Credentials that come from the caller's code and expire: asked for once, kept until shortly before they expire, then asked for again.
//!
//! Read [`CredentialSource`] first. [`Refreshing`] is what the stores below see.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use lakebed_core::error::{Error, Result};
use object_store::CredentialProvider;
use object_store::aws::{AmazonS3ConfigKey, AwsCredential};
use object_store::azure::{AzureAccessKey, AzureConfigKey, AzureCredential};
use object_store::gcp::GcpCredential;
use percent_encoding::percent_decode_str;

use crate::env::Env;

/// Somebody who knows the current credentials, such as a catalog or an SDK.
pub trait CredentialSource: Send + Sync {
    /// Fetches them. May block; it is called from a thread that may, and by one caller at a time.
    fn get(&self) -> Result<Credentials>;
}

/// Credentials under the names of storage options, such as `aws_access_key_id` or `azure_storage_sas_token`.
#[derive(Clone, Default)]
pub struct Credentials {
    /// Names and values; GCS takes `token`.
    pub options: HashMap<String, String>,
    /// Milliseconds since the epoch. Without it the source is asked again every five minutes.
    pub expires_at_ms: Option<i64>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: std::collections::BTreeSet<_> = self.options.keys().collect();
        f.debug_struct("Credentials").field("options", &names).field("expires_at_ms", &self.expires_at_ms).finish()
    }
}

/// How long credentials without an expiry are believed.
const UNDATED_MS: i64 = 5 * 60 * 1000;
/// How long before the expiry new ones are fetched, unless they live so briefly that a fifth of their life is less.
const MARGIN_MS: i64 = 5 * 60 * 1000;
/// A source that hands out expired credentials is not asked more often than this.
const PATIENCE_MS: i64 = 1000;

/// A source behind a cache, seen as object_store's provider of one service's kind of credential.
pub(crate) struct Refreshing<C> {
    source: Arc<dyn CredentialSource>,
    env: Env,
    convert: fn(&Credentials) -> Result<C>,
    /// Held while the source is asked: everybody else waits for that one answer.
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
                    tracing::warn!(%error, "fresh credentials could not be fetched; the present ones are still valid");
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

pub(crate) fn for_s3(credentials: &Credentials) -> Result<AwsCredential> {
    let named = super::options::settings::<AmazonS3ConfigKey>(&[], &[], &credentials.options, true)?;
    let take = |key: AmazonS3ConfigKey| named.get(&key).cloned();
    match (take(AmazonS3ConfigKey::AccessKeyId), take(AmazonS3ConfigKey::SecretAccessKey)) {
        (Some(key_id), Some(secret_key)) => {
            Ok(AwsCredential { key_id, secret_key, token: take(AmazonS3ConfigKey::Token).filter(|token| !token.is_empty()) })
        }
        _ => Err(lacks("S3", "aws_access_key_id and aws_secret_access_key", credentials)),
    }
}

pub(crate) fn for_azure(credentials: &Credentials) -> Result<AzureCredential> {
    let named = super::options::settings::<AzureConfigKey>(&[], &[], &credentials.options, true)?;
    if let Some(token) = named.get(&AzureConfigKey::Token) {
        Ok(AzureCredential::BearerToken(token.clone()))
    } else if let Some(sas) = named.get(&AzureConfigKey::SasKey) {
        Ok(AzureCredential::SASToken(sas_pairs(sas)?))
    } else if let Some(key) = named.get(&AzureConfigKey::AccessKey) {
        let key = AzureAccessKey::try_new(key)
            .map_err(|_| Error::invalid_input("azure_storage_account_key from the credentials source is not base64"))?;
        Ok(AzureCredential::AccessKey(key))
    } else {
        Err(lacks("Azure", "azure_storage_token, azure_storage_sas_token or azure_storage_account_key", credentials))
    }
}

pub(crate) fn for_gcs(credentials: &Credentials) -> Result<GcpCredential> {
    const NAMES: [&str; 5] = ["token", "bearer_token", "google_token", "google_bearer_token", "access_token"];
    credentials
        .options
        .iter()
        .find(|(name, _)| NAMES.contains(&name.trim().to_ascii_lowercase().as_str()))
        .map(|(_, token)| GcpCredential { bearer: token.clone() })
        .ok_or_else(|| lacks("GCS", "token", credentials))
}

/// Names what came, never its values.
fn lacks(service: &str, wanted: &str, credentials: &Credentials) -> Error {
    let mut names: Vec<&str> = credentials.options.keys().map(String::as_str).collect();
    names.sort_unstable();
    Error::invalid_input(format!("for {service} the credentials source must give {wanted}; it gave [{}]", names.join(", ")))
}

/// `sv=…&sig=…`, with or without the question mark, encoded or not.
fn sas_pairs(sas: &str) -> Result<Vec<(String, String)>> {
    let plain = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    sas.trim()
        .trim_start_matches('?')
        .split('&')
        .filter(|pair| !pair.trim().is_empty())
        .map(|pair| match pair.split_once('=') {
            Some((name, value)) => Ok((plain(name), plain(value))),
            None => {
                Err(Error::invalid_input("azure_storage_sas_token from the credentials source is not of the form name=value&…"))
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    /// Counts how often it is asked; hands out a key that lives for a minute, then fails from the third time on.
    struct Counting {
        env: Env,
        life_ms: Option<i64>,
        asked: AtomicUsize,
        fails_from: usize,
    }

    impl CredentialSource for Counting {
        fn get(&self) -> Result<Credentials> {
            let n = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
            if n >= self.fails_from {
                return Err(Error::invalid_input("the vault is closed"));
            }
            Ok(Credentials {
                options: [("aws_access_key_id", format!("key{n}")), ("AWS_SECRET_ACCESS_KEY", "hunter2".to_owned())]
                    .map(|(k, v)| (k.to_owned(), v))
                    .into(),
                expires_at_ms: self.life_ms.map(|life| self.env.now_ms() + life),
            })
        }
    }

    fn refreshing(life_ms: Option<i64>, fails_from: usize) -> (Arc<Counting>, Env, Refreshing<AwsCredential>) {
        let env = Env::seeded(0);
        let source = Arc::new(Counting { env: env.clone(), life_ms, asked: AtomicUsize::new(0), fails_from });
        let provider = Refreshing::new(source.clone() as _, env.clone(), for_s3);
        (source, env, provider)
    }

    #[tokio::test]
    async fn credentials_are_kept_until_shortly_before_they_expire() {
        let (source, env, provider) = refreshing(Some(3_600_000), usize::MAX);
        assert_eq!(provider.get().await.unwrap().key_id, "key1");
        env.advance(Duration::from_millis(3_600_000) - Duration::from_secs(300) - Duration::from_millis(1));
        assert_eq!(provider.get().await.unwrap().key_id, "key1");
        env.advance(Duration::from_millis(1));
        assert_eq!(provider.get().await.unwrap().key_id, "key2");
        assert_eq!(source.asked.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn short_lived_credentials_keep_a_fifth_as_margin() {
        let (_, env, provider) = refreshing(Some(60_000), usize::MAX);
        provider.get().await.unwrap();
        env.advance(Duration::from_millis(47_999));
        assert_eq!(provider.get().await.unwrap().key_id, "key1");
        env.advance(Duration::from_millis(1));
        assert_eq!(provider.get().await.unwrap().key_id, "key2");
    }

    #[tokio::test]
    async fn undated_credentials_are_asked_for_every_five_minutes() {
        let (_, env, provider) = refreshing(None, usize::MAX);
        provider.get().await.unwrap();
        env.advance(Duration::from_secs(299));
        assert_eq!(provider.get().await.unwrap().key_id, "key1");
        env.advance(Duration::from_secs(1));
        assert_eq!(provider.get().await.unwrap().key_id, "key2");
    }

    #[tokio::test]
    async fn a_failing_source_matters_only_when_the_old_ones_have_expired() {
        let (_, env, provider) = refreshing(Some(60_000), 2);
        provider.get().await.unwrap();
        env.advance(Duration::from_secs(50));
        assert_eq!(provider.get().await.unwrap().key_id, "key1");
        env.advance(Duration::from_secs(10));
        assert_eq!(provider.get().await.unwrap_err().message(), "the vault is closed");
    }

    #[tokio::test]
    async fn many_callers_ask_once() {
        let (source, _, provider) = refreshing(Some(3_600_000), usize::MAX);
        let all = futures::future::join_all((0..50).map(|_| provider.get())).await;
        assert!(all.iter().all(|key| key.as_ref().unwrap().key_id == "key1"));
        assert_eq!(source.asked.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn expired_credentials_are_used_and_not_asked_for_in_a_loop() {
        let (source, _, provider) = refreshing(Some(-5000), usize::MAX);
        for _ in 0..10 {
            assert_eq!(provider.get().await.unwrap().key_id, "key1");
        }
        assert_eq!(source.asked.load(Ordering::SeqCst), 1);
    }

    fn credentials(pairs: &[(&str, &str)]) -> Credentials {
        Credentials { options: pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(), expires_at_ms: None }
    }

    #[test]
    fn each_service_takes_its_own_kind() {
        let s3 = for_s3(&credentials(&[("access_key_id", "a"), ("secret_access_key", "b"), ("session_token", "c")])).unwrap();
        assert_eq!((s3.key_id.as_str(), s3.secret_key.as_str(), s3.token.as_deref()), ("a", "b", Some("c")));
        let sas = for_azure(&credentials(&[("azure_storage_sas_token", "?sv=2024&sig=a%2Bb%3D")])).unwrap();
        assert_eq!(sas, AzureCredential::SASToken(vec![("sv".into(), "2024".into()), ("sig".into(), "a+b=".into())]));
        assert_eq!(for_azure(&credentials(&[("bearer_token", "t")])).unwrap(), AzureCredential::BearerToken("t".into()));
        assert_eq!(
            for_azure(&credentials(&[("account_key", "AAEC")])).unwrap(),
            AzureCredential::AccessKey(AzureAccessKey::try_new("AAEC").unwrap())
        );
        assert_eq!(for_gcs(&credentials(&[("Token", "t")])).unwrap().bearer, "t");
    }

    #[test]
    fn errors_and_debug_name_keys_but_no_values() {
        let given = credentials(&[("aws_access_key_id", "hunter2"), ("typo", "hunter2")]);
        let error = for_s3(&given).unwrap_err();
        assert_eq!(
            error.message(),
            "for S3 the credentials source must give aws_access_key_id and aws_secret_access_key; it gave [aws_access_key_id, typo]"
        );
        assert_eq!(format!("{given:?}"), r#"Credentials { options: {"aws_access_key_id", "typo"}, expires_at_ms: None }"#);
        assert!(!for_azure(&credentials(&[("account_key", "hunter2!")])).unwrap_err().to_string().contains("hunter2"));
    }
}
