//! The rows of a [`Lake`](crate::Lake), and predicates and assignments over them.

use arrow_array::RecordBatch;

use crate::deeds::Model;
use crate::lake::batch;

/// The table of a [`Lake`](crate::Lake).
#[derive(Debug, Clone)]
pub struct IdAndV;

/// The rows from one id to another.
#[derive(Debug, Clone, Copy)]
pub struct Between(pub i64, pub i64);

/// Adds 1 to `v`.
#[derive(Debug, Clone, Copy)]
pub struct AddOne;

impl Model for IdAndV {
    type Row = (i64, i64);
    type Where = Between;
    type Set = AddOne;

    const KEYS: &'static [&'static str] = &["id"];
    const CLUSTER_BY: &'static [&'static str] = &["v", "id"];

    fn batch(rows: &[Self::Row]) -> RecordBatch {
        batch(rows.iter().copied())
    }

    fn has_same_keys(one: &Self::Row, other: &Self::Row) -> bool {
        one.0 == other.0
    }

    fn is_same_partition(_: &Self::Row, _: &Self::Row) -> bool {
        true
    }

    fn holds(Between(first, last): Between, row: &Self::Row) -> bool {
        (first..=last).contains(&row.0)
    }

    fn where_text(Between(first, last): Between) -> String {
        format!("id BETWEEN {first} AND {last}")
    }

    fn assign(_: AddOne, row: &mut Self::Row) {
        row.1 += 1;
    }

    fn set_text(_: AddOne) -> (&'static str, String) {
        ("v", "v + 1".to_owned())
    }
}
