use serde_json::json;

use super::*;
use crate::ErrorKind;
use crate::commit::tests::*;

fn file_of(stats: &str) -> Add {
    to_add(&with(add_ids("a", "1", 0..=9), json!({"stats": stats})))
}

#[test]
fn give_row_ids_continues_after_last_file() {
    let mut ids = RowIds::above(9, 3);
    assert_eq!(ids.high_water_mark(), 9);
    assert_eq!(ids.give(&file_of(r#"{"numRecords":5}"#)).unwrap(), (10, 3));
    assert_eq!(ids.give(&file_of(r#"{"numRecords":0,"minValues":{}}"#)).unwrap(), (15, 3));
    assert_eq!(ids.give(&file_of(r#"{"numRecords":1}"#)).unwrap(), (15, 3));
    assert_eq!(ids.high_water_mark(), 15);
    assert_eq!(RowIds::above(NONE_GIVEN, 0).give(&file_of(r#"{"numRecords":1}"#)).unwrap(), (0, 0));
}

#[test]
fn give_row_ids_refuses_impossible_row_count() {
    let give = |stats: &str, mark| RowIds::above(mark, 3).give(&file_of(stats));
    for stats in ["", "{}", "[]", r#"{"numRecords":-1}"#, r#"{"numRecords":"many"}"#] {
        let expected = "a: a file of a table with row tracking needs the number of its rows in its statistics";
        check_error(give(stats, 9), ErrorKind::Internal, expected);
    }
    check_error(give(r#"{"numRecords":1}"#, i64::MAX), ErrorKind::InvalidInput, "the table has no row ids left to give");
}

#[test]
fn row_id_mark_round_trips() {
    for mark in [-1, 0, i64::MAX] {
        assert_eq!(high_water_mark(Some(&domain(mark).unwrap())).unwrap(), mark);
    }
    assert_eq!(domain(7).unwrap().configuration, r#"{"rowIdHighWaterMark":7}"#);
    assert_eq!(high_water_mark(None).unwrap(), NONE_GIVEN);
    assert_eq!(high_water_mark(Some(&DomainMetadata { removed: true, ..domain(7).unwrap() })).unwrap(), NONE_GIVEN);
    let broken = DomainMetadata { configuration: "{}".to_owned(), ..domain(7).unwrap() };
    let kind = ErrorKind::Corrupt { path: DOMAIN.to_owned() };
    check_error(high_water_mark(Some(&broken)), kind, "delta.rowTracking: the domain's configuration cannot be parsed: {}");
}
