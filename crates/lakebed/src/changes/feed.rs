//! The change data feed: every row that a commit inserted, updated or deleted, with the type of the
//! change, its version and its time.
//!
//! If a commit has change data files, these contain all its changes. Otherwise the changes are the
//! rows of the files that it adds and removes. If a file stays with another deletion vector, the
//! rows in which the vectors differ were deleted or restored. PROTOCOL "Add CDC File". Begin with
//! [`Table::changes`].

use std::collections::HashMap;
use std::ops::RangeInclusive;

use arrow_schema::SchemaRef;
use futures::TryStreamExt;
use lakebed_core::property::TableProperties;
use lakebed_core::schema::compare::{column_changes, first_obstacle};
use lakebed_core::schema::mapping::MappingMode;
use lakebed_core::schema::{PrimitiveType, StructField, StructType, parse};
use lakebed_expr::{METADATA_COLUMN, Predicate};
use serde_json::Value;

use super::commits::{ALL, Commit, CommitReadOptions, Commits, KeptFile, lost};
use crate::runtime::stream::{RecordBatchStream, produce};
use crate::scan::balance::balanced;
use crate::scan::output::OutputColumn;
use crate::scan::read::{ReadOptions, read_files};
use crate::scan::row_filter::row_columns_of;
use crate::scan::{ChangeType, FileChange, RowColumn, RowColumnKind, ScanFile, ScanSpec, ScanTask};
use crate::{Error, ErrorKind, Result, Snapshot, Table};

/// The columns that a feed has after the columns of the table.
const FEED_COLUMNS: [(RowColumnKind, &str); 3] = [
    (RowColumnKind::ChangeType, ChangeType::CHANGE_TYPE_COLUMN),
    (RowColumnKind::CommitVersion, "_commit_version"),
    (RowColumnKind::CommitTimestamp, "_commit_timestamp"),
];

/// The changes of some versions. No change is read before [`Self::stream`], [`Self::tasks`] or
/// [`Self::plan`].
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> lakebed::Result<()> {
/// let url = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/trips");
/// let table = lakebed::Table::at(url).open().await?;
/// // This table records no changes.
/// let error = table.changes(0..=1).await.unwrap_err();
/// assert!(error.message().contains("delta.enableChangeDataFeed"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Changes {
    table: Table,
    snapshot: Snapshot,
    versions: RangeInclusive<u64>,
    columns: Option<Vec<String>>,
    filter: Option<Predicate>,
    /// The value of `current_timestamp` in the predicate.
    now_ms: i64,
}

/// The files that contain the changes of some versions.
#[derive(Debug, Clone)]
pub struct PlannedChanges {
    spec: ScanSpec,
    files: Vec<ScanFile>,
}

impl Table {
    /// Returns the changes of these versions, with the columns of the last of them. All of these
    /// versions must record changes.
    pub async fn changes(&self, versions: RangeInclusive<u64>) -> Result<Changes> {
        self.refuse_in_transaction("a read of the change data feed")?;
        Changes::of(self, self.snapshot().await?, versions).await
    }
}

impl Changes {
    /// Returns the changes of these versions of a table. `latest` is the newest version.
    pub(super) async fn of(table: &Table, latest: Snapshot, versions: RangeInclusive<u64>) -> Result<Self> {
        let (start, end) = (*versions.start(), *versions.end());
        let url = latest.url();
        if end < start {
            return Err(Error::invalid_input(format!(
                "{url}: changes of versions {start} to {end}: the end comes before the start"
            )));
        }
        if end > latest.version() {
            let message = format!("{url}: changes of versions {start} to {end}: the newest version is {}", latest.version());
            return Err(Error::new(ErrorKind::VersionNotFound, message));
        }
        let snapshot = if end == latest.version() { latest } else { table.snapshot_at(end).await? };
        let changes = Self::new(table, snapshot, versions);
        if start == end {
            changes.check_start(&changes.snapshot)?;
        } else {
            changes.check_start(&table.snapshot_at(start).await?)?;
        }
        Ok(changes)
    }

