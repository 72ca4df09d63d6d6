//! Where new files go and what they are called.
//!
//! Tables without column mapping get Hive-style directories, which other tools and people read; nobody has to. With it, or on the wish of
//! a property, a random prefix stands before the name instead, as Delta Spark does it.

use std::collections::HashMap;

use lakebed_core::path::FilePath;
use lakebed_core::path::hive::partition_dir;
use lakebed_core::schema::mapping::MappingMode;
use lakebed_io::env::Env;

use super::file_options::FileOptions;
use super::rules::{Contents, WriteRules};

/// Where files of changes are. PROTOCOL "Change Data Files".
const CHANGES_DIR: &str = "_change_data";
/// The letters of random prefixes.
const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// The values of the partition columns, in their order, as the log spells them.
pub(crate) type PartitionTexts = Vec<Option<String>>;

/// Names files.
#[derive(Debug, Clone)]
pub(super) struct Places {
    env: Env,
    contents: Contents,
    extension: String,
    /// Random letters before names, instead of directories.
    prefix_length: Option<usize>,
}

impl Places {
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

    /// A new name below the root, not yet spelled as a URI.
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

/// The name as the log spells it.
pub(super) fn as_uri(name: &str) -> String {
    FilePath::encode(name)
}

/// The partition values as an action has them.
pub(super) fn partition_values(rules: &WriteRules, partition: &PartitionTexts) -> HashMap<String, Option<String>> {
    let columns = rules.partition_columns.iter().map(|column| column.physical.clone());
    columns.zip(partition.iter().cloned()).collect()
}
