//! The facts that may be known about a file or row group, as columns of a batch with one row for
//! each.
//!
//! `proof` requests facts while it builds a condition on them. The code that prunes provides them
//! later. A null means that the fact is not known. Read [`Fact`] first.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{DataType, Field, Schema};
use datafusion_common::Column;
use datafusion_expr::Expr;
use lakebed_core::{Error, Result};

/// A fact that may be known; paths are logical.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Fact {
    /// The value of a partition column. All rows have this value, and null means null.
    Partition(String),
    /// The least value that the generated partition column of this number allows its base column.
    GeneratedLow(usize),
    /// The greatest value that the generated partition column of this number allows its base
    /// column.
    GeneratedHigh(usize),
    /// A lower bound of the values of a column that are not null.
    Minimum(Vec<String>),
    /// An upper bound of the values of a column that are neither null nor NaN.
    Maximum(Vec<String>),
    /// The number of a column's values that are null.
    NullCount(Vec<String>),
    /// Whether the upper bound of a column holds for NaN, too.
    BoundsNan(Vec<String>),
    /// Whether the count of nulls of a field includes those of null structs around it.
    CountsNullStructs(Vec<String>),
    /// The number of rows, including deleted ones.
    Rows,
}

/// The facts that conditions request, in the order of their columns.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts {
    asked: Vec<(Fact, DataType)>,
}

impl Facts {
    /// Returns the column that holds a fact.
    pub(crate) fn column(&mut self, fact: Fact, data_type: &DataType) -> Expr {
        let index = self.asked.iter().position(|(asked, _)| *asked == fact).unwrap_or_else(|| {
            self.asked.push((fact, data_type.clone()));
            self.asked.len() - 1
        });
        Expr::Column(Column::new_unqualified(index.to_string()))
    }

    /// Returns the requested facts.
    pub(crate) fn asked(&self) -> impl Iterator<Item = &Fact> {
        self.asked.iter().map(|(fact, _)| fact)
    }

    /// Returns the schema of the batches that hold the facts.
    pub(crate) fn schema(&self) -> Schema {
        let fields = self.asked.iter().enumerate();
        Schema::new(
            fields.map(|(index, (_, data_type))| Field::new(index.to_string(), data_type.clone(), true)).collect::<Vec<_>>(),
        )
    }

    /// Returns a batch of facts. A fact that the provider does not know is null.
    pub(crate) fn batch(&self, rows: usize, mut provide: impl FnMut(&Fact) -> Option<ArrayRef>) -> Result<RecordBatch> {
        let mut arrays = Vec::with_capacity(self.asked.len());
        for (fact, data_type) in &self.asked {
            let array = match provide(fact) {
                Some(array) if array.len() != rows => {
                    return Err(Error::internal(format!("{} values of {fact:?} for {rows} files", array.len())));
                }
                Some(array) if array.data_type() == data_type => array,
                // Statistics with another type are cast. A value that cannot be cast is not known.
                Some(array) => arrow_cast::cast(&array, data_type).unwrap_or_else(|_| new_null_array(data_type, rows)),
                None => new_null_array(data_type, rows),
            };
            arrays.push(array);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::new(self.schema()), arrays, &options)?)
    }
}
