//! The known options. A key that no service knows is nearly always a typing mistake.

use std::collections::HashMap;
use std::str::FromStr;

use lakebed_core::error::{Error, Result};
use object_store::ClientConfigKey;
use object_store::aws::AmazonS3ConfigKey;
use object_store::azure::AzureConfigKey;
use object_store::gcp::GoogleConfigKey;

use super::own::OWN;
use crate::store::hdfs::options::HADOOP_PREFIXES;

/// Refuses keys that no service knows.
pub(in crate::store) fn check_known(options: &HashMap<String, String>) -> Result<()> {
    for name in options.keys().collect::<std::collections::BTreeSet<_>>() {
        let key = name.trim().to_ascii_lowercase();
        if is_known(&key) {
            continue;
        }
        if FOR_A_SOURCE.contains(&key.as_str()) {
            return Err(Error::invalid_input(format!(
                "storage option {name}: lakebed supports neither profiles of ~/.aws nor assumed roles; pass the keys themselves, \
                 or a credentials source that uses the AWS SDK"
            )));
        }
        let near = nearest(&key);
        let hint = if near.is_empty() { String::new() } else { format!("; similar: {}", near.join(", ")) };
        return Err(Error::invalid_input(format!("there is no storage option {name}{hint}")));
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

/// Keys with which deltalake configures its commits or caches. They have no effect here.
pub(in crate::store) const WITHOUT_EFFECT: [&str; 14] = [
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

/// Keys for ways to an identity that only the AWS SDK supports. If they were ignored, the store
/// would refuse requests without naming the reason.
const FOR_A_SOURCE: [&str; 5] =
    ["aws_profile", "profile", "aws_s3_assume_role_arn", "aws_iam_role_arn", "aws_s3_role_session_name"];

/// One spelling of each key, for suggestions.
pub(super) const SPELLINGS: [&str; 48] = [
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

/// Returns up to three spellings with a distance of at most a third of their length, nearest first.
fn nearest(key: &str) -> Vec<&'static str> {
    let mut near: Vec<_> =
        SPELLINGS.iter().map(|name| (distance(key, name), *name)).filter(|(d, name)| d * 3 <= name.len()).collect();
    near.sort_unstable();
    near.into_iter().take(3).map(|(_, name)| name).collect()
}

/// Returns the number of characters to add, drop or change to turn one string into the other.
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
