//! The table that rows are written to: as it is, as it will be with the schema of the data, or as it will be made.
//!
//! Read [`Target::plan`].

use std::sync::Arc;

use lakebed_core::feature::given::GivenProperties;
use lakebed_core::feature::upgrade::{CURRENT_DEFAULT, GENERATION_EXPRESSION, IDENTITY_START, INVARIANTS};
use lakebed_core::property::LEAST_FILE_SIZE_BYTES;
use lakebed_core::schema::{StructField, StructType};
use lakebed_io::env::Env;
use lakebed_io::parquet::write::{Codec, WriteOptions as ParquetOptions};

use super::data_file::FileOptions;
use super::rules::{Contents, WriteRules};
use super::run::Run;
use super::{SchemaMode, WriteMode, WriteOptions};
use crate::definition::{Definition, NewTable};
use crate::{Error, Result, Snapshot};

/// How large files of usual tables become, and those of the largest.
const USUAL_FILE_BYTES: u64 = 128 << 20;
const LARGEST_FILE_BYTES: u64 = 1 << 30;
/// A table that would have more files than these has larger ones.
const USUAL_FILES: u64 = 2048;

/// The table as a write leaves it, and how its files are written.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(super) table: Definition,
    pub(crate) rules: Arc<WriteRules>,
    pub(super) files: FileOptions,
}

impl Target {
    /// Everything that can be refused without reading a row is refused here.
    pub(super) async fn plan(snapshot: Option<&Snapshot>, run: &Run) -> Result<Self> {
        let Run { table, schema: data, options, now_ms } = run;
        let (url, env) = (table.store().url(), table.env());
        let table = match snapshot {
            None => new_table(data, options).define(url, env),
            Some(snapshot) => evolved(snapshot, data, options, env).await.map_err(|error| within_once(error, url)),
        };
        let sized = snapshot.map(|snapshot| sized(options, snapshot));
        Self::new(table?, url, sized.as_ref().unwrap_or(options), *now_ms).map_err(|error| within_once(error, url))
    }

    /// Of a table that stays as it is, or gets the columns of some data that it lacks.
    pub(crate) async fn of_table(
        snapshot: &Snapshot,
        merging: Option<&StructType>,
        options: &WriteOptions,
        now_ms: i64,
    ) -> Result<Self> {
        let (url, env) = (snapshot.url(), snapshot.env());
        let table = match merging {
            None => Definition::of(snapshot).await,
            Some(data) => Definition::of(snapshot).await.and_then(|table| table.with_columns_of(snapshot, data, env)),
        };
        let target = table.and_then(|table| Self::new(table, url, &sized(options, snapshot), now_ms));
        target.map_err(|error| within_once(error, url))
    }

    /// Of a table that stays as it is, while rows are clustered by these columns, given by the names that lead to them in files: new files
    /// have statistics of them.
    pub(crate) async fn clustered(
        snapshot: &Snapshot,
        columns: Vec<Vec<String>>,
        options: &WriteOptions,
        now_ms: i64,
    ) -> Result<Self> {
        let mut table = Definition::of(snapshot).await?;
        table.clustering.extend(columns);
        Self::new(table, snapshot.url(), &sized(options, snapshot), now_ms).map_err(|error| within_once(error, snapshot.url()))
    }

    /// About how large files become.
    pub(crate) fn target_file_size_bytes(&self) -> u64 {
        self.files.target_file_size_bytes
    }

    /// `now_ms` is what the current time means in defaults.
    pub(super) fn new(table: Definition, url: &str, options: &WriteOptions, now_ms: i64) -> Result<Self> {
        let rules = WriteRules::new(url, &table.protocol, &table.metadata, &table.clustering, now_ms);
        // A schema that comes with this write is the caller's.
        let rules = rules.map_err(|error| if table.changes_metadata { error.of_caller() } else { error })?;
        let files = file_options(&rules, options)?;
        Ok(Self { table, rules: Arc::new(rules), files })
    }

    /// Whether the table gets another schema or protocol.
    pub(crate) fn changes_table(&self) -> bool {
        self.table.changes_table()
    }

    /// Whether files that were written for another state of the table are right for this one too: nothing but columns that may be null
    /// has come.
    pub(crate) fn takes_files_of(&self, other: &Target) -> bool {
        let same_columns = other.table.metadata.partition_columns == self.table.metadata.partition_columns
            && other.rules.schema.fields.iter().all(|field| self.rules.schema.fields.contains(field));
        let new = self.rules.schema.fields.iter().filter(|field| !other.rules.schema.fields.contains(field));
        let rule_keys = [INVARIANTS, GENERATION_EXPRESSION, IDENTITY_START, CURRENT_DEFAULT];
        let harmless = |field: &StructField| field.nullable && !rule_keys.iter().any(|key| field.metadata.contains_key(*key));
        let (now, then) = (&self.rules.properties, &other.rules.properties);
        let same_rules = now.constraints == then.constraints
            && now.column_mapping_mode == then.column_mapping_mode
            && now.iceberg_compat_v1 == then.iceberg_compat_v1
            && now.iceberg_compat_v2 == then.iceberg_compat_v2;
        same_columns && same_rules && new.into_iter().all(harmless)
    }
}

fn new_table(data: &StructType, options: &WriteOptions) -> NewTable {
    NewTable {
        schema: data.clone(),
        partition_by: options.partition_by.clone().unwrap_or_default(),
        cluster_by: options.cluster_by.clone().unwrap_or_default(),
        properties: options.properties.clone(),
        ..NewTable::default()
    }
}

