//! Stores. The URL and the options of a table become a [`Store`], which reads and writes all bytes
//! of the table.
//!
//! Read [`Store::open`] first. `url` parses URLs, `options` checks the options, `credentials`
//! fetches credentials, and `connect` creates the connection. `request` reads, lists, writes and
//! deletes objects, `commit` has the operations that commits need, and `local` works on local
//! files. Each service has a folder for its own code, and `abilities` describes the differences
//! between services. `resolve` finds the object of a path in the log, and `identity` decides
//! whether two stores are the same.

mod abilities;
mod address;
mod azure;
mod commit;
mod connect;
mod connection;
mod content;
mod credentials;
mod gcs;
mod hdfs;
mod http;
mod identity;
mod local;
mod options;
mod request;
mod resolve;
mod s3;
mod url;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use ::url::Url;
use lakebed_core::error::{Error, Result};
use lakebed_core::path::LOG_DIR;
use object_store::ObjectStore;
use object_store::path::Path;

use abilities::{Listing, Writing};
use address::Address;
pub use commit::flush::{Unflushed, all_flushed};
pub use commit::local_queue::{CommitTurn, Queue, Waiting};
pub use commit::outcome::{Existing, Put, PutOutcome};
use connection::Connection;
pub use content::Content;
pub use credentials::{CredentialSource, Credentials};
pub use identity::StoreIdentity;
use local::file_path::file_path;
use local::hidden_file::Flush;
use local::rules::FileRules;
pub(crate) use local::within::Within;
pub use options::{StoreOptions, options_without_secrets};

pub(crate) use request::chunks::ChunkedRead;
pub use request::delete::{DeleteOutcome, DeletedObjects};
pub use request::folder::Folder;
pub(crate) use request::object_version::ObjectVersion;
pub use request::upload::Upload;
use request::windows::Windows;
use url::location::{Service, StoreLocation};
pub use url::parse::{absolute_location, url_without_secrets};
pub use url::spelling::is_relative;

/// A folder in a store: the root of a table. Clones are cheap.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    connection: Connection,
    address: Address,
    options: StoreOptions,
    /// The rules for local files.
    file_rules: FileRules,
    windows: Windows,
    /// The stores of absolute paths outside of this one.
    others: Mutex<HashMap<Service, Store>>,
    /// See [`Store::follow`].
    followed: Mutex<Vec<Store>>,
    /// See [`Store::unproven`].
    unproven: Option<String>,
}

impl Store {
    /// Opens the store at a URL or at a local path. It makes no request, so a missing table is
    /// noticed only later.
    ///
    /// The schemes of URLs are `file`, `memory`, `s3`, `s3a`, `az`, `abfs`, `abfss`, `adl`, `wasb`,
    /// `wasbs`, `gs`, `hdfs`, `viewfs`, `http` and `https`. Paths of URLs are percent-decoded once.
    /// A string without a scheme is a local path and is taken unchanged. `memory://name` is the
    /// same store for the whole process.
    pub fn open(url: &str, options: StoreOptions) -> Result<Self> {
        Self::open_location(StoreLocation::of_table(url)?, options)
    }

    fn open_location(location: StoreLocation, options: StoreOptions) -> Result<Self> {
        let connection = connect::connect(&location, &options, &options::environment())?;
        let unproven = connection.endpoint.as_ref().map(|endpoint| format!("{} at {endpoint}", location.url));
        let flush = if options::own::local_flush(&options.options)? { Flush::Both } else { Flush::Later };
        let within = Within::new(file_path(&location.path), options.allow_absolute_paths);
        let address = match connection.service {
            Service::Local => Address::of_files(location.path, location.url),
            _ => Address::of_objects(location.path, location.url),
        };
        Ok(Self(Arc::new(Inner {
            connection,
            address,
            options,
            file_rules: FileRules { within, flush },
            windows: Windows::default(),
            others: Mutex::default(),
            followed: Mutex::default(),
            unproven,
        })))
    }

