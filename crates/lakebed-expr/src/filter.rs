//! Filters: conditions on rows, and filters that are derived from other filters.
//!
//! A derived filter is derived from the tree of the other filter, so no text is parsed. It also
//! gets a text, for messages, the history and other processes. The text means the same as the tree
//! when another process parses it. Read [`parse_filter`] first.

use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::{DataType, Schema, SchemaRef};
use datafusion_common::{Column, ScalarValue};
use datafusion_expr::{Expr, Operator};
use datafusion_physical_expr::PhysicalExpr;
use lakebed_core::Result;

use crate::bind::binder::Binder;
use crate::bind::resolve::{NameRule, Options, resolve};
use crate::bind::schema::nullable;
use crate::evaluate::compile::{compile_for, evaluation_error};
use crate::evaluate::condition::true_rows;
use crate::evaluate::fold::fold_if_possible;
use crate::evaluate::properties::may_fail;
use crate::evaluate::short_decimal::shortened;
use crate::evaluate::tree::{columns_of, join_conditions, replace_columns};
use crate::expression::{Expression, as_bound};
use crate::sql_text::SqlText;
use crate::syntax::tree::{Kind, Node};

/// A condition on the rows of a table. A row matches if the condition is true for it.
///
/// Other processes get the filter as its [`text`](Self::text), which means the same when it is
/// parsed again.
#[derive(Debug, Clone)]
pub struct Filter {
    expression: Expression,
    conjuncts: Vec<Conjunct>,
}

/// One of the conditions that AND joins in a filter.
#[derive(Debug, Clone, PartialEq)]
pub struct Conjunct {
    /// The condition.
    pub expr: Expr,
    /// The text of the condition.
    pub text: SqlText,
    /// Whether the condition fails for some values. Such a condition is evaluated after the
    /// conjuncts before it, and only on rows for which those are true.
    pub may_fail: bool,
}

impl Conjunct {
    /// Returns the conjunct of a condition, or `None` if the condition is always true.
    pub(crate) fn of(expr: Expr, text: SqlText) -> Option<Self> {
        match expr {
            Expr::Literal(ScalarValue::Boolean(Some(true)), _) => None,
            expr => Some(Self { may_fail: may_fail(&expr), expr, text }),
        }
    }
}

/// Parses a filter over the columns of a schema.
///
/// # Errors
/// Returns [`ErrorKind::Predicate`](lakebed_core::ErrorKind::Predicate) with the position in the
/// text for unknown columns and functions, types that do not fit, subqueries and aggregates.
pub fn parse_filter(text: &str, schema: &Schema, options: &Options) -> Result<Filter> {
    parse_with(text, schema, options, None)
}

/// Parses a filter in which columns have other names than in the schema. For each name in the text,
/// the rule returns the path of a column of the schema.
///
/// # Errors
/// Fails as [`parse_filter`] does, and if a name has no column.
pub fn parse_filter_named(text: &str, schema: &Schema, options: &Options, rule: &NameRule<'_>) -> Result<Filter> {
    parse_with(text, schema, options, Some(rule))
}

fn parse_with(text: &str, schema: &Schema, options: &Options, rule: Option<&NameRule<'_>>) -> Result<Filter> {
    let schema = Arc::new(nullable(schema));
    let resolved = resolve(text, options, rule)?;
    let binder = Binder { text, schema: &schema };
    let mut conjuncts = Vec::new();
    for part in conjunctions(&resolved.tree) {
        conjuncts.extend(Conjunct::of(binder.condition(part)?, resolved.text_of(part)));
    }
    Ok(Filter::of(conjuncts, resolved.text(), schema))
}

/// Returns for each row of a batch whether a condition is true. Null counts as false. The text is
/// for messages.
///
/// # Errors
/// Fails where Spark's ANSI mode fails: overflow, division by zero, casts of values that do not
/// fit.
pub fn matching_rows(text: &str, condition: &dyn PhysicalExpr, batch: &RecordBatch) -> Result<BooleanArray> {
    true_rows(condition, batch).map_err(|error| evaluation_error(text, &error))
}

impl Filter {
    pub(crate) fn of(conjuncts: Vec<Conjunct>, text: SqlText, schema: SchemaRef) -> Filter {
        let expr = join_conditions(Operator::And, conjuncts.iter().map(|conjunct| conjunct.expr.clone()).collect());
        Filter { expression: Expression::bound(expr, DataType::Boolean, text, schema), conjuncts }
    }

    /// The condition.
    pub fn expr(&self) -> &Expr {
        &self.expression.expr
    }

    /// The text of the filter. Calls such as `current_date()` are replaced by the time of the call.
    pub fn text(&self) -> &str {
        self.sql().as_str()
    }

    pub(crate) fn sql(&self) -> &SqlText {
        &self.expression.text
    }

    /// The schema that the filter was parsed for. Every field is nullable.
    pub fn schema(&self) -> &SchemaRef {
        &self.expression.schema
    }

    /// The conjuncts of the filter in the order of the text. A filter that is always true has none.
    pub fn conjuncts(&self) -> &[Conjunct] {
        &self.conjuncts
    }

    /// The paths of the columns that the filter reads. A path is the name of the column and then of
    /// nested fields.
    pub fn columns(&self) -> Vec<Vec<String>> {
        self.expression.columns()
    }

