//! Helpers for the tests of commits. They make bases, drafts and winners from lines of JSON. The
//! table has the columns `p string`, which is the partition column, and `id long`.

mod interleavings;
mod model;

use std::ops::RangeInclusive;

use serde_json::{Value, json};

use super::base::Base;
use super::draft::{Draft, Removal, VectorChange};
use super::winner::Winner;
use crate::action::json::{AddRef, CommitLines};
use crate::action::{Add, DeletionVectorDescriptor, Metadata};
use crate::dv::DeletionVector;
use crate::kit;
use crate::kit::schema::{field, struct_of};
pub(super) use crate::kit::table::protocol_with;
use crate::log::builder::FileBatchBuilder;
use crate::log::files::FileBatch;

pub(super) const TABLE: &str = "memory://t";

pub(super) fn schema_string() -> String {
    struct_of(&[field("p", "string"), field("id", "long")])
}

/// Returns the metadata of the table with this configuration.
pub(super) fn metadata(entries: &[(&str, &str)]) -> Metadata {
    kit::table::metadata(&schema_string(), &["p"], entries)
}

/// Returns version 4 of a table with these features and properties.
pub(super) fn base(features: &[&str], configuration: &[(&str, &str)]) -> Base {
    Base::of_version(4, protocol_with(features), metadata(configuration), None, None).unwrap()
}

/// Returns a file of partition 1 with the ids 0 to 9.
pub(super) fn a() -> Value {
    file("a", "1", 0..=9)
}

/// Returns a file of partition 1 with the ids 10 to 19.
pub(super) fn b() -> Value {
    file("b", "1", 10..=19)
}

/// Returns the `add` of a file.
pub(super) fn added(file: Value) -> Value {
    json!({"add": file})
}

/// Returns a draft that adds these files.
pub(super) fn adding(files: &[Value]) -> Draft {
    Draft { adds: files.iter().map(add).collect(), ..Draft::default() }
}

/// Returns the content of an `add`: a file of one partition, with one row for each of these ids.
pub(super) fn file(path: &str, p: &str, ids: RangeInclusive<i64>) -> Value {
    let (first, last) = (*ids.start(), *ids.end());
    let stats =
        json!({"numRecords": last - first + 1, "minValues": {"id": first}, "maxValues": {"id": last}, "nullCount": {"id": 0}});
    json!({
        "path": path, "partitionValues": {"p": p}, "size": 100, "modificationTime": 1, "dataChange": true, "stats": stats.to_string(),
    })
}

pub(super) fn add(file: &Value) -> Add {
    serde_json::from_value(file.clone()).unwrap()
}

/// Returns these files as a scan finds them.
pub(super) fn files(files: &[Value]) -> FileBatch {
    let mut batch = FileBatchBuilder::default();
    files.iter().for_each(|file| batch.append(&AddRef::from(add(file))).unwrap());
    batch.finish().unwrap()
}

pub(super) fn removal(gone: &[Value], data_change: bool) -> Removal {
    Removal { files: files(gone), data_change }
}

/// Returns the file with some keys set.
pub(super) fn with(mut file: Value, keys: Value) -> Value {
    file.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    file
}

/// Returns a deletion vector for these rows.
pub(super) fn rows(positions: &[u64]) -> DeletionVector {
    let mut rows = DeletionVector::new();
    positions.iter().for_each(|position| assert!(rows.insert(*position)));
    rows
}

pub(super) fn descriptor(positions: &[u64]) -> DeletionVectorDescriptor {
    rows(positions).to_inline().unwrap()
}

/// Returns the change of a file that already has deleted rows and gets more of them.
pub(super) fn vector_change(file: &Value, before: &[u64], more: &[u64]) -> VectorChange {
    let vector = (!before.is_empty()).then(|| descriptor(before));
    VectorChange {
        before: Add { deletion_vector: vector, ..add(file) },
        after: descriptor(&[before, more].concat()),
        deleted: rows(more),
    }
}

/// Returns the `remove` of a file with its deletion vector.
pub(super) fn remove(file: &Value) -> Value {
    let mut removed = json!({"path": file["path"], "deletionTimestamp": 1, "dataChange": file["dataChange"]});
    if !file["deletionVector"].is_null() {
        removed["deletionVector"] = file["deletionVector"].clone();
    }
    json!({"remove": removed})
}

/// Returns the file with a deletion vector.
pub(super) fn with_vector(file: &Value, positions: &[u64]) -> Value {
    with(file.clone(), json!({"deletionVector": descriptor(positions)}))
}

/// Returns the file as part of a commit that changes no data.
pub(super) fn rearranged(file: Value) -> Value {
    with(file, json!({"dataChange": false}))
}

pub(super) fn lines(actions: &[Value]) -> String {
    actions.iter().map(|action| format!("{action}\n")).collect()
}

pub(super) fn winner(version: u64, actions: &[Value]) -> Winner {
    Winner::read(version, [CommitLines::whole(lines(actions).as_bytes(), "winner.json")]).unwrap()
}

#[track_caller]
pub(super) fn check_error<T>(result: crate::Result<T>, kind: crate::ErrorKind, message: &str) {
    let Err(error) = result else { panic!("no error, instead of: {message}") };
    assert_eq!((error.kind(), error.message()), (&kind, message));
}
