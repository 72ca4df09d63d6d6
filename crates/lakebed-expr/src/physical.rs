//! Expressions that run: constants folded, conditions guarded, trees compiled against the schema of a batch.
//!
//! DataFusion computes both sides of AND and OR for whole batches; Spark stops at a row once the left side decides. The two
//! differ when the right side fails, as in `b <> 0 AND a / b > 1`, so such a right side is computed only for the rows that need
//! it; others for all rows unless few are left, which is faster. Read [`compile`] first.

use std::fmt::{Debug, Display, Formatter};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock};

use arrow_arith::boolean::{and_kleene, not, or_kleene};
use arrow_array::{Array, ArrayRef, BooleanArray, Int8Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use arrow_select::filter::prep_null_mask_filter;
use datafusion_common::config::ConfigOptions;
use datafusion_common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion_common::{DFSchema, Result as DfResult, ScalarValue};
use datafusion_expr::execution_props::ExecutionProps;
use datafusion_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion_expr::{ColumnarValue, Expr, Operator};
use datafusion_physical_expr::expressions::BinaryExpr;
use datafusion_physical_expr::{PhysicalExpr, ScalarFunctionExpr, create_physical_expr};
use lakebed_core::{Error, Result};

use super::float_compare::FloatComparison;
use super::function;
use super::kernel::{Kernel, fail};
use super::types;

/// What datafusion-spark's functions ask for.
static SPARK_OPTIONS: LazyLock<Arc<ConfigOptions>> = LazyLock::new(|| {
    let mut options = ConfigOptions::default();
    options.execution.enable_ansi_mode = true;
    options.execution.time_zone = Some("UTC".into());
    Arc::new(options)
});

/// An expression ready to run on batches of this schema.
pub(crate) fn compile(expr: &Expr, schema: &Schema) -> DfResult<Arc<dyn PhysicalExpr>> {
    let schema = DFSchema::try_from(schema.clone())?;
    let mut surroundings = ExecutionProps::new();
    surroundings.config_options = Some(SPARK_OPTIONS.clone());
    let plain = create_physical_expr(expr, &schema, &surroundings, &PhysicalPlanningContext::default())?;
    let guarded = plain.transform_up(|node| {
        let of_floats = FloatComparison::instead_of(&node).map(|other| Arc::new(other) as Arc<dyn PhysicalExpr>);
        let other = of_floats.or_else(|| Some(Arc::new(Guard::instead_of(&node)?)));
        Ok(other.map_or_else(|| Transformed::no(node), Transformed::yes))
    })?;
    Ok(guarded.data)
}

/// For each row of a batch whether a condition is true; null counts as false.
pub(crate) fn matches(condition: &dyn PhysicalExpr, batch: &RecordBatch) -> DfResult<BooleanArray> {
    let found = condition.evaluate(batch)?.into_array(batch.num_rows())?;
    Ok(match booleans(&found)? {
        found if found.nulls().is_some() => prep_null_mask_filter(found),
        found => found.clone(),
    })
}

/// For each row of a batch whether a condition may be true; null counts as true.
pub(crate) fn kept(condition: &dyn PhysicalExpr, batch: &RecordBatch) -> DfResult<BooleanArray> {
    let found = condition.evaluate(batch)?.into_array(batch.num_rows())?;
    let found = booleans(&found)?;
    Ok(match found.nulls() {
        Some(known) => BooleanArray::new(found.values() | &!known.inner(), None),
        None => found.clone(),
    })
}

/// For each row of a batch whether a condition is null.
pub(crate) fn undecided(condition: &dyn PhysicalExpr, batch: &RecordBatch) -> DfResult<BooleanArray> {
    let found = condition.evaluate(batch)?.into_array(batch.num_rows())?;
    Ok((0..found.len()).map(|row| Some(found.is_null(row))).collect())
}

/// An expression without columns replaced by its value; others stay as they are.
pub(crate) fn fold(expr: Expr) -> DfResult<Expr> {
    if matches!(expr, Expr::Literal(_, _)) || !is_constant(&expr) {
        return Ok(expr);
    }
    value_of(&expr).map(|value| Expr::Literal(value, None))
}

/// The same, but an expression that fails stays: it may stand where it is never computed.
pub(crate) fn fold_if_possible(expr: Expr) -> Expr {
    match fold(expr.clone()) {
        Ok(folded) => folded,
        Err(_) => expr,
    }
}

fn is_constant(expr: &Expr) -> bool {
    let column = expr.exists(|node| Ok(matches!(node, Expr::Column(_))));
    column.is_ok_and(|column| !column)
}

fn value_of(expr: &Expr) -> DfResult<ScalarValue> {
    static ONE_ROW: LazyLock<DfResult<RecordBatch>> = LazyLock::new(|| {
        let schema = Schema::new(vec![Field::new("", DataType::Int8, true)]);
        Ok(RecordBatch::try_new(Arc::new(schema), vec![Arc::new(Int8Array::from(vec![0]))])?)
    });
    let row = ONE_ROW.as_ref().map_err(|error| fail(error.to_string()))?;
    match compile(expr, &row.schema())?.evaluate(row)? {
        ColumnarValue::Scalar(value) => Ok(value),
        ColumnarValue::Array(array) => ScalarValue::try_from_array(&array, 0),
    }
}

/// Whether some values make an expression fail.
pub(crate) fn may_fail(expr: &Expr) -> bool {
    let failing = expr.exists(|node| {
        Ok(match (Kernel::of(node), node) {
            (Some((kernel, _)), _) => kernel.spec.may_fail,
            (None, Expr::ScalarFunction(call)) => function::may_fail(call.func.name()),
            _ => false,
        })
    });
    failing.unwrap_or(true)
}

/// A filter's error for the caller, who knows the filter as text.
pub(crate) fn failed(text: &str, error: &datafusion_common::DataFusionError) -> Error {
    let message = error.strip_backtrace();
    let message = message.strip_prefix("Execution error: ").unwrap_or(&message);
    Error::predicate(format!("the expression `{text}` failed: {message}"))
}

/// The result of compiling, with the text for the error.
pub(crate) fn compile_for(text: &str, expr: &Expr, schema: &Schema) -> Result<Arc<dyn PhysicalExpr>> {
    compile(expr, schema).map_err(|error| failed(text, &error))
}

fn booleans(array: &ArrayRef) -> DfResult<&BooleanArray> {
    array
        .as_any()
        .downcast_ref::<BooleanArray>()
        .ok_or_else(|| fail(format!("a condition gave {}", types::name(array.data_type()))))
}

/// Where the left side leaves the result open for fewer rows than one of so many, the right side is computed for these alone.
const FEW: usize = 16;

/// AND or OR whose right side is computed where the left side leaves the result open, and elsewhere only if that cannot fail.
#[derive(Clone)]
struct Guard {
    left: Arc<dyn PhysicalExpr>,
    right: Arc<dyn PhysicalExpr>,
    and: bool,
    right_may_fail: bool,
}

impl Guard {
    fn instead_of(node: &Arc<dyn PhysicalExpr>) -> Option<Guard> {
        let binary = node.downcast_ref::<BinaryExpr>()?;
        let and = *binary.op() == Operator::And;
        let (left, right) = (binary.left().clone(), binary.right().clone());
        let right_may_fail = fails(&right);
        (and || *binary.op() == Operator::Or).then_some(Guard { left, right, and, right_may_fail })
    }
}

/// Whether a part of a compiled expression may fail.
fn fails(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let mut found = false;
    let walked = expr.apply(|node| {
        if let Some(call) = node.downcast_ref::<ScalarFunctionExpr>() {
            let inner: &dyn std::any::Any = call.fun().inner().as_ref();
            found |= match inner.downcast_ref::<Kernel>() {
                Some(kernel) => kernel.spec.may_fail,
                None => function::may_fail(call.fun().name()),
            };
        }
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    found || walked.is_err()
}

impl PhysicalExpr for Guard {
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
            Ok([left, right]) => Ok(Arc::new(Guard { left, right, and: self.and, right_may_fail: self.right_may_fail })),
            Err(_) => Err(fail("a guarded condition has two sides")),
        }
    }

    fn fmt_sql(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        Display::fmt(self, f)
    }
}

/// Null as false.
fn prep_or_false(array: &BooleanArray) -> BooleanArray {
    if array.null_count() > 0 { prep_null_mask_filter(array) } else { array.clone() }
}

impl Display for Guard {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "({} {} {})", self.left, if self.and { "AND THEN" } else { "OR ELSE" }, self.right)
    }
}

impl Debug for Guard {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        Display::fmt(self, f)
    }
}

impl PartialEq for Guard {
    fn eq(&self, other: &Self) -> bool {
        self.and == other.and && self.left.eq(&other.left) && self.right.eq(&other.right)
    }
}

impl Eq for Guard {}

impl Hash for Guard {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.and.hash(state);
        self.left.hash(state);
        self.right.hash(state);
    }
}
