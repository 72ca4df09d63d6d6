//! S3, and services that speak its protocol.

pub(super) mod connect;
pub(super) mod credentials;
pub(super) mod options;
pub(super) mod url;
