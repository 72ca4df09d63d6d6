//! A typed expression over the columns of a schema. Read [`parse_expr`] first.

use std::sync::{Arc, OnceLock};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema, SchemaRef};
use datafusion_common::Column;
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_expr::{Expr, cast as widen};
use datafusion_physical_expr::PhysicalExpr;
use lakebed_core::{Error, Result};

use crate::bind::binder::Binder;
use crate::bind::resolve::{NameRule, Options, resolve};
use crate::bind::schema::nullable;
use crate::evaluate::cast::cast;
use crate::evaluate::compile::{compile_for, evaluation_error};
use crate::evaluate::fold::fold;
use crate::evaluate::tree::{columns_of, replace_columns};
use crate::function::typed::TypedExpr;
use crate::sql_text::SqlText;
use crate::types;

/// A typed expression over the columns of a schema.
#[derive(Debug, Clone)]
pub struct Expression {
    /// The expression. Its columns have the names of the schema.
    pub expr: Expr,
    /// The type of its values.
    pub data_type: DataType,
    /// The text of the expression. Calls such as `current_date()` are replaced by the time of the
    /// call.
    pub text: SqlText,
    pub(crate) schema: SchemaRef,
    compiled: OnceLock<Compiled>,
}

/// A compiled expression for batches of one schema. It serves the schema of the first batch,
/// because most later batches have the same schema.
#[derive(Debug, Clone)]
struct Compiled {
    schema: SchemaRef,
    physical: Arc<dyn PhysicalExpr>,
}

/// Parses an expression of any type over the columns of a schema.
///
/// # Errors
/// Fails as [`parse_filter`](crate::parse_filter) does.
pub fn parse_expr(text: &str, schema: &Schema, options: &Options) -> Result<Expression> {
    parse_with(text, schema, options, None)
}

/// Parses an expression in which columns have other names than in the schema. For each name in the
/// text, the rule returns the path of a column of the schema.
///
/// # Errors
/// Fails as [`parse_expr`] does, and if a name has no column.
pub fn parse_expr_named(text: &str, schema: &Schema, options: &Options, rule: &NameRule<'_>) -> Result<Expression> {
    parse_with(text, schema, options, Some(rule))
}

fn parse_with(text: &str, schema: &Schema, options: &Options, rule: Option<&NameRule<'_>>) -> Result<Expression> {
    let schema = Arc::new(nullable(schema));
    let resolved = resolve(text, options, rule)?;
    let TypedExpr { expr, data_type } = Binder { text, schema: &schema }.bind(&resolved.tree)?;
    Ok(Expression::bound(expr, data_type, resolved.text(), schema))
}

impl Expression {
    pub(crate) fn bound(expr: Expr, data_type: DataType, text: SqlText, schema: SchemaRef) -> Expression {
        Expression { expr, data_type, text, schema, compiled: OnceLock::new() }
    }

    /// Makes an expression of parts of other expressions. The schema must have its columns. The
    /// text is for messages.
    pub fn of(expr: Expr, text: &str, schema: &Schema) -> Result<Expression> {
        let schema = Arc::new(nullable(schema));
        let data_type = compile_for(text, &expr, &schema)?.data_type(&schema);
        let data_type = data_type.map_err(|error| evaluation_error(text, &error))?;
        Ok(Expression::bound(expr, data_type, SqlText::without_names(text), schema))
    }

    /// Returns the same expression with renamed columns. A column for which `name` returns `None`
    /// keeps its name.
    pub fn renamed(&self, schema: &Schema, name: impl Fn(&str) -> Option<String>) -> Result<Expression> {
        let expr = replace_columns(&self.expr, |column| Some(Expr::Column(Column::new_unqualified(name(column)?))));
        Expression::of(expr, self.text.as_str(), schema)
    }

    /// Returns a CAST of the expression to another type.
    pub fn cast_to(&self, to: &DataType) -> Result<Expression> {
        let refused = || {
            Error::predicate(format!(
                "`{}` is {}, which cannot be cast to {}",
                self.text,
                types::name(&self.data_type),
                types::name(to)
            ))
        };
        let expr = cast(self.expr.clone(), &self.data_type, to, false).ok_or_else(refused)?;
        // A literal that cannot be cast is reported now and not for the first row.
        let expr = fold(expr).map_err(|error| evaluation_error(self.text.as_str(), &error))?;
        Ok(Expression::bound(expr, to.clone(), self.text.clone(), Arc::clone(&self.schema)))
    }

    /// The paths of the columns that the expression reads. A path is the name of the column and
    /// then of nested fields.
    pub fn columns(&self) -> Vec<Vec<String>> {
        columns_of(&self.expr)
    }

    /// Compiles the expression for batches of a schema that has its columns.
    ///
    /// # Errors
    /// Fails if a column is missing or has a type that does not fit.
    pub fn physical(&self, schema: &Schema) -> Result<Arc<dyn PhysicalExpr>> {
        let expr = as_bound(&self.expr, &self.schema, schema)?;
        compile_for(self.text.as_str(), &expr, schema)
    }

    /// Evaluates the expression for each row of a batch.
    ///
    /// # Errors
    /// Fails as [`Expression::physical`] and [`matching_rows`](crate::matching_rows) do.
    pub fn evaluate(&self, batch: &RecordBatch) -> Result<ArrayRef> {
        let compiled = self.compiled(batch)?;
        let computed = compiled.evaluate(batch).and_then(|value| value.into_array(batch.num_rows()));
        computed.map_err(|error| evaluation_error(self.text.as_str(), &error))
    }

    pub(crate) fn compiled(&self, batch: &RecordBatch) -> Result<Arc<dyn PhysicalExpr>> {
        let schema = batch.schema();
        if let Some(compiled) =
            self.compiled.get().filter(|compiled| Arc::ptr_eq(&compiled.schema, &schema) || compiled.schema == schema)
        {
            return Ok(Arc::clone(&compiled.physical));
        }
        let physical = self.physical(&schema)?;
        self.compiled.get_or_init(|| Compiled { schema, physical: Arc::clone(&physical) });
        Ok(physical)
    }
}

/// Adapts an expression to a schema in which columns have other types than those it was bound to.
pub(crate) fn as_bound(expr: &Expr, bound: &Schema, given: &Schema) -> Result<Expr> {
    let adapted = expr.clone().transform_up(|node| {
        let Expr::Column(column) = &node else { return Ok(Transformed::no(node)) };
        let wanted = bound.field_with_name(&column.name)?.data_type();
        let found = given.field_with_name(&column.name)?.data_type();
        if wanted == found || wanted.is_nested() {
            return Ok(Transformed::no(node));
        }
        Ok(Transformed::yes(widen(Expr::Column(Column::new_unqualified(&column.name)), wanted.clone())))
    });
    match adapted {
        Ok(adapted) => Ok(adapted.data),
        Err(error) => {
            Err(Error::internal(format!("an expression meets a batch without its columns: {}", error.strip_backtrace())))
        }
    }
}
