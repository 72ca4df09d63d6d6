//! An expression with the type of its values. Read [`TypedExpr`] first.

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::Expr;

/// An expression and the type of its values.
#[derive(Debug, Clone)]
pub(crate) struct TypedExpr {
    pub(crate) expr: Expr,
    pub(crate) data_type: DataType,
}

impl TypedExpr {
    pub(crate) fn literal(value: ScalarValue) -> TypedExpr {
        let data_type = value.data_type();
        TypedExpr { expr: Expr::Literal(value, None), data_type }
    }

    pub(crate) fn boolean(expr: Expr) -> TypedExpr {
        TypedExpr { expr, data_type: DataType::Boolean }
    }
}
