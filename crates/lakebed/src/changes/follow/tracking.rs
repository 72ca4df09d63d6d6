//! The schema log that a stream may keep below its checkpoint: one small file for each schema with
//! which it has read, in Delta Spark's format.
//!
//! `<location>/_schema_log_<table id>[_<tracking id>]/<n>` holds the line `v1` and one line of
//! JSON. The file with the highest number is the current one.

use std::collections::BTreeMap;

use lakebed_core::action::json::parse_line;
use lakebed_core::action::{Action, Metadata, Protocol};
use lakebed_core::schema::{StructType, parse};
use lakebed_io::store::{PutOutcome, Store};
use serde::{Deserialize, Serialize};

use super::options::{Allowed, FollowOptions};
use super::schema::{Schema, check_table};
use crate::{Error, Result, Snapshot};

/// The format version of the files.
const FORM: u32 = 1;

/// A schema of a stream as stored in a file of the schema log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TrackedSchema {
    table_id: String,
    /// The version at which the schema was found.
    pub(super) delta_commit_version: u64,
    data_schema_json: String,
    partition_schema_json: String,
    /// Delta Spark's metadata path of the source within its query. It is unknown here, and empty.
    #[serde(default)]
    source_metadata_path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    table_configurations: Option<BTreeMap<String, Option<String>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    protocol_json: Option<String>,
    /// The number of the schema that was used before this one, if it is not the preceding number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    previous_metadata_seq_num: Option<u64>,
}

impl TrackedSchema {
    pub(super) fn new(version: u64, metadata: &Metadata, protocol: &Protocol) -> Result<Self> {
        let columns = parse(&metadata.schema_string)?;
        let partitions = metadata.partition_columns.iter().filter_map(|name| columns.field(name).cloned());
        Ok(Self {
            table_id: metadata.id.clone(),
            delta_commit_version: version,
            data_schema_json: columns.to_json(),
            partition_schema_json: StructType { fields: partitions.collect() }.to_json(),
            source_metadata_path: String::new(),
            table_configurations: Some(metadata.configuration.clone().into_iter().collect()),
            protocol_json: Some(Action::Protocol(protocol.clone()).to_line()?),
            previous_metadata_seq_num: None,
        })
    }

    /// Returns the schema. Values that are missing in the file are taken from the table.
    pub(super) fn schema(&self, table: &Snapshot) -> Result<Schema> {
        let partitions = parse(&self.partition_schema_json)?.fields.into_iter().map(|field| field.name);
        let configuration = self.table_configurations.clone().map(|own| own.into_iter().collect());
        let metadata = Metadata {
            schema_string: self.data_schema_json.clone(),
            partition_columns: partitions.collect(),
            configuration: configuration.unwrap_or_else(|| table.metadata().configuration.clone()),
            ..table.metadata().clone()
        };
        Schema::of_metadata(table.url(), self.delta_commit_version, metadata)
    }

    /// Returns the protocol. If it is missing in the file, it is taken from the table.
    pub(super) fn protocol(&self, table: &Snapshot) -> Result<Protocol> {
        match self.protocol_json.as_ref().map(|line| parse_line(line.as_bytes())).transpose()?.flatten() {
            Some(Action::Protocol(protocol)) => Ok(protocol),
            _ => Ok(table.protocol().clone()),
        }
    }
}

/// The schema log of one stream.
pub(super) struct SchemaLog {
    store: Store,
    current: Option<(u64, TrackedSchema)>,
}

impl SchemaLog {
    /// Opens the schema log at the location in the options, if they have one, with the store
    /// options of the table.
    pub(super) async fn open(table: &Snapshot, options: &FollowOptions) -> Result<Option<Self>> {
        let Some(location) = &options.schema_location else { return Ok(None) };
        if options.tolerate_data_loss {
            return Err(Error::invalid_input(
                "failOnDataLoss=false cannot be combined with schemaTrackingLocation: a lost commit may have changed the schema",
            ));
        }
        let id = &table.metadata().id;
        let suffix = options.tracking_id.as_ref().map(|id| format!("_{id}")).unwrap_or_default();
        let url = format!("{}/_schema_log_{id}{suffix}", location.trim_end_matches('/'));
        let store = Store::open(&url, table.store().options().clone())?;
        let mut log = Self { store, current: None };
        if let Some(newest) = log.newest().await? {
            let schema = log.read(newest).await?.ok_or_else(|| Error::internal(format!("{url}/{newest} is missing")))?;
            check_table(table.url(), &schema.table_id, id)?;
            log.current = Some((newest, schema));
        }
        Ok(Some(log))
    }

    /// Returns the schema with which the stream reads.
    pub(super) fn current(&self) -> Option<&TrackedSchema> {
        self.current.as_ref().map(|(_, schema)| schema)
    }

    /// Returns the schema before the current one.
    pub(super) async fn previous(&self) -> Result<Option<TrackedSchema>> {
        match self.previous_number() {
            Some(number) => self.read(number).await,
            None => Ok(None),
        }
    }

    fn previous_number(&self) -> Option<u64> {
        let (number, schema) = self.current.as_ref()?;
        schema.previous_metadata_seq_num.or_else(|| number.checked_sub(1))
    }

