//! One version of a table.
//!
//! Opening reads only the protocol and the metadata (`load`). The files of the table are read when
//! a scan needs them (`files`). A [`Snapshot`] never changes: `refresh` creates a newer one from
//! it, at the cost of the new commits.

mod clone_source;
mod commits;
mod find;
mod domain;
mod head;
mod load;
mod readable;
mod refresh;
mod stage;
mod travel;

use std::any::Any;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use arrow_schema::SchemaRef;
use bytes::Bytes;
use lakebed_core::action::{Metadata, Protocol};
use lakebed_core::log::checksum::VersionChecksum;
use lakebed_core::log::replay::Layers;
use lakebed_core::log::segment::LogSegment;
use lakebed_core::path::checksum_name;
use lakebed_core::property::TableProperties;
use lakebed_core::schema::StructType;
use lakebed_core::schema::mapping::{MappingMode, physical_name};
use lakebed_io::env::Env;
use lakebed_io::log::{CommitPart, ListedLogFile};
use lakebed_io::store::Store;
use tokio::sync::OnceCell;

use crate::Result;

pub(crate) use clone_source::{CLONE_SOURCES, COPIED_FROM, CloneSource, clone_sources, copied_from};
pub(crate) use commits::{commit_info, runs_at_once};
pub(crate) use load::{load, load_without};
pub(crate) use stage::{Stage, StageState};
pub(crate) use travel::{CommitTimes, first_version_from, version_at};

/// One version of a table. It is immutable and cheap to clone.
#[derive(Clone)]
pub struct Snapshot {
    inner: Arc<Inner>,
}

struct Inner {
    store: Store,
    env: Env,
    segment: LogSegment,
    /// The known properties of this version's commit file.
    stamp: Option<CommitStamp>,
    /// The names of checkpoints that are known to be broken.
    unusable: HashSet<String>,
    head: Head,
    /// The commits above the checkpoint, if opening had to read them all and they are small. The
    /// first use of `layers` takes them.
    read_commits: Mutex<Option<Vec<CommitPart>>>,
    layers: OnceCell<Layers>,
    /// Whether the checksum of this version contradicts the log, or the checksum of the version
    /// before, from which the next one would be computed.
    is_checksum_wrong: AtomicBool,
    /// The same version from other files of the log, if the checkpoint turned out to be broken.
    replacement: OnceCell<Snapshot>,
    /// The origin of this snapshot if it is the pending state of a transaction.
    pending: Option<Pending>,
}

/// The origin of the pending state of a transaction.
struct Pending {
    /// The version on which the transaction began.
    base: Snapshot,
    /// The commit that was not written.
    lines: Bytes,
    /// The number of operations in it.
    operations: u64,
    /// The transaction, a [`Stage`]. The snapshot does not keep it alive.
    stage: Weak<dyn Any + Send + Sync>,
}

/// The size and time of a commit file, or its ETag. They show whether the file now belongs to
/// another table.
#[derive(Clone)]
struct CommitStamp {
    size_bytes: u64,
    /// None for a commit that was written to an object store.
    modified_ms: Option<i64>,
    e_tag: Option<String>,
}

impl CommitStamp {
    fn of(file: &ListedLogFile) -> Self {
        Self { size_bytes: file.size, modified_ms: Some(file.modified_ms), e_tag: file.e_tag.clone() }
    }

    /// Returns whether two stamps are of the same file. A file with a new time and the same content
    /// counts as another file, which costs a read. A file of which too little is known also counts
    /// as another file.
    fn is_of(&self, other: &Self) -> bool {
        let same_time = self.modified_ms.zip(other.modified_ms).map(|(one, other)| one == other);
        let same_mark = self.e_tag.as_ref().zip(other.e_tag.as_ref()).map(|(one, other)| one == other);
        self.size_bytes == other.size_bytes && same_time.or(same_mark).unwrap_or(false) && same_mark.unwrap_or(true)
    }
}

/// The parts of a version that every use needs.
#[derive(Clone)]
struct Head {
    protocol: Arc<Protocol>,
    metadata: Arc<Metadata>,
    schema: Arc<StructType>,
    arrow_schema: SchemaRef,
    properties: Arc<TableProperties>,
    /// The checksum of this version, if its file exists and is sound.
    checksum: Option<Arc<VersionChecksum>>,
    /// The checksum from which the protocol or the metadata was taken.
    trusted: Option<Arc<TrustedChecksum>>,
}

/// A checksum on which a version is based instead of the log.
struct TrustedChecksum {
    name: String,
    /// Whether the log was read since and agrees with the checksum.
    is_confirmed: AtomicBool,
}

impl TrustedChecksum {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), is_confirmed: AtomicBool::new(false) }
    }
}

impl Snapshot {
    /// Returns the version.
    pub fn version(&self) -> u64 {
        self.inner.segment.version
    }

    /// Returns the table's URL, without secrets.
    pub fn url(&self) -> &str {
        self.inner.store.url()
    }

    /// Returns the store below the table's root.
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    /// Returns the clock and the source of identifiers.
    pub fn env(&self) -> &Env {
        &self.inner.env
    }

    /// Returns the protocol: the features that readers and writers of this version must support.
    pub fn protocol(&self) -> &Protocol {
        &self.inner.head.protocol
    }

