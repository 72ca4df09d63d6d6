//! Fixtures that the unit tests of this crate share.
//!
//! A fixture that only one room needs stays with the tests of that room.

/// The actions of the workspace's test kit.
#[expect(dead_code, reason = "the unit tests of this crate use a part of the file")]
#[path = "../../../tests/kit/action.rs"]
pub(crate) mod action;
/// The arrays and batches of the workspace's test kit.
#[expect(dead_code, reason = "the unit tests of this crate use a part of the file")]
#[path = "../../../tests/kit/arrow.rs"]
pub(crate) mod arrow;
/// The checks of errors of the workspace's test kit.
#[path = "../../../tests/kit/error.rs"]
pub(crate) mod error;

use lakebed_core::action::{Add, Metadata, Protocol};
use lakebed_core::schema::{DataType, StructField, StructType};
use serde_json::Value;

/// Returns the schema of these columns, which are all nullable.
pub(crate) fn schema<T: Clone + Into<DataType>>(columns: &[(&str, T)]) -> StructType {
    StructType { fields: columns.iter().map(|(name, data_type)| StructField::new(*name, data_type.clone(), true)).collect() }
}

/// Returns the file of an `add`.
pub(crate) fn to_add(action: &Value) -> Add {
    serde_json::from_value(action["add"].clone()).unwrap()
}

/// Returns the metadata of a `metaData`.
pub(crate) fn to_metadata(action: &Value) -> Metadata {
    serde_json::from_value(action["metaData"].clone()).unwrap()
}

/// Returns the protocol of a `protocol`.
pub(crate) fn to_protocol(action: &Value) -> Protocol {
    serde_json::from_value(action["protocol"].clone()).unwrap()
}
