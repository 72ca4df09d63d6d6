//! Filters that are built without text: a column has one of some values.
//!
//! The tree goes through the binder, as a parsed tree does, so the filter equals the one that its
//! text parses to. Read [`ColumnValues`] first.

use std::sync::Arc;

use arrow_schema::Schema;
use datafusion_common::ScalarValue;

use crate::bind::binder::Binder;
use crate::bind::schema::nullable;
use crate::calendar::{date_text, timestamp_text};
use crate::evaluate::text_value::decimal_text;
use crate::filter::{Conjunct, Filter};
use crate::sql_text::SqlText;
use crate::syntax::lex::Span;
use crate::syntax::tree::{Comparison, Is, Kind, Node};
use crate::types::MAX_DIGITS;

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

/// A condition as a tree and as the text that parses to this tree.
struct Condition {
    tree: Node,
    text: SqlText,
}

impl Condition {
    /// Returns the text as an operand of another condition.
    fn operand(&self) -> SqlText {
        match self.tree.kind {
            Kind::Any(_) => self.text.in_parentheses(),
            _ => self.text.clone(),
        }
    }
}

impl Filter {
    /// Builds the filter for rows whose column has one of these values. If `or_null`, rows whose
    /// column is null match too. Returns `None` if a value has no literal, or cannot be compared
    /// with the column.
    pub fn of_column(schema: &Schema, path: &[String], values: &ColumnValues, or_null: bool) -> Option<Filter> {
        let mut conditions = match values {
            ColumnValues::None => Vec::new(),
            ColumnValues::Listed(values) => vec![listed(path, values)?],
            ColumnValues::Ranges(ranges) => {
                vec![any(ranges.iter().map(|range| within(path, range)).collect::<Option<_>>()?)]
            }
        };
        conditions.extend(or_null.then(|| is_null(path)));
        let condition = any(conditions);
        let schema = Arc::new(nullable(schema));
        let expr = Binder { text: condition.text.as_str(), schema: &schema }.condition(&condition.tree).ok()?;
        let whole = condition.operand();
        Some(Filter::of(Conjunct::of(expr, condition.text).into_iter().collect(), whole, schema))
    }
}

/// The condition that one of these conditions is true.
fn any(conditions: Vec<Condition>) -> Condition {
    match <[Condition; 1]>::try_from(conditions) {
        Ok([one]) => one,
        Err(none) if none.is_empty() => Condition { tree: node(Kind::Boolean(false)), text: SqlText::without_names("FALSE") },
        Err(several) => {
            let text = SqlText::joined("OR", several.iter().map(Condition::operand));
            Condition { tree: node(Kind::Any(several.into_iter().map(|condition| condition.tree).collect())), text }
        }
    }
}

fn listed(path: &[String], values: &[ScalarValue]) -> Option<Condition> {
    let texts = values.iter().map(literal_text).collect::<Option<Vec<_>>>()?;
    let list = values.iter().map(|value| node(Kind::Value(value.clone()))).collect();
    Some(Condition {
        tree: node(Kind::In { value: column(path), list, negated: false }),
        text: about(path, &format!(" IN ({})", texts.join(", "))),
    })
}

fn within(path: &[String], (low, high): &(ScalarValue, ScalarValue)) -> Option<Condition> {
    let (low_text, high_text) = (literal_text(low)?, literal_text(high)?);
    let literal = |value: &ScalarValue| Box::new(node(Kind::Value(value.clone())));
    let (kind, text) = if low == high {
        (Kind::Compare(Comparison::Equal, column(path), literal(low)), about(path, &format!(" = {low_text}")))
    } else {
        let (low, high) = (literal(low), literal(high));
        (
            Kind::Between { value: column(path), low, high, negated: false },
            about(path, &format!(" BETWEEN {low_text} AND {high_text}")),
        )
    };
    Some(Condition { tree: node(kind), text })
}

fn is_null(path: &[String]) -> Condition {
    Condition { tree: node(Kind::Is { value: column(path), what: Is::Null, negated: false }), text: about(path, " IS NULL") }
}

/// The text of a condition on a column.
fn about(path: &[String], rest: &str) -> SqlText {
    let mut text = SqlText::of_path(path);
    text.push_str(rest);
    text
}

fn column(path: &[String]) -> Box<Node> {
    Box::new(node(Kind::Path(path.to_vec())))
}

/// A node of a tree that has no text.
fn node(kind: Kind) -> Node {
    Node::new(Span { start: 0, end: 0 }, kind)
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

/// The decimal with as many digits as its literal has.
pub fn decimal_of_digits(value: i128, scale: i8) -> Option<ScalarValue> {
    let digits = u8::try_from(value.unsigned_abs().to_string().len()).ok()?;
    let precision = digits.max(u8::try_from(scale).ok()?).max(1);
    (precision <= MAX_DIGITS).then_some(ScalarValue::Decimal128(Some(value), precision, scale))
}
