//! The definition of a table that is a clone of another one, as Delta Spark makes it.

use std::collections::HashMap;

use lakebed_core::action::Metadata;
use lakebed_core::feature::downgrade::PROTECTED_BEFORE;
use lakebed_core::feature::given::GivenProperties;
use lakebed_core::feature::upgrade::{upgrade, used_features};
use lakebed_core::property::TableProperties;
use lakebed_io::env::Env;

use super::columns::{check_columns, check_constraints};
use super::complete::add_row_tracking_columns;
use super::iceberg::check_iceberg;
use super::value::Definition;
use crate::clustering::CLUSTERING_DOMAIN;
use crate::snapshot::{CLONE_SOURCES, COPIED_FROM};
use crate::{Error, Result, Snapshot};

/// The hidden columns of row tracking. A clone gets its own, so its rows get new row ids.
const ROW_ID_COLUMNS: [&str; 2] =
    ["delta.rowTracking.materializedRowIdColumnName", "delta.rowTracking.materializedRowCommitVersionColumnName"];
/// The properties that describe the log of the source.
const OF_LOG: [&str; 3] =
    ["delta.inCommitTimestampEnablementVersion", "delta.inCommitTimestampEnablementTimestamp", PROTECTED_BEFORE];
/// The properties by which a catalog coordinates the commits of the source.
const COORDINATED: &str = "delta.coordinatedCommits.";

impl Definition {
    /// Returns the definition of a clone. `target` is the table that it replaces, if there is one,
    /// `given` are properties of the caller, and `record` is the property that records the source.
    ///
    /// The clone gets an id of its own and no name. It keeps the schema, the properties, the
    /// features and the clustering columns of the source.
    pub(crate) async fn cloned(
        source: &Snapshot,
        target: Option<&Snapshot>,
        given: &HashMap<String, String>,
        record: (&str, String),
        env: &Env,
    ) -> Result<Self> {
        let given = GivenProperties::parse(given.iter().map(|(name, value)| (name.as_str(), value.as_str())))
            .map_err(|error| error.of_caller().within("properties"))?;
        let mut configuration = source.metadata().configuration.clone();
        let is_of_source = |name: &str| {
            ROW_ID_COLUMNS.contains(&name)
                || OF_LOG.contains(&name)
                || [CLONE_SOURCES, COPIED_FROM].contains(&name)
                || name.starts_with(COORDINATED)
        };
        configuration.retain(|name, _| !is_of_source(name));
        configuration.extend(given.configuration);
        configuration.insert(record.0.to_owned(), Some(record.1));
        if let Some(target) = target {
            let own =
                ROW_ID_COLUMNS.iter().filter_map(|name| Some((*name).to_owned()).zip(target.metadata().configuration.get(*name)));
            configuration.extend(own.map(|(name, value)| (name, value.clone())));
        }
        let properties = TableProperties::parse(&configuration)?;
        check_mapping_mode(source, target, &properties)?;
        let schema = source.schema();
        check_columns(schema, &properties)?;
        check_constraints(schema, &properties)?;
        check_iceberg(schema, &properties)?;
        add_row_tracking_columns(&properties, &mut configuration, env);
        let domains: Vec<_> = source.domain_metadata(CLUSTERING_DOMAIN).await?.into_iter().collect();
        let used = used_features(schema, &properties, !domains.is_empty()).into_iter().map(str::to_owned);
        let protocol = upgrade(source.protocol(), used.chain(given.features))?.unwrap_or_else(|| source.protocol().clone());
        let metadata = Metadata {
            id: target.map_or_else(|| env.new_uuid(), |target| target.metadata().id.clone()),
            name: target.and_then(|target| target.metadata().name.clone()),
            description: target.and_then(|target| target.metadata().description.clone()),
            configuration,
            ..source.metadata().clone()
        };
        Ok(Self::new(protocol, metadata, domains))
    }
}

fn check_mapping_mode(source: &Snapshot, target: Option<&Snapshot>, properties: &TableProperties) -> Result<()> {
    let mode = properties.column_mapping_mode;
    let differs = |table: &Snapshot| {
        Error::invalid_input(format!(
            "{}: its column mapping mode is {}, and a clone cannot change it to {mode}",
            table.url(),
            table.mapping_mode()
        ))
    };
    match target.filter(|target| target.mapping_mode() != mode) {
        _ if source.mapping_mode() != mode => Err(differs(source)),
        Some(target) => Err(differs(target)),
        None => Ok(()),
    }
}
