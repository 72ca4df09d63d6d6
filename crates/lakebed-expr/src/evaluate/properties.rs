//! Properties of calls: whether they may fail, and which null arguments make them null.

use std::sync::Arc;

use datafusion_common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion_expr::Expr;
use datafusion_physical_expr::{PhysicalExpr, ScalarFunctionExpr};

use super::kernel::Kernel;
use super::library;

/// Whether an expression fails for some values.
pub(crate) fn may_fail(expr: &Expr) -> bool {
    let failing = expr.exists(|node| {
        Ok(match (Kernel::of(node), node) {
            (Some((kernel, _)), _) => kernel.spec.may_fail,
            (None, Expr::ScalarFunction(call)) => library::may_fail(call.func.name()),
            _ => false,
        })
    });
    failing.unwrap_or(true)
}

/// Whether a compiled expression fails for some values.
pub(crate) fn compiled_may_fail(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let mut found = false;
    let walked = expr.apply(|node| {
        if let Some(call) = node.downcast_ref::<ScalarFunctionExpr>() {
            let inner: &dyn std::any::Any = call.fun().inner().as_ref();
            found |= match inner.downcast_ref::<Kernel>() {
                Some(kernel) => kernel.spec.may_fail,
                None => library::may_fail(call.fun().name()),
            };
        }
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    found || walked.is_err()
}

/// The arguments of a call that make it null if they are null.
pub(crate) fn null_args(expr: &Expr) -> &[Expr] {
    let Expr::ScalarFunction(call) = expr else { return &[] };
    let count = match Kernel::of(expr) {
        Some((kernel, _)) => kernel.spec.null_args,
        None => library::null_args(call.func.name()),
    };
    call.args.get(..count.min(call.args.len())).unwrap_or_default()
}
