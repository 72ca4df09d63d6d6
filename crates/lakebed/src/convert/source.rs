//! What a conversion was asked for, and what it has found at the location.

use std::collections::HashMap;

use lakebed_io::env::Env;
use lakebed_io::parquet::ParquetFile;
use lakebed_io::store::Store;

use super::listing::ListedFile;
use super::options::ConvertOptions;
use super::outcome::SourceFormat;
use crate::definition::Definition;
use crate::file_progress::Watcher;

/// What a conversion was asked for.
pub(super) struct Request<'a> {
    pub(super) store: &'a Store,
    pub(super) env: &'a Env,
    pub(super) options: &'a ConvertOptions,
    pub(super) watcher: Option<Watcher>,
}

/// What a conversion has found at the location.
pub(super) struct Source {
    pub(super) format: SourceFormat,
    /// The definition of the table.
    pub(super) definition: Definition,
    /// The files of the table. `footers` and `partitions` have an entry for each.
    pub(super) files: Vec<ListedFile>,
    pub(super) footers: Vec<ParquetFile>,
    /// The partition values of each file, by the physical names of the columns.
    pub(super) partitions: Vec<HashMap<String, Option<String>>>,
    /// The columns that have different names in different files.
    pub(super) found_by_id: Vec<String>,
}
