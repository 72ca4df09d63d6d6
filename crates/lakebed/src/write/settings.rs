//! The caller's settings for new files, and the table's settings where the caller gives none.

use lakebed_core::property::LEAST_FILE_SIZE_BYTES;
use lakebed_io::parquet::write::{Codec, WriteOptions as ParquetOptions};

use super::file_options::FileOptions;
use super::rules::{Contents, WriteRules};
use crate::{Error, Result};

/// The size of the files of a usual table, and of the largest tables.
const USUAL_FILE_BYTES: u64 = 128 << 20;
const LARGEST_FILE_BYTES: u64 = 1 << 30;
/// A table that would have more files than this gets larger files.
const USUAL_FILES: u64 = 2048;

/// The caller's settings for new files.
#[derive(Debug, Clone, Default)]
pub(crate) struct FileSettings {
    /// The approximate size of a file.
    pub(crate) target_file_size_bytes: Option<u64>,
    /// The compression of pages.
    pub(crate) compression: Option<Codec>,
    /// The maximum number of rows of a row group.
    pub(crate) row_group_rows: Option<usize>,
    /// The columns that get Bloom filters. A field of a struct is written as `a.b`.
    pub(crate) bloom_columns: Vec<String>,
}

impl FileSettings {
    /// Returns the options for files of a table with these rules.
    pub(crate) fn for_table(&self, rules: &WriteRules) -> Result<FileOptions> {
        let properties = &rules.properties;
        let codec = match (self.compression, &properties.parquet_compression_codec) {
            (Some(codec), _) => codec,
            (None, Some(name)) => Codec::parse(name).ok_or_else(|| {
                Error::invalid_input(format!(
                    "{}: lakebed cannot write files with delta.parquet.compression.codec {name:?}",
                    rules.table
                ))
            })?,
            (None, None) => Codec::default(),
        };
        let defaults = ParquetOptions::default();
        let bloom_columns = self.bloom_columns.iter().map(|name| bloom_column(rules, name)).collect::<Result<_>>()?;
        Ok(FileOptions {
            target_file_size_bytes: self
                .target_file_size_bytes
                .or(properties.target_file_size_bytes)
                .unwrap_or(USUAL_FILE_BYTES)
                .max(LEAST_FILE_SIZE_BYTES),
            contents: Contents::Rows,
            is_moving: false,
            parquet: ParquetOptions {
                codec,
                row_group_rows: self.row_group_rows.unwrap_or(defaults.row_group_rows).max(1),
                row_group_bytes: defaults.row_group_bytes,
                bloom_columns,
                plain_columns: Vec::new(),
                second_pages: properties.parquet_format_version.as_deref().is_some_and(|version| version.trim().starts_with('2')),
            },
        })
    }
}

/// Refuses a file size that makes no sense.
pub(crate) fn check_file_size(target_file_size_bytes: Option<u64>) -> Result<()> {
    match target_file_size_bytes {
        Some(size) if size < LEAST_FILE_SIZE_BYTES => {
            let message = format!("target_file_size={size}: it must be at least {LEAST_FILE_SIZE_BYTES} bytes");
            Err(Error::invalid_input(message))
        }
        _ => Ok(()),
    }
}

/// Returns the approximate size of files for a table of this size. Large files mean that few files
/// are opened. Small files can be skipped and rewritten one by one.
pub(crate) fn suited_file_bytes(table_bytes: u64) -> u64 {
    (table_bytes / USUAL_FILES).clamp(USUAL_FILE_BYTES, LARGEST_FILE_BYTES)
}

fn bloom_column(rules: &WriteRules, name: &str) -> Result<Vec<String>> {
    let names: Vec<&str> = name.split('.').collect();
    let mode = rules.properties.column_mapping_mode;
    lakebed_core::schema::mapping::physical_path(&rules.schema, &names, mode)
        .ok_or_else(|| Error::invalid_input(format!("{}: bloom_columns: there is no column {name}", rules.table)))
}

#[cfg(test)]
mod tests {
    use super::suited_file_bytes;

    #[test]
    fn files_grow_with_the_table() {
        const GIB: u64 = 1 << 30;
        let sizes = [0, 256 * GIB, 512 * GIB, 2048 * GIB, u64::MAX].map(suited_file_bytes);
        assert_eq!(sizes.map(|size| size >> 20), [128, 128, 256, 1024, 1024]);
    }
}
