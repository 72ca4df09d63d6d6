//! One version of a table.
//!
//! Opening reads the protocol and the metadata only (`load`); the files of the table are read when a scan asks for them (`files`).
//! A [`Snapshot`] never changes: `refresh` makes a newer one out of it, at the cost of the new commits.

mod commits;
mod find;
mod domain;
mod head;
mod load;
mod readable;
mod refresh;
mod travel;

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use arrow_schema::SchemaRef;
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

pub(crate) use commits::{commit_info, runs_at_once};
pub(crate) use load::load;
pub(crate) use travel::{CommitTimes, first_version_from, version_at};

/// One version of a table: immutable, cheap to clone.
#[derive(Clone)]
pub struct Snapshot {
    inner: Arc<Inner>,
}

struct Inner {
    store: Store,
    env: Env,
    segment: LogSegment,
    /// What is known of the file of this version's commit.
    stamp: Option<CommitStamp>,
    /// Names of checkpoints that turned out to be broken.
    unusable: HashSet<String>,
    head: Head,
    /// The commits above the checkpoint, when opening had to read them all and they are few bytes; the first use of `layers` takes them.
    read_commits: Mutex<Option<Vec<CommitPart>>>,
    layers: OnceCell<Layers>,
    /// Whether the checksum, or that of the version before from which one would be made, contradicts the log.
    is_checksum_wrong: AtomicBool,
    /// The same version from other files of the log, once the checkpoint turned out to be broken.
    replacement: OnceCell<Snapshot>,
}

/// Size and time of a commit's file, or the store's mark of it, to notice that it now belongs to another table.
#[derive(Clone)]
struct CommitStamp {
    size_bytes: u64,
    /// Not known of a commit that was written to an object store.
    modified_ms: Option<i64>,
    e_tag: Option<String>,
}

impl CommitStamp {
    fn of(file: &ListedLogFile) -> Self {
        Self { size_bytes: file.size, modified_ms: Some(file.modified_ms), e_tag: file.e_tag.clone() }
    }

    /// Whether two files are one. A file that was only touched is not, which costs reading it again, and neither is one of which too little
    /// is known.
    fn is_of(&self, other: &Self) -> bool {
        let same_time = self.modified_ms.zip(other.modified_ms).map(|(one, other)| one == other);
        let same_mark = self.e_tag.as_ref().zip(other.e_tag.as_ref()).map(|(one, other)| one == other);
        self.size_bytes == other.size_bytes && same_time.or(same_mark).unwrap_or(false) && same_mark.unwrap_or(true)
    }
}

/// What every use of a version needs to know of it.
#[derive(Clone)]
struct Head {
    protocol: Arc<Protocol>,
    metadata: Arc<Metadata>,
    schema: Arc<StructType>,
    arrow_schema: SchemaRef,
    properties: Arc<TableProperties>,
    /// Of this very version, when its file is there and sound.
    checksum: Option<Arc<VersionChecksum>>,
    /// The checksum that told the protocol or the metadata.
    trusted: Option<Arc<TrustedChecksum>>,
}

/// A checksum that saved the reading of the log, on which a version stands.
struct TrustedChecksum {
    name: String,
    /// Whether the log, which was read since, says the same.
    is_confirmed: AtomicBool,
}

impl TrustedChecksum {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), is_confirmed: AtomicBool::new(false) }
    }
}

impl Snapshot {
    /// The version.
    pub fn version(&self) -> u64 {
        self.inner.segment.version
    }

    /// The table's URL, without secrets.
    pub fn url(&self) -> &str {
        self.inner.store.url()
    }

    /// The store below the table's root.
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    /// The clock and the source of identifiers.
    pub fn env(&self) -> &Env {
        &self.inner.env
    }

    /// What readers and writers of this version must know.
    pub fn protocol(&self) -> &Protocol {
        &self.inner.head.protocol
    }

    /// Schema, partitioning and properties as the log has them.
    pub fn metadata(&self) -> &Metadata {
        &self.inner.head.metadata
    }

    /// The schema, with Delta's types.
    pub fn schema(&self) -> &StructType {
        &self.inner.head.schema
    }

    /// The schema, with the types that scans give.
    pub fn arrow_schema(&self) -> &SchemaRef {
        &self.inner.head.arrow_schema
    }

    /// The table's properties, with Delta's defaults.
    pub fn properties(&self) -> &TableProperties {
        &self.inner.head.properties
    }

    /// The names of the partition columns, in order.
    pub fn partition_columns(&self) -> &[String] {
        &self.metadata().partition_columns
    }

    /// The names by which partition values stand in the log, in the order of the partition columns.
    pub fn physical_partition_columns(&self) -> Vec<String> {
        let fields = self.partition_columns().iter().filter_map(|name| self.schema().field(name));
        fields.map(|field| physical_name(field, self.mapping_mode()).to_owned()).collect()
    }

    /// How columns are found in files.
    pub fn mapping_mode(&self) -> MappingMode {
        self.properties().column_mapping_mode
    }

    /// The files of the log that make this version.
    pub fn segment(&self) -> &LogSegment {
        &self.inner.segment
    }

    /// The same with the sums of this version, which were not known when it was made.
    pub(crate) fn with_checksum(self, checksum: VersionChecksum) -> Self {
        match Arc::try_unwrap(self.inner) {
            Ok(mut inner) => {
                inner.head.checksum = Some(Arc::new(checksum));
                inner.is_checksum_wrong = AtomicBool::new(false);
                Self { inner: Arc::new(inner) }
            }
            // Somebody uses it already; he does without.
            Err(inner) => Self { inner },
        }
    }

    /// The sums of this version, if a writer left them, and as long as the log is not known to contradict them.
    pub fn checksum(&self) -> Option<&VersionChecksum> {
        self.inner.head.checksum.as_deref().filter(|_| !self.is_checksum_wrong())
    }

    /// Whether no checksum can be made from the one before.
    pub(crate) fn is_checksum_wrong(&self) -> bool {
        self.inner.is_checksum_wrong.load(Ordering::Relaxed)
    }

    /// Compares the checksum with all files of the log. Where they differ the log is right, and one warning names both counts.
    pub(crate) fn check_checksum(&self, files: u64, size_bytes: u64) {
        let Some(checksum) = self.checksum() else { return };
        let told = (u64::try_from(checksum.num_files).ok(), u64::try_from(checksum.table_size_bytes).ok());
        if told == (Some(files), Some(size_bytes)) {
            return;
        }
        let told =
            format!("{} files of {} bytes, the log of {files} of {size_bytes}", checksum.num_files, checksum.table_size_bytes);
        self.pass_over_checksum(&checksum_name(self.version()), &told);
    }

    /// One warning, whatever else contradicts the log.
    fn pass_over_checksum(&self, name: &str, told: &str) {
        if self.inner.is_checksum_wrong.swap(true, Ordering::Relaxed) {
            return;
        }
        let (table, version) = (self.url(), self.version());
        tracing::warn!(
            table,
            version,
            "{table}: {name} contradicts the log: it tells of {told}; the log is taken for right, the checksum is passed over"
        );
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").field("url", &self.url()).field("version", &self.version()).finish_non_exhaustive()
    }
}

impl Head {
    /// Checked: a version that cannot be read gets no head.
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
