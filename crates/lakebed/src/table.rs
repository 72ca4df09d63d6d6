//! The location of a table, from which its snapshots are loaded.

use std::sync::Arc;

use lakebed_core::{Error, ErrorKind, Result};
use lakebed_io::env::Env;
use lakebed_io::store::{CredentialSource, Store, StoreOptions};
use serde::Deserialize;
use tokio::sync::Mutex;

use crate::location::Location;
use crate::snapshot::{self, Snapshot, Stage};

/// A table at a URL or a local path.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> lakebed::Result<()> {
/// let missing = lakebed::Table::at("memory://nowhere").open().await;
/// assert!(matches!(missing.unwrap_err().kind(), lakebed::ErrorKind::TableNotFound));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Table {
    store: Store,
    env: Env,
    latest: Arc<Mutex<Option<Snapshot>>>,
    only: Option<AcceptedTable>,
    /// The transaction of which this handle is a part. Its operations do not commit by themselves.
    stage: Option<Arc<Stage>>,
}

/// The identity of the only table that a handle accepts at its location.
#[derive(Clone)]
struct AcceptedTable {
    id: Arc<str>,
    version: u64,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").field("url", &self.store.url()).finish_non_exhaustive()
    }
}

/// Which snapshot of a table is opened. The default is the newest one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SnapshotOptions {
    /// The version.
    pub version: Option<u64>,
    /// The version is the one that was the latest at this timestamp, in milliseconds since the
    /// epoch.
    pub timestamp_ms: Option<i64>,
    /// The version is the one with this tag.
    pub tag: Option<String>,
    /// The id that the table must have in the version.
    pub id: Option<String>,
}

/// Builds a [`Table`] from a location and options. [`open`](TableBuilder::open) checks that the
/// table exists.
pub struct TableBuilder {
    location: Location,
    credentials: Option<Arc<dyn CredentialSource>>,
    env: Env,
    store: Option<Store>,
}

impl Table {
    /// Begins to build the table at this URL or local path.
    pub fn at(uri: impl Into<String>) -> TableBuilder {
        Self::at_location(Location::from(uri.into()))
    }

    /// Begins to build the table at this location.
    pub fn at_location(location: Location) -> TableBuilder {
        TableBuilder { location, credentials: None, env: Env::system(), store: None }
    }

    /// Returns the store below the table's root.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the clock and the source of identifiers.
    pub fn env(&self) -> &Env {
        &self.env
    }

    /// Keeps a snapshot that is known to be new, such as the snapshot of an own commit.
    pub(crate) async fn keep(&self, snapshot: &Snapshot) {
        if snapshot.is_pending() {
            return;
        }
        let mut latest = self.latest.lock().await;
        if latest.as_ref().is_none_or(|known| known.version() < snapshot.version()) {
            *latest = Some(snapshot.clone());
        }
    }

    /// Returns a handle of the same location that accepts only the table of this snapshot. If that
    /// table was deleted or another one was made in its place, no operation makes, reads or changes
    /// a table here.
    #[must_use]
    pub fn only(&self, snapshot: &Snapshot) -> Self {
        let known = AcceptedTable { id: snapshot.metadata().id.as_str().into(), version: snapshot.version() };
        Self { only: Some(known), ..self.clone() }
    }

    /// Returns a handle whose operations belong to a transaction.
    pub(crate) fn staged(&self, stage: Arc<Stage>) -> Self {
        Self { stage: Some(stage), ..self.clone() }
    }

    /// Returns whether the operations of this handle belong to a transaction.
    pub fn is_in_transaction(&self) -> bool {
        self.stage.is_some()
    }

    /// Returns an error if this handle belongs to a transaction, in which `operation` is not
    /// possible.
    pub(crate) fn refuse_in_transaction(&self, operation: &str) -> Result<()> {
        match &self.stage {
            Some(stage) => stage.snapshot()?.refuse_pending(operation),
            None => Ok(()),
        }
    }

    /// Returns whether a table may be created here.
    pub(crate) fn may_be_made(&self) -> bool {
        self.only.is_none()
    }

    /// Returns the latest version. This takes one listing if there is no newer version.
    ///
    /// For a handle of a transaction, it is the pending state of that transaction.
    pub async fn snapshot(&self) -> Result<Snapshot> {
        if let Some(stage) = &self.stage {
            return stage.snapshot();
        }
        let mut latest = self.latest.lock().await;
        let snapshot = match &*latest {
            Some(snapshot) => snapshot.refresh().await?,
            None => snapshot::load(self.store.clone(), self.env.clone(), None).await?,
        };
        *latest = Some(snapshot.clone());
        drop(latest);
        self.check_same(&snapshot).await?;
        Ok(snapshot)
    }

    /// Returns an older version, if the table has this id. It is an error if another table was made
    /// in its place.
    pub async fn snapshot_of(&self, id: &str, version: u64) -> Result<Snapshot> {
        let found = self.snapshot_at(version).await?;
        if *found.metadata().id == *id { Ok(found) } else { Err(self.replaced()) }
    }

