//! Runs a conversion.

use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};
use lakebed_core::action::Add;
use lakebed_core::path::FilePath;
use lakebed_core::property::TableProperties;
use lakebed_core::schema::mapping::{MappingMode, PHYSICAL_NAME};
use lakebed_core::schema::{DataType, StructField, StructType};
use lakebed_core::stats::StatsPlan;
use lakebed_io::parquet::{PageIndex, ParquetFile};
use lakebed_io::store::Store;
use serde_json::json;

use super::file_schemas::{FileSchemas, MergedSchema};
use super::listing::{ListedFile, list_files};
use super::options::{ConvertMode, ConvertOptions};
use super::outcome::{ConvertMetrics, ConvertOutcome};
use super::partitions::partition_values;
use super::statistics::statistics;
use crate::create::exists;
use crate::definition::{Definition, NewTable};
use crate::file_progress::{FileProgress, Reporter, Watcher};
use crate::metrics::HistoryOf;
use crate::transaction::{CommitSettings, Committed, Operation};
use crate::{Error, ErrorKind, Result, Table};

/// The number of footers that are read at the same time.
const FOOTERS: usize = 64;

/// The property that allows files with narrower types than the table's.
const TYPE_WIDENING: &str = "delta.enableTypeWidening";

/// A conversion of the Parquet files at a location.
pub struct Convert {
    table: Table,
    partition_columns: Option<StructType>,
    options: ConvertOptions,
    watcher: Option<Watcher>,
}

