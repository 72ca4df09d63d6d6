//! Stores: a table's URL and options become a [`Store`], through which all bytes of the table are read and written.
//!
//! Read [`Store::open`] first. `place` understands URLs, `options` the options, `credentials` the callables, `connect` makes the
//! connection; `request` is what one does with it, `local` how on a disk, `commit` what a commit needs, `resolve` how a path of the log
//! finds its file, `identity` which stores are one.

mod azure;
mod commit;
mod connect;
mod connection;
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
use object_store::list::PaginatedListStore;
use object_store::path::Path;

pub use commit::flush::{Unflushed, all_flushed};
pub use commit::local_queue::{Queue, Turn, Waiting};
pub use commit::outcome::{Existing, Put, PutOutcome};
pub use credentials::{CredentialSource, Credentials};
pub use identity::StoreIdentity;
use local::file_path::file_path;
pub(crate) use local::within::Within;
pub use options::{StoreOptions, options_without_secrets};

pub(crate) use request::chunks::Parts;
pub use request::delete::{Deletion, Fate};
pub use request::folder::Folder;
pub(crate) use request::object_version::Edition;
pub use request::upload::Upload;
use request::windows::Windows;
use url::location::{Place, Service};
pub use url::parse::{absolute_location, url_without_secrets};
pub use url::spelling::is_relative;

/// A folder in a store: the root of a table. Cheap to clone.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    object_store: Arc<dyn ObjectStore>,
    /// The implementation was given, not made from a URL.
    is_given: bool,
    /// Files of this machine are flushed to the disk before they count as written.
    local_flush: bool,
    service: Service,
    root: Path,
    url: Url,
    /// What stands before the path of an object in messages: `s3://bucket/`, or `/`.
    base: String,
    listing: Listing,
    /// The same connection, for listing page by page.
    pages: Option<Arc<dyn PaginatedListStore>>,
    /// How often a request is made again.
    max_retries: usize,
    secrets: Vec<String>,
    /// Where files of this machine must lie.
    within: Within,
    options: StoreOptions,
    /// Stores that absolute paths led to.
    others: Mutex<HashMap<Service, Store>>,
    windows: Windows,
    /// See [`Store::unproven`].
    unproven: Option<String>,
}

/// How a folder is listed with the fewest requests.
enum Listing {
    /// From a name on, in the order of names, so that it may end early.
    Ordered,
    /// All of the folder, in no order.
    Whole,
    /// By reading the directory.
    Local,
    /// If this client can; plain web servers cannot.
    Web(Arc<dyn ObjectStore>),
}

impl Store {
    /// The store at a URL, or at a path on this machine. No request is made yet, so that a missing table shows itself only later.
    ///
    /// URLs are of the schemes `file`, `memory`, `s3`, `s3a`, `az`, `abfs`, `abfss`, `adl`, `wasb`, `wasbs`, `gs`, `hdfs`, `viewfs`,
    /// `http` and `https`; their paths are percent-decoded once. What has no scheme is a local path and taken as it is.
    /// `memory://name` is the same store for the whole process.
    pub fn open(url: &str, options: StoreOptions) -> Result<Self> {
        Self::open_place(Place::of_table(url)?, options)
    }

    fn open_place(place: Place, options: StoreOptions) -> Result<Self> {
        let connection = connect::connect(&place, &options, &options::environment())?;
        let listing = match (connection.lister, &connection.service) {
            (Some(lister), _) => Listing::Web(lister),
            (None, Service::Local) => Listing::Local,
            (None, Service::Hdfs { .. } | Service::Http { .. }) => Listing::Whole,
            // Directory buckets of S3 Express list in no order and know no start.
            (None, Service::S3 { bucket }) if bucket.ends_with("--x-s3") => Listing::Whole,
            (None, _) => Listing::Ordered,
        };
        let unproven = connection.endpoint.map(|endpoint| format!("{} at {endpoint}", place.url));
        let base = match connection.service {
            Service::Local => "/".to_owned(),
            _ => base_of(&place.url),
        };
        let within = Within::new(file_path(&place.path), options.allow_absolute_paths);
        Ok(Self(Arc::new(Inner {
            object_store: connection.store,
            is_given: false,
            local_flush: options::own::local_flush(&options.options)?,
            service: connection.service,
            root: place.path,
            url: place.url,
            base,
            listing,
            pages: connection.pages,
            max_retries: connection.max_retries,
            secrets: connection.secrets,
            within,
            options,
            others: Mutex::default(),
            windows: Windows::default(),
            unproven,
        })))
    }

