//! Google Cloud Storage.

pub(super) mod connect;
pub(super) mod credentials;
pub(super) mod options;
