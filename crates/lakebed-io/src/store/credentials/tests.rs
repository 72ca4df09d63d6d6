use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use object_store::aws::AwsCredential;
use object_store::azure::{AzureAccessKey, AzureCredential};

use super::*;
use crate::store::azure::credentials::for_azure;
use crate::store::gcs::credentials::for_gcs;
use crate::store::s3::credentials::for_s3;

/// A source that counts its calls. The credentials expire after `life_ms`, and the call with number
/// `fails_from` and all later ones fail.
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
async fn credentials_are_kept_until_before_expiry() {
    let (source, env, provider) = refreshing(Some(3_600_000), usize::MAX);
    assert_eq!(provider.get().await.unwrap().key_id, "key1");
    env.advance(Duration::from_millis(3_600_000) - Duration::from_secs(300) - Duration::from_millis(1));
    assert_eq!(provider.get().await.unwrap().key_id, "key1");
    env.advance(Duration::from_millis(1));
    assert_eq!(provider.get().await.unwrap().key_id, "key2");
    assert_eq!(source.asked.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn short_lived_credentials_have_smaller_margin() {
    let (_, env, provider) = refreshing(Some(60_000), usize::MAX);
    provider.get().await.unwrap();
    env.advance(Duration::from_millis(47_999));
    assert_eq!(provider.get().await.unwrap().key_id, "key1");
    env.advance(Duration::from_millis(1));
    assert_eq!(provider.get().await.unwrap().key_id, "key2");
}

#[tokio::test]
async fn undated_credentials_refresh_after_five_minutes() {
    let (_, env, provider) = refreshing(None, usize::MAX);
    provider.get().await.unwrap();
    env.advance(Duration::from_secs(299));
    assert_eq!(provider.get().await.unwrap().key_id, "key1");
    env.advance(Duration::from_secs(1));
    assert_eq!(provider.get().await.unwrap().key_id, "key2");
}

#[tokio::test]
async fn failing_source_matters_only_after_expiry() {
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
async fn expired_credentials_are_requested_once() {
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
fn errors_name_keys_without_values() {
    let given = credentials(&[("aws_access_key_id", "hunter2"), ("typo", "hunter2")]);
    let error = for_s3(&given).unwrap_err();
    assert_eq!(
        error.message(),
        "for S3 the credentials source must return aws_access_key_id and aws_secret_access_key; it returned [aws_access_key_id, typo]"
    );
    assert_eq!(format!("{given:?}"), r#"Credentials { options: {"aws_access_key_id", "typo"}, expires_at_ms: None }"#);
    assert!(!for_azure(&credentials(&[("account_key", "hunter2!")])).unwrap_err().to_string().contains("hunter2"));
}
