//! Storage options: which keys exist, how the environment and the URL add to them, and which part of them each service takes.
//!
//! Keys are those of object_store and of deltalake, in any case, with or without their prefix. The caller's options win over what the URL
//! implies, and that over the environment; as soon as an option or a credentials source names credentials, those of the environment are
//! left out altogether, so that two identities never mix. A key that no service knows is an error, since it is nearly always a typing
//! mistake; a key of another service is skipped, so that one set of options may serve several tables. Read [`settings`] first.

mod harmless;
mod store_options;

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::str::FromStr;
use std::time::Duration;

use lakebed_core::error::{Error, Result};
use object_store::aws::AmazonS3ConfigKey;
use object_store::azure::AzureConfigKey;
use object_store::gcp::GoogleConfigKey;
use object_store::{BackoffConfig, ClientConfigKey, RetryConfig};

pub use harmless::options_without_secrets;
pub use store_options::StoreOptions;

/// The options that one service takes, its own kind of key.
pub(crate) type Settings<K> = HashMap<K, String>;

/// A service's keys, and what they need to know about each other.
pub(crate) trait Key: FromStr + AsRef<str> + Eq + Hash + Copy + 'static {
    /// How the environment's variables for this service begin.
    const ENV_PREFIX: &'static str;
    /// A variable that begins otherwise, and the key that it stands for.
    const ENV_ALIAS: Option<(&'static str, &'static str)> = None;
    /// Whether the key is a part of somebody's identity.
    fn names_identity(self) -> bool;
    /// Keys that would take precedence over this one without the caller's having named them.
    fn shadowed_by(self) -> &'static [Self];
}

impl Key for AmazonS3ConfigKey {
    const ENV_PREFIX: &'static str = "AWS_";
    fn names_identity(self) -> bool {
        use AmazonS3ConfigKey as K;
        matches!(
            self,
            K::AccessKeyId
                | K::SecretAccessKey
                | K::Token
                | K::SkipSignature
                | K::ContainerCredentialsRelativeUri
                | K::ContainerCredentialsFullUri
                | K::ContainerAuthorizationTokenFile
                | K::WebIdentityTokenFile
                | K::RoleArn
                | K::RoleSessionName
        )
    }
    fn shadowed_by(self) -> &'static [Self] {
        match self {
            Self::Endpoint => &[Self::S3Endpoint],
            Self::DefaultRegion => &[Self::Region],
            _ => &[],
        }
    }
}

impl Key for AzureConfigKey {
    const ENV_PREFIX: &'static str = "AZURE_";
    const ENV_ALIAS: Option<(&'static str, &'static str)> = Some(("IDENTITY_ENDPOINT", "azure_msi_endpoint"));
    fn names_identity(self) -> bool {
        use AzureConfigKey as K;
        matches!(
            self,
            K::AccessKey
                | K::SasKey
                | K::Token
                | K::ClientId
                | K::ClientSecret
                | K::AuthorityId
                | K::FederatedTokenFile
                | K::MsiEndpoint
                | K::ObjectId
                | K::MsiResourceId
                | K::UseAzureCli
                | K::SkipSignature
                | K::FabricTokenServiceUrl
                | K::FabricWorkloadHost
                | K::FabricSessionToken
                | K::FabricClusterIdentifier
        )
    }
    fn shadowed_by(self) -> &'static [Self] {
        &[]
    }
}

impl Key for GoogleConfigKey {
    const ENV_PREFIX: &'static str = "GOOGLE_";
    const ENV_ALIAS: Option<(&'static str, &'static str)> = Some(("SERVICE_ACCOUNT", "google_service_account"));
    fn names_identity(self) -> bool {
        matches!(self, Self::ServiceAccount | Self::ServiceAccountKey | Self::ApplicationCredentials | Self::SkipSignature)
    }
    fn shadowed_by(self) -> &'static [Self] {
        &[]
    }
}

/// Plain web servers have only the client's options, and no environment of their own.
impl Key for ClientConfigKey {
    const ENV_PREFIX: &'static str = "";
    fn names_identity(self) -> bool {
        false
    }
    fn shadowed_by(self) -> &'static [Self] {
        &[]
    }
}

