//! Builds the protocol, the metadata and the properties of tables.

use std::collections::HashMap;

use super::strings;
use crate::action::{Metadata, Protocol};
use crate::property::TableProperties;

/// Returns a protocol with these versions and these lists of features.
pub fn protocol(reader: i32, writer: i32, reader_features: Option<&[&str]>, writer_features: Option<&[&str]>) -> Protocol {
    Protocol {
        min_reader_version: reader,
        min_writer_version: writer,
        reader_features: reader_features.map(strings),
        writer_features: writer_features.map(strings),
    }
}

/// Returns a protocol of versions 3 and 7 that lists these features for readers and for writers.
pub fn protocol_with(features: &[&str]) -> Protocol {
    protocol(3, 7, Some(features), Some(features))
}

/// Returns a map from strings to strings and nulls, as the log has it.
pub fn string_map(entries: &[(&str, Option<&str>)]) -> HashMap<String, Option<String>> {
    entries.iter().map(|(key, value)| ((*key).to_owned(), value.map(str::to_owned))).collect()
}

/// Returns the configuration of a table.
pub fn configuration(entries: &[(&str, &str)]) -> HashMap<String, Option<String>> {
    entries.iter().map(|(key, value)| ((*key).to_owned(), Some((*value).to_owned()))).collect()
}

/// Returns the properties of a table with this configuration.
pub fn properties(entries: &[(&str, &str)]) -> TableProperties {
    TableProperties::parse(&configuration(entries)).unwrap()
}

/// Returns the metadata of a table without name and description.
pub fn metadata(schema_string: &str, partition_columns: &[&str], entries: &[(&str, &str)]) -> Metadata {
    Metadata {
        id: "i".to_owned(),
        name: None,
        description: None,
        format: Default::default(),
        schema_string: schema_string.to_owned(),
        partition_columns: strings(partition_columns),
        configuration: configuration(entries),
        created_time: Some(1),
    }
}
