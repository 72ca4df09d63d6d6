//! The paths and names of new files.
//!
//! Tables without column mapping get Hive-style directories, because other tools and people read
//! them. No reader needs them. With column mapping, or if a property says so, a random prefix comes
//! before the name instead, as in Delta Spark.

use std::collections::HashMap;

use lakebed_core::path::FilePath;
use lakebed_core::path::hive::partition_dir;
use lakebed_core::schema::mapping::MappingMode;
use lakebed_io::env::Env;

use super::file_options::FileOptions;
use super::rules::{Contents, WriteRules};

/// The directory of change data files. PROTOCOL "Change Data Files".
pub(crate) const CHANGES_DIR: &str = "_change_data";
/// The characters of random prefixes.
const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// The values of the partition columns, in their order, as the log spells them.
pub(crate) type PartitionTexts = Vec<Option<String>>;

/// Makes the names of files.
#[derive(Debug, Clone)]
pub(super) struct FileNames {
    env: Env,
    contents: Contents,
    extension: String,
    /// The length of the random prefix, which replaces directories.
    prefix_length: Option<usize>,
}

impl FileNames {
    pub(super) fn new(rules: &WriteRules, options: &FileOptions, env: &Env) -> Self {
        let properties = &rules.properties;
        let is_random = properties.randomize_file_prefixes || properties.column_mapping_mode != MappingMode::None;
        Self {
            env: env.clone(),
            contents: options.contents,
            extension: format!("{}.parquet", options.parquet.codec.extension()),
            prefix_length: is_random.then_some(properties.random_prefix_length.clamp(1, 32) as usize),
        }
    }

    /// Returns a new name below the root, not yet encoded as a URI.
    pub(super) fn next(&self, rules: &WriteRules, partition: &PartitionTexts, number: u64) -> String {
        let kind = if self.contents == Contents::Changes { "cdc" } else { "part" };
        let name = format!("{kind}-{number:05}-{}-c000{}", self.env.new_uuid(), self.extension);
        let dir = match self.prefix_length {
            Some(length) => self.random_letters(length),
            None => {
                let columns = rules.partition_columns.iter().map(|column| column.name.as_str());
                partition_dir(columns.zip(partition.iter().map(Option::as_deref)))
            }
        };
        let root = if self.contents == Contents::Changes { CHANGES_DIR } else { "" };
        [root, &dir, &name].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
    }

    fn random_letters(&self, length: usize) -> String {
        let letter = |_| char::from(LETTERS[(self.env.random_u64() % LETTERS.len() as u64) as usize]);
        (0..length).map(letter).collect()
    }
}

/// Returns the name as the log spells it.
pub(super) fn as_uri(name: &str) -> String {
    FilePath::encode(name)
}

/// Returns the partition values in the form of an action.
pub(super) fn partition_values(rules: &WriteRules, partition: &PartitionTexts) -> HashMap<String, Option<String>> {
    let columns = rules.partition_columns.iter().map(|column| column.physical.clone());
    columns.zip(partition.iter().cloned()).collect()
}
