use lakebed_io::checkpoint::RowCounts;

use super::*;
use crate::kit::error::check_error;

fn counts(rows: &[(&str, u64)]) -> RowCounts {
    rows.iter().map(|(column, rows)| ((*column).to_owned(), *rows)).collect()
}

fn written(rows: &[(&str, u64)]) -> WrittenCounts {
    WrittenCounts { counts: counts(rows), tally: Tally::default() }
}

#[test]
fn add_sums_counts_by_column() {
    let mut sum = written(&[("add", 2), ("remove", 1)]);
    sum.add(&written(&[("add", 3), ("txn", 4)]));
    assert_eq!(sum.counts, counts(&[("add", 5), ("remove", 1), ("txn", 4)]));
}

#[test]
fn check_accepts_only_equal_counts() {
    let written = written(&[("add", 2)]);
    written.check(Ok(counts(&[("add", 2)])), "x.parquet").unwrap();
    for found in [counts(&[("add", 3)]), counts(&[("add", 2), ("txn", 1)]), counts(&[])] {
        let shown = format!("{found:?}");
        let error = written.check(Ok(found), "x.parquet").unwrap_err();
        check_error(&error, &ErrorKind::Internal, &["x.parquet ", r#"{"add": 2}"#, &shown]);
    }
}

#[test]
fn unread_file_is_retried_unless_broken() {
    let store = |retryable, not_found| ErrorKind::Store { object: "m://t/x".to_owned(), retryable, not_found };
    let corrupt = ErrorKind::Corrupt { path: "x".to_owned() };
    for (kind, expected) in [
        (store(false, true), store(true, false)),
        (store(true, false), store(true, false)),
        (store(false, false), store(false, false)),
        (corrupt, ErrorKind::Internal),
    ] {
        let error = written(&[]).check(Err(Error::new(kind, "cause")), "x.parquet").unwrap_err();
        check_error(&error, &expected, &["x.parquet "]);
        assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "cause");
    }
}
