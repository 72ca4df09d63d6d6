//! The table that rows are written to: as it is, as it will be with the schema of the data, or as it will be made.
//!
//! Read [`Target::plan`].

use std::sync::Arc;

use lakebed_core::action::{DomainMetadata, Metadata, Protocol};
use lakebed_core::feature::given::GivenProperties;
use lakebed_core::feature::upgrade::{
    CURRENT_DEFAULT, GENERATION_EXPRESSION, IDENTITY_START, INVARIANTS, upgrade, used_features,
};
use lakebed_core::property::{LEAST_FILE_SIZE_BYTES, TableProperties};
use lakebed_core::schema::evolve::{MergeOptions, merge};
use lakebed_core::schema::mapping::{FIELD_ID, NESTED_IDS, PHYSICAL_NAME};
use lakebed_core::schema::{StructField, StructType};
use lakebed_io::env::Env;
use lakebed_io::parquet::write::{Codec, WriteOptions as ParquetOptions};
use serde::{Deserialize, Serialize};

use super::data_file::FileOptions;
use super::fill::schema_for;
use super::rules::{Contents, WriteRules};
use super::run::Run;
use super::{SchemaMode, WriteMode, WriteOptions};
use crate::clustering::clustering_paths;
use crate::columns::{check_columns, check_constraints, refuse_filling_of_new, with_checked_notes};
use crate::create::{NewTable, PlannedTable, add_row_tracking_columns, check_iceberg, columns_named, with_mapping};
use crate::{Error, Result, Snapshot};

/// How large files of usual tables become, and those of the largest.
const USUAL_FILE_BYTES: u64 = 128 << 20;
const LARGEST_FILE_BYTES: u64 = 1 << 30;
/// A table that would have more files than these has larger ones.
const USUAL_FILES: u64 = 2048;

/// What a write makes of its table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct TableChange {
    pub(super) protocol: Protocol,
    pub(super) metadata: Metadata,
    pub(super) domains: Vec<DomainMetadata>,
    /// The names in files that lead to the columns by which the table is clustered.
    pub(super) clustering: Vec<Vec<String>>,
    pub(super) changes_protocol: bool,
    pub(super) changes_metadata: bool,
    /// The schema is replaced as a whole, and with it partitioning and clustering.
    pub(super) is_replaced: bool,
}

/// The table as a write leaves it, and how its files are written.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(super) table: TableChange,
    pub(crate) rules: Arc<WriteRules>,
    pub(super) files: FileOptions,
}