    /// Returns no changes, with the columns of this version.
    pub(super) async fn none_since(table: &Table, latest: Snapshot, version: u64) -> Result<Self> {
        let snapshot = if version == latest.version() { latest } else { table.snapshot_at(version).await? };
        let changes = Self::new(table, snapshot, version + 1..=version);
        changes.check_start(&changes.snapshot)?;
        Ok(changes)
    }

    fn new(table: &Table, snapshot: Snapshot, versions: RangeInclusive<u64>) -> Self {
        let now_ms = snapshot.env().now_ms();
        Self { table: table.clone(), snapshot, versions, columns: None, filter: None, now_ms }
    }

    /// Returns the same changes for another handle on the table, such as the handle of another
    /// process.
    pub async fn reopened(&self, table: &Table) -> Result<Self> {
        let snapshot = table.snapshot_at(self.snapshot.version()).await?;
        Ok(Self { table: table.clone(), snapshot, ..self.clone() })
    }

    /// Returns the versions, both inclusive. If there is no version between two timestamps, the end
    /// is the version before the start.
    pub fn versions(&self) -> &RangeInclusive<u64> {
        &self.versions
    }

    /// Selects these columns of the table, in this order. The columns of the feed follow after
    /// them.
    #[must_use]
    pub fn select<T: Into<String>>(mut self, columns: impl IntoIterator<Item = T>) -> Self {
        self.columns = Some(columns.into_iter().map(Into::into).collect());
        self
    }

    /// Selects only changes of rows for which this Spark SQL expression over the table's columns is
    /// true.
    #[must_use]
    pub fn filter(mut self, predicate: impl Into<Predicate>) -> Self {
        self.filter = Some(predicate.into());
        self
    }

    /// Returns the schema of the result.
    pub fn schema(&self) -> Result<SchemaRef> {
        self.spec()?.output_schema()
    }

    /// Returns the columns of the last version and those of the feed, with Delta's types and column
    /// metadata. The selection of columns does not matter.
    pub fn delta_schema(&self) -> StructType {
        with_feed_columns(self.snapshot.schema())
    }

    /// Returns the changes, version by version.
    pub async fn stream(&self) -> Result<RecordBatchStream> {
        let (changes, spec) = (self.clone(), self.spec()?);
        let schema = spec.output_schema()?;
        let batches = produce(2, |sender| async move {
            let mut commits = changes.commits();
            while let Some(files) = changes.next(&mut commits).await? {
                let mut rows = read_files(changes.snapshot.store(), &spec, files, ReadOptions::default())?;
                while let Some(batch) = rows.try_next().await? {
                    if sender.send(Ok(batch)).await.is_err() {
                        return Ok(());
                    }
                }
            }
            Ok(())
        });
        Ok(RecordBatchStream::new(schema, batches))
    }

    /// Returns the changes in tasks of about this many bytes of files.
    pub async fn tasks(&self, target_task_size_bytes: u64) -> Result<Vec<ScanTask>> {
        Ok(self.plan().await?.tasks(target_task_size_bytes))
    }

    /// Finds the files that contain the changes. Reads the commits, but no data.
    pub async fn plan(&self) -> Result<PlannedChanges> {
        let spec = self.spec()?;
        spec.output_schema()?;
        let mut commits = self.commits();
        let mut files = Vec::new();
        while let Some(more) = self.next(&mut commits).await? {
            files.extend(more);
        }
        Ok(PlannedChanges { spec, files })
    }

    fn commits(&self) -> Commits {
        let partition_columns = self.snapshot.physical_partition_columns();
        let wanted = CommitReadOptions { feed: true, partition_columns, exclude: None, keep: ALL, tolerate_loss: false };
        Commits::new(self.snapshot.store(), wanted, self.versions.clone())
    }

    /// Returns the changes of the next version.
    async fn next(&self, commits: &mut Commits) -> Result<Option<Vec<ScanFile>>> {
        match commits.next().await? {
            Some(commit) => {
                self.check(&commit)?;
                self.check_before(&commit).await?;
                changed_files(commit).map(Some)
            }
            None if commits.version() <= *self.versions.end() => Err(lost(self.snapshot.store(), commits.version())),
            None => Ok(None),
        }
    }

