//! Handles files in which every column of a condition holds one value. The condition, of any form,
//! is computed with these values.
//!
//! Read [`Prover::may_match`] first.

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::{Expr, Operator, lit};

use super::facts::Fact;
use super::prover::{Answer, Prover, StatisticsSource, all};
use crate::evaluate::tree::{case_when, columns_of, join_conditions, replace_columns};

impl Prover<'_> {
    /// May some row make the whole condition true? If the answer is not exact, the condition is
    /// computed in files of one value.
    pub(crate) fn may_match(&mut self, condition: &Expr) -> Answer {
        let understood = self.may_be_true(condition);
        let with_statistics = self.sources.statistics != StatisticsSource::None;
        let computed = if self.is_inexact() && with_statistics { self.unless_constant(condition) } else { None };
        all([understood, computed])
    }

    /// Returns a condition that is false where every column holds one value and these values do not
    /// make the filter's condition true.
    fn unless_constant(&mut self, condition: &Expr) -> Answer {
        let columns = columns_of(condition);
        if !columns.iter().all(|path| self.may_hold_one_value(path)) {
            return None;
        }
        let (mut constant, mut values) = (Vec::new(), Vec::new());
        for name in columns.into_iter().flatten() {
            let (is_constant, value) = self.only_value(&name)?;
            constant.extend(is_constant);
            values.push((name, value));
        }
        let value_of = |name: &str| values.iter().find(|(column, _)| column == name).map(|(_, value)| value.clone());
        let computed = Expr::IsTrue(Box::new(replace_columns(condition, value_of)));
        let varies = Expr::Not(Box::new(join_conditions(Operator::And, constant)));
        // In this order nothing is computed, and nothing fails, where values differ.
        Some(varies.or(computed))
    }

    /// Returns whether statistics can prove that a column holds one value. Equal bounds of floats
    /// may contain zeros of two signs and NaN, and null counts of fields are not reliable.
    fn may_hold_one_value(&self, path: &[String]) -> bool {
        let Some(data_type) = self.type_of(path).filter(|_| path.len() == 1) else { return false };
        let is_float = matches!(data_type, DataType::Float32 | DataType::Float64);
        self.is_partition(path) || (self.sources.statistics.hold_bounds_of(&data_type) && !is_float)
    }

    /// Returns the condition under which a column holds the same value in all rows of a file, and
    /// that value. Without a condition, the column always does. Equal bounds allow one value
    /// besides null.
    fn only_value(&mut self, name: &str) -> Option<(Option<Expr>, Expr)> {
        let path = vec![name.to_owned()];
        let data_type = self.type_of(&path)?;
        if self.is_partition(&path) {
            return Some((None, self.facts.column(Fact::Partition(name.to_owned()), &data_type)));
        }
        let nulls = self.facts.column(Fact::NullCount(path.clone()), &DataType::Int64);
        let rows = self.facts.column(Fact::Rows, &DataType::Int64);
        let low = self.facts.column(Fact::Minimum(path.clone()), &data_type);
        let high = self.facts.column(Fact::Maximum(path), &data_type);
        let null = lit(ScalarValue::try_from(&data_type).ok()?);
        let all_null = nulls.clone().eq(rows);
        let one_value = nulls.eq(lit(0i64)).and(low.clone().eq(high));
        let value = case_when([(all_null.clone(), null)], Some(low));
        Some((Some(one_value.or(all_null)), value))
    }
}