/// What applies to a service, out of `environment`, what the URL said, and the caller's `options`.
///
/// `own_identity` says that credentials come from elsewhere, so that the environment's must not interfere.
pub(crate) fn settings<K: Key>(
    environment: &[(String, String)],
    embedded: &[(&'static str, String)],
    options: &HashMap<String, String>,
    own_identity: bool,
) -> Result<Settings<K>> {
    let mut explicit = Settings::<K>::new();
    for (name, value) in embedded {
        if let Ok(key) = K::from_str(name) {
            explicit.insert(key, value.clone());
        }
    }
    let mut spelled = HashMap::<K, &str>::new();
    for (name, value) in options.iter().collect::<BTreeMap<_, _>>() {
        let Ok(key) = K::from_str(&name.trim().to_ascii_lowercase()) else { continue };
        if let Some(other) = spelled.insert(key, name)
            && explicit.get(&key) != Some(value)
        {
            return Err(Error::invalid_input(format!(
                "storage options {other} and {name} mean the same and have different values: keep one"
            )));
        }
        explicit.insert(key, value.clone());
    }
    let identified = own_identity || explicit.keys().any(|key| key.names_identity());
    let shadows = |key: K| explicit.keys().any(|set| set.shadowed_by().contains(&key));
    let mut all = Settings::new();
    for (name, value) in environment.iter().filter(|(_, value)| !value.is_empty()) {
        if let Some(key) = key_of_variable::<K>(name)
            && !(identified && key.names_identity())
            && !shadows(key)
        {
            all.insert(key, value.clone());
        }
    }
    all.extend(explicit);
    Ok(all)
}

fn key_of_variable<K: Key>(name: &str) -> Option<K> {
    if let Some((_, key)) = K::ENV_ALIAS.filter(|(alias, _)| *alias == name) {
        return K::from_str(key).ok();
    }
    (!K::ENV_PREFIX.is_empty() && name.starts_with(K::ENV_PREFIX)).then(|| K::from_str(&name.to_ascii_lowercase()).ok())?
}

/// The environment as text, in a fixed order.
pub(crate) fn environment() -> Vec<(String, String)> {
    let mut variables: Vec<_> =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))).collect();
    variables.sort();
    variables
}

/// Whether files of this machine are flushed to the disk.
const LOCAL_FLUSH: &str = "local_flush";

/// Whether files of this machine are flushed to the disk before they count as written: `local_flush`, true unless set otherwise.
pub(super) fn local_flush(options: &HashMap<String, String>) -> Result<bool> {
    let given = options.iter().find(|(name, _)| name.eq_ignore_ascii_case(LOCAL_FLUSH));
    match given.map(|(name, value)| (name, value.trim().to_ascii_lowercase())) {
        None => Ok(true),
        Some((_, value)) if value == "true" => Ok(true),
        Some((_, value)) if value == "false" => Ok(false),
        Some((name, value)) => Err(bad_value(name, &value, "true or false")),
    }
}

/// How failed requests are tried again: `max_retries`, `retry_timeout`, `backoff_config.init_backoff`, `.max_backoff`, `.base`.
/// The pauses grow and are drawn at random, so that many clients do not come back at once.
pub(crate) fn retry(options: &HashMap<String, String>) -> Result<RetryConfig> {
    let mut config = RetryConfig { backoff: BackoffConfig::default(), ..RetryConfig::default() };
    for (name, value) in options {
        match name.trim().to_ascii_lowercase().as_str() {
            "max_retries" => {
                config.max_retries = value.trim().parse().map_err(|_| bad_value(name, value, "a count such as 10"))?
            }
            "retry_timeout" => config.retry_timeout = duration(name, value)?,
            "backoff_config.init_backoff" => config.backoff.init_backoff = duration(name, value)?,
            "backoff_config.max_backoff" => config.backoff.max_backoff = duration(name, value)?,
            "backoff_config.base" => {
                let base: f64 = value.trim().parse().map_err(|_| bad_value(name, value, "a number such as 2"))?;
                if !(base.is_finite() && base > 1.0) {
                    return Err(bad_value(name, value, "a number above 1"));
                }
                config.backoff.base = base;
            }
            _ => {}
        }
    }
    // The pause is drawn between the first one and a multiple of the last: neither may be nothing.
    config.backoff.init_backoff = config.backoff.init_backoff.max(Duration::from_millis(1));
    config.backoff.max_backoff = config.backoff.max_backoff.max(config.backoff.init_backoff);
    Ok(config)
}

/// `30s`, `500ms`, `2m`, `1h`; a bare number counts seconds.
pub(crate) fn duration(name: &str, value: &str) -> Result<Duration> {
    let text = value.trim();
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let seconds = match unit {
        "ms" | "millis" | "milliseconds" => 0.001,
        "" | "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hour" | "hours" => 3600.0,
        _ => return Err(bad_value(name, value, "a time such as 30s or 500ms")),
    };
    let number: f64 = number.trim().parse().map_err(|_| bad_value(name, value, "a time such as 30s or 500ms"))?;
    Duration::try_from_secs_f64(number * seconds).map_err(|_| bad_value(name, value, "a time such as 30s or 500ms"))
}

fn bad_value(name: &str, value: &str, wanted: &str) -> Error {
    Error::invalid_input(format!("storage option {name} = {value:?}: wanted {wanted}"))
}