    /// Returns how the files of the changes are read. The predicate is bound here, once.
    ///
    /// # Errors
    /// If the table does not have the columns, or the predicate cannot be decided.
    fn spec(&self) -> Result<ScanSpec> {
        let bound = |predicate: &Predicate| self.snapshot.filter_of(predicate, self.now_ms);
        let filter = self.filter.as_ref().map(bound).transpose()?;
        let spec = ScanSpec {
            table_url: self.snapshot.url().to_owned(),
            schema: self.snapshot.schema().clone(),
            partition_columns: self.snapshot.partition_columns().to_vec(),
            mapping_mode: self.snapshot.mapping_mode(),
            columns: self.columns.clone(),
            filter: filter.clone().map(Predicate::from),
            now_ms: self.now_ms,
            row_columns: feed_columns(),
            clone_sources: self.snapshot.store().followed_urls(),
            ..ScanSpec::default()
        };
        for column in spec.output_columns()? {
            if let OutputColumn::OfRows(RowColumn { kind, name }) = column {
                self.check_kind(kind, &name)?;
            }
        }
        for kind in filter.map(|filter| row_columns_of(&filter, self.snapshot.schema())).transpose()?.into_iter().flatten() {
            self.check_kind(kind, &format!("{METADATA_COLUMN}.{}", kind.name()))?;
        }
        Ok(spec)
    }

    /// Refuses metadata columns of files and rows of the table, because change data files do not
    /// have them. PROTOCOL "Row Tracking".
    fn check_kind(&self, kind: RowColumnKind, name: &str) -> Result<()> {
        if kind.is_of_change() {
            return Ok(());
        }
        let url = self.snapshot.url();
        let message = format!("{url}: column {name}: the change data feed does not have it; a scan of a version does");
        Err(Error::invalid_input(message))
    }

    fn check_start(&self, start: &Snapshot) -> Result<()> {
        check_recorded(start.url(), start.properties(), start.version())?;
        self.check_layout(start)
    }

    /// Checks the layout of the version before the first commit, because the files that this commit
    /// removes were written with it.
    async fn check_before(&self, commit: &Commit) -> Result<()> {
        match commit.version.checked_sub(1) {
            Some(before) if commit.version == *self.versions.start() && commit.metadata.is_some() && commit.removed.is_some() => {
                self.check_layout(&self.table.snapshot_at(before).await?)
            }
            _ => Ok(()),
        }
    }

    fn check_layout(&self, snapshot: &Snapshot) -> Result<()> {
        self.check_columns(snapshot.schema(), snapshot.partition_columns(), snapshot.mapping_mode(), snapshot.version())
    }

    /// Refuses versions that do not record changes, and versions with rows that cannot be returned
    /// in the columns of the last version.
    fn check(&self, commit: &Commit) -> Result<()> {
        let url = self.snapshot.url();
        if let Some(protocol) = &commit.protocol {
            lakebed_core::feature::check_read(protocol, url)?;
        }
        let Some(metadata) = &commit.metadata else { return Ok(()) };
        let properties = TableProperties::parse(&metadata.configuration).map_err(|error| error.within(url))?;
        check_recorded(url, &properties, commit.version)?;
        let schema = parse(&metadata.schema_string).map_err(|error| error.within(url))?;
        self.check_columns(&schema, &metadata.partition_columns, properties.column_mapping_mode, commit.version)
    }

    fn check_columns(&self, schema: &StructType, partitions: &[String], mode: MappingMode, version: u64) -> Result<()> {
        let changes = column_changes((schema, mode), (self.snapshot.schema(), self.snapshot.mapping_mode()));
        let moved = (!changes.renamed.is_empty() || !changes.dropped.is_empty()).then(|| changes.to_string());
        let obstacle = moved
            .or_else(|| (partitions != self.snapshot.partition_columns()).then(|| "the partition columns differ".to_owned()))
            .or_else(|| first_obstacle(schema, self.snapshot.schema(), true));
        let Some(obstacle) = obstacle else { return Ok(()) };
        let (url, start, end) = (self.snapshot.url(), self.versions.start(), self.versions.end());
        let message = format!(
            "{url}: changes of versions {start} to {end}: the rows of version {version} cannot be converted to the columns of \
             version {end}: {obstacle}. Read the versions before that change and the versions after it separately"
        );
        Err(Error::schema_mismatch(message))
    }
}

