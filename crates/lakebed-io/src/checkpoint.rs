//! Checkpoints on a store: reads their actions except file actions, and opens the Parquet files
//! that hold the file actions.
//!
//! [`open`] opens the Parquet files, including sidecars. [`read_head_actions`] and
//! [`read_other_actions`] decode only the columns and row groups that may contain the result.
//! Checkpoints are disposable, so every error names the missing or torn file, and the caller uses
//! another source. `write` writes checkpoints, and `count` checks one that was written.

mod count;
mod write;

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{Array, BooleanArray, RecordBatch};
use arrow_buffer::BooleanBuffer;
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use lakebed_core::action::{Action, Sidecar, json};
use lakebed_core::error::{Error, Result};
use lakebed_core::log::checkpoint::{check_v2, columns, other_actions};
use lakebed_core::log::segment::CheckpointFiles;
use lakebed_core::path::{CheckpointKind, FilePath, SIDECAR_DIR};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowPredicateFn, RowFilter};
use parquet::schema::types::{ColumnDescriptor, ColumnPath};

use crate::parquet::order::InOrder;
use crate::parquet::{Cores, FilterSource, PageIndex, ParquetFile, ReadOptions};
use crate::store::Store;

pub use count::{RowCounts, count_rows};
pub use write::{CheckpointFile, Encoder, Encoders, RowGroup};

/// The number of parts or sidecars that are opened at a time.
const CONCURRENCY: usize = 16;

/// The number of attempts to read a checkpoint that others replace at the same time.
const MOST_TRIES: usize = 8;

/// The number of rows of a batch. Batches are large because nearly all rows of a column are null,
/// and nulls take almost no memory.
const BATCH_ROWS: usize = 64 * 1024;

/// The columns of the top file of a V2 checkpoint that are needed to open a table.
const V2_HEAD: columns::Columns = &[&["protocol"], &["metaData"], &["checkpointMetadata"]];

/// The columns with file actions.
const FILES: columns::Columns = &[&["add"], &["remove"]];

/// The files of a checkpoint that hold its file actions.
#[derive(Debug)]
pub struct Content {
    /// The name and the lines of a JSON top file, which may hold file actions itself.
    pub json: Option<(String, Bytes)>,
    /// The opened Parquet files that hold file actions.
    pub parts: Vec<ParquetFile>,
}

/// Opens all files that may hold `add` or `remove`: the checkpoint's own files and, for a V2
/// checkpoint, its sidecars. If others replace one of them later, reading it fails with an error
/// for which [`is_replaced`](Error::is_replaced) is true. The caller may then open the checkpoint
/// again.
pub async fn open(store: &Store, files: &CheckpointFiles) -> Result<Content> {
    unless_replaced(|| open_now(store, files)).await
}

/// Repeats a read while others replace the file. The read must return nothing before its end.
/// Another checkpoint of the same version has the same content.
async fn unless_replaced<T, R: Future<Output = Result<T>>>(read: impl Fn() -> R) -> Result<T> {
    for _ in 1..MOST_TRIES {
        match read().await {
            Err(error) if error.is_replaced() => {}
            done => return done,
        }
    }
    read().await
}

async fn open_now(store: &Store, files: &CheckpointFiles) -> Result<Content> {
    let (json, mut parts, others) = match files.kind {
        CheckpointKind::Uuid { json: true } => {
            let (name, bytes, actions) = read_json_top(store, files).await?;
            (Some((name, bytes)), Vec::new(), actions)
        }
        CheckpointKind::Classic | CheckpointKind::Uuid { json: false } => {
            let parts = open_files(store, files, PageIndex::Read).await?;
            let others = read_columns(&parts, columns::SIDECARS, |_| false).await?;
            check_v2(&others, files.version, &files.name(), files.kind == CheckpointKind::Classic)?;
            (None, parts, others)
        }
        CheckpointKind::MultiPart { .. } => (None, open_files(store, files, PageIndex::Read).await?, Vec::new()),
    };
    // PROTOCOL "V2 Spec": either the top file or the sidecars hold the file actions. A top file
    // without file actions is not read again.
    parts.retain(|part| !row_groups(part, FILES).is_empty());
    let sidecars = others.into_iter().filter_map(|action| match action {
        Action::Sidecar(sidecar) => Some(sidecar),
        _ => None,
    });
    let opened: Vec<ParquetFile> =
        stream::iter(sidecars).map(|sidecar| open_sidecar(store, sidecar)).buffered(CONCURRENCY).try_collect().await?;
    parts.extend(opened);
    Ok(Content { json, parts })
}

/// Returns the protocol, the metadata, and the other actions that were read with them.
pub async fn read_head_actions(store: &Store, files: &CheckpointFiles) -> Result<Vec<Action>> {
    unless_replaced(|| read_head_now(store, files)).await
}

