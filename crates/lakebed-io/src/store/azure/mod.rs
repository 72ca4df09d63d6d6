//! Azure's blob storage and data lake.

pub(super) mod connect;
pub(super) mod credentials;
pub(super) mod options;
mod same_account;
pub(super) mod url;