/// What a write with these options makes of a table.
async fn evolved(snapshot: &Snapshot, data: &StructType, options: &WriteOptions, env: &Env) -> Result<Definition> {
    match options.schema {
        SchemaMode::Overwrite if options.mode != WriteMode::Overwrite => Err(Error::invalid_input(
            "schema=\"overwrite\" goes with mode=\"overwrite\": the rows that are there have the old schema",
        )),
        SchemaMode::Overwrite => {
            let mut new = new_table(data, options);
            if options.partition_by.is_none() {
                new.partition_by = snapshot.partition_columns().to_vec();
            }
            Definition::replaced(snapshot, &new, env)
        }
        SchemaMode::Enforce | SchemaMode::Merge => {
            check_partitioning(snapshot, options)?;
            check_properties(snapshot, options)?;
            let table = Definition::of(snapshot).await?;
            if options.schema == SchemaMode::Merge { table.with_columns_of(snapshot, data, env) } else { Ok(table) }
        }
    }
}

/// The table is named once.
fn within_once(error: Error, url: &str) -> Error {
    if error.message().starts_with(url) { error } else { error.within(url) }
}

/// The options with a size for files that suits the table, unless somebody said one.
fn sized(options: &WriteOptions, snapshot: &Snapshot) -> WriteOptions {
    let said = options.target_file_size_bytes.or(snapshot.properties().target_file_size_bytes);
    let table_bytes = snapshot.checksum().and_then(|checksum| u64::try_from(checksum.table_size_bytes).ok()).unwrap_or(0);
    WriteOptions { target_file_size_bytes: said.or(Some(suited_file_bytes(table_bytes))), ..options.clone() }
}

/// About how large the files of a table of this size become. Few are opened where files are large; small ones are skipped, and written
/// anew, one by one.
fn suited_file_bytes(table_bytes: u64) -> u64 {
    (table_bytes / USUAL_FILES).clamp(USUAL_FILE_BYTES, LARGEST_FILE_BYTES)
}

fn check_partitioning(snapshot: &Snapshot, options: &WriteOptions) -> Result<()> {
    if let Some(asked) = &options.partition_by {
        let own = snapshot.partition_columns();
        let same = asked.len() == own.len() && asked.iter().zip(own).all(|(asked, own)| asked.eq_ignore_ascii_case(own));
        if !same {
            let message = format!(
                "the table is partitioned by {own:?}, not by {asked:?}; leave partition_by out, or overwrite the table with schema=\"overwrite\""
            );
            return Err(Error::invalid_input(message));
        }
    }
    match &options.cluster_by {
        Some(asked) if !asked.is_empty() => {
            Err(Error::invalid_input("the clustering of an existing table is not changed by a write; leave cluster_by out"))
        }
        _ => Ok(()),
    }
}

/// Properties are for new tables: one that exists must have them.
fn check_properties(snapshot: &Snapshot, options: &WriteOptions) -> Result<()> {
    let given = GivenProperties::parse(options.properties.iter().map(|(name, value)| (name.as_str(), value.as_str())))?;
    let differs = given.configuration.iter().find(|(name, value)| snapshot.metadata().property(name) != value.as_deref());
    match differs {
        Some((name, value)) => {
            let own = snapshot.metadata().property(name).map_or("unset".to_owned(), |own| format!("{own:?}"));
            let message = format!(
                "the property {name} is {own}, not {:?}: properties of an existing table are not changed by a write",
                value.as_deref().unwrap_or_default()
            );
            Err(Error::invalid_input(message))
        }
        None => Ok(()),
    }
}

fn file_options(rules: &WriteRules, options: &WriteOptions) -> Result<FileOptions> {
    let properties = &rules.properties;
    let codec = match (options.compression, &properties.parquet_compression_codec) {
        (Some(codec), _) => codec,
        (None, Some(name)) => Codec::parse(name).ok_or_else(|| {
            Error::invalid_input(format!(
                "{}: lakebed writes no files with delta.parquet.compression.codec {name:?}",
                rules.table
            ))
        })?,
        (None, None) => Codec::default(),
    };
    let defaults = ParquetOptions::default();
    let bloom_columns = options.bloom_columns.iter().map(|name| bloom_column(rules, name)).collect::<Result<_>>()?;
    Ok(FileOptions {
        target_file_size_bytes: options
            .target_file_size_bytes
            .or(properties.target_file_size_bytes)
            .unwrap_or(USUAL_FILE_BYTES)
            .max(LEAST_FILE_SIZE_BYTES),
        contents: Contents::Rows,
        is_moving: false,
        parquet: ParquetOptions {
            codec,
            row_group_rows: options.row_group_rows.unwrap_or(defaults.row_group_rows).max(1),
            row_group_bytes: defaults.row_group_bytes,
            bloom_columns,
            plain_columns: Vec::new(),
            second_pages: properties.parquet_format_version.as_deref().is_some_and(|version| version.trim().starts_with('2')),
        },
    })
}

fn bloom_column(rules: &WriteRules, name: &str) -> Result<Vec<String>> {
    let names: Vec<&str> = name.split('.').collect();
    let mode = rules.properties.column_mapping_mode;
    lakebed_core::schema::mapping::physical_path(&rules.schema, &names, mode)
        .ok_or_else(|| Error::invalid_input(format!("{}: bloom_columns: there is no column {name}", rules.table)))
}

#[cfg(test)]
mod tests {
    use super::suited_file_bytes;

    #[test]
    fn files_grow_with_the_table() {
        const GIB: u64 = 1 << 30;
        let sizes = [0, 256 * GIB, 512 * GIB, 2048 * GIB, u64::MAX].map(suited_file_bytes);
        assert_eq!(sizes.map(|size| size >> 20), [128, 128, 256, 1024, 1024]);
    }
}
