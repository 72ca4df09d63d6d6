//! The protocol and the metadata of a table for which a checkpoint is written.

use crate::action::{Metadata, Protocol};
use crate::property::TableProperties;
use crate::schema::StructType;

/// The facts that decide the columns of a table's checkpoint.
#[derive(Clone, Copy)]
pub struct TableHead<'a> {
    /// The protocol.
    pub protocol: &'a Protocol,
    /// The metadata as the log has it.
    pub metadata: &'a Metadata,
    /// The parsed schema of the metadata.
    pub schema: &'a StructType,
    /// The parsed properties of the metadata.
    pub properties: &'a TableProperties,
}
