//! The target of a write: the table unchanged, the table with the schema of the data, or a new
//! table. Begin with [`Target::plan`].

use lakebed_core::feature::given::GivenProperties;
use lakebed_core::schema::StructType;
use lakebed_io::env::Env;

use super::options::{SchemaMode, WriteMode, WriteOptions};
use crate::definition::{Definition, NewTable};
use crate::rows::target::{Target, sized, within_once};
use crate::{Error, Result, Snapshot, Table};

impl Target {
    /// Plans the target. Everything that can be refused without reading a row is refused here.
    pub(super) async fn plan(
        snapshot: Option<&Snapshot>,
        table: &Table,
        data: &StructType,
        options: &WriteOptions,
        now_ms: i64,
    ) -> Result<Self> {
        let (url, env) = (table.store().url(), table.env());
        let table = match snapshot {
            None => new_table(data, options).define(url, env),
            Some(snapshot) => evolved(snapshot, data, options, env).await.map_err(|error| within_once(error, url)),
        };
        let settings = options.file_settings();
        let settings = match snapshot {
            Some(snapshot) => sized(&settings, snapshot),
            None => settings,
        };
        Self::new(table?, url, &settings, now_ms).map_err(|error| within_once(error, url))
    }
}

fn new_table(data: &StructType, options: &WriteOptions) -> NewTable {
    NewTable {
        schema: data.clone(),
        partition_by: options.partition_by.clone().unwrap_or_default(),
        cluster_by: options.cluster_by.clone().unwrap_or_default(),
        properties: options.properties.clone(),
        name: options.name.clone(),
        description: options.description.clone(),
        ..NewTable::default()
    }
}

/// Returns the definition of the table after a write with these options.
async fn evolved(snapshot: &Snapshot, data: &StructType, options: &WriteOptions, env: &Env) -> Result<Definition> {
    check_words(snapshot, options)?;
    match options.schema_mode {
        SchemaMode::Overwrite if options.mode != WriteMode::Overwrite => Err(Error::invalid_input(
            "schema_mode=\"overwrite\" needs mode=\"overwrite\", because the existing rows have the old schema",
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
            if options.schema_mode == SchemaMode::Merge { table.with_columns_of(snapshot, data, env) } else { Ok(table) }
        }
    }
}

fn check_partitioning(snapshot: &Snapshot, options: &WriteOptions) -> Result<()> {
    if let Some(asked) = &options.partition_by {
        let own = snapshot.partition_columns();
        let same = asked.len() == own.len() && asked.iter().zip(own).all(|(asked, own)| asked.eq_ignore_ascii_case(own));
        if !same {
            let message = format!(
                "the table is partitioned by {own:?}, not by {asked:?}; leave partition_by out, or overwrite the table with schema_mode=\"overwrite\""
            );
            return Err(Error::invalid_input(message));
        }
    }
    match &options.cluster_by {
        Some(asked) if !asked.is_empty() => {
            Err(Error::invalid_input("a write cannot change the clustering of an existing table; leave cluster_by out"))
        }
        _ => Ok(()),
    }
}

/// Checks that an existing table has the given name and description.
fn check_words(snapshot: &Snapshot, options: &WriteOptions) -> Result<()> {
    let metadata = snapshot.metadata();
    let words = [("name", &options.name, &metadata.name), ("description", &options.description, &metadata.description)];
    match words.into_iter().find(|(_, given, own)| given.is_some() && given != own) {
        Some((what, given, own)) => Err(Error::invalid_input(format!(
            "{what}={:?}: the {what} of the table is {}: a write cannot change it; use alter.set_{what}",
            given.as_deref().unwrap_or_default(),
            own.as_ref().map_or("unset".to_owned(), |own| format!("{own:?}"))
        ))),
        None => Ok(()),
    }
}

/// Checks that an existing table has the given properties. A write sets properties only on a new
/// table.
fn check_properties(snapshot: &Snapshot, options: &WriteOptions) -> Result<()> {
    let given = GivenProperties::parse(options.properties.iter().map(|(name, value)| (name.as_str(), value.as_str())))?;
    let differs = given.configuration.iter().find(|(name, value)| snapshot.metadata().property(name) != value.as_deref());
    match differs {
        Some((name, value)) => {
            let own = snapshot.metadata().property(name).map_or("unset".to_owned(), |own| format!("{own:?}"));
            let message = format!(
                "the property {name} is {own}, not {:?}: a write cannot change the properties of an existing table",
                value.as_deref().unwrap_or_default()
            );
            Err(Error::invalid_input(message))
        }
        None => Ok(()),
    }
}
