//! SQL expressions with Spark's meaning: text to typed expressions, filters made of them, and proofs over statistics (`prune`).
//!
//! The crate knows neither tables nor stores.
//!
//! The way of a text: `lex` (words) → `parse` and `primary` (syntax tree) → `bind` (columns, types, coercions, functions) →
//! `physical` (constants folded, compiled, run on batches). The result is a DataFusion [`Expr`], but DataFusion's parser, coercions
//! and simplifier take no part: their rules are not Spark's. Spark's ANSI mode is on, the session's zone is UTC, names are found
//! without regard to case. Read [`parse_filter`] first.
#![warn(missing_docs)]

mod arithmetic;
mod bind;
mod calendar;
mod cast;
mod cast_parts;
mod chars;
mod combine;
mod compare;
mod float_compare;
mod function;
mod interval;
mod joined_text;
mod kernel;
mod lex;
mod literal;
mod nested;
mod of_rows;
mod operate;
mod parse;
mod physical;
mod predicate;
mod primary;
pub mod prune;
mod short;
mod syntax;
#[cfg(test)]
mod tests;
mod text_value;
mod time_arithmetic;
mod type_name;
mod types;

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use datafusion_common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion_common::{Column, ScalarValue};
use datafusion_expr::{Expr, Operator, cast as widen};
use datafusion_physical_expr::PhysicalExpr;
use lakebed_core::{Error, Result};

use bind::{Binder, Typed};

pub(crate) use bind::join;
pub use bind::nearest;
pub(crate) use calendar::{Civil, DAY, SECOND};
pub use calendar::{date_text, timestamp_text};
pub use cast::castable;
pub(crate) use cast_parts::may_be_variant;
pub use chars::filter_schema;
pub use compare::below_one_form;
pub(crate) use compare::one_form_of;
pub(crate) use function::null_args;
pub(crate) use function::pattern::Pattern;
pub(crate) use function::text::{STARTS_WITH, beginning};
pub(crate) use function::{GREATEST_OF_KNOWN, LEAST_OF_KNOWN, branches};
pub use joined_text::joined_text;
pub(crate) use kernel::{Input, Kernel, Order, Spec};
pub(crate) use lex::Suffix;
pub use lex::{Span, error_at};
pub use nested::{field_index, parts, path};
pub use of_rows::{OF_ROWS, asked_of_rows, scan_schema};
pub use parse::parse as parse_syntax;
pub(crate) use physical::{compile, failed, kept, may_fail, undecided};
pub use predicate::Predicate;
pub use short::{saturated, short_type};
pub use syntax::{Kind, Node};
pub use text_value::decimal_text;

/// What an expression may ask of its surroundings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// The time of the call, for `current_timestamp()` and its like; without it they are refused.
    pub now_ms: Option<i64>,
}

/// A typed expression over the columns of a schema.
#[derive(Debug, Clone)]
pub struct Expression {
    /// The expression; its columns carry the names of the schema.
    pub expr: Expr,
    /// The type of its values.
    pub data_type: DataType,
    /// The text it was made from, with functions of the time replaced by the time.
    pub text: String,
    schema: SchemaRef,
    compiled: OnceLock<Compiled>,
}

/// An expression that is ready to run, for the batches that it met first; others mostly are of the same schema.
#[derive(Debug, Clone)]
struct Compiled {
    schema: SchemaRef,
    physical: Arc<dyn PhysicalExpr>,
}

/// A condition on the rows of a table: those for which it is true match.
///
/// It travels as its [`text`](Self::text), which means the same wherever it is parsed again.
#[derive(Debug, Clone)]
pub struct Filter {
    expression: Expression,
    conjuncts: Vec<Conjunct>,
}

/// One of the conditions that a filter joins by AND.
#[derive(Debug, Clone, PartialEq)]
pub struct Conjunct {
    /// The condition.
    pub expr: Expr,
    /// Its text.
    pub text: String,
    /// Whether some values make it fail. It must then be computed behind the conjuncts before it, on rows for which they are true.
    pub may_fail: bool,
}

