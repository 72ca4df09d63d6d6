//! Helpers for the tests of commits. They make bases, drafts and winners from lines of JSON. The
//! table has the columns `p string`, which is the partition column, and `id long`.

mod interleavings;
mod model;

use serde_json::Value;

use super::base::Base;
use super::draft::{Draft, Removal, VectorChange};
use super::winner::Winner;
use crate::action::json::{AddRef, CommitLines};
use crate::action::{Add, DeletionVectorDescriptor, Metadata};
use crate::dv::DeletionVector;
use crate::kit;
pub(super) use crate::kit::action::{add, add_ids, remove_of, text, unchanged, with, with_vector};
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
    add_ids("a", "1", 0..=9)
}

/// Returns a file of partition 1 with the ids 10 to 19.
pub(super) fn b() -> Value {
    add_ids("b", "1", 10..=19)
}

/// Returns a draft that adds these files.
pub(super) fn adding(files: &[Value]) -> Draft {
    Draft { adds: files.iter().map(to_add).collect(), ..Draft::default() }
}

/// The file of an `add`.
pub(super) fn to_add(file: &Value) -> Add {
    serde_json::from_value(file["add"].clone()).unwrap()
}

/// Returns these files as a scan finds them.
pub(super) fn files(files: &[Value]) -> FileBatch {
    let mut batch = FileBatchBuilder::default();
    files.iter().for_each(|file| batch.append(&AddRef::from(to_add(file))).unwrap());
    batch.finish().unwrap()
}

pub(super) fn removal(gone: &[Value], data_change: bool) -> Removal {
    Removal { files: files(gone), data_change }
}

/// A vector that deletes these rows.
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
        before: Add { deletion_vector: vector, ..to_add(file) },
        after: descriptor(&[before, more].concat()),
        deleted: rows(more),
    }
}

/// The `add` of a file without these rows.
pub(super) fn without(file: &Value, positions: &[u64]) -> Value {
    with_vector(file.clone(), serde_json::to_value(descriptor(positions)).unwrap())
}

pub(super) fn winner(version: u64, actions: &[Value]) -> Winner {
    Winner::read(version, [CommitLines::whole(&text(actions), "winner.json")]).unwrap()
}

#[track_caller]
pub(super) fn check_error<T>(result: crate::Result<T>, kind: crate::ErrorKind, message: &str) {
    let Err(error) = result else { panic!("no error, instead of: {message}") };
    assert_eq!((error.kind(), error.message()), (&kind, message));
}