    /// Returns the schema, partitioning and properties as the log has them.
    pub fn metadata(&self) -> &Metadata {
        &self.inner.head.metadata
    }

    /// Returns the schema with Delta's types.
    pub fn schema(&self) -> &StructType {
        &self.inner.head.schema
    }

    /// Returns the schema with the types that scans return.
    pub fn arrow_schema(&self) -> &SchemaRef {
        &self.inner.head.arrow_schema
    }

    /// Returns the table's properties, with Delta's defaults.
    pub fn properties(&self) -> &TableProperties {
        &self.inner.head.properties
    }

    /// Returns the names of the partition columns, in order.
    pub fn partition_columns(&self) -> &[String] {
        &self.metadata().partition_columns
    }

    /// Returns the names of partition values in the log, in the order of the partition columns.
    pub fn physical_partition_columns(&self) -> Vec<String> {
        let fields = self.partition_columns().iter().filter_map(|name| self.schema().field(name));
        fields.map(|field| physical_name(field, self.mapping_mode()).to_owned()).collect()
    }

    /// Returns the mode by which columns are found in files.
    pub fn mapping_mode(&self) -> MappingMode {
        self.properties().column_mapping_mode
    }

    /// Returns the files of the log that make this version.
    pub fn segment(&self) -> &LogSegment {
        &self.inner.segment
    }

    /// Returns the names of the files of the log that were found to be unusable, or that the caller
    /// left out.
    pub(crate) fn unusable(&self) -> &HashSet<String> {
        &self.inner.unusable
    }

    /// Returns this snapshot with a checksum that was not known when the snapshot was created.
    pub(crate) fn with_checksum(self, checksum: VersionChecksum) -> Self {
        match Arc::try_unwrap(self.inner) {
            Ok(mut inner) => {
                inner.head.checksum = Some(Arc::new(checksum));
                inner.is_checksum_wrong = AtomicBool::new(false);
                Self { inner: Arc::new(inner) }
            }
            // The snapshot is already shared, and stays without the checksum.
            Err(inner) => Self { inner },
        }
    }

    /// Returns the checksum of this version, if a writer left one and it is not known to contradict
    /// the log.
    pub fn checksum(&self) -> Option<&VersionChecksum> {
        self.inner.head.checksum.as_deref().filter(|_| !self.is_checksum_wrong())
    }

    /// Returns whether the next checksum cannot be computed from this version's checksum.
    pub(crate) fn is_checksum_wrong(&self) -> bool {
        self.inner.is_checksum_wrong.load(Ordering::Relaxed)
    }

    /// Compares the checksum with all files of the log. If they differ, the log is right, and one
    /// warning names both counts.
    pub(crate) fn check_checksum(&self, files: u64, size_bytes: u64) {
        let Some(checksum) = self.checksum() else { return };
        let told = (u64::try_from(checksum.num_files).ok(), u64::try_from(checksum.table_size_bytes).ok());
        if told == (Some(files), Some(size_bytes)) {
            return;
        }
        let told = format!(
            "{} files with {} bytes, but the log has {files} files with {size_bytes} bytes",
            checksum.num_files, checksum.table_size_bytes
        );
        self.pass_over_checksum(&checksum_name(self.version()), &told);
    }

    /// Logs one warning, even if more of the checksum contradicts the log.
    fn pass_over_checksum(&self, name: &str, told: &str) {
        if self.inner.is_checksum_wrong.swap(true, Ordering::Relaxed) {
            return;
        }
        let (table, version) = (self.url(), self.version());
        tracing::warn!(
            table,
            version,
            "{table}: {name} contradicts the log: it has {told}; lakebed uses the log and ignores the checksum"
        );
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").field("url", &self.url()).field("version", &self.version()).finish_non_exhaustive()
    }
}

impl Head {
    /// Creates a head, and checks that the version can be read.
    fn new(url: &str, protocol: Protocol, metadata: Metadata, checksum: Option<VersionChecksum>) -> Result<Self> {
        lakebed_core::feature::check_read(&protocol, url)?;
        let properties = TableProperties::parse(&metadata.configuration).map_err(|error| error.within(url))?;
        let schema = lakebed_core::schema::parse(&metadata.schema_string).map_err(|error| error.within(url))?;
        lakebed_core::feature::check_used(&protocol, &schema, &properties, url)?;
        let arrow_schema = lakebed_core::schema::arrow::schema_to_arrow(&schema).map_err(|error| error.within(url))?;
        lakebed_core::schema::widen::check_type_changes(&schema).map_err(|error| error.within(url))?;
        let mode = properties.column_mapping_mode;
        lakebed_core::schema::mapping::check_mapping(&schema, mode).map_err(|error| error.within(url))?;
        for name in &metadata.partition_columns {
            if !schema.fields.iter().any(|field| &field.name == name) {
                return Err(lakebed_core::Error::corrupt(url, format!("partition column {name:?} is not in the schema")));
            }
        }
        Ok(Self {
            protocol: Arc::new(protocol),
            metadata: Arc::new(metadata),
            schema: Arc::new(schema),
            arrow_schema,
            properties: Arc::new(properties),
            checksum: checksum.map(Arc::new),
            trusted: None,
        })
    }
}
