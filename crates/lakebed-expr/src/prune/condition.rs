//! A condition on facts, compiled. Read [`Condition::run`] first.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use datafusion_common::Result as DfResult;
use datafusion_physical_expr::PhysicalExpr;
use lakebed_core::{Error, Result};

use super::facts::{Fact, Facts};
use crate::evaluate::compile::compile;
use crate::evaluate::condition::{null_rows, true_or_null_rows};

/// A condition on facts, false where no row can match.
#[derive(Debug)]
pub(super) struct Condition {
    pub(super) facts: Facts,
    pub(super) run: Arc<dyn PhysicalExpr>,
}

/// A test of each row of a batch.
type Test = fn(&dyn PhysicalExpr, &RecordBatch) -> DfResult<BooleanArray>;

impl Condition {
    /// Compiles the condition of a prover, or returns `None` if the prover found none.
    pub(super) fn compile(found: Option<datafusion_expr::Expr>, facts: Facts, text: &str) -> Result<Option<Condition>> {
        let Some(found) = found else { return Ok(None) };
        let run = compile(&found, &facts.schema())
            .map_err(|error| Error::internal(format!("the condition of `{text}` on files: {}", error.strip_backtrace())))?;
        Ok(Some(Condition { facts, run }))
    }

    /// Returns for each row of facts whether it may match. A row on which the condition fails may
    /// match.
    pub(super) fn run(&self, rows: usize, provide: impl FnMut(&Fact) -> Option<ArrayRef>) -> Result<BooleanArray> {
        let batch = self.facts.batch(rows, provide)?;
        Ok(true_where_it_fails(self.run.as_ref(), &batch, true_or_null_rows))
    }

    /// Returns for each row of facts whether the facts are not sufficient to decide.
    pub(super) fn undecided(&self, rows: usize, provide: impl FnMut(&Fact) -> Option<ArrayRef>) -> Result<BooleanArray> {
        let batch = self.facts.batch(rows, provide)?;
        Ok(true_where_it_fails(self.run.as_ref(), &batch, null_rows))
    }
}

/// Returns the result of a test for each row of facts. The result is true for rows on which the
/// test fails.
fn true_where_it_fails(run: &dyn PhysicalExpr, facts: &RecordBatch, test: Test) -> BooleanArray {
    match (test(run, facts), facts.num_rows()) {
        (Ok(found), _) => found,
        (Err(_), rows @ ..2) => BooleanArray::from(vec![true; rows]),
        (Err(_), rows) => {
            let (half, end) = (rows / 2, rows);
            let of = |from: usize, to: usize| true_where_it_fails(run, &facts.slice(from, to - from), test);
            of(0, half).iter().chain(of(half, end).iter()).collect()
        }
    }
}