    /// Compiles the filter for batches of a schema that has its columns. See [`matching_rows`].
    ///
    /// # Errors
    /// Fails if a column is missing or has a type that does not fit.
    pub fn physical(&self, schema: &Schema) -> Result<Arc<dyn PhysicalExpr>> {
        self.expression.physical(schema)
    }

    /// Compiles the filter for batches that hold some decimal columns in 64 bits. Also returns the
    /// schema of these batches.
    ///
    /// # Errors
    /// Fails as [`Filter::physical`] does.
    pub fn physical_short(&self, schema: &Schema) -> Result<(Arc<dyn PhysicalExpr>, Schema)> {
        let expr = as_bound(self.expr(), self.schema(), schema)?;
        let (expr, schema) = shortened(&expr, schema).map_err(|error| evaluation_error(self.text(), &error))?;
        Ok((compile_for(self.text(), &expr, &schema)?, schema))
    }

    /// Returns for each row of a batch whether it matches.
    ///
    /// # Errors
    /// Fails as [`Filter::physical`] and [`matching_rows`] do.
    pub fn evaluate(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        let condition = self.expression.compiled(batch)?;
        true_rows(condition.as_ref(), batch).map_err(|error| evaluation_error(self.text(), &error))
    }

    /// Returns the filter without the conjuncts that read only these columns, after those conjuncts
    /// have been decided. Returns `None` if no conjunct is left.
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
        let text = SqlText::joined("AND", left.iter().map(|conjunct| conjunct.text.in_parentheses()));
        Some(Filter::of(left, text, self.schema().clone()))
    }
}

/// The operands of the top-level ANDs of a syntax tree.
fn conjunctions(node: &Node) -> Vec<&Node> {
    match &node.kind {
        Kind::All(parts) => parts.iter().flat_map(conjunctions).collect(),
        _ => vec![node],
    }
}

impl Filter {
    /// Returns the filter that a row matches if this filter is false for the row.
    #[must_use]
    pub fn negated(&self) -> Filter {
        let mut text = SqlText::without_names("NOT ");
        text.push(&self.sql().in_parentheses());
        self.derived(Expr::Not(Box::new(self.expr().clone())), text)
    }

    /// Returns the filter that a row matches if this filter is null for the row.
    #[must_use]
    pub fn is_unknown(&self) -> Filter {
        let mut text = self.sql().in_parentheses();
        text.push_str(" IS NULL");
        self.derived(Expr::IsNull(Box::new(self.expr().clone())), text)
    }

    /// Returns the filter that a row matches if it matches all of these filters, which are over one
    /// schema. Returns `None` if there are no filters.
    pub fn all(filters: Vec<Filter>) -> Option<Filter> {
        let schema = Arc::clone(filters.first()?.schema());
        let text = SqlText::joined("AND", filters.iter().map(|filter| filter.sql().in_parentheses()));
        let conjuncts = filters.into_iter().flat_map(|filter| filter.conjuncts).collect();
        Some(Filter::of(conjuncts, text, schema))
    }

    /// Returns the filter that a row matches if it matches any of these filters, which are over one
    /// schema. Returns `None` if there are no filters.
    pub fn any(filters: Vec<Filter>) -> Option<Filter> {
        let [first, _, ..] = filters.as_slice() else { return filters.into_iter().next() };
        let text = SqlText::joined("OR", filters.iter().map(|filter| filter.sql().in_parentheses()));
        let operands = filters.iter().map(|filter| filter.expr().clone()).collect();
        Some(first.derived(join_conditions(Operator::Or, operands), text))
    }

    /// Returns the filter with its columns under the names that they have in another schema. `name`
    /// gives the names. Returns `None` if one of them has no answer.
    pub fn renamed(&self, schema: &Schema, name: impl Fn(&str) -> Option<String>) -> Option<Filter> {
        if !self.columns().iter().all(|path| path.first().is_some_and(|column| name(column).is_some())) {
            return None;
        }
        let renamed = |conjunct: &Conjunct| {
            let expr = replace_columns(&conjunct.expr, |column| Some(Expr::Column(Column::new_unqualified(name(column)?))));
            Some(Conjunct { expr, text: conjunct.text.renamed(&name)?, may_fail: conjunct.may_fail })
        };
        let conjuncts = self.conjuncts.iter().map(renamed).collect::<Option<Vec<_>>>()?;
        Some(Filter::of(conjuncts, self.sql().renamed(&name)?, Arc::new(nullable(schema))))
    }

    /// Returns the filter of one conjunct alone.
    #[must_use]
    pub fn of_conjunct(&self, conjunct: &Conjunct) -> Filter {
        Filter::of(vec![conjunct.clone()], conjunct.text.clone(), Arc::clone(self.schema()))
    }

    /// Makes a filter of one condition over the same schema.
    fn derived(&self, expr: Expr, text: SqlText) -> Filter {
        let conjuncts = Conjunct::of(fold_if_possible(expr), text.clone()).into_iter().collect();
        Filter::of(conjuncts, text, Arc::clone(self.schema()))
    }
}

#[cfg(test)]
mod tests {
    use arrow_schema::{DataType, Field, Schema};

    use crate::bind::resolve::Options;
    use crate::filter::parse_filter;

    /// A derived filter equals the filter that its text parses to.
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
