//! Checks the rows and files of a table against conditions that a change adds. Statistics decide
//! first. Only files that may hold a row that breaks a condition are read.

use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use futures::TryStreamExt;
use lakebed_expr::{Filter, Options, filter_schema, parse_filter};

use crate::definition::change::RowCheck;
use crate::scan::{RowColumn, RowColumnKind};
use crate::transaction::ReadSet;
use crate::{Error, ErrorKind, Result, Snapshot};

/// The name of the column with the file of each row. No table has a column of this name.
const FILE_COLUMN: &str = "\u{0}file";

/// Refuses a change if the rows of the table do not meet its conditions. Returns the read set.
pub(super) async fn check_rows(snapshot: &Snapshot, checks: &[RowCheck]) -> Result<ReadSet> {
    let mut read = ReadSet::default();
    for check in checks {
        match check {
            RowCheck::NoRows(message) => {
                read.all();
                if snapshot.scan().limit(1).count().await? > 0 {
                    return Err(Error::invalid_input(message.clone()));
                }
            }
            RowCheck::NoFiles(message) => {
                read.all();
                let mut files = snapshot.scan().files().await?;
                while let Some(batch) = files.try_next().await? {
                    if batch.num_rows() > 0 {
                        return Err(Error::invalid_input(message.clone()));
                    }
                }
            }
            RowCheck::CountedFiles { what } => {
                read.all();
                refuse_uncounted(snapshot, what).await?;
            }
            RowCheck::Every { what, condition } => {
                let breaking = Arc::new(breaking(snapshot, what, condition)?);
                read.matching(snapshot.pruner(&breaking)?);
                refuse_breaking(snapshot, what, breaking).await?;
            }
        }
    }
    Ok(read)
}

/// Refuses files without a count of their rows in the log, and files with deleted rows.
async fn refuse_uncounted(snapshot: &Snapshot, what: &str) -> Result<()> {
    let mut files = snapshot.scan().files().await?;
    while let Some(batch) = files.try_next().await? {
        let column = |name: &str| batch.column_by_name(name).ok_or_else(|| Error::internal("a file without its counts"));
        let (counts, deleted) = (column("num_records")?, column("deleted_records")?.as_primitive::<Int64Type>());
        let is_broken = |row: &usize| counts.is_null(*row) || deleted.values().get(*row).is_some_and(|deleted| *deleted > 0);
        if let Some(row) = (0..batch.num_rows()).find(is_broken) {
            let (reason, remedy) = if counts.is_null(row) {
                ("has no count of its rows in the log", "repair the statistics of the table first")
            } else {
                ("has a deletion vector", "drop the table feature deletionVectors first")
            };
            let path = column("path")?.as_string::<i32>().value(row);
            return Err(Error::invalid_input(format!("{what}: file {path} {reason}; {remedy}")));
        }
    }
    Ok(())
}

/// Returns the filter of rows that do not meet a condition. A condition that is null is not met.
fn breaking(snapshot: &Snapshot, what: &str, condition: &str) -> Result<Filter> {
    let options = Options { now_ms: Some(snapshot.env().now_ms()) };
    let filter = parse_filter(condition, &filter_schema(snapshot.schema())?, &options).map_err(|error| {
        let message =
            format!("{what}: it uses columns that this call changes, so the rows cannot be checked; add it in a call of its own");
        Error::invalid_input(message).with_source(error)
    })?;
    Filter::any(vec![filter.negated(), filter.is_unknown()]).ok_or_else(|| Error::internal("a condition without a negation"))
}

async fn refuse_breaking(snapshot: &Snapshot, what: &str, breaking: Arc<Filter>) -> Result<()> {
    let scan = snapshot.scan().filter(breaking).select(Vec::<String>::new());
    let mut rows = scan.row_columns([RowColumn::new(RowColumnKind::FilePath, FILE_COLUMN)]).stream().await?;
    let (mut count, mut first) = (0, None);
    while let Some(batch) = rows.try_next().await? {
        count += batch.num_rows();
        if first.is_none()
            && batch.num_rows() > 0
            && let Some(files) = batch.column_by_name(FILE_COLUMN)
        {
            first = file_of(files);
        }
    }
    if count == 0 {
        return Ok(());
    }
    let rows = if count == 1 { "1 row does" } else { &format!("{count} rows do") };
    let place = first.map_or_else(String::new, |file| format!(", the first of them in {file}"));
    Err(Error::new(ErrorKind::ConstraintViolation, format!("{what}: {rows} not meet this{place}; nothing was committed")))
}

/// Returns the first value of a column of paths.
fn file_of(files: &dyn arrow_array::Array) -> Option<String> {
    let files = arrow_cast::cast(files, &arrow_schema::DataType::Utf8).ok()?;
    files.as_string_opt::<i32>()?.iter().flatten().next().map(str::to_owned)
}