    /// Returns a store around any implementation, with the root at `root` and the URL `url`. It is
    /// for tests and for stores that have no URL.
    pub fn from_object_store(object_store: Arc<dyn ObjectStore>, root: Path, url: Url) -> Self {
        Self::from_object_store_with(object_store, root, url, StoreOptions::default())
    }

    /// Returns a store like [`Store::from_object_store`], with options. Options that configure a
    /// connection have no effect here.
    pub fn from_object_store_with(object_store: Arc<dyn ObjectStore>, root: Path, url: Url, options: StoreOptions) -> Self {
        let within = Within::new(file_path(&root), options.allow_absolute_paths);
        let address = Address::of_objects(root, url);
        // The service comes from the URL, so that absolute paths below the URL are recognised as
        // the table's own.
        let service = StoreLocation::parse(address.url.as_str())
            .map_or_else(|_| Service::Memory { name: address.base.clone() }, |location| location.service);
        let unproven = match &service {
            Service::Local | Service::Memory { .. } | Service::Hdfs { .. } | Service::Http { .. } => None,
            // Another implementation at the same URL is another store.
            _ => Some(format!("{}, implementation {}", address.url, options.env.new_uuid())),
        };
        Self(Arc::new(Inner {
            connection: Connection::given(object_store, service),
            address,
            options,
            file_rules: FileRules { within, flush: Flush::Both },
            windows: Windows::default(),
            others: Mutex::default(),
            followed: Mutex::default(),
            unproven,
        }))
    }

    /// Returns the URL of the root, without secrets and without a slash at the end.
    pub fn url(&self) -> &str {
        self.0.address.url.as_str()
    }

    /// Returns the path of the root in the store.
    pub fn root(&self) -> &Path {
        &self.0.address.root
    }

    /// Returns the implementation. Its paths begin at the bucket or file system, not at the root.
    pub fn object_store(&self) -> &Arc<dyn ObjectStore> {
        &self.0.connection.store
    }

    /// Returns the options that the store was opened with.
    pub fn options(&self) -> &StoreOptions {
        &self.0.options
    }

    /// Returns the path of an object below the root. The name is neither encoded nor decoded.
    pub fn path_of(&self, relative: &str) -> Result<Path> {
        self.0.address.path_of(relative)
    }

    /// Returns the path of a file in the table's log.
    pub fn log_path(&self, name: &str) -> Result<Path> {
        self.path_of(&format!("{LOG_DIR}/{name}"))
    }

    /// Returns the name of an object in messages.
    pub fn describe(&self, path: &Path) -> String {
        self.0.address.describe(path)
    }

    /// Returns the path of the local file, if the store is the local disk.
    pub fn local_path(&self, path: &Path) -> Option<PathBuf> {
        self.is_local().then(|| file_path(path))
    }

    /// Returns the folder in which local files must lie.
    pub(crate) fn within(&self) -> Within {
        self.0.file_rules.within.clone()
    }

    /// Returns whether the store is the local disk.
    pub fn is_local(&self) -> bool {
        matches!(self.0.connection.listing, Listing::Local)
    }

    /// Returns whether the store is a web server, which may be unable to list folders or to send
    /// ranges.
    pub fn is_web(&self) -> bool {
        matches!(self.0.connection.listing, Listing::Web(_))
    }

    /// Returns the name and address of a store that is known only by its protocol.
    pub(crate) fn unproven(&self) -> Option<&str> {
        self.0.unproven.as_deref()
    }

    /// Returns the way in which objects are written.
    fn writing(&self) -> Writing {
        self.0.connection.service.writing()
    }

    pub(crate) fn failed(&self, error: &object_store::Error, path: &Path) -> Error {
        crate::at::store_error(error, &self.describe(path), &self.0.connection.secrets)
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Store").field(&self.url()).finish()
    }
}
