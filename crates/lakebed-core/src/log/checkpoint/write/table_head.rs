//! The protocol and the metadata of the table whose checkpoint is written.

use crate::action::{Metadata, Protocol};
use crate::property::TableProperties;
use crate::schema::StructType;

/// What decides about the columns of a table's checkpoint.
#[derive(Clone, Copy)]
pub struct TableHead<'a> {
    /// What readers and writers must know.
    pub protocol: &'a Protocol,
    /// Schema, partitioning and properties as the log has them.
    pub metadata: &'a Metadata,
    /// The schema in it.
    pub schema: &'a StructType,
    /// The properties in it.
    pub properties: &'a TableProperties,
}
