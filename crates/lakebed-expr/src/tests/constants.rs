//! A function gives the same result for constants as for columns in which every row holds that constant.

use std::collections::BTreeSet;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_select::concat::{concat, concat_batches};
use datafusion_common::ScalarValue;
use datafusion_expr::{Expr, lit};

use super::nulls::{OWN, calls, row};
use crate::evaluate::compile::compile;
use crate::evaluate::library::FUNCTIONS;
use crate::evaluate::tree::replace_columns;

const ROWS: usize = 3;

/// The call for each row of a batch; None if it fails.
fn computed(call: &Expr, batch: &RecordBatch) -> Option<ArrayRef> {
    compile(call, &batch.schema()).ok()?.evaluate(batch).ok()?.into_array(batch.num_rows()).ok()
}

#[test]
fn constant_evaluates_like_column_of_it() {
    let row = row();
    let batch = concat_batches(&row.schema(), [&row; ROWS]).unwrap();
    let names: BTreeSet<&str> = FUNCTIONS.iter().map(|(name, ..)| *name).chain(OWN.iter().copied()).collect();
    let mut compared = 0;
    for name in names {
        for call in calls(name, if name == "width_bucket" { 4 } else { 2 }, &row) {
            let value = |column: &str| Some(lit(ScalarValue::try_from_array(row.column_by_name(column)?, 0).ok()?));
            let constant = replace_columns(&call, value);
            let Some(one) = computed(&call, &row) else { continue };
            let expected = concat(&[one.as_ref(); ROWS]).unwrap();
            assert_eq!(computed(&call, &batch).as_ref(), Some(&expected), "{call}");
            assert_eq!(computed(&constant, &batch).as_ref(), Some(&expected), "{constant}");
            compared += 1;
        }
    }
    assert!(compared > 500, "{compared}");
}

#[test]
fn branch_taken_by_all_rows_is_constant() {
    let batch = concat_batches(&row().schema(), [&row(); ROWS]).unwrap();
    let filter = |text: &str| super::parse_filter(text, &batch.schema(), &super::Options::default()).unwrap();
    let found = filter("concat_ws('-', CASE WHEN int > 5 THEN text END, 'b') = 'b'").evaluate(&batch).unwrap();
    assert_eq!((found.len(), found.true_count()), (ROWS, ROWS));
}
