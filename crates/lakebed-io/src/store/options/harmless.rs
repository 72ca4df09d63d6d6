//! Which options hold no secret, so that they may be sent around: only those that are known to hold none.
//!
//! Read [`options_without_secrets`].

use std::collections::HashMap;
use std::str::FromStr;

use object_store::ClientConfigKey;
use object_store::aws::AmazonS3ConfigKey;
use object_store::azure::AzureConfigKey;
use object_store::gcp::GoogleConfigKey;
use url::Url;

use super::{OWN, WITHOUT_EFFECT};
use crate::store::place::without_secrets;

/// What an option's value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Held {
    /// Nothing that opens a store.
    Plain,
    /// An address, in which a password or a signature may stand.
    Address,
    /// A part of an identity that is no secret: worth something together with the others only.
    Identity,
    /// A secret that belongs to an identity.
    SecretOfIdentity,
    /// A secret, or an option that is not known.
    Unknown,
}

/// The options that are known to hold no secret; addresses without user, password and query. Parts of an identity are left out where
/// another part of it is a secret: halves of two identities must not be mixed.
pub fn options_without_secrets(options: &HashMap<String, String>) -> HashMap<String, String> {
    let held = |name: &String| held(&name.trim().to_ascii_lowercase());
    let is_whole = !options.keys().any(|name| held(name) == Held::SecretOfIdentity);
    let mut kept = HashMap::new();
    for (name, value) in options {
        let value = match held(name) {
            Held::Plain => Some(value.clone()),
            Held::Address => address(value),
            // Some callers give the key itself where its path belongs.
            Held::Identity if is_whole && !value.contains(['{', '\n']) => Some(value.clone()),
            _ => None,
        };
        kept.extend(value.map(|value| (name.clone(), value)));
    }
    kept
}

/// An address without what may be secret in it; none if it is no address, which may be anything.
fn address(value: &str) -> Option<String> {
    let parsed = |text: &str| Url::parse(text).ok().filter(Url::has_host);
    // `user:password@host` is a URL, too, of the scheme `user`, but without a host.
    let url = if value.contains("://") { parsed(value)? } else { parsed(&format!("http://{value}"))? };
    let holds_secrets =
        !url.username().is_empty() || url.password().is_some() || url.query().is_some() || url.fragment().is_some();
    let kept = if holds_secrets { without_secrets(url).into() } else { value.to_owned() };
    // A password with a slash in it ends up in the path.
    (!kept.contains('@')).then_some(kept)
}

/// By the services that know the name. If several services know the name, the strictest of them decides.
fn held(name: &str) -> Held {
    let found = [
        AmazonS3ConfigKey::from_str(name).ok().map(of_s3),
        AzureConfigKey::from_str(name).ok().map(of_azure),
        GoogleConfigKey::from_str(name).ok().map(of_gcs),
        ClientConfigKey::from_str(name).ok().map(of_client),
    ];
    let own = OWN.contains(&name) || WITHOUT_EFFECT.contains(&name) || is_of_hadoop(name);
    found.into_iter().flatten().chain(own.then_some(Held::Plain)).max().unwrap_or(Held::Unknown)
}

fn of_s3(key: AmazonS3ConfigKey) -> Held {
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
        | K::RequestPayer => Held::Plain,
        K::Endpoint | K::S3Endpoint | K::StsEndpoint | K::MetadataEndpoint => Held::Address,
        K::SkipSignature | K::WebIdentityTokenFile | K::RoleArn | K::RoleSessionName => Held::Identity,
        K::AccessKeyId | K::SecretAccessKey | K::Token => Held::SecretOfIdentity,
        K::Client(key) => of_client(key),
        // Which way of encryption, and the name of a key that the service keeps; but never a key of one's own.
        K::Encryption(_)
            if matches!(key.as_ref(), "aws_server_side_encryption" | "aws_sse_kms_key_id" | "aws_sse_bucket_key_enabled") =>
        {
            Held::Plain
        }
        _ => Held::Unknown,
    }
}

fn of_azure(key: AzureConfigKey) -> Held {
    use AzureConfigKey as K;
    match key {
        K::AccountName | K::ContainerName | K::UseEmulator | K::UseFabricEndpoint | K::DisableTagging => Held::Plain,
        K::Endpoint | K::AuthorityHost => Held::Address,
        K::SkipSignature
        | K::UseAzureCli
        | K::ClientId
        | K::AuthorityId
        | K::ObjectId
        | K::MsiResourceId
        | K::FederatedTokenFile => Held::Identity,
        K::AccessKey | K::SasKey | K::Token | K::ClientSecret | K::FabricSessionToken => Held::SecretOfIdentity,
        K::Client(key) => of_client(key),
        _ => Held::Unknown,
    }
}

fn of_gcs(key: GoogleConfigKey) -> Held {
    use GoogleConfigKey as K;
    match key {
        K::Bucket => Held::Plain,
        K::BaseUrl => Held::Address,
        K::SkipSignature | K::ServiceAccount | K::ApplicationCredentials => Held::Identity,
        K::ServiceAccountKey => Held::SecretOfIdentity,
        K::Client(key) => of_client(key),
        _ => Held::Unknown,
    }
}

fn of_client(key: ClientConfigKey) -> Held {
    use ClientConfigKey as K;
    match key {
        K::AllowHttp
        | K::AllowInvalidCertificates
        | K::ConnectTimeout
        | K::DefaultContentType
        | K::Http1Only
        | K::Http2Only
        | K::Http2KeepAliveInterval
        | K::Http2KeepAliveTimeout
        | K::Http2KeepAliveWhileIdle
        | K::Http2MaxFrameSize
        | K::PoolIdleTimeout
        | K::PoolMaxIdlePerHost
        | K::ProxyExcludes
        | K::RandomizeAddresses
        | K::Timeout => Held::Plain,
        K::ProxyUrl => Held::Address,
        _ => Held::Unknown,
    }
}

/// Where an HDFS cluster is, and how its client behaves.
fn is_of_hadoop(name: &str) -> bool {
    const PLAIN: [&str; 30] = [
        "dfs.nameservices",
        "dfs.internal.nameservices",
        "dfs.nameservice.id",
        "dfs.ha.",
        "dfs.namenode.rpc-address",
        "dfs.namenode.servicerpc-address",
        "dfs.namenode.http-address",
        "dfs.namenode.https-address",
        "dfs.namenode.kerberos.principal",
        "dfs.datanode.kerberos.principal",
        "dfs.http.policy",
        "dfs.client.",
        "dfs.replication",
        "dfs.blocksize",
        "dfs.block.size",
        "dfs.bytes-per-checksum",
        "dfs.checksum.",
        "dfs.permissions.",
        "dfs.data.transfer.protection",
        "dfs.data.transfer.saslproperties.resolver.class",
        "dfs.encrypt.data.transfer",
        "fs.defaultfs",
        "fs.default.name",
        "fs.hdfs.impl",
        "fs.viewfs.",
        "ipc.client.",
        "hadoop.rpc.protection",
        "hadoop.security.authentication",
        "hadoop.security.authorization",
        "hadoop.user.group.static.mapping.overrides",
    ];
    let is_secret = ["password", "secret", "token", "key", "credential"].iter().any(|word| name.contains(word));
    !is_secret && PLAIN.iter().any(|plain| name.starts_with(plain))
}
