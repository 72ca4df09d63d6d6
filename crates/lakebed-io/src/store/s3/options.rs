//! The options of S3.

use object_store::aws::AmazonS3ConfigKey;

use crate::store::options::Key;
use crate::store::options::secrecy::{Secrecy, of_client};

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

/// Returns the secrecy of an option.
pub(in crate::store) fn of_s3(key: AmazonS3ConfigKey) -> Secrecy {
    use AmazonS3ConfigKey as K;
    match key {
        K::Region
        | K::DefaultRegion
        | K::Bucket
        | K::VirtualHostedStyleRequest
        | K::S3Express
        | K::ImdsV1Fallback
        | K::UnsignedPayload
        | K::Checksum
        | K::CopyIfNotExists
        | K::ConditionalPut
        | K::DisableTagging
        | K::RequestPayer => Secrecy::Plain,
        K::Endpoint | K::S3Endpoint | K::StsEndpoint | K::MetadataEndpoint => Secrecy::Address,
        K::SkipSignature | K::WebIdentityTokenFile | K::RoleArn | K::RoleSessionName => Secrecy::Identity,
        K::AccessKeyId | K::SecretAccessKey | K::Token => Secrecy::SecretOfIdentity,
        K::Client(key) => of_client(key),
        // The kind of encryption, and the name of a key that the service keeps, are not secret. A
        // key of the caller is secret.
        K::Encryption(_)
            if matches!(key.as_ref(), "aws_server_side_encryption" | "aws_sse_kms_key_id" | "aws_sse_bucket_key_enabled") =>
        {
            Secrecy::Plain
        }
        _ => Secrecy::Unknown,
    }
}