    fn replaced(&self) -> Error {
        let message = format!(
            "{}: the opened table was deleted, and another table was created at its location: open that table to work with it",
            self.store.url()
        );
        Error::new(ErrorKind::TableNotFound, message)
    }

    async fn check_same(&self, found: &Snapshot) -> Result<()> {
        let Some(known) = self.only.as_ref().filter(|known| *known.id != *found.metadata().id) else { return Ok(()) };
        // A commit may give the same table another id. If so, the version that this handle knows
        // still has the old one.
        match self.snapshot_at(known.version).await {
            Ok(before) if *before.metadata().id == *known.id => Ok(()),
            Err(error) if *error.kind() != ErrorKind::VersionNotFound => Err(error),
            _ => Err(self.replaced()),
        }
    }

    /// Returns the latest version, given one that is known.
    pub async fn newer_than(&self, known: &Snapshot) -> Result<Snapshot> {
        self.keep(known).await;
        self.snapshot().await
    }

    /// Returns the table at a version.
    pub async fn snapshot_at(&self, version: u64) -> Result<Snapshot> {
        if let Some(stage) = &self.stage {
            let pending = stage.snapshot()?;
            if pending.version() == version {
                return Ok(pending);
            }
        }
        snapshot::load(self.store.clone(), self.env.clone(), Some(version)).await
    }

    /// Returns the snapshot that the options select.
    pub async fn snapshot_with(&self, options: &SnapshotOptions) -> Result<Snapshot> {
        if let Some(tag) = &options.tag {
            return match (options.version, options.timestamp_ms, &options.id) {
                (None, None, None) => self.snapshot_of_tag(tag).await,
                _ => Err(Error::invalid_input("give a tag alone: it names a version")),
            };
        }
        match (options.version, options.timestamp_ms, &options.id) {
            (Some(_), Some(_), _) => Err(Error::invalid_input("give version or timestamp, not both")),
            (None, _, Some(_)) => Err(Error::invalid_input("id: it goes with a version")),
            (Some(version), None, Some(id)) => self.snapshot_of(id, version).await,
            (Some(version), None, None) => self.snapshot_at(version).await,
            (None, Some(timestamp_ms), None) => self.snapshot_at_timestamp(timestamp_ms).await,
            (None, None, None) => self.snapshot().await,
        }
    }

    /// Returns the version that the newest version names with this tag.
    pub async fn snapshot_of_tag(&self, tag: &str) -> Result<Snapshot> {
        let latest = self.snapshot().await?.by_log().await?;
        let version = latest.find_tag(tag)?.version;
        if version == latest.version() { Ok(latest) } else { self.snapshot_at(version).await }
    }

    /// Returns the version that was the latest at this timestamp, in milliseconds since the epoch.
    pub async fn snapshot_at_timestamp(&self, timestamp_ms: i64) -> Result<Snapshot> {
        let latest = self.snapshot().await?;
        let version = snapshot::version_at(&latest, timestamp_ms).await?;
        if version == latest.version() {
            return Ok(latest);
        }
        self.snapshot_at(version).await
    }
}

impl TableBuilder {
    /// Adds options of the store, in the spelling of object_store or deltalake.
    #[must_use]
    pub fn with_options<K: Into<String>, V: Into<String>>(mut self, options: impl IntoIterator<Item = (K, V)>) -> Self {
        self.location.storage_options.extend(options.into_iter().map(|(key, value)| (key.into(), value.into())));
        self
    }

    /// Sets a source of credentials, which is called again before they expire.
    #[must_use]
    pub fn with_credentials(mut self, credentials: Arc<dyn CredentialSource>) -> Self {
        self.credentials = Some(credentials);
        self
    }

    /// Allows absolute paths out of the table's root, as shallow clones need them.
    #[must_use]
    pub fn with_absolute_paths(mut self, allowed: bool) -> Self {
        self.location.absolute_paths = allowed;
        self
    }

    /// Sets another clock and source of identifiers.
    #[must_use]
    pub fn with_env(mut self, env: Env) -> Self {
        self.env = env;
        self
    }

    /// Sets a store that is already open, instead of one made from the URL and the options.
    #[must_use]
    pub fn with_store(mut self, store: Store) -> Self {
        self.store = Some(store);
        self
    }

    /// Opens the table, which must exist.
    pub async fn open(self) -> Result<Table> {
        let table = self.build()?;
        table.snapshot().await?;
        Ok(table)
    }

    /// Returns the table without checking whether it exists.
    pub fn build(self) -> Result<Table> {
        let store = match self.store {
            Some(store) => store,
            None => {
                let Location { uri, storage_options: options, absolute_paths } = self.location;
                let (credentials, allow_absolute_paths) = (self.credentials, absolute_paths);
                Store::open(&uri, StoreOptions { options, credentials, allow_absolute_paths, ..StoreOptions::default() })?
            }
        };
        Ok(Table { store, env: self.env, latest: Arc::new(Mutex::new(None)), only: None, stage: None })
    }
}
