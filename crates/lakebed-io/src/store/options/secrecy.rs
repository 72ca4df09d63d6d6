//! What an option's value may give away.

use object_store::ClientConfigKey;

/// What an option's value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::store) enum Secrecy {
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

/// What an option of the HTTP client holds.
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
