//! Checks row counts. The new files must hold as many rows as came in, and old files must lose as
//! many rows as intended. A difference is a bug in lakebed, and is never committed.
//!
//! Rows are counted where they enter. The rows in files are the `numRecords` of their statistics.
//! Begin with [`check`].

use lakebed_core::action::Add;
use lakebed_io::store::Store;

use super::data_file::WrittenFile;
use super::files::delete_written;
use crate::{Error, Result};

/// Checks that the new files hold as many rows as came in.
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
    let files = match (count, standing) {
        (1, Some(rows)) => format!("the new file has {rows}"),
        (count, Some(rows)) => format!("the {count} new files have {rows}"),
        (1, None) => "the statistics of the new file have no row count".to_owned(),
        (count, None) => format!("the statistics of the {count} new files have no complete row counts"),
    };
    Err(unequal(table, &format!("{came_in} rows were given, but {files}")))
}

/// Returns the files if they hold as many rows as came in; otherwise deletes them.
pub(crate) async fn checked(store: &Store, came_in: u64, files: Vec<WrittenFile>) -> Result<Vec<WrittenFile>> {
    match check(store.url(), came_in, files.iter().map(|file| &file.add)) {
        Ok(()) => Ok(files),
        Err(error) => {
            delete_written(store, &files).await;
            Err(error)
        }
    }
}

/// Checks that old files lose as many rows as intended. Nothing is compared if the log has no row
/// count.
pub(crate) fn check_leaving(table: &str, to_leave: u64, leaving: Option<u64>) -> Result<()> {
    match leaving {
        Some(leaving) if leaving != to_leave => Err(unequal(
            table,
            &format!("{to_leave} rows should be changed or deleted, but {leaving} were removed from their files"),
        )),
        _ => Ok(()),
    }
}

/// Checks that each source row without a match was either inserted, or skipped because no clause
/// applies to it.
pub(crate) fn check_inserted(table: &str, unmatched: u64, inserted: u64, passed_over: u64) -> Result<()> {
    if inserted.checked_add(passed_over) == Some(unmatched) {
        return Ok(());
    }
    Err(unequal(
        table,
        &format!("{unmatched} source rows match no target row, but {inserted} of them were inserted and {passed_over} skipped"),
    ))
}

/// Checks that the parts of a source hold all of its rows.
pub(crate) fn check_parts(table: &str, rows: u64, in_parts: u64) -> Result<()> {
    match rows == in_parts {
        true => Ok(()),
        false => Err(unequal(table, &format!("the source has {rows} rows, but its parts have {in_parts}"))),
    }
}

fn unequal(table: &str, counts: &str) -> Error {
    Error::internal(format!(
        "{table}: row counts differ: {counts}. Nothing was committed. This is a bug in lakebed: please report it."
    ))
}

#[cfg(test)]
mod tests {
    use lakebed_core::action::Add;

    use super::{check, check_inserted, check_leaving, check_parts};
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
        let report = "Nothing was committed. This is a bug in lakebed: please report it.";
        assert_eq!(error.message(), format!("t: row counts differ: {counts}. {report}"));
    }

    #[test]
    fn rows_that_came_in_stand_in_files() {
        check("t", 0, []).unwrap();
        check("t", 5, [&file(Some(2)), &file(Some(3))]).unwrap();
        refused(check("t", 6, [&file(Some(2)), &file(Some(3))]), "6 rows were given, but the 2 new files have 5");
        refused(check("t", 3, []), "3 rows were given, but the 0 new files have 0");
        refused(
            check("t", 2, [&file(Some(2)), &file(None)]),
            "2 rows were given, but the statistics of the 2 new files have no complete row counts",
        );
        let most = file(Some(u64::MAX / 2));
        refused(
            check("t", 1, [&most, &most, &file(Some(3))]),
            "1 rows were given, but the statistics of the 3 new files have no complete row counts",
        );
    }

    #[test]
    fn unexpected_count_of_leaving_rows_is_refused() {
        check_leaving("t", 3, Some(3)).unwrap();
        check_leaving("t", 3, None).unwrap();
        refused(check_leaving("t", 3, Some(4)), "3 rows should be changed or deleted, but 4 were removed from their files");
    }

    #[test]
    fn lost_rows_of_source_parts_are_refused() {
        check_parts("t", 3, 3).unwrap();
        refused(check_parts("t", 3, 2), "the source has 3 rows, but its parts have 2");
    }

    #[test]
    fn source_rows_neither_inserted_nor_skipped_fail() {
        check_inserted("t", 3, 1, 2).unwrap();
        refused(check_inserted("t", 3, 1, 1), "3 source rows match no target row, but 1 of them were inserted and 1 skipped");
    }
}
