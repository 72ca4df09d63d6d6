//! Filters that are derived from other filters. The tree is derived from the tree, so no text is
//! parsed. A derived filter also gets a text, for messages, the history and other processes. That
//! text means the same as the tree when another process parses it.

use std::sync::Arc;

use datafusion_common::ScalarValue;
use datafusion_expr::Expr;

use super::joined_text::in_parentheses;
use super::physical::{fold_if_possible, may_fail};
use super::{Conjunct, Filter};

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

#[cfg(test)]
mod tests {
    use arrow_schema::{DataType, Field, Schema};

    use super::super::{Options, parse_filter};

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
