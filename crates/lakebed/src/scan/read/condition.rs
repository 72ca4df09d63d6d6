//! A filter on its way through a file: the columns that it needs, and which rows match.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{FieldRef, Schema};
use datafusion::physical_expr::PhysicalExpr;

use lakebed_core::schema::StructType;
use lakebed_core::schema::arrow::schema_to_arrow;

use super::columns::Columns;
use crate::expr::{Filter, matching_rows};
use crate::{Error, Result};

/// A filter with the columns that it needs, ready to run.
pub(super) struct Condition {
    columns: StructType,
    compiled: Arc<dyn PhysicalExpr>,
}

impl Condition {
    /// Of a filter over a table's columns.
    pub(super) fn new(filter: &Filter, schema: &StructType) -> Result<Self> {
        let columns = Columns::at_paths(schema, &filter.columns())?.into_schema();
        let compiled = filter.physical(&*schema_to_arrow(&columns)?)?;
        Ok(Self { columns, compiled })
    }

    /// The columns that it needs, partition columns among them.
    pub(super) fn columns(&self) -> &StructType {
        &self.columns
    }

    /// Which rows match, given those columns.
    pub(super) fn matches(&self, fields: Vec<FieldRef>, columns: Vec<ArrayRef>, rows: usize) -> Result<BooleanBuffer> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)?;
        let matching = matching_rows(self.compiled.as_ref(), &batch)?;
        if matching.len() != rows || matching.nulls().is_some() {
            return Err(Error::internal("a filter gave something else than one answer a row"));
        }
        Ok(matching.values().clone())
    }
}
