//! An expression with the type of its values. Read [`Typed`] first.

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::Expr;

/// An expression and the type of its values.
#[derive(Debug, Clone)]
pub(crate) struct Typed {
    pub(crate) expr: Expr,
    pub(crate) data_type: DataType,
}

impl Typed {
    pub(crate) fn literal(value: ScalarValue) -> Typed {
        let data_type = value.data_type();
        Typed { expr: Expr::Literal(value, None), data_type }
    }

    pub(crate) fn boolean(expr: Expr) -> Typed {
        Typed { expr, data_type: DataType::Boolean }
    }
}
