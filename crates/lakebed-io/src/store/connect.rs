//! Connects to a store, given a [`StoreLocation`] and options. Nothing here makes a request.
//!
//! Read [`connect`] first.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use lakebed_core::error::{Error, Result};
use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;

use super::abilities::Listing;
use super::connection::{ConnectError, ConnectRequest, Connection};
use super::options::{StoreOptions, known, own};
use super::url::location::{Service, StoreLocation};
use crate::at::without;

/// Connects to the service of `location`. Outside of tests, `environment` is
/// [`options::environment`].
pub(crate) fn connect(location: &StoreLocation, with: &StoreOptions, environment: &[(String, String)]) -> Result<Connection> {
    known::check_known(&with.options)?;
    let retry = own::retry(&with.options)?;
    let asked = ConnectRequest { location, with, environment, retry };
    let secrets = asked.secrets();
    let connected = match &location.service {
        Service::Local => Ok(Connection { listing: Listing::Local, ..asked.plain(Arc::new(LocalFileSystem::new())) }),
        Service::Memory { name } => Ok(asked.plain(memory(name))),
        Service::S3 { bucket } => asked.s3(bucket),
        Service::Azure { account, container } => asked.azure(account.as_deref(), container),
        Service::Gcs { bucket } => asked.gcs(bucket),
        Service::Hdfs { url } => asked.hdfs(url),
        Service::Http { origin } => asked.http(origin),
    };
    let connection = connected.map_err(|error| match error {
        ConnectError::Ours(error) => error,
        ConnectError::Theirs(error) => Error::invalid_input(format!(
            "{}: the storage options are not valid: {}",
            location.url,
            without(&error.to_string(), &secrets)
        )),
    })?;
    Ok(Connection { secrets, ..connection })
}

/// Returns the stores of `memory://name`. There is one for each name, and it lives as long as the
/// process.
fn memory(name: &str) -> Arc<dyn ObjectStore> {
    static STORES: Mutex<Option<HashMap<String, Arc<InMemory>>>> = Mutex::new(None);
    let mut stores = STORES.lock().unwrap_or_else(PoisonError::into_inner);
    let store = stores.get_or_insert_default().entry(name.to_owned()).or_default();
    Arc::clone(store) as _
}

#[cfg(test)]
mod tests;
