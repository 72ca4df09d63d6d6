//! Row groups and pages of a Parquet file, skipped by its own statistics in the way files are by those of the log.
//!
//! Read [`ContainerPruner`] first.

use arrow_array::{ArrayRef, BooleanArray};
use datafusion::arrow::compute::kernels::boolean::and;
use lakebed_core::Result;

use super::Condition;
use super::facts::Fact;
use super::proof::{Knowledge, Prover, Statistics, never_nan};
use crate::expr::{Filter, columns_of};

/// What a file says about its row groups, or about the pages of a column: one value for each of them.
///
/// Paths are logical: a top-level column, then fields. The arrays are of the columns' types in the table, or of types that a cast
/// brings there. `None` means not known, and so does a null.
pub trait ContainerStatistics {
    /// How many row groups or pages there are.
    fn containers(&self) -> usize;
    /// Lower bounds of a column; they may be cut prefixes of text.
    fn minimum(&self, path: &[String]) -> Option<ArrayRef>;
    /// Upper bounds of a column; NaN may stand above them.
    fn maximum(&self, path: &[String]) -> Option<ArrayRef>;
    /// How many values of a column are null.
    fn null_count(&self, path: &[String]) -> Option<ArrayRef>;
    /// How many rows there are.
    fn row_count(&self) -> Option<ArrayRef>;
    /// The value of a partition column, the same for all; null means null.
    fn partition_value(&self, column: &str) -> Option<ArrayRef>;
}

/// Decides which row groups or pages of any data file of a table a filter needs.
#[derive(Debug)]
pub struct ContainerPruner {
    conjuncts: Vec<PreparedConjunct>,
}

#[derive(Debug)]
struct PreparedConjunct {
    columns: Vec<Vec<String>>,
    condition: Option<Condition>,
}

impl ContainerPruner {
    /// A pruner for data files of a table with these partition columns.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`](lakebed_core::ErrorKind::Internal) if a condition cannot be compiled.
    pub fn new(filter: &Filter, partition_columns: &[String]) -> Result<ContainerPruner> {
        let partitions = super::as_spelled(filter.schema(), partition_columns);
        let never_nan = never_nan(filter.expr(), true);
        let mut conjuncts = Vec::with_capacity(filter.conjuncts().len());
        for conjunct in filter.conjuncts() {
            let knowledge =
                Knowledge { schema: filter.schema(), partitions: &partitions, generated: &[], statistics: Statistics::Parquet };
            let mut prover = Prover::new(knowledge, never_nan.clone());
            let found = prover.may_be_true(&conjunct.expr);
            let (facts, _) = prover.finish();
            let condition = Condition::compile(found, facts, &conjunct.text)?;
            conjuncts.push(PreparedConjunct { columns: columns_of(&conjunct.expr), condition });
        }
        Ok(ContainerPruner { conjuncts })
    }

    /// The columns of each conjunct of the filter; empty for one that can skip nothing.
    pub fn conjunct_columns(&self) -> impl Iterator<Item = &[Vec<String>]> {
        self.conjuncts.iter().map(|conjunct| if conjunct.condition.is_some() { conjunct.columns.as_slice() } else { &[] })
    }

    /// For each row group whether it may hold rows that match the filter.
    ///
    /// # Errors
    /// If the arrays are not as long as there are row groups.
    pub fn prune(&self, known: &dyn ContainerStatistics) -> Result<BooleanArray> {
        let mut keep = BooleanArray::from(vec![true; known.containers()]);
        for conjunct in 0..self.conjuncts.len() {
            keep = and(&keep, &self.prune_by(conjunct, known)?)?;
        }
        Ok(keep)
    }

    /// For each page or row group whether it may hold rows that match one conjunct.
    ///
    /// # Errors
    /// If the arrays are not as long as there are pages.
    pub fn prune_by(&self, conjunct: usize, known: &dyn ContainerStatistics) -> Result<BooleanArray> {
        let containers = known.containers();
        let all = || BooleanArray::from(vec![true; containers]);
        let Some(condition) = self.conjuncts.get(conjunct).and_then(|conjunct| conjunct.condition.as_ref()) else {
            return Ok(all());
        };
        // A null stands for the value null here, so a value that is not known decides nothing.
        let missing = |fact: &Fact| matches!(fact, Fact::Partition(name) if known.partition_value(name).is_none());
        if condition.facts.asked().any(missing) {
            return Ok(all());
        }
        condition.run(containers, |fact| match fact {
            Fact::Partition(name) => known.partition_value(name),
            Fact::Minimum(path) => known.minimum(path),
            Fact::Maximum(path) => known.maximum(path),
            Fact::NullCount(path) => known.null_count(path),
            Fact::Rows => known.row_count(),
            Fact::GeneratedLow(_) | Fact::GeneratedHigh(_) => None,
        })
    }
}
