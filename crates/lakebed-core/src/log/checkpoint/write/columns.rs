//! The columns of a checkpoint in the order and the types that Delta Spark writes. PROTOCOL
//! "Checkpoint Schema".
//!
//! All columns are nullable, because a row fills the struct of one action.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields};

/// Returns the additional columns of files that hold everything except file actions.
pub(super) fn v2_only() -> Vec<Field> {
    vec![
        group("checkpointMetadata", vec![long("version"), map("tags")]),
        group("sidecar", vec![text("path"), long("sizeInBytes"), long("modificationTime"), map("tags")]),
    ]
}

pub(super) fn transaction() -> Field {
    group("txn", vec![text("appId"), long("version"), long("lastUpdated")])
}

pub(super) fn metadata() -> Field {
    let format = group("format", vec![text("provider"), map("options")]);
    let fields = [text("id"), text("name"), text("description"), format, text("schemaString"), list("partitionColumns")];
    group("metaData", fields.into_iter().chain([map("configuration"), long("createdTime")]).collect())
}

pub(super) fn protocol() -> Field {
    group("protocol", vec![int("minReaderVersion"), int("minWriterVersion"), list("readerFeatures"), list("writerFeatures")])
}

pub(super) fn domain() -> Field {
    group("domainMetadata", vec![text("domain"), text("configuration"), flag("removed")])
}

/// Returns the column of files in the table. `statistics` are its last fields, which depend on the
/// table's properties.
pub(super) fn add(statistics: Vec<Field>) -> Field {
    let fields = vec![
        text("path"),
        map("partitionValues"),
        long("size"),
        long("modificationTime"),
        flag("dataChange"),
        map("tags"),
        deletion_vector(),
        long("baseRowId"),
        long("defaultRowCommitVersion"),
        text("clusteringProvider"),
    ];
    group("add", fields.into_iter().chain(statistics).collect())
}

/// Returns the column of tombstones. It has no `stats` and `tags`, which no reader of a tombstone
/// uses.
pub(super) fn remove() -> Field {
    let fields = vec![
        text("path"),
        long("deletionTimestamp"),
        flag("dataChange"),
        flag("extendedFileMetadata"),
        map("partitionValues"),
        long("size"),
        deletion_vector(),
        long("baseRowId"),
        long("defaultRowCommitVersion"),
    ];
    group("remove", fields)
}

fn deletion_vector() -> Field {
    let fields = vec![text("storageType"), text("pathOrInlineDv"), int("offset"), int("sizeInBytes"), long("cardinality")];
    group("deletionVector", fields)
}

pub(super) fn group(name: &str, fields: Vec<Field>) -> Field {
    Field::new_struct(name, Fields::from(fields), true)
}

pub(super) fn text(name: &str) -> Field {
    Field::new(name, DataType::Utf8, true)
}

pub(super) fn long(name: &str) -> Field {
    Field::new(name, DataType::Int64, true)
}

pub(super) fn flag(name: &str) -> Field {
    Field::new(name, DataType::Boolean, true)
}

fn int(name: &str) -> Field {
    Field::new(name, DataType::Int32, true)
}

fn list(name: &str) -> Field {
    Field::new_list(name, Arc::new(text("element")), true)
}

fn map(name: &str) -> Field {
    Field::new_map(name, "key_value", Field::new("key", DataType::Utf8, false), text("value"), false, true)
}
