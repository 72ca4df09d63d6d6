//! A condition on rows, and filters that are derived from other filters.
//!
//! The tree of a derived filter is made of the tree, so no text is parsed. It also gets a text, for messages, the history and
//! other processes. That text means the same as the tree when another process parses it. Read [`parse_filter`] first.

use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::{DataType, Schema, SchemaRef};
use datafusion_common::ScalarValue;
use datafusion_expr::{Expr, Operator};
use datafusion_physical_expr::PhysicalExpr;
use lakebed_core::Result;

use crate::bind::binder::Binder;
use crate::bind::current_time::{Options, with_current_time};
use crate::bind::schema::nullable;
use crate::evaluate::compile::{compile_for, evaluation_error};
use crate::evaluate::condition::true_rows;
use crate::evaluate::fold::fold_if_possible;
use crate::evaluate::properties::may_fail;
use crate::evaluate::short_decimal::shortened;
use crate::evaluate::tree::{columns_of, join_conditions};
use crate::expression::{Expression, as_bound};
use crate::syntax::parse::parse;
use crate::syntax::tree::{Kind, Node};

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
    let text = with_current_time(text, options)?;
    let schema = Arc::new(nullable(schema));
    let node = parse(&text)?;
    let binder = Binder { text: &text, schema: &schema };
    let mut conjuncts = Vec::new();
    for part in conjunctions(&node) {
        let expr = binder.condition(part)?;
        if !matches!(expr, Expr::Literal(ScalarValue::Boolean(Some(true)), _)) {
            let text = text.get(part.span.start..part.span.end).unwrap_or_default().to_string();
            conjuncts.push(Conjunct { may_fail: may_fail(&expr), expr, text });
        }
    }
    Ok(Filter::of(conjuncts, text, schema))
}

/// For each row of a batch whether a condition is true; null counts as false. Its text is for messages.
///
/// # Errors
/// What Spark's ANSI mode raises: overflow, division by zero, casts that do not fit.
pub fn matching_rows(text: &str, condition: &dyn PhysicalExpr, batch: &RecordBatch) -> Result<BooleanArray> {
    true_rows(condition, batch).map_err(|error| evaluation_error(text, &error))
}

impl Filter {
    fn of(conjuncts: Vec<Conjunct>, text: String, schema: SchemaRef) -> Filter {
        let expr = join_conditions(Operator::And, conjuncts.iter().map(|conjunct| conjunct.expr.clone()).collect());
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
        let (expr, schema) = shortened(&expr, schema).map_err(|error| evaluation_error(self.text(), &error))?;
        Ok((compile_for(self.text(), &expr, &schema)?, schema))
    }

    /// For each row of a batch whether it matches.
    ///
    /// # Errors
    /// As [`Filter::physical`] and [`matching_rows`].
    pub fn evaluate(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        let condition = self.expression.compiled(batch)?;
        true_rows(condition.as_ref(), batch).map_err(|error| evaluation_error(self.text(), &error))
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

impl Filter {
    /// The filter for which a row matches if this one is false for it.
    #[must_use]
    pub fn negated(&self) -> Filter {
        self.derived(Expr::Not(Box::new(self.expr().clone())), format!("NOT {}", in_parentheses(self.text())))
    }

    /// The filter for which a row matches if this one is null for it.
    #[must_use]
    pub fn is_unknown(&self) -> Filter {
        self.derived(Expr::IsNull(Box::new(self.expr().clone())), format!("{} IS NULL", in_parentheses(self.text())))
    }

    /// One condition over the same schema.
    fn derived(&self, expr: Expr, text: String) -> Filter {
        let expr = fold_if_possible(expr);
        let conjuncts = match expr {
            Expr::Literal(ScalarValue::Boolean(Some(true)), _) => Vec::new(),
            expr => vec![Conjunct { may_fail: may_fail(&expr), expr, text: text.clone() }],
        };
        Filter::of(conjuncts, text, Arc::clone(self.schema()))
    }
}

/// The text of conditions that AND or OR joins.
pub fn joined_text<'a>(operator: &str, operands: impl IntoIterator<Item = &'a str>) -> String {
    operands.into_iter().map(in_parentheses).collect::<Vec<_>>().join(&format!(" {operator} "))
}

/// The text of an operand. A comment at its end must not reach the parenthesis.
fn in_parentheses(text: &str) -> String {
    let end = if text.contains("--") { "\n" } else { "" };
    format!("({text}{end})")
}

#[cfg(test)]
mod tests {
    use arrow_schema::{DataType, Field, Schema};

    use crate::bind::current_time::Options;
    use crate::filter::parse_filter;

    /// A filter that is derived is the one that its text makes.
    #[test]
    fn derived_filters_equal_parsed_ones() {
        let field = |name: &str, data_type| Field::new(name, data_type, true);
        let schema = Schema::new(vec![field("a", DataType::Int32), field("b", DataType::Int64), field("s", DataType::Utf8)]);
        let texts = [
            "a > 1",
            "a > 1 AND b < 2",
            "a IN (1, 2, 3) OR s LIKE 'x%'",
            "TRUE",
            "FALSE",
            "NULL",
            "TRUE AND a = 1",
            "1 / a > 2",
            "b BETWEEN 1 AND 2 AND s = 'it''s'",
            "NOT a = 1",
            "a IS NULL",
            "TRUE AND TRUE",
            "a > 1 -- why\n AND b = 2",
            "a > 1 -- why",
        ];
        for text in texts {
            let filter = parse_filter(text, &schema, &Options::default()).unwrap();
            for derived in [filter.negated(), filter.is_unknown(), filter.negated().is_unknown()] {
                let parsed = parse_filter(derived.text(), &schema, &Options::default()).unwrap();
                assert_eq!(derived.expr(), parsed.expr(), "{}", derived.text());
                assert_eq!(derived.conjuncts(), parsed.conjuncts(), "{}", derived.text());
            }
        }
    }
}
