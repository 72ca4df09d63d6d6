//! Helpers that build, search and rewrite DataFusion expressions.

use std::collections::BTreeSet;

use datafusion_common::ScalarValue;
use datafusion_common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion_expr::expr::Case;
use datafusion_expr::{Expr, Operator, binary_expr, lit};

use super::nested;

/// Joins conditions with AND or OR as a tree of small depth. Conditions that decide nothing are
/// left out.
pub(crate) fn join_conditions(operator: Operator, conditions: Vec<Expr>) -> Expr {
    let neutral = operator == Operator::And;
    let is = |expr: &Expr, wanted: bool| matches!(expr, Expr::Literal(ScalarValue::Boolean(Some(value)), _) if *value == wanted);
    if conditions.iter().any(|condition| is(condition, !neutral)) {
        return lit(!neutral);
    }
    let mut level: Vec<Expr> = conditions.into_iter().filter(|condition| !is(condition, neutral)).collect();
    while level.len() > 1 {
        let mut above = Vec::with_capacity(level.len().div_ceil(2));
        let mut below = level.into_iter();
        while let Some(left) = below.next() {
            above.push(match below.next() {
                Some(right) => binary_expr(left, operator, right),
                None => left,
            });
        }
        level = above;
    }
    level.pop().unwrap_or_else(|| lit(neutral))
}

/// Makes `CASE WHEN … THEN … ELSE … END`.
pub(crate) fn case_when(pairs: impl IntoIterator<Item = (Expr, Expr)>, otherwise: Option<Expr>) -> Expr {
    let when_then_expr = pairs.into_iter().map(|(when, then)| (Box::new(when), Box::new(then))).collect();
    Expr::Case(Case { expr: None, when_then_expr, else_expr: otherwise.map(Box::new) })
}

/// Returns the paths of the columns that an expression reads, each once.
pub fn columns_of(expr: &Expr) -> Vec<Vec<String>> {
    let mut paths = BTreeSet::new();
    let walked = expr.apply(|node| {
        Ok(match nested::column_path(node) {
            Some(path) => {
                paths.insert(path);
                TreeNodeRecursion::Jump
            }
            None => TreeNodeRecursion::Continue,
        })
    });
    debug_assert!(walked.is_ok());
    paths.into_iter().collect()
}

/// Replaces some columns of an expression.
pub(crate) fn replace_columns(expr: &Expr, mut replace: impl FnMut(&str) -> Option<Expr>) -> Expr {
    let replaced = expr.clone().transform_up(|node| {
        let Expr::Column(column) = &node else { return Ok(Transformed::no(node)) };
        Ok(match replace(&column.name) {
            Some(other) => Transformed::yes(other),
            None => Transformed::no(node),
        })
    });
    replaced.map_or_else(|_| expr.clone(), |replaced| replaced.data)
}
