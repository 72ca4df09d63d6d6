//! From a condition on rows to a condition on facts: could any row of a file make it true?
//!
//! Three questions are asked of a condition: may some row make it true, may some row make it false, may some row make it null.
//! NOT swaps the first two, so nothing is ever negated mechanically. An answer is a condition on facts that is false only when no
//! row can; `None` is "perhaps", which keeps the file, and so does a null from facts that are not known. Read
//! [`Prover::may_be_true`] first.

use arrow_schema::{DataType, Schema};
use datafusion_common::ScalarValue;
use datafusion_expr::expr::{Case, InList, Like};
use datafusion_expr::{BinaryExpr, Expr, Operator, binary_expr, lit};

use super::any_between::any_between;
use super::bounds::Bounds;
use super::facts::{Fact, Facts};
use super::generated::Generated;
use crate::{Kernel, STARTS_WITH, beginning, below_one_form, columns_of, join, may_be_variant, null_args, path};

/// Above this many values IN is answered by searching the list instead of comparing each value.
const MANY_VALUES: usize = 8;

/// Which statistics there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Statistics {
    /// None: only partition values are looked at.
    None,
    /// Those of the log: no bounds of booleans and bytes.
    Log,
    /// Those of a file's footer, in the form of the log's.
    Footer,
}

impl Statistics {
    /// Whether columns of a type have bounds.
    pub(super) fn hold_bounds_of(self, data_type: &DataType) -> bool {
        use DataType::{Binary, Boolean, Date32, Timestamp, Utf8};
        let of_log = data_type.is_numeric() || matches!(data_type, Date32 | Timestamp(_, _) | Utf8);
        match self {
            Self::None => false,
            Self::Log => of_log,
            // Bytes are compared unsigned, as Spark does it: bounds that were made otherwise count as unknown.
            Self::Footer => of_log || matches!(data_type, Boolean | Binary),
        }
    }
}

/// What there is to know.
#[derive(Clone, Copy)]
pub(crate) struct Knowledge<'a> {
    /// The columns, as the filter was bound to them.
    pub(crate) schema: &'a Schema,
    /// The partition columns by their names in the schema.
    pub(crate) partitions: &'a [String],
    pub(crate) generated: &'a [Generated],
    pub(crate) statistics: Statistics,
}

/// Turns conditions on rows into conditions on facts.
pub(crate) struct Prover<'a> {
    pub(super) knowledge: Knowledge<'a>,
    /// The facts asked for so far.
    pub(super) facts: Facts,
    /// Values that are not NaN in any row that matters, because other conditions say so.
    pub(super) never_nan: Vec<Expr>,
    notes: Vec<String>,
    inexact: bool,
}

/// `None` means perhaps.
pub(super) type Answer = Option<Expr>;

/// All must be possible.
pub(super) fn all(answers: impl IntoIterator<Item = Answer>) -> Answer {
    let known: Vec<Expr> = answers.into_iter().flatten().collect();
    if known.is_empty() { None } else { Some(join(Operator::And, known)) }
}

/// One must be possible.
pub(super) fn any(answers: impl IntoIterator<Item = Answer>) -> Answer {
    answers.into_iter().collect::<Option<Vec<_>>>().map(|known| join(Operator::Or, known))
}

fn never() -> Answer {
    Some(lit(false))
}

