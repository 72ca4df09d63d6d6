//! Runs a conversion.

use std::collections::HashMap;
use std::sync::Arc;

use lakebed_core::action::Add;
use lakebed_core::path::FilePath;
use lakebed_core::property::TableProperties;
use lakebed_core::schema::StructType;
use lakebed_core::schema::mapping::to_physical;
use lakebed_core::stats::StatsPlan;
use lakebed_io::parquet::ParquetFile;
use lakebed_io::store::Store;
use serde_json::json;

use super::folder::read_folder;
use super::iceberg::{find_metadata_file, read_iceberg};
use super::listing::ListedFile;
use super::options::{ConvertMode, ConvertOptions};
use super::outcome::{ConvertMetrics, ConvertOutcome, SourceFormat};
use super::source::{Request, Source};
use super::statistics::{Columns, statistics};
use crate::create::exists;
use crate::file_progress::{FileProgress, Watcher};
use crate::metrics::HistoryOf;
use crate::transaction::{CommitSettings, Committed, Operation};
use crate::{Error, ErrorKind, Result, Table};

/// A conversion of the Parquet files or the Iceberg table at a location.
pub struct Convert {
    table: Table,
    partition_columns: Option<StructType>,
    options: ConvertOptions,
    watcher: Option<Watcher>,
}

impl Table {
    /// Describes the conversion of the Parquet files or the Iceberg table at this location to a
    /// Delta table; [`Convert::run`] runs it.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> lakebed::Result<()> {
    /// let folder = lakebed::Table::at("memory://docs/convert/nothing").build()?;
    /// let error = folder.convert().run().await.unwrap_err();
    /// assert!(error.to_string().contains("no Parquet file"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn convert(&self) -> Convert {
        Convert { table: self.clone(), partition_columns: None, options: ConvertOptions::default(), watcher: None }
    }
}

impl Convert {
    /// Sets the options.
    #[must_use]
    pub fn options(mut self, options: ConvertOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets the partition columns. The names of the folders have their values.
    #[must_use]
    pub fn partition_columns(mut self, columns: StructType) -> Self {
        self.partition_columns = Some(columns);
        self
    }

    /// Sets a function that is called with the progress.
    #[must_use]
    pub fn watched_by(mut self, watcher: impl Fn(FileProgress) + Send + Sync + 'static) -> Self {
        self.watcher = Some(Arc::new(watcher));
        self
    }

    /// Runs the conversion. It reads the footers of all files, and writes version 0 of the log.
    pub async fn run(self) -> Result<ConvertOutcome> {
        self.table.refuse_in_transaction("CONVERT")?;
        let store = self.table.store().clone();
        if let Some(snapshot) = self.table.try_snapshot().await? {
            return match self.options.mode {
                ConvertMode::Error => Err(exists(store.url())),
                ConvertMode::Ignore => Ok(ConvertOutcome {
                    version: Some(snapshot.version()),
                    committed: false,
                    source_format: None,
                    metrics: ConvertMetrics::default(),
                    schema: snapshot.schema().clone(),
                    partition_columns: snapshot.partition_columns().to_vec(),
                    found_by_id: Vec::new(),
                    files: Vec::new(),
                    snapshot: Some(snapshot),
                }),
            };
        }
        let source = self.source(&store).await?;
        self.convert(&store, source).await
    }

    async fn source(&self, store: &Store) -> Result<Source> {
        let (options, watcher) = (&self.options, self.watcher.clone());
        let request = Request { store, env: self.table.env(), options, watcher };
        match find_metadata_file(store, options.iceberg_metadata.as_deref()).await? {
            Some(_) if self.partition_columns.is_some() => Err(Error::invalid_input(format!(
                "{}: this is an Iceberg table, which knows its partition columns: leave out partition_schema",
                store.url()
            ))),
            Some(metadata) => read_iceberg(&request, &metadata).await,
            None => read_folder(&request, self.partition_columns.as_ref()).await,
        }
    }

    async fn convert(&self, store: &Store, source: Source) -> Result<ConvertOutcome> {
        let url = store.url();
        let adds = self.adds(&source)?;
        let Source { format, definition, files, footers, found_by_id, .. } = source;
        let metrics = ConvertMetrics {
            converted_files: files.len() as u64,
            converted_bytes: files.iter().map(|file| file.size).sum(),
            rows: footers.iter().map(ParquetFile::num_rows).sum(),
        };
        let schema = lakebed_core::schema::parse(&definition.metadata.schema_string)?;
        let mut outcome = ConvertOutcome {
            version: None,
            committed: false,
            source_format: Some(format),
            metrics,
            schema,
            partition_columns: definition.metadata.partition_columns.clone(),
            found_by_id,
            files: files.into_iter().map(|file| file.name).collect(),
            snapshot: None,
        };
        if !self.options.dry_run {
            let settings = CommitSettings::of(
                self.options.user_metadata.as_ref(),
                &self.options.commit_info,
                self.options.upkeep,
                self.options.timeout,
            );
            let mut transaction = definition.begin(store.clone(), self.table.env().clone(), settings)?;
            transaction.add(adds);
            let committed = transaction.commit(self.operation(&outcome, format)).await;
            let Committed { version, snapshot, .. } = committed.map_err(|error| match error.kind() {
                ErrorKind::CommitConflict { winner_version: 0, .. } => exists(url),
                _ => error,
            })?;
            if let Some(snapshot) = &snapshot {
                self.table.keep(snapshot).await;
            }
            (outcome.version, outcome.committed, outcome.snapshot) = (Some(version), true, snapshot);
        }
        Ok(outcome)
    }

    fn adds(&self, source: &Source) -> Result<Vec<Add>> {
        let metadata = &source.definition.metadata;
        let properties = TableProperties::parse(&metadata.configuration)?;
        if properties.row_tracking && !self.options.collect_statistics {
            let message = "row tracking (delta.enableRowTracking) needs the row counts of the files: set collect_statistics";
            return Err(Error::invalid_input(message));
        }
        let schema = lakebed_core::schema::parse(&metadata.schema_string)?;
        let plan = StatsPlan::new(&schema, properties.column_mapping_mode, &metadata.partition_columns, &properties, &[])?
            .with_tight_bounds(properties.deletion_vectors);
        let plan = Some(Arc::new(plan)).filter(|_| self.options.collect_statistics);
        let physical = &to_physical(&schema, properties.column_mapping_mode);
        let columns = Columns { schema: physical, mode: properties.column_mapping_mode };
        let add = |((file, footer), values): ((&ListedFile, &ParquetFile), &HashMap<String, Option<String>>)| {
            let stats = self.options.collect_statistics.then(|| statistics(footer, columns, plan.as_ref())).transpose();
            Ok(Add {
                path: FilePath::encode(&file.name),
                partition_values: values.clone(),
                size: i64::try_from(file.size).unwrap_or(i64::MAX),
                modification_time: file.modified_ms,
                data_change: true,
                stats: stats.map_err(|error| error.within(&file.name))?,
                ..Add::default()
            })
        };
        source.files.iter().zip(&source.footers).zip(&source.partitions).map(add).collect()
    }

    fn operation(&self, outcome: &ConvertOutcome, format: SourceFormat) -> Operation {
        Operation::new("CONVERT")
            .with("numFiles", json!(outcome.metrics.converted_files))
            .with_names("partitionedBy", &outcome.partition_columns)
            .with("collectStats", json!(self.options.collect_statistics))
            .with("sourceFormat", format.to_string())
            .with_metrics(outcome.metrics.history(HistoryOf::Convert))
    }
}
