//! The definition of a table that goes back to an older version.
//!
//! Schema, partitioning, properties and clustering go back. Some facts only grow, because data that
//! was written since depends on them, and they stay: the features, the high water marks of identity
//! columns, the highest column id, in-commit timestamps, and the protection of checkpoints. Row
//! tracking stays off if it was dropped since. Tags belong to the table, and stay, too.

use std::collections::HashMap;

use lakebed_core::action::Metadata;
use lakebed_core::commit::conflict::IDENTITY_MARK;
use lakebed_core::feature::downgrade::PROTECTED_BEFORE;
use lakebed_core::feature::supported_features;
use lakebed_core::feature::upgrade::upgrade;
use lakebed_core::schema::field_metadata::IDENTITY_STEP;
use lakebed_core::schema::mapping::{DROPPED_OR_RENAMED, FIELD_ID, MAX_COLUMN_ID};
use lakebed_core::schema::{StructField, StructType};
use serde_json::Value;

use super::value::Definition;
use crate::clustering::clustering_domain;
use crate::tags::take_over_kept_versions;
use crate::{Result, Snapshot};

/// The properties that stay as they are if the table has in-commit timestamps.
const IN_COMMIT_TIMESTAMPS: [&str; 3] =
    ["delta.enableInCommitTimestamps", "delta.inCommitTimestampEnablementVersion", "delta.inCommitTimestampEnablementTimestamp"];

const ROW_TRACKING: &str = "rowTracking";
const ENABLE_ROW_TRACKING: &str = "delta.enableRowTracking";

/// The hidden columns of row ids. Files that were written since have them.
const ROW_IDS: [&str; 2] =
    ["delta.rowTracking.materializedRowIdColumnName", "delta.rowTracking.materializedRowCommitVersionColumnName"];

/// The properties with numbers that only grow.
const GROWING: [&str; 2] = [MAX_COLUMN_ID, PROTECTED_BEFORE];

impl Definition {
    /// Returns the definition of a table that goes back from `current` to `target`.
    pub(crate) async fn restored(current: &Snapshot, target: &Snapshot) -> Result<Self> {
        let definition = Self::of(current).await?;
        // Row tracking does not come back after it was dropped: files that stay have no row ids.
        let tracks_rows = supported_features(current.protocol()).contains(&ROW_TRACKING);
        let features = supported_features(target.protocol()).into_iter().filter(|name| tracks_rows || *name != ROW_TRACKING);
        let raised = upgrade(current.protocol(), features)?;
        let clustering = target.physical_clustering_columns().await?;
        let domains = if clustering == definition.clustering { Vec::new() } else { vec![clustering_domain(&clustering)] };
        let mut metadata = Metadata {
            // Handles and streams recognize the table by its id.
            id: current.metadata().id.clone(),
            schema_string: with_marks(target.schema(), current.schema())
                .map_or_else(|| target.metadata().schema_string.clone(), |schema| schema.to_json()),
            configuration: configuration(current, target),
            ..target.metadata().clone()
        };
        if !tracks_rows {
            metadata.configuration.retain(|name, _| name != ENABLE_ROW_TRACKING && !ROW_IDS.contains(&name.as_str()));
        }
        take_over_kept_versions(&mut metadata, current.metadata());
        Ok(Self {
            changes_protocol: raised.is_some(),
            protocol: raised.unwrap_or_else(|| current.protocol().clone()),
            changes_metadata: metadata != *current.metadata(),
            metadata,
            domains,
            clustering,
            is_replaced: false,
        })
    }
}

fn configuration(current: &Snapshot, target: &Snapshot) -> HashMap<String, Option<String>> {
    let mut configuration = target.metadata().configuration.clone();
    let (new, old) = (current.metadata(), target.metadata());
    if current.properties().in_commit_timestamps {
        for name in IN_COMMIT_TIMESTAMPS {
            configuration.remove(name);
            configuration.extend(new.property(name).map(|value| (name.to_owned(), Some(value.to_owned()))));
        }
    }
    for name in ROW_IDS {
        if let (None, Some(value)) = (old.property(name), new.property(name)) {
            configuration.insert(name.to_owned(), Some(value.to_owned()));
        }
    }
    if new.property(DROPPED_OR_RENAMED) == Some("true") {
        configuration.insert(DROPPED_OR_RENAMED.to_owned(), Some("true".to_owned()));
    }
    for name in GROWING {
        let number = |metadata: &Metadata| metadata.property(name).and_then(|value| value.parse::<u64>().ok());
        if let Some(most) = number(new).max(number(old)) {
            configuration.insert(name.to_owned(), Some(most.to_string()));
        }
    }
    configuration
}

