//! Decides which files hold matching rows. Rows that a deletion vector deletes count too, because
//! their bytes are still in the file.

use std::collections::HashSet;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use futures::{StreamExt, TryStreamExt, stream};

use crate::scan::read::{ReadOptions, read_files};
use crate::scan::{RowColumn, RowColumnKind, Scan, ScanFile, ScanSpec};
use crate::{Error, ErrorKind, Result};

/// The name of the column with the index of the file. No table has a column of this name.
const FILE_COLUMN: &str = "\u{0}file";

/// The number of files that are decided at a time if one of them cannot be read.
const AT_ONCE: usize = 16;

/// Whether a file holds matching rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeldRows {
    None,
    Some,
    /// The file does not exist any more.
    Missing,
    /// The file cannot be read, or not with the columns of the predicate.
    Undecided,
}

/// Returns the spec that reads the indexes of files with rows of a scan.
pub(super) fn spec_of(scan: &Scan) -> ScanSpec {
    let scan = scan.clone().select(Vec::<String>::new());
    scan.row_columns([RowColumn::new(RowColumnKind::FileIndex, FILE_COLUMN)]).spec()
}

/// Returns for each of these files whether it holds rows that the predicate of the spec matches.
pub(super) async fn find(scan: &Scan, spec: &ScanSpec, files: Vec<ScanFile>) -> Result<Vec<HeldRows>> {
    let files: Vec<ScanFile> = files.into_iter().map(with_deleted_rows).collect();
    match find_all(scan, spec, files.clone()).await {
        Ok(found) => Ok((0..files.len()).map(|file| held(found.contains(&file))).collect()),
        // One of them cannot be read. The others decide by themselves.
        Err(error) if is_of_file(&error) => {
            let decide = |file| async move {
                match find_all(scan, spec, vec![file]).await {
                    Ok(found) => Ok(held(!found.is_empty())),
                    Err(error) if error.is_not_found() => Ok(HeldRows::Missing),
                    Err(error) if is_of_file(&error) => Ok(HeldRows::Undecided),
                    Err(error) => Err(error),
                }
            };
            stream::iter(files).map(decide).buffered(AT_ONCE).try_collect().await
        }
        Err(error) => Err(error),
    }
}

fn held(is_found: bool) -> HeldRows {
    if is_found { HeldRows::Some } else { HeldRows::None }
}

/// Returns the file with the rows that its deletion vector deletes.
fn with_deleted_rows(file: ScanFile) -> ScanFile {
    ScanFile { deletion_vector: None, only: None, num_records: None, ..file }
}

/// Returns whether an error is about one file, and not about the store.
fn is_of_file(error: &Error) -> bool {
    use ErrorKind::{Corrupt, InvalidInput, Predicate, SchemaMismatch, UnsupportedFeature};
    let is_of_content =
        matches!(error.kind(), Corrupt { .. } | InvalidInput | Predicate | SchemaMismatch | UnsupportedFeature { .. });
    error.is_not_found() || is_of_content
}

/// Returns the indexes of the files with matching rows.
async fn find_all(scan: &Scan, spec: &ScanSpec, files: Vec<ScanFile>) -> Result<HashSet<usize>> {
    let mut found = HashSet::new();
    let mut rows = read_files(scan.snapshot().store(), spec, files, ReadOptions::default())?;
    while let Some(batch) = rows.try_next().await? {
        let indexes = batch.column_by_name(FILE_COLUMN).and_then(|column| column.as_primitive_opt::<Int64Type>());
        let indexes = indexes.ok_or_else(|| Error::internal("the rows have no file index"))?;
        found.extend(indexes.values().iter().filter_map(|index| usize::try_from(*index).ok()));
    }
    Ok(found)
}