    /// A store around any implementation, below `root` and shown as `url`; for tests and for stores that have no URL.
    pub fn from_object_store(object_store: Arc<dyn ObjectStore>, root: Path, url: Url) -> Self {
        Self::from_object_store_with(object_store, root, url, StoreOptions::default())
    }

    /// The same with options, of which those that make a connection mean nothing here.
    pub fn from_object_store_with(object_store: Arc<dyn ObjectStore>, root: Path, url: Url, options: StoreOptions) -> Self {
        let base = base_of(&url);
        // So that absolute paths below the URL are found to be the table's own.
        let service = Place::parse(url.as_str()).map_or_else(|_| Service::Memory { name: base.clone() }, |place| place.service);
        let unproven = match &service {
            Service::Local | Service::Memory { .. } | Service::Hdfs { .. } | Service::Http { .. } => None,
            // Another implementation at the same URL is another store.
            _ => Some(format!("{url}, implementation {}", options.env.new_uuid())),
        };
        let within = Within::new(file_path(&root), options.allow_absolute_paths);
        Self(Arc::new(Inner {
            object_store,
            is_given: true,
            local_flush: true,
            service,
            root,
            url,
            base,
            listing: Listing::Ordered,
            pages: None,
            // Whoever gives an implementation decides that too.
            max_retries: 0,
            secrets: Vec::new(),
            within,
            options,
            others: Mutex::default(),
            windows: Windows::default(),
            unproven,
        }))
    }

    /// The root's URL, without secrets and without a slash at the end.
    pub fn url(&self) -> &str {
        self.0.url.as_str()
    }

    /// The root as the store names it.
    pub fn root(&self) -> &Path {
        &self.0.root
    }

    /// The implementation. Its paths begin at the bucket or file system, not at the root.
    pub fn object_store(&self) -> &Arc<dyn ObjectStore> {
        &self.0.object_store
    }

    /// The options that it was opened with.
    pub fn options(&self) -> &StoreOptions {
        &self.0.options
    }

    /// The object of this name below the root. The name is taken as it is: nothing is encoded or decoded.
    pub fn path_of(&self, relative: &str) -> Result<Path> {
        let root = self.0.root.as_ref();
        let names = relative.split('/').filter(|name| !name.is_empty());
        let whole = root.split('/').filter(|name| !name.is_empty()).chain(names).collect::<Vec<_>>().join("/");
        Path::parse(&whole).map_err(|error| {
            Error::invalid_input(format!("{}{whole}: not a name that a store can hold", self.0.base)).with_source(error)
        })
    }

    /// The file of this name in the table's log.
    pub fn log_path(&self, name: &str) -> Result<Path> {
        self.path_of(&format!("{LOG_DIR}/{name}"))
    }

    /// An object as messages name it.
    pub fn describe(&self, path: &Path) -> String {
        format!("{}{path}", self.0.base)
    }

    /// The file behind an object, if the store is this machine's file system.
    pub fn local_path(&self, path: &Path) -> Option<PathBuf> {
        self.is_local().then(|| file_path(path))
    }

    /// Where files must lie, if the store is this machine's file system.
    pub(crate) fn within(&self) -> Within {
        self.0.within.clone()
    }

    /// Whether this is the machine's file system.
    pub(crate) fn is_local(&self) -> bool {
        matches!(self.0.listing, Listing::Local)
    }

    /// Whether this is a web server, which may be unable to list its folders or to send parts of a file.
    pub fn is_web(&self) -> bool {
        matches!(self.0.listing, Listing::Web(_))
    }

    /// The store by name and address, if nothing is known of it but the protocol that it speaks.
    pub(crate) fn unproven(&self) -> Option<&str> {
        self.0.unproven.as_deref()
    }

    fn failed(&self, error: &object_store::Error, path: &Path) -> Error {
        crate::at::store_error(error, &self.describe(path), &self.0.secrets)
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Store").field(&self.url()).finish()
    }
}

/// The URL up to its path, with a slash.
fn base_of(url: &Url) -> String {
    let mut base = url[..::url::Position::BeforePath].to_owned();
    if !base.ends_with('/') {
        base.push('/');
    }
    base
}
