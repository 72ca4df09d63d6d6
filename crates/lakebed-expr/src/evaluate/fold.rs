//! Constant folding: an expression without columns is replaced by its value. Read [`fold`] first.

use std::sync::{Arc, LazyLock};

use arrow_array::{Int8Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use datafusion_common::tree_node::TreeNode;
use datafusion_common::{Result as DfResult, ScalarValue};
use datafusion_expr::{ColumnarValue, Expr};

use super::compile::compile;
use super::kernel::fail;

/// Replaces an expression without columns by its value. Other expressions stay as they are.
pub(crate) fn fold(expr: Expr) -> DfResult<Expr> {
    if matches!(expr, Expr::Literal(_, _)) || !is_constant(&expr) {
        return Ok(expr);
    }
    value_of(&expr).map(|value| Expr::Literal(value, None))
}

/// Folds an expression unless it fails. A failing expression stays, because it may never be
/// evaluated where it stands.
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