    /// Writes the schema with which the stream reads from now on.
    pub(super) async fn append(&mut self, schema: TrackedSchema) -> Result<()> {
        if self.current() == Some(&schema) {
            return Ok(());
        }
        let number = self.current.as_ref().map_or(0, |(number, _)| number + 1);
        let json = serde_json::to_string(&schema)
            .map_err(|error| Error::internal("a schema cannot be written as JSON").with_source(error))?;
        let path = self.store.path_of(&number.to_string())?;
        let put = self.store.put_if_absent(&path, format!("v{FORM}\n{json}").into()).await?;
        if put == PutOutcome::Taken && self.read(number).await?.as_ref() != Some(&schema) {
            let message = format!(
                "{}: another stream has written here. Give each stream its own schemaTrackingLocation, or its own \
                 streamingSourceTrackingId",
                self.store.url()
            );
            return Err(Error::invalid_input(message));
        }
        self.current = Some((number, schema));
        Ok(())
    }

    /// Writes a schema in place of the current one, with which nothing was read.
    pub(super) async fn replace(&mut self, schema: TrackedSchema) -> Result<()> {
        let previous_metadata_seq_num = self.previous_number();
        self.append(TrackedSchema { previous_metadata_seq_num, ..schema }).await
    }

    async fn newest(&self) -> Result<Option<u64>> {
        let listed = self.store.list_after(&self.store.path_of("")?, "").await?;
        Ok(listed.iter().filter_map(|object| object.location.filename()?.parse().ok()).max())
    }

    async fn read(&self, number: u64) -> Result<Option<TrackedSchema>> {
        let path = self.store.path_of(&number.to_string())?;
        let bytes = match self.store.get(&path).await {
            Ok(bytes) => bytes,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(error),
        };
        parse_file(&bytes).map(Some).map_err(|reason| {
            let advice = "the schema log is damaged: start again with another schemaTrackingLocation";
            Error::corrupt(self.store.describe(&path), format!("{reason}; {advice}"))
        })
    }
}

fn parse_file(bytes: &[u8]) -> Result<TrackedSchema, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    let (form, json) = text.split_once('\n').ok_or("it has no second line")?;
    match form.strip_prefix('v').and_then(|form| form.parse::<u32>().ok()) {
        Some(1..=FORM) => {}
        Some(form) => return Err(format!("its format is {form}, and this version of lakebed reads formats up to {FORM}")),
        None => return Err(format!("it begins with {form:?}")),
    }
    serde_json::from_str(json).map_err(|error| error.to_string())
}

/// Refuses to continue from one schema to the next, unless the options allow it for readers of the
/// old columns.
pub(super) fn check_allowed(url: &str, options: &FollowOptions, before: &Schema, now: &Schema) -> Result<()> {
    let (changes, version) = (before.changes_to(now), now.version);
    if let Some(column) = changes.retyped.first() {
        let message = format!(
            "{url}: column {column} has a type at version {version} that cannot hold the values of its previous type: start \
             again with a new checkpoint"
        );
        return Err(Error::schema_mismatch(message));
    }
    let asked = [
        (changes.renamed.is_empty(), options.allow_rename, "allowSourceColumnRename"),
        (changes.dropped.is_empty(), options.allow_drop, "allowSourceColumnDrop"),
        (changes.widened.is_empty(), options.allow_type_change, "allowSourceColumnTypeChange"),
    ];
    let blocked = |(none, allowed, name): &(bool, Allowed, &'static str)| (!none && !allowed.allows(version)).then_some(*name);
    let names: Vec<&str> = asked.iter().filter_map(blocked).collect();
    if names.is_empty() {
        return Ok(());
    }
    let options = names.iter().map(|name| format!("{name}={version}")).collect::<Vec<_>>().join(" and ");
    let message = format!(
        "{url}: between versions {} and {version} the schema changed: {changes}. If the receiver of the rows supports this \
         change, start the query again with {options}, or with always instead of the version",
        before.version
    );
    Err(Error::schema_mismatch(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPARK: &str = concat!(
        "v1\n",
        r#"{"tableId":"t","deltaCommitVersion":3,"dataSchemaJson":"{\"type\":\"struct\",\"fields\":[]}","#,
        r#""partitionSchemaJson":"{\"type\":\"struct\",\"fields\":[]}","sourceMetadataPath":"file:/c/sources/0/metadata","#,
        r#""tableConfigurations":{"delta.x":"1"},"protocolJson":"{\"protocol\":{\"minReaderVersion\":1,\"minWriterVersion\":2}}","#,
        r#""previousMetadataSeqNum":0}"#
    );

    #[test]
    fn schema_file_of_delta_spark_survives_rewrite() {
        let schema = parse_file(SPARK.as_bytes()).unwrap();
        assert_eq!((schema.delta_commit_version, schema.previous_metadata_seq_num), (3, Some(0)));
        assert_eq!(format!("v1\n{}", serde_json::to_string(&schema).unwrap()), SPARK);
    }

    #[test]
    fn what_is_damaged_or_newer_is_refused() {
        let refused = |text: &str| parse_file(text.as_bytes()).unwrap_err();
        assert_eq!(refused("v1"), "it has no second line");
        assert_eq!(refused("v2\n{}"), "its format is 2, and this version of lakebed reads formats up to 1");
        assert_eq!(refused("1\n{}"), "it begins with \"1\"");
        assert!(refused("v1\n{}").contains("missing field `tableId`"));
    }
}