async fn read_head_now(store: &Store, files: &CheckpointFiles) -> Result<Vec<Action>> {
    let is_v2 = matches!(files.kind, CheckpointKind::Uuid { .. });
    let enough = |found: &[Action]| {
        let has = |wanted: fn(&Action) -> bool| found.iter().any(wanted);
        has(|action| matches!(action, Action::Protocol(_)))
            && has(|action| matches!(action, Action::Metadata(_)))
            && (!is_v2 || has(|action| matches!(action, Action::CheckpointMetadata(_))))
    };
    match files.kind {
        CheckpointKind::Uuid { json: true } => Ok(read_json_top(store, files).await?.2),
        CheckpointKind::Uuid { json: false } => {
            let actions = read_columns(&open_files(store, files, PageIndex::Skip).await?, V2_HEAD, enough).await?;
            check_v2(&actions, files.version, &files.name(), false)?;
            Ok(actions)
        }
        // The parts are opened one after the other, because the first part mostly holds both.
        CheckpointKind::MultiPart { .. } => {
            let mut found = Vec::new();
            for index in 0..files.files.len() {
                found.extend(
                    read_columns(&[open_file(store, files, index, PageIndex::Skip).await?], columns::HEAD, enough).await?,
                );
                if enough(&found) {
                    break;
                }
            }
            Ok(found)
        }
        CheckpointKind::Classic => read_columns(&open_files(store, files, PageIndex::Skip).await?, columns::HEAD, enough).await,
    }
}

/// Returns all actions of these columns, which must not be columns of file actions. See
/// [`columns`].
pub async fn read_other_actions(store: &Store, files: &CheckpointFiles, wanted: columns::Columns) -> Result<Vec<Action>> {
    match files.kind {
        CheckpointKind::Uuid { json: true } => Ok(read_json_top(store, files).await?.2),
        _ => {
            let read = || async { read_columns(&open_files(store, files, PageIndex::Skip).await?, wanted, |_| false).await };
            unless_replaced(read).await
        }
    }
}

/// Returns the top file of a V2 checkpoint as lines, and its actions except file actions.
async fn read_json_top(store: &Store, files: &CheckpointFiles) -> Result<(String, Bytes, Vec<Action>)> {
    let name = files.name();
    let bytes = store.get(&store.log_path(&name)?).await?;
    let mut actions = Vec::new();
    for (number, line) in json::lines(&bytes) {
        match json::read_line(line) {
            Ok(json::Line::Other(action)) => actions.push(action),
            Ok(json::Line::File(_) | json::Line::Nothing) => {}
            Err(error) => return Err(Error::corrupt(name, format!("line {number}: {}", error.message()))),
        }
    }
    check_v2(&actions, files.version, &name, false)?;
    Ok((name, bytes, actions))
}

/// The size from which on files are read in slices. Slices need the page index.
const SLICED_BYTES: u64 = 8 << 20;

/// Requests the page index only for a file that is large enough to be read in slices.
fn if_sliced(page_index: PageIndex, size: u64) -> PageIndex {
    if size < SLICED_BYTES { PageIndex::Skip } else { page_index }
}

async fn open_files(store: &Store, files: &CheckpointFiles, page_index: PageIndex) -> Result<Vec<ParquetFile>> {
    let indices = 0..files.files.len();
    stream::iter(indices).map(|index| open_file(store, files, index, page_index)).buffered(CONCURRENCY).try_collect().await
}

async fn open_file(store: &Store, files: &CheckpointFiles, index: usize, page_index: PageIndex) -> Result<ParquetFile> {
    let file = files.files.get(index).ok_or_else(|| Error::internal("a checkpoint has no files"))?;
    let path = store.log_path(&file.path.name)?;
    checked(ParquetFile::open_replaceable(store, &path, Some(file.size), if_sliced(page_index, file.size)).await?)
}

/// Refuses a Parquet file without columns of actions. If it were taken for a checkpoint, the table
/// would seem empty.
fn checked(file: ParquetFile) -> Result<ParquetFile> {
    let schema = file.metadata().file_metadata().schema_descr();
    let has =
        |column: &&&str| schema.columns().iter().any(|leaf| leaf.path().parts().first().is_some_and(|root| root == *column));
    match FILES.iter().chain(columns::OTHERS).filter_map(|column| column.first()).any(|column| has(&column)) {
        true => Ok(file),
        false => Err(Error::corrupt(file.name(), "the checkpoint has none of the columns that hold actions")),
    }
}

async fn open_sidecar(store: &Store, sidecar: Sidecar) -> Result<ParquetFile> {
    let path = match FilePath::parse(&sidecar.path)? {
        FilePath::Relative(name) => FilePath::Relative(format!("{SIDECAR_DIR}/{name}")),
        absolute @ FilePath::Absolute(_) => absolute,
    };
    let (store, path) = store.resolve(&path)?;
    let size = u64::try_from(sidecar.size_in_bytes).ok().filter(|size| *size > 0);
    checked(ParquetFile::open(&store, &path, size, if_sliced(PageIndex::Read, size.unwrap_or(0))).await?)
}