impl Target {
    /// Everything that can be refused without reading a row is refused here.
    pub(super) async fn plan(snapshot: Option<&Snapshot>, run: &Run) -> Result<Self> {
        let Run { table, schema: data, options, now_ms } = run;
        let (url, env) = (table.store().url(), table.env());
        let table = match snapshot {
            None => TableChange::new_table(data, options, url, env),
            Some(snapshot) => TableChange::of(snapshot, data, options, env).await.map_err(|error| within_once(error, url)),
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
            None => TableChange::none(snapshot).await,
            Some(data) => TableChange::none(snapshot).await.and_then(|table| table.merged(snapshot, data, env)),
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
        let mut table = TableChange::none(snapshot).await?;
        table.clustering.extend(columns);
        Self::new(table, snapshot.url(), &sized(options, snapshot), now_ms).map_err(|error| within_once(error, snapshot.url()))
    }

    /// About how large files become.
    pub(crate) fn target_file_size_bytes(&self) -> u64 {
        self.files.target_file_size_bytes
    }

    /// `now_ms` is what the current time means in defaults.
    pub(super) fn new(table: TableChange, url: &str, options: &WriteOptions, now_ms: i64) -> Result<Self> {
        let rules = WriteRules::new(url, &table.protocol, &table.metadata, &table.clustering, now_ms);
        // A schema that comes with this write is the caller's.
        let rules = rules.map_err(|error| if table.changes_metadata { error.of_caller() } else { error })?;
        let files = file_options(&rules, options)?;
        Ok(Self { table, rules: Arc::new(rules), files })
    }

    /// Whether the table gets another schema or protocol.
    pub(crate) fn changes_table(&self) -> bool {
        self.table.changes_protocol || self.table.changes_metadata
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

impl TableChange {
    fn new_table(data: &StructType, options: &WriteOptions, url: &str, env: &Env) -> Result<Self> {
        let new = NewTable {
            schema: data.clone(),
            partition_by: options.partition_by.clone().unwrap_or_default(),
            cluster_by: options.cluster_by.clone().unwrap_or_default(),
            properties: options.properties.clone(),
            ..NewTable::default()
        };
        let PlannedTable { protocol, metadata, domains } = new.plan(url, env)?;
        let clustering = domains.iter().flat_map(clustering_paths).collect();
        Ok(Self { protocol, metadata, domains, clustering, changes_protocol: true, changes_metadata: true, is_replaced: false })
    }

    async fn of(snapshot: &Snapshot, data: &StructType, options: &WriteOptions, env: &Env) -> Result<Self> {
        if options.schema == SchemaMode::Overwrite {
            return Self::replaced(snapshot, data, options, env).map_err(Error::of_caller);
        }
        check_partitioning(snapshot, options)?;
        check_properties(snapshot, options)?;
        let table = Self::none(snapshot).await?;
        if options.schema == SchemaMode::Merge { table.merged(snapshot, data, env) } else { Ok(table) }
    }

    /// The table stays as it is.
    async fn none(snapshot: &Snapshot) -> Result<Self> {
        Ok(Self {
            protocol: snapshot.protocol().clone(),
            metadata: snapshot.metadata().clone(),
            domains: Vec::new(),
            clustering: snapshot.physical_clustering_columns().await?,
            changes_protocol: false,
            changes_metadata: false,
            is_replaced: false,
        })
    }

    /// The table gets the columns of the data that it lacks.
    fn merged(self, snapshot: &Snapshot, data: &StructType, env: &Env) -> Result<Self> {
        self.with_columns_of(snapshot, data, env).map_err(Error::of_caller)
    }

    fn with_columns_of(mut self, snapshot: &Snapshot, data: &StructType, env: &Env) -> Result<Self> {
        let found = schema_for(snapshot.schema(), data);
        let merged = merge(snapshot.schema(), &found, MergeOptions { widen: snapshot.properties().type_widening });
        if merged == *snapshot.schema() {
            return Ok(self);
        }
        let schema = with_mapping(&merged, snapshot.properties(), &mut self.metadata.configuration, env);
        check_columns(&schema, snapshot.properties())?;
        refuse_filling_of_new(snapshot.schema(), &schema)?;
        let used = used_features(&schema, snapshot.properties(), false);
        if let Some(raised) = upgrade(&self.protocol, used)? {
            self.protocol = raised;
            self.changes_protocol = true;
        }
        self.metadata.schema_string = schema.to_json();
        self.changes_metadata = true;
        Ok(self)
    }

    /// The table stays itself and keeps its properties; columns that stay what they were keep their names in files.
    fn replaced(snapshot: &Snapshot, data: &StructType, options: &WriteOptions, env: &Env) -> Result<Self> {
        if options.mode != WriteMode::Overwrite {
            return Err(Error::invalid_input(
                "schema=\"overwrite\" goes with mode=\"overwrite\": the rows that are there have the old schema",
            ));
        }
        let mode = snapshot.mapping_mode();
        check_columns(data, snapshot.properties())?;
        let mut metadata = snapshot.metadata().clone();
        let partition_by = match &options.partition_by {
            Some(names) => names.clone(),
            None => snapshot.partition_columns().to_vec(),
        };
        metadata.partition_columns = columns_named(data, &partition_by, "partition")?;
        let kept = with_checked_notes(&keeping_notes(data, snapshot.schema()), &metadata.partition_columns)?;
        let schema = with_mapping(&kept, snapshot.properties(), &mut metadata.configuration, env);
        metadata.schema_string = schema.to_json();
        let given = GivenProperties::parse(options.properties.iter().map(|(name, value)| (name.as_str(), value.as_str())))?;
        metadata.configuration.extend(given.configuration);
        let properties = TableProperties::parse(&metadata.configuration)?;
        if properties.column_mapping_mode != mode {
            return Err(Error::invalid_input("delta.columnMapping.mode cannot be changed by a write"));
        }
        check_columns(&schema, &properties)?;
        check_constraints(&schema, &properties)?;
        check_iceberg(&schema, &properties)?;
        add_row_tracking_columns(&properties, &mut metadata.configuration, env);
        let clustering = NewTable {
            schema: schema.clone(),
            partition_by,
            cluster_by: options.cluster_by.clone().unwrap_or_default(),
            ..NewTable::default()
        };
        let domains = clustering.clustering_domains(&schema, mode)?;
        let used = used_features(&schema, &properties, !domains.is_empty()).into_iter().map(str::to_owned).chain(given.features);
        let raised = upgrade(snapshot.protocol(), used)?;
        Ok(Self {
            clustering: domains.iter().flat_map(clustering_paths).collect(),
            changes_protocol: raised.is_some(),
            protocol: raised.unwrap_or_else(|| snapshot.protocol().clone()),
            changes_metadata: metadata != *snapshot.metadata(),
            metadata,
            domains,
            is_replaced: true,
        })
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

/// Columns that stay what they were keep their names and ids in files, and their comments.
fn keeping_notes(schema: &StructType, old: &StructType) -> StructType {
    let keep = |field: &StructField| {
        let mut field = field.clone();
        let same =
            old.field(&field.name).filter(|old| old.data_type == field.data_type || same_shape(&old.data_type, &field.data_type));
        if let Some(old) = same {
            for key in [PHYSICAL_NAME, FIELD_ID, NESTED_IDS, "comment"] {
                if let Some(value) = old.metadata.get(key) {
                    field.metadata.entry(key).or_insert_with(|| value.clone());
                }
            }
            field.data_type = old.data_type.clone();
        }
        field
    };
    StructType { fields: schema.fields.iter().map(keep).collect() }
}

/// Whether two types differ in notes alone.
fn same_shape(one: &lakebed_core::schema::DataType, other: &lakebed_core::schema::DataType) -> bool {
    let plain = |data_type: &lakebed_core::schema::DataType| super::fit::loose_type(data_type).ok();
    plain(one).is_some() && plain(one) == plain(other)
}

fn file_options(rules: &WriteRules, options: &WriteOptions) -> Result<FileOptions> {
    let properties = &rules.properties;
    let codec = match (options.codec, &properties.parquet_compression_codec) {
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