impl PlannedChanges {
    /// Returns the total size of the files.
    pub fn size_bytes(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }

    /// Returns the files in tasks of about this many bytes.
    pub fn tasks(&self, target_task_size_bytes: u64) -> Vec<ScanTask> {
        let task = |files| ScanTask { spec: self.spec.clone(), files };
        balanced(self.files.clone(), target_task_size_bytes).into_iter().map(task).collect()
    }
}

/// Returns the columns of a table followed by those of its feed.
pub(super) fn with_feed_columns(schema: &StructType) -> StructType {
    let mut columns = schema.clone();
    let types = [PrimitiveType::String, PrimitiveType::Long, PrimitiveType::Timestamp];
    let feed = FEED_COLUMNS.iter().zip(types).map(|((_, name), of)| StructField::new(*name, of, true));
    columns.fields.extend(feed);
    columns
}

pub(super) fn feed_columns() -> Vec<RowColumn> {
    FEED_COLUMNS.iter().map(|(kind, name)| RowColumn::new(*kind, *name)).collect()
}

/// Refuses a version that does not record changes.
pub(super) fn check_recorded(url: &str, properties: &TableProperties, version: u64) -> Result<()> {
    if properties.change_data_feed {
        return Ok(());
    }
    let message = format!(
        "{url}: version {version} does not record changes: delta.enableChangeDataFeed is not true in that version. Changes can \
         be read only of versions after it was set; the history shows when"
    );
    Err(Error::invalid_input(message))
}

/// Returns whether a commit declares that it changed no rows, although it rewrote files.
pub(super) fn changes_nothing(commit: &Commit) -> bool {
    let Some(info) = &commit.info else { return false };
    let Some(Value::Object(metrics)) = info.0.get("operationMetrics") else { return false };
    let is_zero = |name: &&str| metrics.get(*name).and_then(Value::as_str) == Some("0");
    let counts = ["numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted"];
    info.text("operation") == Some("MERGE") && counts.iter().all(is_zero)
}

/// Returns the files with the changes of a commit, from the files that were kept of it.
pub(super) fn changed_files(commit: Commit) -> Result<Vec<ScanFile>> {
    let (version, timestamp_ms) = (commit.version, commit.timestamp_ms());
    let change = |change_type| Some(FileChange { change_type, version, timestamp_ms });
    if !commit.cdc.sizes.is_empty() {
        let files = commit.cdc.kept.into_iter().map(|kept| kept.file);
        return Ok(files.map(|file| ScanFile { change: change(ChangeType::InFile), ..file }).collect());
    }
    if changes_nothing(&commit) {
        return Ok(Vec::new());
    }
    let mut added: HashMap<String, usize> = HashMap::new();
    let mut removed: HashMap<String, usize> = HashMap::new();
    for (at, kept) in commit.files.kept.iter().enumerate() {
        let paths = if kept.is_removal { &mut removed } else { &mut added };
        paths.insert(kept.file.path.clone(), at);
    }
    let vector_at =
        |at: Option<&usize>| at.and_then(|at| commit.files.kept.get(*at)).map(|kept| kept.file.deletion_vector.clone());
    let mut files = Vec::with_capacity(commit.files.kept.len());
    for KeptFile { is_removal, file } in &commit.files.kept {
        let other = vector_at(if *is_removal { added.get(&file.path) } else { removed.get(&file.path) });
        let change = change(if *is_removal { ChangeType::Delete } else { ChangeType::Insert });
        match other {
            None => files.push(ScanFile { change, ..file.clone() }),
            Some(None) if file.deletion_vector.is_none() => {
                let message = format!("version {version} removes the file and adds it again, both without a deletion vector");
                return Err(Error::corrupt(&file.path, message));
            }
            // The file stays. Rows that are marked only in the new deletion vector were deleted.
            // Rows that are marked only in the old one were restored.
            Some(None) => {}
            Some(vector) => files.push(ScanFile { only: vector, change, ..file.clone() }),
        }
    }
    Ok(files)
}
