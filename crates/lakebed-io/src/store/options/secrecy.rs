//! The secrecy of an option's value.

use object_store::ClientConfigKey;

/// The secrecy of an option's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::store) enum Secrecy {
    /// The value gives access to nothing.
    Plain,
    /// An address, which may contain a password or a signature.
    Address,
    /// A part of an identity that is no secret. It is useful only together with the other parts.
    Identity,
    /// A secret that belongs to an identity.
    SecretOfIdentity,
    /// A secret, or the value of an unknown option.
    Unknown,
}

/// Returns the secrecy of an option of the HTTP client.
pub(in crate::store) fn of_client(key: ClientConfigKey) -> Secrecy {
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
        | K::Timeout => Secrecy::Plain,
        K::ProxyUrl => Secrecy::Address,
        _ => Secrecy::Unknown,
    }
}
