//! The table for which files are written: its definition, the rules for its rows, and the encoding
//! of its files.

use std::sync::Arc;

use lakebed_core::action::Metadata;
use lakebed_core::feature::upgrade::{CURRENT_DEFAULT, GENERATION_EXPRESSION, IDENTITY_START, INVARIANTS};
use lakebed_core::schema::{StructField, StructType};

use crate::definition::Definition;
use crate::transaction::Transaction;
use crate::write::file_options::FileOptions;
use crate::write::identity_column::with_mark;
use crate::write::rules::{Filling, WriteRules};
use crate::write::settings::{FileSettings, suited_file_bytes};
use crate::{Error, Result, Snapshot};

/// The table as it will be after a write, and how its files are written.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) table: Definition,
    pub(crate) rules: Arc<WriteRules>,
    pub(crate) files: FileOptions,
}

impl Target {
    /// Returns the target of a table that stays as it is, or gets the columns of some data that it
    /// lacks.
    pub(crate) async fn of_table(
        snapshot: &Snapshot,
        merging: Option<&StructType>,
        settings: &FileSettings,
        now_ms: i64,
    ) -> Result<Self> {
        let (url, env) = (snapshot.url(), snapshot.env());
        let table = match merging {
            None => Definition::of(snapshot).await,
            Some(data) => Definition::of(snapshot).await.and_then(|table| table.with_columns_of(snapshot, data, env)),
        };
        let target = table.and_then(|table| Self::new(table, url, &sized(settings, snapshot), now_ms));
        target.map_err(|error| within_once(error, url))
    }

    /// Returns the target of a table that stays as it is, while rows are clustered by these
    /// columns. The columns are given by their physical paths. New files have statistics of them.
    pub(crate) async fn clustered(
        snapshot: &Snapshot,
        columns: Vec<Vec<String>>,
        settings: &FileSettings,
        now_ms: i64,
    ) -> Result<Self> {
        let mut table = Definition::of(snapshot).await?;
        table.clustering.extend(columns);
        Self::new(table, snapshot.url(), &sized(settings, snapshot), now_ms).map_err(|error| within_once(error, snapshot.url()))
    }

    /// Returns the approximate size of new files.
    pub(crate) fn target_file_size_bytes(&self) -> u64 {
        self.files.target_file_size_bytes
    }

    /// Makes a target. `now_ms` is the current time in defaults.
    pub(crate) fn new(table: Definition, url: &str, settings: &FileSettings, now_ms: i64) -> Result<Self> {
        let rules = WriteRules::new(url, &table.protocol, &table.metadata, &table.clustering, now_ms);
        // If the schema comes with this write, an error in it is the caller's.
        let rules = rules.map_err(|error| if table.changes_metadata { error.of_caller() } else { error })?;
        let files = settings.for_table(&rules)?;
        Ok(Self { table, rules: Arc::new(rules), files })
    }

    /// Returns whether the table gets another schema or protocol.
    pub(crate) fn changes_table(&self) -> bool {
        self.table.changes_table()
    }

    /// Registers the changes of the table's definition in a transaction. `marks` are the high-water
    /// marks of identity columns after the work.
    pub(crate) async fn register(&self, marks: &[(usize, i64)], transaction: &mut Transaction) -> Result<()> {
        let counted = self.counted(marks);
        match transaction.snapshot().cloned() {
            Some(snapshot) => self.table.register(counted, transaction, &snapshot).await?,
            // A transaction that creates the table begins with its definition.
            None => counted.into_iter().for_each(|metadata| transaction.set_metadata(metadata)),
        }
        Ok(())
    }

    /// Returns the metadata with the furthest marks of its identity columns; None if no column was
    /// numbered.
    fn counted(&self, marks: &[(usize, i64)]) -> Option<Metadata> {
        let (mut schema, mut is_counted) = (self.rules.schema.clone(), false);
        for (place, filling) in &self.rules.filled {
            let Filling::Identity(identity) = filling else { continue };
            let marks = marks.iter().filter(|(marked, _)| marked == place).map(|(_, mark)| *mark);
            let furthest = marks.reduce(|one, other| identity.further(one, other));
            if let (Some(mark), Some(field)) = (furthest, schema.fields.get_mut(*place)) {
                *field = with_mark(field, mark);
                is_counted = true;
            }
        }
        is_counted.then(|| Metadata { schema_string: schema.to_json(), ..self.table.metadata.clone() })
    }

    /// Returns whether files that were written for another state of the table are valid for this
    /// one too. They are if the only difference is new columns that may be null.
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

/// Returns the settings with a file size that suits the table, unless the caller or the table sets
/// one.
pub(crate) fn sized(settings: &FileSettings, snapshot: &Snapshot) -> FileSettings {
    let named = settings.target_file_size_bytes.or(snapshot.properties().target_file_size_bytes);
    let table_bytes = snapshot.checksum().and_then(|checksum| u64::try_from(checksum.table_size_bytes).ok()).unwrap_or(0);
    FileSettings { target_file_size_bytes: named.or(Some(suited_file_bytes(table_bytes))), ..settings.clone() }
}

/// Adds the table's URL to an error message, unless the message begins with it.
pub(crate) fn within_once(error: Error, url: &str) -> Error {
    if error.message().starts_with(url) { error } else { error.within(url) }
}
