//! May a value be null in some row, or not null? Read [`Prover::may_be_null`] first.

use arrow_schema::DataType;
use datafusion_expr::expr::InList;
use datafusion_expr::{BinaryExpr, Expr, Operator, lit};

use super::facts::Fact;
use super::prover::{Answer, Prover, StatisticsSource, all, any, never};
use crate::evaluate::kernel::Kernel;
use crate::evaluate::nested::column_path;
use crate::evaluate::properties::null_args;
use crate::types::may_be_variant;

impl Prover<'_> {
    /// May a value or condition be null in some row?
    pub(super) fn may_be_null(&mut self, value: &Expr) -> Answer {
        if let Some(path) = column_path(value) {
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
        if self.sources.statistics != StatisticsSource::None && (path.len() == 1 || self.has_null_count(path)) {
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

    /// May a value be other than null in some row? Only columns in which every value is null
    /// exclude it.
    pub(super) fn not_all_null(&mut self, value: &Expr) -> Answer {
        if let Some(path) = column_path(value) {
            return self.column_not_all_null(&path);
        }
        match value {
            Expr::Literal(literal, _) if literal.is_null() => never(),
            Expr::Cast(cast) => self.not_all_null(&cast.expr),
            Expr::Not(inner) => self.not_all_null(inner),
            // One side that is true or false may decide AND and OR.
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
        if self.sources.statistics == StatisticsSource::None || !self.has_null_count(path) {
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
