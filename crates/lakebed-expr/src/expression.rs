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
use crate::bind::current_time::{Options, with_current_time};
use crate::bind::schema::nullable;
use crate::evaluate::cast::cast;
use crate::evaluate::compile::{compile_for, evaluation_error};
use crate::evaluate::fold::fold;
use crate::evaluate::tree::{columns_of, replace_columns};
use crate::function::typed::TypedExpr;
use crate::syntax::parse::parse;
use crate::types;

/// A typed expression over the columns of a schema.
#[derive(Debug, Clone)]
pub struct Expression {
    /// The expression; its columns carry the names of the schema.
    pub expr: Expr,
    /// The type of its values.
    pub data_type: DataType,
    /// The text it was made from, with functions of the time replaced by the time.
    pub text: String,
    pub(crate) schema: SchemaRef,
    compiled: OnceLock<Compiled>,
}

/// An expression that is ready to run, for the batches that it met first; others mostly are of the same schema.
#[derive(Debug, Clone)]
struct Compiled {
    schema: SchemaRef,
    physical: Arc<dyn PhysicalExpr>,
}

/// Parses an expression of any type over the columns of a schema.
///
/// # Errors
/// As [`parse_filter`].
pub fn parse_expr(text: &str, schema: &Schema, options: &Options) -> Result<Expression> {
    let text = with_current_time(text, options)?;
    let schema = Arc::new(nullable(schema));
    let node = parse(&text)?;
    let TypedExpr { expr, data_type } = Binder { text: &text, schema: &schema }.bind(&node)?;
    Ok(Expression::bound(expr, data_type, text, schema))
}

impl Expression {
    pub(crate) fn bound(expr: Expr, data_type: DataType, text: String, schema: SchemaRef) -> Expression {
        Expression { expr, data_type, text, schema, compiled: OnceLock::new() }
    }

    /// An expression that was made of parts of others; the schema has its columns. The text is for messages.
    pub fn of(expr: Expr, text: &str, schema: &Schema) -> Result<Expression> {
        let schema = Arc::new(nullable(schema));
        let data_type = compile_for(text, &expr, &schema)?.data_type(&schema);
        let data_type = data_type.map_err(|error| evaluation_error(text, &error))?;
        Ok(Expression::bound(expr, data_type, text.to_string(), schema))
    }

    /// The same with its columns under the names that they have in another schema; those without another name keep theirs.
    pub fn renamed(&self, schema: &Schema, name: impl Fn(&str) -> Option<String>) -> Result<Expression> {
        let expr = replace_columns(&self.expr, |column| Some(Expr::Column(Column::new_unqualified(name(column)?))));
        Expression::of(expr, &self.text, schema)
    }

    /// The same as values of another type, as CAST has it.
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
        // A literal that cannot be cast is a mistake that is better told at once.
        let expr = fold(expr).map_err(|error| evaluation_error(&self.text, &error))?;
        Ok(Expression::bound(expr, to.clone(), self.text.clone(), Arc::clone(&self.schema)))
    }

    /// The paths of the columns it reads: the top-level name, then fields.
    pub fn columns(&self) -> Vec<Vec<String>> {
        columns_of(&self.expr)
    }

    /// The expression ready to run on batches of a schema that holds its columns.
    ///
    /// # Errors
    /// If a column is missing, or has a type that does not fit.
    pub fn physical(&self, schema: &Schema) -> Result<Arc<dyn PhysicalExpr>> {
        let expr = as_bound(&self.expr, &self.schema, schema)?;
        compile_for(&self.text, &expr, schema)
    }

    /// The value for each row of a batch.
    ///
    /// # Errors
    /// As [`Expression::physical`] and [`matching_rows`].
    pub fn evaluate(&self, batch: &RecordBatch) -> Result<ArrayRef> {
        let compiled = self.compiled(batch)?;
        let computed = compiled.evaluate(batch).and_then(|value| value.into_array(batch.num_rows()));
        computed.map_err(|error| evaluation_error(&self.text, &error))
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

/// The expression for a schema whose columns may be of other types than those it was bound to.
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