impl Table {
    /// Describes the conversion of the Parquet files at this location to a Delta table;
    /// [`Convert::run`] runs it.
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
                    metrics: ConvertMetrics::default(),
                    schema: snapshot.schema().clone(),
                    partition_columns: snapshot.partition_columns().to_vec(),
                    files: Vec::new(),
                    snapshot: Some(snapshot),
                }),
            };
        }
        let files = list_files(&store).await.map_err(|error| error.within(store.url()))?;
        if files.is_empty() {
            let message = "there is no Parquet file in this folder, so there is nothing to convert";
            return Err(Error::invalid_input(format!("{}: {message}", store.url())));
        }
        self.convert(&store, files).await
    }

    async fn convert(&self, store: &Store, files: Vec<ListedFile>) -> Result<ConvertOutcome> {
        let url = store.url();
        let partition_columns = self.partition_columns.clone().unwrap_or_default();
        let values =
            partition_values(&files, &partition_columns, self.partition_columns.is_some()).map_err(|error| error.within(url))?;
        let total_bytes = files.iter().map(|file| file.size).sum();
        let reporter = Reporter::new(self.watcher.clone(), files.len() as u64, total_bytes);
        let footers = self.read_footers(store, &files, &reporter).await?;
        let mut schemas = FileSchemas::default();
        for (file, footer) in files.iter().zip(&footers) {
            schemas.add(&file.name, footer, &partition_columns).map_err(|error| error.within(url))?;
        }
        let merged = schemas.merged().map_err(|error| error.within(url))?;
        let definition = self.define(url, merged, &partition_columns)?;
        let adds = self.adds(&definition, &files, &footers, values)?;
        let metrics = ConvertMetrics {
            converted_files: files.len() as u64,
            converted_bytes: total_bytes,
            rows: footers.iter().map(ParquetFile::num_rows).sum(),
        };
        let schema = lakebed_core::schema::parse(&definition.metadata.schema_string)?;
        let mut outcome = ConvertOutcome {
            version: None,
            committed: false,
            metrics,
            schema,
            partition_columns: definition.metadata.partition_columns.clone(),
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
            let committed = transaction.commit(self.operation(&outcome)).await;
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

    async fn read_footers(&self, store: &Store, files: &[ListedFile], reporter: &Reporter) -> Result<Vec<ParquetFile>> {
        let opening = files.iter().map(|file| async move {
            let opened = ParquetFile::open(store, &file.path, Some(file.size), PageIndex::Skip).await;
            reporter.done(file.size);
            opened.map_err(|error| match error.is_corrupt() {
                true => Error::invalid_input(format!(
                    "{}: this is not a Parquet file ({}): move it out of the folder, or give it a name that begins with _",
                    store.describe(&file.path),
                    error.message()
                )),
                false => error,
            })
        });
        // The collection makes the futures owned, so that they may be polled in any order.
        stream::iter(opening.collect::<Vec<_>>()).buffered(FOOTERS).try_collect().await
    }

    fn define(&self, url: &str, merged: MergedSchema, partition_columns: &StructType) -> Result<Definition> {
        let mut properties = self.options.properties.clone();
        if merged.is_widened {
            properties.entry(TYPE_WIDENING.to_owned()).or_insert_with(|| "true".to_owned());
        }
        let mut schema = merged.columns;
        schema.fields.extend(partition_columns.fields.iter().map(|field| StructField { nullable: true, ..field.clone() }));
        let table = NewTable {
            schema,
            partition_by: partition_columns.fields.iter().map(|field| field.name.clone()).collect(),
            properties,
            name: self.options.name.clone(),
            description: self.options.description.clone(),
            ..NewTable::default()
        };
        let mut definition = table.define(url, self.table.env())?;
        match TableProperties::parse(&definition.metadata.configuration)?.column_mapping_mode {
            MappingMode::None => {}
            MappingMode::Name => {
                // The files have the names of the columns.
                let mut schema = lakebed_core::schema::parse(&definition.metadata.schema_string)?;
                schema.fields.iter_mut().for_each(name_physically);
                definition.metadata.schema_string = schema.to_json();
            }
            MappingMode::Id => {
                let message = "the files have no field ids of Delta, so delta.columnMapping.mode cannot be id: choose name";
                return Err(Error::invalid_input(format!("{url}: {message}")));
            }
        }
        Ok(definition)
    }

    fn adds(
        &self,
        definition: &Definition,
        files: &[ListedFile],
        footers: &[ParquetFile],
        values: Vec<std::collections::HashMap<String, Option<String>>>,
    ) -> Result<Vec<Add>> {
        let metadata = &definition.metadata;
        let properties = TableProperties::parse(&metadata.configuration)?;
        if properties.row_tracking && !self.options.collect_statistics {
            let message = "row tracking (delta.enableRowTracking) needs the row counts of the files: set collect_statistics";
            return Err(Error::invalid_input(message));
        }
        let schema = lakebed_core::schema::parse(&metadata.schema_string)?;
        let plan = StatsPlan::new(&schema, properties.column_mapping_mode, &metadata.partition_columns, &properties, &[])?
            .with_tight_bounds(properties.deletion_vectors);
        let plan = Some(Arc::new(plan)).filter(|_| self.options.collect_statistics);
        let add = |((file, footer), partition_values): ((&ListedFile, &ParquetFile), _)| {
            let stats = self.options.collect_statistics.then(|| statistics(footer, &schema, plan.as_ref())).transpose();
            Ok(Add {
                path: FilePath::encode(&file.name),
                partition_values,
                size: i64::try_from(file.size).unwrap_or(i64::MAX),
                modification_time: file.modified_ms,
                data_change: true,
                stats: stats.map_err(|error| error.within(&file.name))?,
                ..Add::default()
            })
        };
        files.iter().zip(footers).zip(values).map(add).collect()
    }

    fn operation(&self, outcome: &ConvertOutcome) -> Operation {
        Operation::new("CONVERT")
            .with("numFiles", json!(outcome.metrics.converted_files))
            .with_names("partitionedBy", &outcome.partition_columns)
            .with("collectStats", json!(self.options.collect_statistics))
            .with("sourceFormat", "parquet")
            .with_metrics(outcome.metrics.history(HistoryOf::Convert))
    }
}

/// Sets the name of a column in files to its name in the table, if it has one.
fn name_physically(field: &mut StructField) {
    if let Some(name) = field.metadata.get_mut(PHYSICAL_NAME) {
        *name = field.name.clone().into();
    }
    name_within(&mut field.data_type);
}

fn name_within(data_type: &mut DataType) {
    match data_type {
        DataType::Struct(columns) => columns.fields.iter_mut().for_each(name_physically),
        DataType::Array(array) => name_within(&mut array.element),
        DataType::Map(map) => {
            name_within(&mut map.key);
            name_within(&mut map.value);
        }
        DataType::Primitive(_) => {}
    }
}
