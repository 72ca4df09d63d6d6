//! Finds the values that a condition keeps from being NaN.

use datafusion_expr::expr::InList;
use datafusion_expr::{BinaryExpr, Expr, Operator};

use super::bounds::is_nan;

/// Returns the values that cannot be NaN in a row that gives the condition the truth value
/// `wanted`.
pub(crate) fn never_nan(condition: &Expr, wanted: bool) -> Vec<Expr> {
    let number = |expr: &Expr| matches!(expr, Expr::Literal(value, _) if !is_nan(value));
    match condition {
        Expr::Not(inner) => never_nan(inner, !wanted),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match (op, wanted) {
            (Operator::And, true) | (Operator::Or, false) => {
                never_nan(left, wanted).into_iter().chain(never_nan(right, wanted)).collect()
            }
            // NaN is greater than all other values, so a value that is less than another value is
            // not NaN.
            (Operator::Lt, true) | (Operator::GtEq, false) => vec![(**left).clone()],
            (Operator::Gt, true) | (Operator::LtEq, false) => vec![(**right).clone()],
            (Operator::LtEq, true) | (Operator::Gt, false) if number(right) => vec![(**left).clone()],
            (Operator::GtEq, true) | (Operator::Lt, false) if number(left) => vec![(**right).clone()],
            (Operator::Eq, true) | (Operator::NotEq, false) => match (number(left), number(right)) {
                (_, true) => vec![(**left).clone()],
                (true, _) => vec![(**right).clone()],
                _ => vec![],
            },
            _ => vec![],
        },
        Expr::InList(InList { expr, list, negated }) if *negated != wanted && list.iter().all(number) => vec![(**expr).clone()],
        _ => vec![],
    }
}