/// Returns the schema with the high water marks of identity columns that are further. The result is
/// `None` if no mark is.
fn with_marks(schema: &StructType, newer: &StructType) -> Option<StructType> {
    let mut marked = schema.clone();
    let mut is_changed = false;
    for field in &mut marked.fields {
        let Some(mark) = same_column(field, newer).and_then(|newer| furthest(field, newer)) else { continue };
        if field.metadata.get(IDENTITY_MARK) != Some(&mark) {
            field.metadata.insert(IDENTITY_MARK.to_owned(), mark);
            is_changed = true;
        }
    }
    is_changed.then_some(marked)
}

/// Returns the same column of a newer schema. A column with an id is found by it, because it may
/// have been renamed.
fn same_column<'a>(field: &StructField, newer: &'a StructType) -> Option<&'a StructField> {
    let id = |field: &StructField| field.metadata.get(FIELD_ID).cloned();
    match id(field) {
        Some(known) if newer.fields.iter().any(|other| id(other).is_some()) => {
            newer.fields.iter().find(|other| id(other).as_ref() == Some(&known))
        }
        _ => newer.field(&field.name),
    }
}

/// Returns the mark that is further in the direction of the column's steps.
fn furthest(field: &StructField, newer: &StructField) -> Option<Value> {
    let mark = |field: &StructField| field.metadata.get(IDENTITY_MARK).and_then(Value::as_i64);
    let step = field.metadata.get(IDENTITY_STEP).and_then(Value::as_i64)?;
    let marks = mark(field).into_iter().chain(mark(newer));
    (if step > 0 { marks.max() } else { marks.min() }).map(Value::from)
}

#[cfg(test)]
mod tests {
    use lakebed_core::schema::parse;

    use super::*;

    fn column(name: &str, step: i64, mark: Option<i64>, id: Option<i64>) -> String {
        let mark = mark.map_or(String::new(), |mark| format!(r#","delta.identity.highWaterMark":{mark}"#));
        let id = id.map_or(String::new(), |id| format!(r#","delta.columnMapping.id":{id}"#));
        format!(
            r#"{{"name":"{name}","type":"long","nullable":true,"metadata":{{"delta.identity.start":1,"delta.identity.step":{step}{mark}{id}}}}}"#
        )
    }

    fn schema(column: &str) -> StructType {
        parse(&format!(r#"{{"type":"struct","fields":[{column}]}}"#)).unwrap()
    }

    /// Checks the mark of the only column after a restore; `None` means that the schema stays.
    #[track_caller]
    fn check(old: &str, new: &str, expected: Option<i64>) {
        let marked = with_marks(&schema(old), &schema(new));
        let mark = marked.map(|schema| schema.fields[0].metadata[IDENTITY_MARK].as_i64().unwrap());
        assert_eq!(mark, expected);
    }

    #[test]
    fn restored_schema_keeps_the_furthest_mark() {
        check(&column("n", 1, Some(3), None), &column("n", 1, Some(9), None), Some(9));
        check(&column("n", 1, None, None), &column("n", 1, Some(9), None), Some(9));
        check(&column("n", -1, Some(-3), None), &column("n", -1, Some(-9), None), Some(-9));
        check(&column("n", 1, Some(9), None), &column("n", 1, Some(9), None), None);
        check(&column("n", 1, Some(3), None), &column("other", 1, Some(9), None), None);
        check(&column("n", 1, Some(3), Some(1)), &column("renamed", 1, Some(9), Some(1)), Some(9));
        check(&column("n", 1, Some(3), Some(1)), &column("n", 1, Some(9), Some(2)), None);
    }
}