/// Parses a filter over the columns of a schema.
///
/// # Errors
/// [`ErrorKind::Predicate`](lakebed_core::ErrorKind::Predicate) with the place in the text for what cannot be understood: unknown
/// columns and functions, types that do not fit, subqueries, aggregates.
pub fn parse_filter(text: &str, schema: &Schema, options: &Options) -> Result<Filter> {
    let text = at_time(text, options)?;
    let schema = Arc::new(nullable(schema));
    let node = parse::parse(&text)?;
    let binder = Binder { text: &text, schema: &schema };
    let mut conjuncts = Vec::new();
    for part in conjunctions(&node) {
        let expr = binder.condition(part)?;
        if !matches!(expr, Expr::Literal(ScalarValue::Boolean(Some(true)), _)) {
            let text = text.get(part.span.start..part.span.end).unwrap_or_default().to_string();
            conjuncts.push(Conjunct { may_fail: physical::may_fail(&expr), expr, text });
        }
    }
    Ok(Filter::of(conjuncts, text, schema))
}

/// Parses an expression of any type over the columns of a schema.
///
/// # Errors
/// As [`parse_filter`].
pub fn parse_expr(text: &str, schema: &Schema, options: &Options) -> Result<Expression> {
    let text = at_time(text, options)?;
    let schema = Arc::new(nullable(schema));
    let node = parse::parse(&text)?;
    let Typed { expr, data_type } = Binder { text: &text, schema: &schema }.bind(&node)?;
    Ok(Expression::bound(expr, data_type, text, schema))
}

/// For each row of a batch whether a condition is true; null counts as false. Its text is for messages.
///
/// # Errors
/// What Spark's ANSI mode raises: overflow, division by zero, casts that do not fit.
pub fn matching_rows(text: &str, condition: &dyn PhysicalExpr, batch: &RecordBatch) -> Result<BooleanArray> {
    physical::matches(condition, batch).map_err(|error| physical::failed(text, &error))
}

impl Expression {
    fn bound(expr: Expr, data_type: DataType, text: String, schema: SchemaRef) -> Expression {
        Expression { expr, data_type, text, schema, compiled: OnceLock::new() }
    }

    /// An expression that was made of parts of others; the schema has its columns. The text is for messages.
    pub fn of(expr: Expr, text: &str, schema: &Schema) -> Result<Expression> {
        let schema = Arc::new(nullable(schema));
        let data_type = physical::compile_for(text, &expr, &schema)?.data_type(&schema);
        let data_type = data_type.map_err(|error| physical::failed(text, &error))?;
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
        let expr = cast::cast(self.expr.clone(), &self.data_type, to, false).ok_or_else(refused)?;
        // A literal that cannot be cast is a mistake that is better told at once.
        let expr = physical::fold(expr).map_err(|error| physical::failed(&self.text, &error))?;
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
        physical::compile_for(&self.text, &expr, schema)
    }

    /// The value for each row of a batch.
    ///
    /// # Errors
    /// As [`Expression::physical`] and [`matching_rows`].
    pub fn evaluate(&self, batch: &RecordBatch) -> Result<ArrayRef> {
        let compiled = self.compiled(batch)?;
        let computed = compiled.evaluate(batch).and_then(|value| value.into_array(batch.num_rows()));
        computed.map_err(|error| physical::failed(&self.text, &error))
    }