/// Decodes these columns of all files, until the actions are `enough` or the files end.
///
/// Row groups are skipped if their statistics prove that all these columns are null.
async fn read_columns(
    files: &[ParquetFile],
    wanted: columns::Columns,
    enough: impl Fn(&[Action]) -> bool,
) -> Result<Vec<Action>> {
    let cores = Cores::of(1);
    let mut actions = Vec::new();
    for file in files {
        for row_group in row_groups(file, wanted) {
            actions.extend(read_row_group(file, row_group, wanted, &cores).await?);
            if enough(&actions) {
                return Ok(actions);
            }
        }
    }
    Ok(actions)
}

async fn read_row_group(file: &ParquetFile, row_group: usize, wanted: columns::Columns, cores: &Cores) -> Result<Vec<Action>> {
    let decoding = file.decode(ReadOptions {
        projection: Some(projection(file, |leaf| columns::hold(wanted, leaf.path().parts()))),
        row_groups: Some(vec![row_group]),
        // The filter needs a request for its leaves. Over a network this request costs more than
        // the decoding that the filter saves.
        filter: if file.is_local() { filter(file, wanted) } else { None },
        batch_rows: Some(BATCH_ROWS),
        ..ReadOptions::default()
    })?;
    let found = Arc::new(Mutex::new(Vec::new()));
    let (sink, name) = (Arc::clone(&found), file.name().to_owned());
    let take = move |batch| {
        sink.lock().unwrap_or_else(PoisonError::into_inner).extend(other_actions(&batch, &name)?);
        Ok(ControlFlow::Continue(()))
    };
    decoding.run(cores, take).await?;
    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(std::mem::take(&mut *found))
}

fn row_groups(file: &ParquetFile, wanted: columns::Columns) -> Vec<usize> {
    let schema = file.metadata().file_metadata().schema_descr();
    let is_there =
        |column: &&&str| schema.columns().iter().any(|leaf| leaf.path().parts().first().is_some_and(|root| root == *column));
    let columns = wanted.iter().filter_map(|column| column.first()).filter(is_there);
    let mut groups: Vec<usize> = columns.flat_map(|column| file.row_groups_with(column)).collect();
    groups.sort_unstable();
    groups.dedup();
    groups
}

/// Returns the rows of a part that have a `remove`, with these columns. It returns `None` if the
/// part has no such rows.
pub fn read_removes(part: &ParquetFile, wanted: columns::Columns) -> Result<Option<InOrder<RecordBatch>>> {
    let row_groups = part.row_groups_with("remove");
    if row_groups.is_empty() {
        return Ok(None);
    }
    let options = ReadOptions {
        projection: Some(projection(part, |leaf| columns::hold(wanted, leaf.path().parts()))),
        row_groups: Some(row_groups),
        ..ReadOptions::default()
    };
    part.read(options, &Cores::new()).map(Some)
}

fn projection(file: &ParquetFile, takes: impl Fn(&ColumnDescriptor) -> bool) -> ProjectionMask {
    let schema = file.metadata().file_metadata().schema_descr();
    let leaves = schema.columns().iter().enumerate().filter(|(_, leaf)| takes(leaf));
    ProjectionMask::leaves(schema, leaves.map(|(index, _)| index))
}

/// Finds the few rows with a value by one leaf of each column, so that whole pages of the other
/// leaves need not be decoded.
fn filter(file: &ParquetFile, wanted: columns::Columns) -> Option<FilterSource> {
    let leaves = file.metadata().file_metadata().schema_descr().columns();
    let mut tellers: Vec<ColumnPath> = Vec::new();
    for column in wanted {
        let below: Vec<_> = leaves.iter().filter(|leaf| columns::hold(&[column], leaf.path().parts())).collect();
        if below.is_empty() {
            continue;
        }
        // A repeated leaf has no fixed number of values for each row.
        tellers.push(below.into_iter().find(|leaf| leaf.max_rep_level() == 0)?.path().clone());
    }
    let mask = projection(file, |leaf| tellers.contains(leaf.path()));
    Some(Arc::new(move || RowFilter::new(vec![Box::new(ArrowPredicateFn::new(mask.clone(), |batch| Ok(says_anything(&batch))))])))
}

/// Returns the rows in which any column is not null.
fn says_anything(batch: &RecordBatch) -> BooleanArray {
    let mut any = BooleanBuffer::new_unset(batch.num_rows());
    for column in batch.columns() {
        match column.nulls() {
            Some(nulls) if nulls.null_count() == batch.num_rows() => {}
            Some(nulls) => any = &any | nulls.inner(),
            None => any = BooleanBuffer::new_set(batch.num_rows()),
        }
    }
    BooleanArray::new(any, None)
}
