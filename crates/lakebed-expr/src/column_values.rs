//! Filters that are built without text: a column has one of some values.
//!
//! The tree goes through the binder, as a parsed tree does, so the filter equals the one that its
//! text parses to. Read [`ColumnValues`] first.

use std::sync::Arc;

use arrow_schema::{DataType, Schema};
use datafusion_common::ScalarValue;
use datafusion_expr::Expr;

use crate::bind::binder::Binder;
use crate::bind::schema::nullable;
use crate::calendar::{date_text, timestamp_text};
use crate::evaluate::properties::may_fail;
use crate::evaluate::text_value::decimal_text;
use crate::filter::{Conjunct, Filter};
use crate::syntax::lex::Span;
use crate::syntax::tree::{Comparison, Is, Kind, Node};

/// The values of a column that match.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnValues {
    /// No value.
    None,
    /// One of these values.
    Listed(Vec<ScalarValue>),
    /// A value of one of these ranges. Both ends belong to a range.
    Ranges(Vec<(ScalarValue, ScalarValue)>),
}

impl Filter {
    /// Builds the filter for rows whose column has one of these values, or also null. Returns `None`
    /// if a value has no literal, or cannot be compared with the column.
    pub fn of_column(schema: &Schema, path: &[String], values: &ColumnValues, or_null: bool) -> Option<Filter> {
        let column = quoted(path);
        let (value_nodes, value_text) = match values {
            ColumnValues::None => (Vec::new(), String::new()),
            ColumnValues::Listed(values) => {
                let texts = values.iter().map(literal_text).collect::<Option<Vec<_>>>()?;
                let list = values.iter().map(literal).collect();
                let kind = Kind::In { value: Box::new(node(Kind::Path(path.to_vec()))), list, negated: false };
                (vec![node(kind)], format!("{column} IN ({})", texts.join(", ")))
            }
            ColumnValues::Ranges(ranges) => {
                let texts = ranges.iter().map(|range| range_text(&column, range)).collect::<Option<Vec<_>>>()?;
                let text = if texts.len() == 1 { texts.concat() } else { format!("({})", texts.join(" OR ")) };
                (ranges.iter().map(|range| range_node(path, range)).collect(), text)
            }
        };
        let values = match <[Node; 1]>::try_from(value_nodes) {
            Ok([one]) => Some(one),
            Err(none) if none.is_empty() => None,
            Err(several) => Some(node(Kind::Any(several))),
        };
        let is_null = || {
            let value = Box::new(node(Kind::Path(path.to_vec())));
            node(Kind::Is { value, what: Is::Null, negated: false })
        };
        let (tree, text) = match (values, or_null) {
            (Some(values), true) => (node(Kind::Any(vec![values, is_null()])), format!("({value_text} OR {column} IS NULL)")),
            (Some(values), false) => (values, value_text),
            (None, true) => (is_null(), format!("{column} IS NULL")),
            (None, false) => (node(Kind::Boolean(false)), "FALSE".to_owned()),
        };
        let schema = Arc::new(nullable(schema));
        let expr = Binder { text: &text, schema: &schema }.condition(&tree).ok()?;
        let conjuncts = match expr {
            Expr::Literal(ScalarValue::Boolean(Some(true)), _) => Vec::new(),
            expr => vec![Conjunct { may_fail: may_fail(&expr), expr, text: without_parentheses(&text).to_owned() }],
        };
        Some(Filter::of(conjuncts, text, schema))
    }
}

/// The parser gives a conjunct the text inside its parentheses.
fn without_parentheses(text: &str) -> &str {
    text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(text)
}

/// A node of a tree that has no text.
fn node(kind: Kind) -> Node {
    Node::new(Span { start: 0, end: 0 }, kind)
}

fn literal(value: &ScalarValue) -> Node {
    node(Kind::Value(value.clone()))
}

fn range_node(path: &[String], (low, high): &(ScalarValue, ScalarValue)) -> Node {
    let column = Box::new(node(Kind::Path(path.to_vec())));
    if low == high {
        return node(Kind::Compare(Comparison::Equal, column, Box::new(literal(low))));
    }
    node(Kind::Between { value: column, low: Box::new(literal(low)), high: Box::new(literal(high)), negated: false })
}

fn range_text(column: &str, (low, high): &(ScalarValue, ScalarValue)) -> Option<String> {
    let low_text = literal_text(low)?;
    Some(if low == high {
        format!("{column} = {low_text}")
    } else {
        format!("{column} BETWEEN {low_text} AND {}", literal_text(high)?)
    })
}

/// The literal of a value in Spark's SQL; `None` if the value has none.
fn literal_text(value: &ScalarValue) -> Option<String> {
    Some(match value {
        ScalarValue::Boolean(Some(value)) => (if *value { "TRUE" } else { "FALSE" }).to_owned(),
        ScalarValue::Int8(Some(value)) => format!("{value}Y"),
        ScalarValue::Int16(Some(value)) => format!("{value}S"),
        ScalarValue::Int32(Some(value)) => value.to_string(),
        ScalarValue::Int64(Some(value)) => format!("{value}L"),
        ScalarValue::Date32(Some(days)) => format!("DATE '{}'", date_text((*days).into())),
        ScalarValue::TimestampMicrosecond(Some(micros), Some(_)) => format!("TIMESTAMP '{}Z'", timestamp_text(*micros)),
        ScalarValue::TimestampMicrosecond(Some(micros), None) => format!("TIMESTAMP_NTZ '{}'", timestamp_text(*micros)),
        ScalarValue::Decimal128(Some(value), _, scale) => format!("{}BD", decimal_text(*value, *scale)),
        ScalarValue::Float32(Some(value)) if value.is_finite() => format!("{value:e}F"),
        ScalarValue::Float64(Some(value)) if value.is_finite() => format!("{value:e}D"),
        ScalarValue::Utf8(Some(text)) => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'")),
        _ => return None,
    })
}

/// A path as SQL writes it.
fn quoted(path: &[String]) -> String {
    path.iter().map(|name| format!("`{}`", name.replace('`', "``"))).collect::<Vec<_>>().join(".")
}

/// The decimal with as many digits as its literal has.
pub fn decimal_of_digits(value: i128, scale: i8) -> Option<ScalarValue> {
    let digits = u8::try_from(value.unsigned_abs().to_string().len()).ok()?;
    let precision = digits.max(u8::try_from(scale).ok()?).max(1);
    matches!(DataType::Decimal128(precision, scale), DataType::Decimal128(1..=38, _)).then_some(ScalarValue::Decimal128(
        Some(value),
        precision,
        scale,
    ))
}
