//! AND and OR that evaluate a right side that may fail only where the left side does not decide.
//!
//! DataFusion evaluates both sides of AND and OR for whole batches. Spark stops at a row if the
//! left side decides it. The two differ if the right side fails, as in `b <> 0 AND a / b > 1`. Such
//! a right side is evaluated only for the rows that need it. Other right sides are evaluated for
//! all rows unless few rows need them, which is faster. Read [`ShortCircuit`] first.

use std::fmt::{Debug, Display, Formatter};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_arith::boolean::{and_kleene, not, or_kleene};
use arrow_array::{Array, BooleanArray, RecordBatch};
use arrow_schema::{DataType, Schema};
use arrow_select::filter::prep_null_mask_filter;
use datafusion_common::Result as DfResult;
use datafusion_expr::{ColumnarValue, Operator};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::BinaryExpr;

use super::condition::booleans;
use super::kernel::fail;
use super::properties::compiled_may_fail;

/// The right side is evaluated for the undecided rows alone if they are fewer than one in this
/// many.
const FEW: usize = 16;

/// AND or OR. The right side is evaluated for the undecided rows, and for other rows only if it
/// cannot fail.
#[derive(Clone)]
pub(crate) struct ShortCircuit {
    left: Arc<dyn PhysicalExpr>,
    right: Arc<dyn PhysicalExpr>,
    and: bool,
    right_may_fail: bool,
}

impl ShortCircuit {
    pub(crate) fn instead_of(node: &Arc<dyn PhysicalExpr>) -> Option<ShortCircuit> {
        let binary = node.downcast_ref::<BinaryExpr>()?;
        let and = *binary.op() == Operator::And;
        let (left, right) = (binary.left().clone(), binary.right().clone());
        let right_may_fail = compiled_may_fail(&right);
        (and || *binary.op() == Operator::Or).then_some(ShortCircuit { left, right, and, right_may_fail })
    }
}

impl PhysicalExpr for ShortCircuit {
    fn data_type(&self, _: &Schema) -> DfResult<DataType> {
        Ok(DataType::Boolean)
    }

    fn nullable(&self, _: &Schema) -> DfResult<bool> {
        Ok(true)
    }

    fn evaluate(&self, batch: &RecordBatch) -> DfResult<ColumnarValue> {
        let left = self.left.evaluate(batch)?.into_array(batch.num_rows())?;
        let left = booleans(&left)?;
        let settled = if self.and { not(left)? } else { left.clone() };
        let open = not(&prep_or_false(&settled))?;
        let open_rows = open.true_count();
        if open_rows == 0 {
            return Ok(ColumnarValue::Array(Arc::new(left.clone())));
        }
        let right = match self.right_may_fail || open_rows < open.len() / FEW {
            true => self.right.evaluate_selection(batch, &open)?,
            false => self.right.evaluate(batch)?,
        };
        let right = right.into_array(batch.num_rows())?;
        let right = booleans(&right)?;
        let both = if self.and { and_kleene(left, right)? } else { or_kleene(left, right)? };
        Ok(ColumnarValue::Array(Arc::new(both)))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.left, &self.right]
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn PhysicalExpr>>) -> DfResult<Arc<dyn PhysicalExpr>> {
        match <[Arc<dyn PhysicalExpr>; 2]>::try_from(children) {
            Ok([left, right]) => Ok(Arc::new(ShortCircuit { left, right, and: self.and, right_may_fail: self.right_may_fail })),
            Err(_) => Err(fail("a guarded condition has two sides")),
        }
    }

    fn fmt_sql(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        Display::fmt(self, f)
    }
}

/// Replaces null by false.
fn prep_or_false(array: &BooleanArray) -> BooleanArray {
    if array.null_count() > 0 { prep_null_mask_filter(array) } else { array.clone() }
}

impl Display for ShortCircuit {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "({} {} {})", self.left, if self.and { "AND THEN" } else { "OR ELSE" }, self.right)
    }
}

impl Debug for ShortCircuit {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        Display::fmt(self, f)
    }
}

impl PartialEq for ShortCircuit {
    fn eq(&self, other: &Self) -> bool {
        self.and == other.and && self.left.eq(&other.left) && self.right.eq(&other.right)
    }
}

impl Eq for ShortCircuit {}

impl Hash for ShortCircuit {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.and.hash(state);
        self.left.hash(state);
        self.right.hash(state);
    }
}
