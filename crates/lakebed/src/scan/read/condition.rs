//! A filter on its way through a file: the columns that it needs, and which rows match.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{FieldRef, Schema};

use lakebed_core::schema::StructType;
use lakebed_core::schema::arrow::schema_to_arrow;

use crate::expr::{Filter, parse_filter};
use crate::{Error, Result};

/// A filter with the columns that it needs.
pub(super) struct Condition {
    filter: Filter,
    columns: StructType,
}

impl Condition {
    /// Understands a filter over a table's columns.
    pub(super) fn parse(text: &str, schema: &StructType, now_ms: i64) -> Result<Self> {
        let filter = parse_filter(text, &schema_to_arrow(schema)?, now_ms)?;
        let column = |name: &String| schema.field(name).cloned().ok_or_else(|| Error::predicate(format!("there is no column {name}")));
        let columns = filter.columns().iter().map(column).collect::<Result<_>>()?;
        Ok(Self { filter, columns: StructType { fields: columns } })
    }

    pub(super) fn filter(&self) -> &Filter {
        &self.filter
    }

    /// The columns that it needs, partition columns among them.
    pub(super) fn columns(&self) -> &StructType {
        &self.columns
    }

    /// Which rows match, given those columns.
    pub(super) fn matches(&self, fields: Vec<FieldRef>, columns: Vec<ArrayRef>, rows: usize) -> Result<BooleanBuffer> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)?;
        let matching = self.filter.matches(&batch)?;
        if matching.len() != rows || matching.nulls().is_some() {
            return Err(Error::internal("a filter gave something else than one answer a row"));
        }
        Ok(matching.values().clone())
    }
}
