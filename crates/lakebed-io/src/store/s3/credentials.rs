//! Credentials for S3.

use lakebed_core::error::Result;
use object_store::aws::{AmazonS3ConfigKey, AwsCredential};

use crate::store::credentials::{Credentials, lacks};
use crate::store::options::settings;

pub(in crate::store) fn for_s3(credentials: &Credentials) -> Result<AwsCredential> {
    let named = settings::<AmazonS3ConfigKey>(&[], &[], &credentials.options, true)?;
    let take = |key: AmazonS3ConfigKey| named.get(&key).cloned();
    match (take(AmazonS3ConfigKey::AccessKeyId), take(AmazonS3ConfigKey::SecretAccessKey)) {
        (Some(key_id), Some(secret_key)) => {
            Ok(AwsCredential { key_id, secret_key, token: take(AmazonS3ConfigKey::Token).filter(|token| !token.is_empty()) })
        }
        _ => Err(lacks("S3", "aws_access_key_id and aws_secret_access_key", credentials)),
    }
}
