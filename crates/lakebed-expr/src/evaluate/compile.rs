//! Compiles expressions for the schema of a batch. Read [`compile`] first.

use std::sync::{Arc, LazyLock};

use arrow_schema::Schema;
use datafusion_common::config::ConfigOptions;
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{DFSchema, Result as DfResult};
use datafusion_expr::Expr;
use datafusion_expr::execution_props::ExecutionProps;
use datafusion_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion_physical_expr::{PhysicalExpr, create_physical_expr};
use lakebed_core::{Error, Result};

use super::float_compare::FloatComparison;
use super::short_circuit::ShortCircuit;

/// The options that the functions of datafusion-spark need.
static SPARK_OPTIONS: LazyLock<Arc<ConfigOptions>> = LazyLock::new(|| {
    let mut options = ConfigOptions::default();
    options.execution.enable_ansi_mode = true;
    options.execution.time_zone = Some("UTC".into());
    Arc::new(options)
});

/// Compiles an expression for batches of this schema.
pub(crate) fn compile(expr: &Expr, schema: &Schema) -> DfResult<Arc<dyn PhysicalExpr>> {
    let schema = DFSchema::try_from(schema.clone())?;
    let mut surroundings = ExecutionProps::new();
    surroundings.config_options = Some(SPARK_OPTIONS.clone());
    let plain = create_physical_expr(expr, &schema, &surroundings, &PhysicalPlanningContext::default())?;
    let guarded = plain.transform_up(|node| {
        let of_floats = FloatComparison::instead_of(&node).map(|other| Arc::new(other) as Arc<dyn PhysicalExpr>);
        let other = of_floats.or_else(|| Some(Arc::new(ShortCircuit::instead_of(&node)?)));
        Ok(other.map_or_else(|| Transformed::no(node), Transformed::yes))
    })?;
    Ok(guarded.data)
}

/// Returns the error for the caller, with the text of the expression.
pub(crate) fn evaluation_error(text: &str, error: &datafusion_common::DataFusionError) -> Error {
    let message = error.strip_backtrace();
    let message = message.strip_prefix("Execution error: ").unwrap_or(&message);
    Error::predicate(format!("the expression `{text}` failed: {message}"))
}

/// Compiles an expression. The text is for the error.
pub(crate) fn compile_for(text: &str, expr: &Expr, schema: &Schema) -> Result<Arc<dyn PhysicalExpr>> {
    compile(expr, schema).map_err(|error| evaluation_error(text, &error))
}