/// Refuses keys that mean nothing to any service.
pub(crate) fn check_known(options: &HashMap<String, String>) -> Result<()> {
    for name in options.keys().collect::<std::collections::BTreeSet<_>>() {
        let key = name.trim().to_ascii_lowercase();
        if is_known(&key) {
            continue;
        }
        if FOR_A_SOURCE.contains(&key.as_str()) {
            return Err(Error::invalid_input(format!(
                "storage option {name}: neither profiles of ~/.aws nor assumed roles are followed; pass the keys themselves, or a credentials source that asks the AWS SDK"
            )));
        }
        let near = nearest(&key);
        let hint = if near.is_empty() { String::new() } else { format!("; similar: {}", near.join(", ")) };
        return Err(Error::invalid_input(format!("storage option {name} is not known{hint}")));
    }
    Ok(())
}

fn is_known(key: &str) -> bool {
    AmazonS3ConfigKey::from_str(key).is_ok()
        || AzureConfigKey::from_str(key).is_ok()
        || GoogleConfigKey::from_str(key).is_ok()
        || ClientConfigKey::from_str(key).is_ok()
        || OWN.contains(&key)
        || WITHOUT_EFFECT.contains(&key)
        || HADOOP_PREFIXES.iter().any(|prefix| key.starts_with(prefix))
}

/// Keys of Hadoop's configuration go to the HDFS client as they are.
pub(crate) const HADOOP_PREFIXES: [&str; 4] = ["dfs.", "fs.", "hadoop.", "ipc."];

const OWN: [&str; 6] = [
    LOCAL_FLUSH,
    "max_retries",
    "retry_timeout",
    "backoff_config.init_backoff",
    "backoff_config.max_backoff",
    "backoff_config.base",
];

/// deltalake's keys that say how deltalake commits or caches; they change nothing about reading.
const WITHOUT_EFFECT: [&str; 14] = [
    "allow_unsafe_rename",
    "mount_allow_unsafe_rename",
    "aws_s3_allow_unsafe_rename",
    "aws_s3_locking_provider",
    "aws_s3_get_internal_server_error_retries",
    "aws_s3_pool_idle_timeout_seconds",
    "aws_sts_pool_idle_timeout_seconds",
    "aws_force_credential_load",
    "aws_ec2_metadata_disabled",
    "delta_dynamo_table_name",
    "dynamo_lock_owner_name",
    "aws_endpoint_url_dynamodb",
    "object_store_concurrency_limit",
    "optimize_writer_concurrency",
];

/// Ways to an identity that only the AWS SDK knows. Skipping them in silence would end in a puzzling refusal by the store.
const FOR_A_SOURCE: [&str; 5] =
    ["aws_profile", "profile", "aws_s3_assume_role_arn", "aws_iam_role_arn", "aws_s3_role_session_name"];

/// One spelling of each key that somebody may have meant.
const SPELLINGS: [&str; 48] = [
    "aws_access_key_id",
    "aws_secret_access_key",
    "aws_session_token",
    "aws_region",
    "aws_default_region",
    "aws_endpoint",
    "aws_endpoint_url",
    "aws_virtual_hosted_style_request",
    "aws_skip_signature",
    "aws_allow_http",
    "aws_role_arn",
    "aws_web_identity_token_file",
    "aws_conditional_put",
    "aws_copy_if_not_exists",
    "aws_s3_express",
    "aws_request_payer",
    "aws_unsigned_payload",
    "aws_server_side_encryption",
    "azure_storage_account_name",
    "azure_storage_account_key",
    "azure_storage_sas_token",
    "azure_storage_sas_key",
    "azure_storage_token",
    "azure_storage_client_id",
    "azure_storage_client_secret",
    "azure_storage_tenant_id",
    "azure_storage_endpoint",
    "azure_storage_use_emulator",
    "azure_use_azure_cli",
    "azure_use_fabric_endpoint",
    "account_name",
    "account_key",
    "google_service_account",
    "google_service_account_key",
    "google_application_credentials",
    "google_base_url",
    "access_key_id",
    "secret_access_key",
    "session_token",
    "endpoint",
    "region",
    "allow_http",
    "allow_invalid_certificates",
    "connect_timeout",
    "timeout",
    "proxy_url",
    "max_retries",
    "retry_timeout",
];

/// Up to three spellings that lie within a third of the key's length, nearest first.
fn nearest(key: &str) -> Vec<&'static str> {
    let mut near: Vec<_> =
        SPELLINGS.iter().map(|name| (distance(key, name), *name)).filter(|(d, name)| d * 3 <= name.len()).collect();
    near.sort_unstable();
    near.into_iter().take(3).map(|(_, name)| name).collect()
}

/// How many letters must be added, dropped or changed to come from one text to the other.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cell, y) in row.iter_mut().skip(1).zip(b.chars()) {
            let change = diagonal + usize::from(x != y);
            diagonal = *cell;
            left = change.min(left + 1).min(diagonal + 1);
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests;