    fn compiled(&self, batch: &RecordBatch) -> Result<Arc<dyn PhysicalExpr>> {
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

impl Filter {
    fn of(conjuncts: Vec<Conjunct>, text: String, schema: SchemaRef) -> Filter {
        let expr = bind::join(Operator::And, conjuncts.iter().map(|conjunct| conjunct.expr.clone()).collect());
        Filter { expression: Expression::bound(expr, DataType::Boolean, text, schema), conjuncts }
    }

    /// The condition.
    pub fn expr(&self) -> &Expr {
        &self.expression.expr
    }

    /// The text it was made from, with functions of the time replaced by the time.
    pub fn text(&self) -> &str {
        &self.expression.text
    }

    /// The schema it was parsed for, every field nullable.
    pub fn schema(&self) -> &SchemaRef {
        &self.expression.schema
    }

    /// The conditions that it joins by AND, in the order of the text; none if it is always true.
    pub fn conjuncts(&self) -> &[Conjunct] {
        &self.conjuncts
    }

    /// The paths of the columns it reads: the top-level name, then fields.
    pub fn columns(&self) -> Vec<Vec<String>> {
        self.expression.columns()
    }

    /// The filter ready to run on batches of a schema that holds its columns; see [`matching_rows`].
    ///
    /// # Errors
    /// If a column is missing, or has a type that does not fit.
    pub fn physical(&self, schema: &Schema) -> Result<Arc<dyn PhysicalExpr>> {
        self.expression.physical(schema)
    }

    /// The same for batches that have the decimals of some columns in 64 bits, with the schema of these batches.
    ///
    /// # Errors
    /// As [`Filter::physical`].
    pub fn physical_short(&self, schema: &Schema) -> Result<(Arc<dyn PhysicalExpr>, Schema)> {
        let expr = as_bound(self.expr(), self.schema(), schema)?;
        let (expr, schema) = short::shortened(&expr, schema).map_err(|error| physical::failed(self.text(), &error))?;
        Ok((physical::compile_for(self.text(), &expr, &schema)?, schema))
    }

    /// For each row of a batch whether it matches.
    ///
    /// # Errors
    /// As [`Filter::physical`] and [`matching_rows`].
    pub fn evaluate(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        let condition = self.expression.compiled(batch)?;
        physical::matches(condition.as_ref(), batch).map_err(|error| physical::failed(self.text(), &error))
    }

    /// What is left to look at in rows once the conjuncts about these columns alone have been decided; `None` if nothing is.
    #[must_use]
    pub fn without_conjuncts_about(&self, decided: &[String]) -> Option<Filter> {
        let about = |expr: &Expr| {
            let columns = columns_of(expr);
            !columns.is_empty() && columns.iter().all(|path| path.first().is_some_and(|name| decided.contains(name)))
        };
        let left: Vec<Conjunct> = self.conjuncts.iter().filter(|conjunct| !about(&conjunct.expr)).cloned().collect();
        if left.is_empty() {
            return None;
        }
        let text = joined_text("AND", left.iter().map(|conjunct| conjunct.text.as_str()));
        Some(Filter::of(left, text, self.schema().clone()))
    }
}

/// The parts of a tree that AND joins at its top.
fn conjunctions(node: &Node) -> Vec<&Node> {
    match &node.kind {
        Kind::All(parts) => parts.iter().flat_map(conjunctions).collect(),
        _ => vec![node],
    }
}

/// The paths of the columns that an expression reads, each once.
pub fn columns_of(expr: &Expr) -> Vec<Vec<String>> {
    let mut paths = BTreeSet::new();
    let walked = expr.apply(|node| {
        Ok(match nested::path(node) {
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

/// The expression with some of its columns replaced.
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

/// The schema that filters are bound to: every field is nullable. A file may hold nulls where its table
/// says that it does not, and a filter must not lose such rows.
pub fn nullable(schema: &Schema) -> Schema {
    let keep_length = |field: &FieldRef| Arc::new(chars::keep_length(nullable_field(field).as_ref().clone(), field));
    Schema::new(schema.fields().iter().map(keep_length).collect::<Fields>())
}

fn nullable_field(field: &FieldRef) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(nullable_field).collect()),
        other => other.clone(),
    };
    Arc::new(Field::new(field.name(), data_type, true))
}

/// The expression for a schema whose columns may be of other types than those it was bound to.
fn as_bound(expr: &Expr, bound: &Schema, given: &Schema) -> Result<Expr> {
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

/// The text with calls such as `current_date()` replaced by what they answer at the time of the call.
fn at_time(text: &str, options: &Options) -> Result<String> {
    let Some(now_ms) = options.now_ms else { return Ok(text.to_string()) };
    let node = parse::parse(text)?;
    let mut calls = Vec::new();
    collect_time_calls(&node, &mut calls);
    let mut replaced = text.to_string();
    for call in calls.into_iter().rev() {
        let Kind::Call { name, args } = &call.kind else { continue };
        if let Some(literal) = literal::at_time(name, args.len(), now_ms.saturating_mul(1_000)) {
            replaced.replace_range(call.span.start..call.span.end, &literal);
        }
    }
    Ok(replaced)
}

fn collect_time_calls<'n>(node: &'n Node, calls: &mut Vec<&'n Node>) {
    if let Kind::Call { args, .. } = &node.kind
        && args.is_empty()
    {
        calls.push(node);
    }
    for child in node.kind.children() {
        collect_time_calls(child, calls);
    }
}