impl<'a> Prover<'a> {
    pub(crate) fn new(knowledge: Knowledge<'a>, never_nan: Vec<Expr>) -> Prover<'a> {
        Prover { knowledge, facts: Facts::default(), never_nan, notes: Vec::new(), inexact: false }
    }

    /// The facts asked for, and why conditions could not be decided, if any could not.
    pub(crate) fn finish(self) -> (Facts, Vec<String>) {
        (self.facts, self.notes)
    }

    pub(super) fn note(&mut self, reason: String) {
        self.inexact();
        if !self.notes.contains(&reason) {
            self.notes.push(reason);
        }
    }

    /// Says that a file may be kept although its facts, looked at more closely, would rule it out.
    pub(super) fn inexact(&mut self) {
        self.inexact = true;
    }

    pub(super) fn is_inexact(&self) -> bool {
        self.inexact
    }

    /// The type of a column or field.
    pub(super) fn type_of(&self, path: &[String]) -> Option<DataType> {
        let (first, fields) = path.split_first()?;
        let mut data_type = self.knowledge.schema.field_with_name(first).ok()?.data_type();
        for name in fields {
            let DataType::Struct(fields) = data_type else { return None };
            data_type = fields.iter().find(|field| field.name() == name)?.data_type();
        }
        Some(data_type.clone())
    }

    pub(super) fn is_partition(&self, path: &[String]) -> bool {
        matches!(path, [name] if self.knowledge.partitions.contains(name))
    }

    /// May some row make the condition true?
    pub(crate) fn may_be_true(&mut self, condition: &Expr) -> Answer {
        self.may_be(condition, true)
    }

    /// May some row make the condition true, or false, as wanted?
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
                // Each side stands for itself, and a row need not fulfil both.
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

    fn unknown(&mut self, what: &str) -> Answer {
        self.note(format!("{what} is not understood"));
        None
    }

    /// What is not understood, except that it is null where a value is.
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
            // A value of the list is not NaN, so the upper bound holds whatever NaN stands above it.
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

    /// `~` with a pattern that begins at the start of the text with plain letters.
    fn regex(&mut self, value: &Expr, pattern: &Expr) -> Answer {
        match pattern {
            Expr::Literal(ScalarValue::Utf8(Some(pattern)), _) => match regex_prefix(pattern) {
                Some(prefix) => self.prefix(value, &prefix, false),
                None => self.unless_null("a regular expression without a fixed beginning", value),
            },
            _ => self.unless_null("a regular expression that is no literal", value),
        }
    }

    /// May some text begin with a prefix, or not begin with it?
    fn prefix(&mut self, value: &Expr, prefix: &str, excluded: bool) -> Answer {
        let length = i32::try_from(prefix.chars().count()).unwrap_or(i32::MAX);
        let mut answers = vec![self.not_all_null(value)];
        for Bounds { low, high, .. } in self.bounds(value) {
            let front = |bound: Expr| beginning(bound, length);
            if excluded {
                // All begin with it if the least and the greatest do.
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
        // A later branch is taken only where the conditions of those before it do not hold.
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

    /// A boolean column, a function that answers true or false, or what is not understood.
    fn other(&mut self, condition: &Expr, wanted: bool) -> Answer {
        if let Some((kernel, [value, Expr::Literal(ScalarValue::Utf8(Some(prefix)), _)])) = Kernel::of(condition)
            && std::ptr::eq(kernel.spec, &STARTS_WITH)
        {
            return self.prefix(value, prefix, !wanted);
        }
        if path(condition).is_none() {
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

    /// May a value or condition be null in some row?
    pub(super) fn may_be_null(&mut self, value: &Expr) -> Answer {
        if let Some(path) = path(value) {
            return self.may_hold_null(&path);
        }
        match value {
            Expr::Literal(literal, _) => Some(lit(literal.is_null())),
            Expr::Not(inner) => self.may_be_null(inner),
            Expr::Cast(cast) => self.may_be_null(&cast.expr),
            Expr::IsNull(_) | Expr::IsNotNull(_) | Expr::IsTrue(_) | Expr::IsFalse(_) => never(),
            Expr::IsNotTrue(_) | Expr::IsNotFalse(_) => never(),
            Expr::BinaryExpr(BinaryExpr { op: Operator::IsDistinctFrom | Operator::IsNotDistinctFrom, .. }) => never(),
            Expr::BinaryExpr(BinaryExpr { left, right, .. }) => any([self.may_be_null(left), self.may_be_null(right)]),
            Expr::Like(like) => any([self.may_be_null(&like.expr), self.may_be_null(&like.pattern)]),
            Expr::InList(InList { expr, list, .. }) => {
                let mut answers = vec![self.may_be_null(expr)];
                answers.extend(list.iter().map(|item| self.may_be_null(item)));
                any(answers)
            }
            _ => match Kernel::of(value) {
                Some((kernel, args)) if kernel.spec.strict => {
                    any(args.iter().map(|arg| self.may_be_null(arg)).collect::<Vec<_>>())
                }
                _ => self.unknown("where a function gives null"),
            },
        }
    }

    fn may_hold_null(&mut self, path: &[String]) -> Answer {
        if self.is_partition(path) {
            let data_type = self.type_of(path)?;
            let value = self.facts.column(Fact::Partition(path.join(".")), &data_type);
            return Some(Expr::IsNull(Box::new(value)));
        }
        let mut answers = Vec::new();
        if self.knowledge.statistics != Statistics::None && (path.len() == 1 || self.has_null_count(path)) {
            let count = self.facts.column(Fact::NullCount(path.to_vec()), &DataType::Int64);
            let is_some = count.gt(lit(0i64));
            // Some writers do not count a field of a null struct, so its count of zero proves nothing then.
            answers.push(Some(match path {
                [_] => is_some,
                _ => {
                    let counts_all = self.facts.column(Fact::CountsNullStructs(path.to_vec()), &DataType::Boolean);
                    is_some.or(Expr::IsNotTrue(Box::new(counts_all)))
                }
            }));
        } else {
            self.note(format!("statistics hold no count of nulls of {}", path.join(".")));
        }
        all(answers)
    }

    /// May a value be other than null in some row? Only columns in which every value is null rule it out.
    fn not_all_null(&mut self, value: &Expr) -> Answer {
        if let Some(path) = path(value) {
            return self.column_not_all_null(&path);
        }
        match value {
            Expr::Literal(literal, _) if literal.is_null() => never(),
            Expr::Cast(cast) => self.not_all_null(&cast.expr),
            Expr::Not(inner) => self.not_all_null(inner),
            // One side that is true or false may decide these.
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::And | Operator::Or, right }) => {
                any([self.not_all_null(left), self.not_all_null(right)])
            }
            Expr::BinaryExpr(BinaryExpr { op: Operator::IsDistinctFrom | Operator::IsNotDistinctFrom, .. }) => None,
            Expr::BinaryExpr(BinaryExpr { left, right, .. }) => all([self.not_all_null(left), self.not_all_null(right)]),
            Expr::Like(like) => all([self.not_all_null(&like.expr), self.not_all_null(&like.pattern)]),
            Expr::InList(list) => self.not_all_null(&list.expr),
            Expr::Case(case) => {
                let values = case.when_then_expr.iter().map(|(_, then)| then).chain(&case.else_expr);
                any(values.map(|value| self.not_all_null(value)).collect::<Vec<_>>())
            }
            _ => all(null_args(value).iter().map(|arg| self.not_all_null(arg)).collect::<Vec<_>>()),
        }
    }

    fn column_not_all_null(&mut self, path: &[String]) -> Answer {
        if self.is_partition(path) {
            let data_type = self.type_of(path)?;
            let value = self.facts.column(Fact::Partition(path.join(".")), &data_type);
            return Some(Expr::IsNotNull(Box::new(value)));
        }
        if self.knowledge.statistics == Statistics::None || !self.has_null_count(path) {
            return None;
        }
        let count = self.facts.column(Fact::NullCount(path.to_vec()), &DataType::Int64);
        let rows = self.facts.column(Fact::Rows, &DataType::Int64);
        Some(count.not_eq(rows))
    }

    /// Structs have no null count of their own, but variants do.
    fn has_null_count(&self, path: &[String]) -> bool {
        self.type_of(path).is_some_and(|data_type| !matches!(data_type, DataType::Struct(_)) || may_be_variant(&data_type))
    }
}

/// What two bounded values have to fulfil for a comparison to be true in some row.
fn compare_bounds(left: &Bounds, operator: Operator, right: &Bounds) -> Answer {
    let pair = |a: Option<&Expr>, operator: Operator, b: Option<&Expr>| {
        a.zip(b).map(|(a, b)| binary_expr(a.clone(), operator, b.clone()))
    };
    let low = |bounds: &'_ Bounds| bounds.low.clone();
    let (left_low, right_low) = (low(left), low(right));
    let (left_low, right_low) = (left_low.as_ref(), right_low.as_ref());
    match operator {
        Operator::Eq => {
            // NaN equals NaN: only where both sides may be NaN do bounds have to hold for it.
            let both_nan = (left.may_be_nan() || bound_is_nan(left)) && (right.may_be_nan() || bound_is_nan(right));
            let highest = |bounds: &'_ Bounds| if both_nan { bounds.top().cloned() } else { bounds.high.clone() };
            let (left_high, right_high) = (highest(left), highest(right));
            all([pair(left_low, Operator::LtEq, right_high.as_ref()), pair(right_low, Operator::LtEq, left_high.as_ref())])
        }
        Operator::NotEq => any([pair(left_low, Operator::NotEq, right.top()), pair(left.top(), Operator::NotEq, right_low)]),
        Operator::Lt | Operator::LtEq => pair(left_low, operator, right.top()),
        Operator::Gt | Operator::GtEq => pair(left.top(), operator, right_low),
        _ => None,
    }
}

fn bound_is_nan(bounds: &Bounds) -> bool {
    matches!(&bounds.high, Some(Expr::Literal(value, _)) if is_nan(value))
}

fn is_nan(value: &ScalarValue) -> bool {
    match value {
        ScalarValue::Float32(Some(value)) => value.is_nan(),
        ScalarValue::Float64(Some(value)) => value.is_nan(),
        _ => false,
    }
}

/// The values that cannot be NaN in a row that makes a condition true, or false, as wanted.
pub(crate) fn never_nan(condition: &Expr, wanted: bool) -> Vec<Expr> {
    let number = |expr: &Expr| matches!(expr, Expr::Literal(value, _) if !is_nan(value));
    match condition {
        Expr::Not(inner) => never_nan(inner, !wanted),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match (op, wanted) {
            (Operator::And, true) | (Operator::Or, false) => {
                never_nan(left, wanted).into_iter().chain(never_nan(right, wanted)).collect()
            }
            // NaN is above all, so nothing below something is NaN.
            (Operator::Lt, true) | (Operator::GtEq, false) => vec![(**left).clone()],
            (Operator::Gt, true) | (Operator::LtEq, false) => vec![(**right).clone()],
            (Operator::LtEq, true) | (Operator::Gt, false) if number(right) => vec![(**left).clone()],
            (Operator::GtEq, true) | (Operator::Lt, false) if number(left) => vec![(**right).clone()],
            (Operator::Eq, true) | (Operator::NotEq, false) => match (number(left), number(right)) {
                (_, true) => vec![(**left).clone()],
                (true, _) => vec![(**right).clone()],
                _ => vec![],
            },
            _ => vec![],
        },
        Expr::InList(InList { expr, list, negated }) if *negated != wanted && list.iter().all(number) => vec![(**expr).clone()],
        _ => vec![],
    }
}

/// The plain beginning of a LIKE pattern, and what follows it.
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
            // What other escapes mean is left to the rows.
            ('\\', _) => return (prefix, rest),
            (c, _) => {
                prefix.push(c);
                rest = after;
            }
        }
    }
    (prefix, "")
}

/// The text with which everything begins that a regular expression matches.
fn regex_prefix(pattern: &str) -> Option<String> {
    let body = pattern.strip_prefix('^').filter(|body| !body.contains('|'))?;
    let end = body.find(|c: char| !(c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '/' | ':' | ','))).unwrap_or(body.len());
    let mut prefix = body.get(..end)?.to_string();
    // What may follow so may also be absent.
    if body.get(end..).is_some_and(|rest| rest.starts_with(['*', '?', '{'])) {
        prefix.pop();
    }
    (!prefix.is_empty()).then_some(prefix)
}

/// A value by its columns, for notes.
fn describe(value: &Expr) -> String {
    let value = below_one_form(value);
    if let Some(path) = path(value) {
        return path.join(".");
    }
    let columns: Vec<String> = columns_of(value).iter().map(|path| path.join(".")).collect();
    match (value, columns.is_empty()) {
        (Expr::ScalarFunction(call), false) => format!("{}({})", call.func.name(), columns.join(", ")),
        (_, false) => format!("an expression of {}", columns.join(", ")),
        (_, true) => "a constant".into(),
    }
}
