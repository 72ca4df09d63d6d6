//! Splits the ON condition into keys, by which pairs of rows are found by hash, and into conditions
//! that exclude rows of one table alone.
//!
//! The parts are weaker than the whole: a pair matches only if the whole condition is true. Begin
//! with [`On::new`].

#[cfg(test)]
mod tests;

use arrow_schema::{DataType, SchemaRef};
use datafusion_expr::{BinaryExpr, Expr, Operator};
use lakebed_expr::{Conjunct, Expression, Filter, column_path, columns_of, without_normalization};

use super::names::{Side, Sides};
use crate::Result;

/// An ON condition.
#[derive(Debug)]
pub(crate) struct On {
    /// The whole condition, over the flat schema.
    pub(crate) whole: Filter,
    /// The values that must be equal in a pair.
    pub(crate) keys: Vec<Key>,
    /// The conditions on the target row alone, over the target's own schema. This includes
    /// conditions that name no column. Their texts need parentheses when they are combined with
    /// others.
    pub(crate) target_only: Vec<Filter>,
    /// The conditions on the source row alone, over the source's own schema.
    pub(crate) source_only: Vec<Expression>,
}

/// Two values of one type that must be equal. Floats are normalized, so that equal floats have
/// equal bits.
///
/// The computation may fail where the text allows it, for example for a text that is not a number.
/// It may also fail for rows that other parts of the condition exclude.
#[derive(Debug)]
pub(crate) struct Key {
    /// The expression over the target's own schema.
    pub(crate) target: Expression,
    /// The expression over the source's own schema.
    pub(crate) source: Expression,
    /// Whether null equals null. If false, null equals nothing.
    pub(crate) null_safe: bool,
    /// The column or field of the target, if its values are compared without a conversion.
    pub(crate) target_path: Option<Vec<String>>,
}

/// The tables that a condition names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum About {
    Nothing,
    One(Side),
    Both,
}

impl On {
    pub(crate) fn new(sides: &Sides, text: &str) -> Result<Self> {
        let whole = sides.condition(text)?;
        let (mut keys, mut target_only, mut source_only) = (Vec::new(), Vec::new(), Vec::new());
        let mut earlier: Vec<About> = Vec::new();
        for conjunct in whole.conjuncts() {
            let about = about(sides, &conjunct.expr);
            // A condition that may fail must be evaluated after the conditions before it. On its
            // own, it would fail for rows that an earlier condition excludes.
            let stands_alone = !conjunct.may_fail || earlier.iter().all(|other| [About::Nothing, about].contains(other));
            match about {
                About::Both => keys.extend(Key::of(sides, conjunct)?),
                About::One(Side::Source) if stands_alone => {
                    source_only.push(own_expression(sides, Side::Source, &conjunct.expr, conjunct.text.as_str())?);
                }
                About::One(Side::Target) | About::Nothing if stands_alone => {
                    target_only.extend(sides.of_target(&whole.of_conjunct(conjunct)))
                }
                About::One(_) | About::Nothing => {}
            }
            earlier.push(about);
        }
        Ok(Self { whole, keys, target_only, source_only })
    }
}

impl Key {
    /// Returns the key for a condition on both tables, if it is a comparison of keys.
    fn of(sides: &Sides, conjunct: &Conjunct) -> Result<Option<Self>> {
        let Expr::BinaryExpr(BinaryExpr { left, op, right }) = &conjunct.expr else { return Ok(None) };
        let null_safe = match op {
            Operator::Eq => false,
            Operator::IsNotDistinctFrom => true,
            _ => return Ok(None),
        };
        let text = conjunct.text.as_str();
        let (left_text, right_text) = conjunct.text.compared().unwrap_or((text, text));
        let (target, source) = match (about(sides, left), about(sides, right)) {
            (About::One(Side::Target), About::One(Side::Source)) => ((left, left_text), (right, right_text)),
            (About::One(Side::Source), About::One(Side::Target)) => ((right, right_text), (left, left_text)),
            _ => return Ok(None),
        };
        let target = own_expression(sides, Side::Target, target.0, target.1)?;
        let source = own_expression(sides, Side::Source, source.0, source.1)?;
        if target.data_type != source.data_type || !is_hashed(&target.data_type) {
            return Ok(None);
        }
        let target_path = column_path(without_normalization(&target.expr));
        Ok(Some(Self { target, source, null_safe, target_path }))
    }
}

/// Returns whether equal values of a type can be found by hash.
fn is_hashed(data_type: &DataType) -> bool {
    !data_type.is_nested() && *data_type != DataType::Null
}

fn about(sides: &Sides, expr: &Expr) -> About {
    let columns = columns_of(expr);
    let mut found = columns.iter().filter_map(|path| sides.side_of(path.first()?)).map(|(side, _)| side);
    match found.next() {
        None => About::Nothing,
        Some(first) if found.all(|side| side == first) => About::One(first),
        Some(_) => About::Both,
    }
}

/// Rewrites a flat expression to the schema of the table that has its columns.
fn own_expression(sides: &Sides, side: Side, expr: &Expr, text: &str) -> Result<Expression> {
    let schema: &SchemaRef = sides.schema(side);
    let own_name = |flat: &str| sides.side_of(flat).map(|(_, name)| name.to_owned());
    Expression::of(expr.clone(), text, sides.flat())?.renamed(schema, own_name)
}
