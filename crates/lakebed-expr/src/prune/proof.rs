//! Turns a condition on rows into a condition on facts: could any row of a file make it true?
//!
//! Three questions are asked of a condition: may some row make it true, may some row make it false, may some row make it null.
//! NOT swaps the first two, so nothing is ever negated mechanically. An answer is a condition on facts that is false only when no
//! row can; `None` is "perhaps", which keeps the file, and so does a null from facts that are not known. Read
//! [`Prover::may_be_true`] first.

use datafusion_common::ScalarValue;
use datafusion_expr::expr::{Case, InList, Like};
use datafusion_expr::{BinaryExpr, Expr, Operator, lit};

use super::any_between::any_between;
use super::bounds::{Bounds, compare_bounds, is_nan};
use super::never_nan::never_nan;
use super::prover::{Answer, Prover, all, any, never};
use crate::evaluate::kernel::Kernel;
use crate::evaluate::nested::column_path;
use crate::evaluate::normalize_float::without_normalization;
use crate::evaluate::tree::columns_of;
use crate::function::text::{STARTS_WITH, prefix_of};

/// With more values than this, IN searches the list instead of comparing each value.
const MANY_VALUES: usize = 8;

impl Prover<'_> {
    /// May some row make the condition true?
    pub(crate) fn may_be_true(&mut self, condition: &Expr) -> Answer {
        self.may_be(condition, true)
    }

    /// May some row give the condition the truth value `wanted`?
    fn may_be(&mut self, condition: &Expr, wanted: bool) -> Answer {
        match condition {
            Expr::Literal(ScalarValue::Boolean(value), _) => Some(lit(*value == Some(wanted))),
            Expr::Literal(ScalarValue::Null, _) => never(),
            Expr::Not(inner) => self.may_be(inner, !wanted),
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => self.binary(left, *op, right, wanted),
            Expr::IsNull(value) => self.nullness(value, wanted),
            Expr::IsNotNull(value) => self.nullness(value, !wanted),
            Expr::IsTrue(inner) if wanted => self.may_be(inner, true),
            Expr::IsFalse(inner) if wanted => self.may_be(inner, false),
            Expr::IsNotTrue(inner) if !wanted => self.may_be(inner, true),
            Expr::IsNotFalse(inner) if !wanted => self.may_be(inner, false),
            Expr::IsTrue(inner) | Expr::IsNotTrue(inner) => any([self.may_be(inner, false), self.may_be_null(inner)]),
            Expr::IsFalse(inner) | Expr::IsNotFalse(inner) => any([self.may_be(inner, true), self.may_be_null(inner)]),
            Expr::InList(InList { expr, list, negated }) => self.in_list(expr, list, *negated == wanted),
            Expr::Like(like) => self.like(like, like.negated == wanted),
            Expr::Case(case) => self.case(case, wanted),
            _ => self.other(condition, wanted),
        }
    }

    fn binary(&mut self, left: &Expr, operator: Operator, right: &Expr, wanted: bool) -> Answer {
        match (operator, wanted) {
            (Operator::And, true) | (Operator::Or, false) => {
                let known = self.never_nan.len();
                self.never_nan.extend(never_nan(left, wanted).into_iter().chain(never_nan(right, wanted)));
                let answer = all([self.may_be(left, wanted), self.may_be(right, wanted)]);
                self.never_nan.truncate(known);
                answer
            }
            (Operator::And, false) | (Operator::Or, true) => {
                // Each side is judged alone, and no single row has to satisfy both.
                any([self.may_be(left, wanted), self.may_be(right, wanted)])
            }
            (Operator::IsNotDistinctFrom, true) | (Operator::IsDistinctFrom, false) => {
                let both_null = all([self.may_be_null(left), self.may_be_null(right)]);
                any([self.comparison(left, Operator::Eq, right), both_null])
            }
            (Operator::IsNotDistinctFrom, false) | (Operator::IsDistinctFrom, true) => {
                any([self.comparison(left, Operator::NotEq, right), self.may_be_null(left), self.may_be_null(right)])
            }
            (Operator::RegexMatch, true) | (Operator::RegexNotMatch, false) => self.regex(left, right),
            (operator, true) => self.comparison(left, operator, right),
            (operator, false) => match operator.negate() {
                Some(negated) => self.comparison(left, negated, right),
                None => self.unknown("an operator"),
            },
        }
    }

    /// Returns the answer for an expression that is not understood, except that it is null where a
    /// value is null.
    fn unless_null(&mut self, what: &str, value: &Expr) -> Answer {
        self.note(format!("{what} is not understood"));
        self.not_all_null(value)
    }

    /// May `left operator right` be true in some row?
    fn comparison(&mut self, left: &Expr, operator: Operator, right: &Expr) -> Answer {
        let (lefts, rights) = (self.bounds(left), self.bounds(right));
        let mut answers = Vec::new();
        for left in &lefts {
            for right in &rights {
                answers.push(compare_bounds(left, operator, right));
            }
        }
        answers.push(self.not_all_null(left));
        answers.push(self.not_all_null(right));
        let known = answers.iter().any(Option::is_some);
        if !known || (lefts.is_empty() || rights.is_empty()) {
            self.note(format!("nothing is known about the values of {}", describe(if lefts.is_empty() { left } else { right })));
        }
        all(answers)
    }

    fn in_list(&mut self, value: &Expr, list: &[Expr], excluded: bool) -> Answer {
        let literals: Option<Vec<ScalarValue>> = list
            .iter()
            .map(|item| match item {
                Expr::Literal(value, _) => Some(value.clone()),
                _ => None,
            })
            .collect();
        let Some(literals) = literals else { return self.unless_null("a list with columns", value) };
        if excluded {
            if literals.iter().any(ScalarValue::is_null) {
                return never();
            }
            return all(list.iter().map(|item| self.comparison(value, Operator::NotEq, item)).collect::<Vec<_>>());
        }
        let values: Vec<ScalarValue> = literals.into_iter().filter(|value| !value.is_null()).collect();
        if values.len() <= MANY_VALUES || values.iter().any(is_nan) {
            let items = values.into_iter().map(|item| Expr::Literal(item, None));
            return any(items.map(|item| self.comparison(value, Operator::Eq, &item)).collect::<Vec<_>>());
        }
        let mut answers = vec![self.not_all_null(value)];
        for Bounds { low, high, .. } in self.bounds(value) {
            // A value of the list is not NaN, so the upper bound holds even if the column has NaN.
            if let (Some(low), Some(high)) = (low, high) {
                answers.push(any_between(values.clone(), low, high));
            }
        }
        all(answers)
    }

    fn like(&mut self, like: &Like, excluded: bool) -> Answer {
        let Expr::Literal(ScalarValue::Utf8(Some(pattern)), _) = like.pattern.as_ref() else {
            return all([
                self.unless_null("LIKE with a pattern that is no literal", &like.expr),
                self.not_all_null(&like.pattern),
            ]);
        };
        if like.case_insensitive {
            return self.unless_null("ILIKE", &like.expr);
        }
        let (prefix, rest) = like_prefix(pattern);
        match (rest, excluded) {
            ("", false) => self.comparison(&like.expr, Operator::Eq, &lit(prefix)),
            ("", true) => self.comparison(&like.expr, Operator::NotEq, &lit(prefix)),
            (_, false) if prefix.is_empty() => self.unless_null("LIKE with a pattern that begins with a wildcard", &like.expr),
            ("%", excluded) => self.prefix(&like.expr, &prefix, excluded),
            (_, false) => self.prefix(&like.expr, &prefix, false),
            (_, true) => self.unless_null("NOT LIKE with more than a beginning", &like.expr),
        }
    }

    /// Answers `~` with a pattern that begins with literal characters at the start of the string.
    fn regex(&mut self, value: &Expr, pattern: &Expr) -> Answer {
        match pattern {
            Expr::Literal(ScalarValue::Utf8(Some(pattern)), _) => match regex_prefix(pattern) {
                Some(prefix) => self.prefix(value, &prefix, false),
                None => self.unless_null("a regular expression without a fixed beginning", value),
            },
            _ => self.unless_null("a regular expression that is no literal", value),
        }
    }

    /// May some string begin with a prefix, or not begin with it?
    fn prefix(&mut self, value: &Expr, prefix: &str, excluded: bool) -> Answer {
        let length = i32::try_from(prefix.chars().count()).unwrap_or(i32::MAX);
        let mut answers = vec![self.not_all_null(value)];
        for Bounds { low, high, .. } in self.bounds(value) {
            let front = |bound: Expr| prefix_of(bound, length);
            if excluded {
                // All strings begin with the prefix if the least and the greatest do.
                if let (Some(low), Some(high)) = (low, high) {
                    answers.push(Some(front(low).not_eq(lit(prefix)).or(front(high).not_eq(lit(prefix)))));
                }
            } else {
                answers.push(low.map(|low| front(low).lt_eq(lit(prefix))));
                answers.push(high.map(|high| high.gt_eq(lit(prefix))));
            }
        }
        all(answers)
    }

    fn case(&mut self, case: &Case, wanted: bool) -> Answer {
        if case.expr.is_some() {
            return self.unknown("CASE");
        }
        // A later branch is chosen only where the conditions of the earlier branches do not hold.
        self.inexact();
        let mut answers = Vec::new();
        for (when, then) in &case.when_then_expr {
            answers.push(all([self.may_be(when, true), self.may_be(then, wanted)]));
        }
        if let Some(otherwise) = &case.else_expr {
            answers.push(self.may_be(otherwise, wanted));
        }
        any(answers)
    }

    /// Answers a boolean column, a function that returns true or false, or an expression that is
    /// not understood.
    fn other(&mut self, condition: &Expr, wanted: bool) -> Answer {
        if let Some((kernel, [value, Expr::Literal(ScalarValue::Utf8(Some(prefix)), _)])) = Kernel::of(condition)
            && std::ptr::eq(kernel.spec, &STARTS_WITH)
        {
            return self.prefix(value, prefix, !wanted);
        }
        if column_path(condition).is_none() {
            self.note(format!("{} is not understood", describe(condition)));
            return all([self.not_all_null(condition)]);
        }
        let mut answers = vec![self.not_all_null(condition)];
        for Bounds { low, high, .. } in self.bounds(condition) {
            answers.push(if wanted { high } else { low.map(|low| Expr::Not(Box::new(low))) });
        }
        all(answers)
    }

    /// May a value be null in some row, or not null, as wanted?
    fn nullness(&mut self, value: &Expr, null: bool) -> Answer {
        if null { self.may_be_null(value) } else { self.not_all_null(value) }
    }
}

