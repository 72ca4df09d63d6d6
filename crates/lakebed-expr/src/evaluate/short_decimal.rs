//! Comparisons of decimals with at most 18 digits in 64 bits. Files store them so, and the
//! comparison is several times faster than in 128 bits.
//!
//! [`shortened`] finds the columns of a condition that are compared only with literals of their own
//! type. It returns the condition for batches that hold these columns in 64 bits.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{Result as DfResult, ScalarValue};
use datafusion_expr::expr::InList;
use datafusion_expr::{BinaryExpr, Expr, Operator};

/// The largest precision of which every decimal fits into 64 bits.
const SHORT_DIGITS: u8 = 18;

/// Returns the 64-bit type of decimals, if their precision allows it.
pub fn short_decimal_type(data_type: &DataType) -> Option<DataType> {
    match data_type {
        DataType::Decimal128(precision, scale) if *precision <= SHORT_DIGITS => Some(DataType::Decimal64(*precision, *scale)),
        _ => None,
    }
}

/// Returns a condition and its schema with columns in 64 bits where this changes no result.
pub(crate) fn shortened(expr: &Expr, schema: &Schema) -> DfResult<(Expr, Schema)> {
    let names = short_columns(expr, schema)?;
    if names.is_empty() {
        return Ok((expr.clone(), schema.clone()));
    }
    let is_short = |column: &Expr| matches!(column, Expr::Column(column) if names.contains(&column.name));
    let expr = expr.clone().transform_up(|node| {
        Ok(match node {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_short(&left) || is_short(&right) => {
                Transformed::yes(Expr::BinaryExpr(BinaryExpr::new(Box::new(literal(*left)), op, Box::new(literal(*right)))))
            }
            Expr::InList(InList { expr, list, negated }) if is_short(&expr) => {
                Transformed::yes(Expr::InList(InList::new(expr, list.into_iter().map(literal).collect(), negated)))
            }
            other => Transformed::no(other),
        })
    })?;
    let field = |field: &Arc<Field>| match short_decimal_type(field.data_type()) {
        Some(short) if names.contains(field.name()) => Arc::new(field.as_ref().clone().with_data_type(short)),
        _ => Arc::clone(field),
    };
    Ok((expr.data, Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>())))
}

/// The columns that occur only in comparisons with literals of their own type and in tests for
/// null.
fn short_columns(expr: &Expr, schema: &Schema) -> DfResult<Vec<String>> {
    // The number of occurrences of each column, minus those that allow 64 bits.
    let mut others: BTreeMap<String, i64> = BTreeMap::new();
    let mut count = |column: &Expr, by: i64| {
        if let Expr::Column(column) = column {
            *others.entry(column.name.clone()).or_default() += by;
        }
    };
    expr.apply(|node| {
        match node {
            Expr::Column(_) => count(node, 1),
            Expr::IsNull(column) | Expr::IsNotNull(column) => count(column, -1),
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if compares(*op) => {
                if is_literal_of(right, left, schema) {
                    count(left, -1);
                } else if is_literal_of(left, right, schema) {
                    count(right, -1);
                }
            }
            Expr::InList(InList { expr, list, .. }) if list.iter().all(|item| is_literal_of(item, expr, schema)) => {
                count(expr, -1);
            }
            _ => {}
        }
        Ok(datafusion_common::tree_node::TreeNodeRecursion::Continue)
    })?;
    let is_short =
        |name: &String| schema.field_with_name(name).is_ok_and(|field| short_decimal_type(field.data_type()).is_some());
    Ok(others.into_iter().filter(|(name, left)| *left == 0 && is_short(name)).map(|(name, _)| name).collect())
}

fn compares(operator: Operator) -> bool {
    operator.supports_propagation()
        || matches!(operator, Operator::NotEq | Operator::IsDistinctFrom | Operator::IsNotDistinctFrom)
}

/// Whether an expression is a literal of exactly the type of a column.
fn is_literal_of(expr: &Expr, column: &Expr, schema: &Schema) -> bool {
    let (Expr::Literal(value, _), Expr::Column(column)) = (expr, column) else { return false };
    schema.field_with_name(&column.name).is_ok_and(|field| *field.data_type() == value.data_type())
}

/// Converts a decimal literal to 64 bits. Other expressions stay as they are.
fn literal(expr: Expr) -> Expr {
    match expr {
        Expr::Literal(ScalarValue::Decimal128(value, precision, scale), meta) if precision <= SHORT_DIGITS => {
            Expr::Literal(ScalarValue::Decimal64(value.map(saturated_to_i64), precision, scale), meta)
        }
        other => other,
    }
}

/// Returns the value, or the end of the 64-bit range if it lies beyond. Both compare alike with all
/// decimals of at most 18 digits.
pub fn saturated_to_i64(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests {
    use arrow_schema::DataType::{Decimal64, Decimal128};

    use crate::bind::resolve::Options;
    use crate::evaluate::short_decimal::*;
    use crate::filter::parse_filter;

    #[track_caller]
    fn check(text: &str, short: &[&str]) {
        let field = |name: &str, data_type: DataType| Field::new(name, data_type, true);
        let schema = Schema::new(vec![
            field("d", Decimal128(15, 2)),
            field("e", Decimal128(18, 0)),
            field("long", Decimal128(19, 2)),
            field("i", DataType::Int64),
        ]);
        let filter = parse_filter(text, &schema, &Options::default()).unwrap();
        let (_, found) = shortened(filter.expr(), &schema).unwrap();
        let found: Vec<&str> = found
            .fields()
            .iter()
            .filter(|field| matches!(field.data_type(), Decimal64(..)))
            .map(|field| field.name().as_str())
            .collect();
        assert_eq!(found, short, "{text}");
    }

    #[test]
    fn columns_that_only_meet_literals_are_short() {
        check("d > 1.50", &["d"]);
        check("1 <= d AND d < 2.5 AND e = 7", &["d", "e"]);
        check("d BETWEEN 0.05 AND 0.07", &["d"]);
        check("d IN (1.25, 2) OR d IS NULL", &["d"]);
        check("d <=> 1.5 AND d <> 2", &["d"]);
    }

    #[test]
    fn columns_that_meet_anything_else_are_not() {
        check("d > e", &[]);
        check("d + 1 > 2", &[]);
        check("d > 1 AND d = e", &[]);
        check("d > i", &[]);
        check("long > 1", &[]);
        check("d > 1.555", &[]);
        check("d > 1 AND e > i", &["d"]);
    }
}
