//! The schema with which a stream reads, and its reaction to schema changes of the table.
//!
//! A stream has one schema from its start to its end. It reads rows with another schema if they can
//! be returned in the stream's columns. Otherwise it stops, and the error says whether a restart
//! helps. With a schema log (`tracking`), it stops at every schema change instead, and continues
//! with the new schema after a restart.

use lakebed_core::action::{Metadata, Protocol};
use lakebed_core::property::TableProperties;
use lakebed_core::schema::compare::{ColumnChanges, column_changes, first_obstacle};
use lakebed_core::schema::mapping::MappingMode;
use lakebed_core::schema::{StructType, parse};

use crate::{Error, Result, Snapshot};

/// The features of tables with type widening.
const TYPE_WIDENING: [&str; 2] = ["typeWidening", "typeWidening-preview"];

/// The parts of a table's metadata at some version that matter for reading rows.
#[derive(Clone)]
pub(super) struct Schema {
    pub(super) version: u64,
    pub(super) metadata: Metadata,
    pub(super) columns: StructType,
    pub(super) properties: TableProperties,
}

impl Schema {
    pub(super) fn of_snapshot(snapshot: &Snapshot) -> Self {
        Self {
            version: snapshot.version(),
            metadata: snapshot.metadata().clone(),
            columns: snapshot.schema().clone(),
            properties: snapshot.properties().clone(),
        }
    }

    /// Parses the schema from the metadata of a version.
    pub(super) fn of_metadata(url: &str, version: u64, metadata: Metadata) -> Result<Self> {
        let columns = parse(&metadata.schema_string).map_err(|error| error.within(url))?;
        let properties = TableProperties::parse(&metadata.configuration).map_err(|error| error.within(url))?;
        Ok(Self { version, metadata, columns, properties })
    }

    pub(super) fn mode(&self) -> MappingMode {
        self.properties.column_mapping_mode
    }

    /// Returns the changes of columns from this schema to a later one.
    pub(super) fn changes_to(&self, later: &Self) -> ColumnChanges {
        column_changes((&self.columns, self.mode()), (&later.columns, later.mode()))
    }

    /// Returns whether a later schema differs in anything that matters to a stream.
    pub(super) fn is_other(&self, later: &Self) -> bool {
        let own_properties = |metadata: &Metadata| {
            let mut own: Vec<(String, Option<String>)> = metadata.configuration.clone().into_iter().collect();
            own.retain(|(name, value)| name.starts_with("delta.") && value.is_some());
            own.sort();
            own
        };
        self.columns != later.columns
            || self.metadata.partition_columns != later.metadata.partition_columns
            || own_properties(&self.metadata) != own_properties(&later.metadata)
    }
}

/// The rules by which a stream without a schema log continues.
pub(super) struct SchemaRules<'a> {
    pub(super) url: &'a str,
    /// The schema with which the stream reads.
    pub(super) stream: &'a Schema,
    pub(super) protocol: &'a Protocol,
    /// Whether the options set the start of the stream, instead of a snapshot.
    pub(super) has_start: bool,
}

impl SchemaRules<'_> {
    /// Refuses a schema if its rows cannot be returned in the stream's columns.
    pub(super) fn check(&self, other: &Schema) -> Result<()> {
        check_table(self.url, &self.stream.metadata.id, &other.metadata.id)?;
        let is_older = other.version < self.stream.version;
        let (old, new) = if is_older { (other, self.stream) } else { (self.stream, other) };
        self.check_mapping(old, new, other.version)?;
        let same_partitions = self.stream.metadata.partition_columns == other.metadata.partition_columns;
        let widens = self.widens();
        // The stream can read values of older versions with types that were widened before its own
        // schema. It cannot read types that are widened later without a restart.
        let obstacle = if same_partitions {
            first_obstacle(&other.columns, &self.stream.columns, widens && is_older)
        } else {
            Some("the partition columns differ".to_owned())
        };
        let Some(obstacle) = obstacle else { return Ok(()) };
        let helps = !is_older && first_obstacle(&self.stream.columns, &other.columns, widens).is_none();
        Err(self.changed(other.version, &obstacle, helps))
    }

    fn widens(&self) -> bool {
        let features = self.protocol.reader_features.iter().flatten();
        features.chain(self.protocol.writer_features.iter().flatten()).any(|name| TYPE_WIDENING.contains(&name.as_str()))
    }

    /// Checks column mapping: with it, a column can be a different one despite its name.
    fn check_mapping(&self, old: &Schema, new: &Schema, version: u64) -> Result<()> {
        let changes = ColumnChanges { widened: Vec::new(), retyped: Vec::new(), ..old.changes_to(new) };
        let what = match (old.mode(), new.mode()) {
            (MappingMode::None, MappingMode::None) => return Ok(()),
            (_, MappingMode::None) => "column mapping was removed".to_owned(),
            _ if !changes.is_empty() => changes.to_string(),
            _ if old.metadata.partition_columns != new.metadata.partition_columns => "the partition columns changed".to_owned(),
            _ => return Ok(()),
        };
        let message = format!(
            "{}: version {version} is separated from the stream's schema by a schema change ({what}), and a stream cannot return \
             all rows in the same columns across such a change. Set the option schemaTrackingLocation to a folder below the \
             query's checkpoint, and start the query again: the stream then continues up to such a change, stops, and lets you \
             confirm it",
            self.url
        );
        Err(Error::schema_mismatch(message))
    }

    fn changed(&self, version: u64, obstacle: &str, helps: bool) -> Error {
        let start =
            if self.has_start { format!("; if that does not help, use startingVersion above {version}") } else { String::new() };
        let advice = if helps {
            "start the query again, and it continues with the new schema".to_owned()
        } else {
            format!("starting the query again does not help: start again with a new checkpoint{start}")
        };
        let message = format!(
            "{}: the schema of version {version} differs from the stream's schema, which is of version {}: {obstacle}; {advice}",
            self.url, self.stream.version
        );
        Error::schema_mismatch(message)
    }
}

/// Refuses another table at the same location.
pub(super) fn check_table(url: &str, expected: &str, found: &str) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    let message = format!(
        "{url}: the stream has read the table with the id {expected}, but the table here has the id {found}: the table was \
         dropped and created again, or the query names another table. Undo that change, or start again with a new checkpoint"
    );
    Err(Error::invalid_input(message))
}