/// Returns the literal prefix of a LIKE pattern, and the rest of the pattern.
fn like_prefix(pattern: &str) -> (String, &str) {
    let mut prefix = String::new();
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        match (c, after.chars().next()) {
            ('%' | '_', _) => return (prefix, rest),
            ('\\', Some(escaped @ ('%' | '_' | '\\'))) => {
                prefix.push(escaped);
                rest = after.get(escaped.len_utf8()..).unwrap_or_default();
            }
            // Other escapes are not interpreted here. They are evaluated on rows.
            ('\\', _) => return (prefix, rest),
            (c, _) => {
                prefix.push(c);
                rest = after;
            }
        }
    }
    (prefix, "")
}

/// Returns the prefix of all strings that a regular expression matches.
fn regex_prefix(pattern: &str) -> Option<String> {
    let body = pattern.strip_prefix('^').filter(|body| !body.contains('|'))?;
    let end = body.find(|c: char| !(c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '/' | ':' | ','))).unwrap_or(body.len());
    let mut prefix = body.get(..end)?.to_string();
    // A character before one of these quantifiers may also be absent.
    if body.get(end..).is_some_and(|rest| rest.starts_with(['*', '?', '{'])) {
        prefix.pop();
    }
    (!prefix.is_empty()).then_some(prefix)
}

/// Describes a value by its columns, for notes.
fn describe(value: &Expr) -> String {
    let value = without_normalization(value);
    if let Some(path) = column_path(value) {
        return path.join(".");
    }
    let columns: Vec<String> = columns_of(value).iter().map(|path| path.join(".")).collect();
    match (value, columns.is_empty()) {
        (Expr::ScalarFunction(call), false) => format!("{}({})", call.func.name(), columns.join(", ")),
        (_, false) => format!("an expression of {}", columns.join(", ")),
        (_, true) => "a constant".into(),
    }
}
