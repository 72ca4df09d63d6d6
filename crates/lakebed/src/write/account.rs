//! Whether rows add up: those that came in stand in the new files, and those that left are the ones that were to leave. What does not add up
//! is an error of lakebed, and is never committed.
//!
//! Rows are counted where they enter. The rows in files are the `numRecords` of their statistics. Read [`check`].

use lakebed_core::action::Add;
use lakebed_io::store::Store;

use super::data_file::WrittenFile;
use super::files::delete_written;
use crate::{Error, Result};

/// As many rows stand in new files as came in.
pub(crate) fn check<'a>(table: &str, came_in: u64, files: impl IntoIterator<Item = &'a Add>) -> Result<()> {
    let (mut count, mut standing) = (0_u64, Some(0_u64));
    for file in files {
        count += 1;
        let rows = file.num_records().and_then(|rows| u64::try_from(rows).ok());
        standing = standing.zip(rows).and_then(|(all, rows)| all.checked_add(rows));
    }
    if standing == Some(came_in) {
        return Ok(());
    }
    let standing = standing.map_or_else(|| "nobody knows how many".to_owned(), |rows| rows.to_string());
    Err(unequal(table, &format!("{came_in} came in, and {standing} stand in {count} new files")))
}

/// Gives the files back if as many rows stand in them as came in; else deletes them.
pub(crate) async fn checked(store: &Store, came_in: u64, files: Vec<WrittenFile>) -> Result<Vec<WrittenFile>> {
    match check(store.url(), came_in, files.iter().map(|file| &file.add)) {
        Ok(()) => Ok(files),
        Err(error) => {
            delete_written(store, &files).await;
            Err(error)
        }
    }
}

/// As many rows leave their files as were to leave. Where the log does not tell how many leave, nothing can be said.
pub(crate) fn check_leaving(table: &str, to_leave: u64, leaving: Option<u64>) -> Result<()> {
    match leaving {
        Some(leaving) if leaving != to_leave => {
            Err(unequal(table, &format!("{to_leave} were to be changed or deleted, and {leaving} leave their files")))
        }
        _ => Ok(()),
    }
}

/// Each row of a source was either inserted or passed over, because no clause wants it.
pub(crate) fn check_inserted(table: &str, unmatched: u64, inserted: u64, passed_over: u64) -> Result<()> {
    if inserted.checked_add(passed_over) == Some(unmatched) {
        return Ok(());
    }
    Err(unequal(
        table,
        &format!("{unmatched} of the source match nothing, and {inserted} of them were inserted, {passed_over} passed over"),
    ))
}

fn unequal(table: &str, counts: &str) -> Error {
    Error::internal(format!(
        "{table}: the rows do not add up: {counts}. Nothing was committed, and the table is what it was; please report this error of lakebed"
    ))
}

#[cfg(test)]
mod tests {
    use lakebed_core::action::Add;

    use super::{check, check_inserted, check_leaving};
    use crate::ErrorKind;

    fn file(rows: Option<u64>) -> Add {
        let stats = rows.map(|rows| format!("{{\"numRecords\":{rows}}}"));
        let json = serde_json::json!({
            "path": "f", "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": true, "stats": stats
        });
        serde_json::from_value(json).unwrap()
    }

    #[track_caller]
    fn refused(outcome: crate::Result<()>, counts: &str) {
        let error = outcome.unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Internal);
        assert!(error.message().starts_with(&format!("t: the rows do not add up: {counts}. Nothing was committed")), "{error}");
    }

    #[test]
    fn rows_that_came_in_stand_in_files() {
        check("t", 0, []).unwrap();
        check("t", 5, [&file(Some(2)), &file(Some(3))]).unwrap();
        refused(check("t", 6, [&file(Some(2)), &file(Some(3))]), "6 came in, and 5 stand in 2 new files");
        refused(check("t", 3, []), "3 came in, and 0 stand in 0 new files");
        refused(check("t", 2, [&file(Some(2)), &file(None)]), "2 came in, and nobody knows how many stand in 2 new files");
        let most = file(Some(u64::MAX / 2));
        refused(check("t", 1, [&most, &most, &file(Some(3))]), "1 came in, and nobody knows how many stand in 3 new files");
    }

    #[test]
    fn rows_that_leave_are_those_that_were_to() {
        check_leaving("t", 3, Some(3)).unwrap();
        check_leaving("t", 3, None).unwrap();
        refused(check_leaving("t", 3, Some(4)), "3 were to be changed or deleted, and 4 leave their files");
    }

    #[test]
    fn rows_of_a_source_are_inserted_or_passed_over() {
        check_inserted("t", 3, 1, 2).unwrap();
        refused(check_inserted("t", 3, 1, 1), "3 of the source match nothing, and 1 of them were inserted, 1 passed over");
    }
}
