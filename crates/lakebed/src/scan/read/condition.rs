//! A filter on its way through a file: the columns that it needs, and which rows match.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType as ArrowType, FieldRef, Schema};
use datafusion_physical_expr::PhysicalExpr;

use lakebed_core::schema::StructType;
use lakebed_core::schema::arrow::schema_to_arrow;

use super::columns::Columns;
use super::short::as_wanted;
use crate::expr::{Filter, matching_rows};
use crate::{Error, Result};

/// A filter with the columns that it needs, ready to run.
pub(super) struct Condition {
    columns: StructType,
    compiled: Arc<dyn PhysicalExpr>,
    /// What it was compiled for: decimals may be short.
    types: Vec<ArrowType>,
}

impl Condition {
    /// Of a filter over a table's columns.
    pub(super) fn new(filter: &Filter, schema: &StructType) -> Result<Self> {
        let columns = Columns::at_paths(schema, &filter.columns())?.into_schema();
        let (compiled, schema) = filter.physical_short(&*schema_to_arrow(&columns)?)?;
        let types = schema.fields().iter().map(|field| field.data_type().clone()).collect();
        Ok(Self { columns, compiled, types })
    }

    /// The columns that it needs, partition columns among them.
    pub(super) fn columns(&self) -> &StructType {
        &self.columns
    }

    /// Which rows match, given those columns.
    pub(super) fn matches(&self, fields: &[FieldRef], columns: &[ArrayRef], rows: usize) -> Result<BooleanBuffer> {
        let wanted = fields.iter().zip(columns).zip(&self.types);
        let wanted = wanted.map(|((field, column), wanted)| as_wanted(field, column, wanted));
        let (fields, columns): (Vec<_>, Vec<_>) = wanted.collect::<Result<Vec<_>>>()?.into_iter().unzip();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)?;
        let matching = matching_rows(self.compiled.as_ref(), &batch)?;
        if matching.len() != rows || matching.nulls().is_some() {
            return Err(Error::internal("a filter gave something else than one answer a row"));
        }
        Ok(matching.values().clone())
    }
}
