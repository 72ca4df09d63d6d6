//! A predicate in the form in which rows of a file are tested: the columns that it needs, and which
//! rows match.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType as ArrowType, Field, FieldRef, Fields, Schema};
use datafusion_physical_expr::PhysicalExpr;

use lakebed_core::schema::StructType;
use lakebed_core::schema::arrow::schema_to_arrow;
use lakebed_expr::{Filter, METADATA_COLUMN, matching_rows, metadata_field};

use super::column_selection::ColumnSelection;
use super::decoded_type::as_wanted;
use super::options::RowTest;
use crate::scan::row_column::RowColumnKind;
use crate::scan::row_filter::row_columns_of;
use crate::{Error, Result};

/// A predicate and another test, with the columns that they need. Both are ready to run.
pub(super) struct Condition {
    columns: StructType,
    /// The `_metadata` columns that the predicate needs.
    of_rows: Vec<RowColumnKind>,
    filter: Option<CompiledFilter>,
    test: Option<Arc<dyn RowTest>>,
    /// The positions and types of the columns that the test uses.
    tested: Vec<(usize, ArrowType)>,
}

struct CompiledFilter {
    /// The text of the predicate, for messages.
    text: String,
    run: Arc<dyn PhysicalExpr>,
    /// The positions of the columns, with the types for which the predicate was compiled. Decimals
    /// may be short.
    columns: Vec<(usize, ArrowType)>,
}

impl Condition {
    /// Compiles a condition over the columns of a table; None if there is nothing to test.
    pub(super) fn new(filter: Option<&Filter>, test: Option<Arc<dyn RowTest>>, schema: &StructType) -> Result<Option<Self>> {
        let of_filter = filter.map(Filter::columns).unwrap_or_default();
        let of_test = test.as_ref().map(|test| test.columns()).unwrap_or_default();
        let all: Vec<Vec<String>> = of_filter.iter().chain(&of_test).cloned().collect();
        let (of_rows, of_table): (Vec<_>, Vec<_>) = all.into_iter().partition(|path| metadata_field(schema, path).is_some());
        let columns = ColumnSelection::at_paths(schema, &of_table)?.into_schema();
        let mut own = schema_to_arrow(&columns)?.as_ref().clone();
        let of_rows = match filter.filter(|_| !of_rows.is_empty()) {
            Some(filter) => row_columns_of(filter, schema)?,
            None => Vec::new(),
        };
        if !of_rows.is_empty() {
            own = Schema::new(own.fields().iter().cloned().chain([column_of_rows(&of_rows)]).collect::<Vec<_>>());
        }
        if filter.is_none() && test.is_none() {
            return Ok(None);
        }
        let places = |paths: &[Vec<String>]| {
            let is_named = |name: &str| paths.iter().any(|path| path.first().is_some_and(|first| first == name));
            let fields = own.fields().iter().enumerate().filter(|(_, field)| is_named(field.name()));
            fields.map(|(place, field)| (place, field.data_type().clone())).collect::<Vec<_>>()
        };
        let tested = places(&of_test);
        let filter = match filter {
            Some(filter) => {
                let places = places(&of_filter).into_iter().map(|(place, _)| place).collect::<Vec<_>>();
                let (run, schema) = filter.physical_short(&own.project(&places)?)?;
                let types = schema.fields().iter().map(|field| field.data_type().clone());
                Some(CompiledFilter { text: filter.text().to_owned(), run, columns: places.into_iter().zip(types).collect() })
            }
            None => None,
        };
        Ok(Some(Self { columns, of_rows, filter, test, tested }))
    }

    /// Returns the columns that the condition needs, including partition columns.
    pub(super) fn columns(&self) -> &StructType {
        &self.columns
    }

    /// Returns the `_metadata` columns that the condition needs, in the order of the fields of
    /// [`column_of_rows`].
    pub(super) fn of_rows(&self) -> &[RowColumnKind] {
        &self.of_rows
    }

    /// Returns which rows match. `columns` are the columns of the condition, and behind them the
    /// one with its `_metadata` columns.
    pub(super) fn matches(&self, fields: &[FieldRef], columns: &[ArrayRef], rows: usize) -> Result<BooleanBuffer> {
        let by_filter = match &self.filter {
            Some(filter) => Some(filter.matches(&chosen(&filter.columns, fields, columns, rows)?)?),
            None => None,
        };
        let Some(test) = &self.test else {
            return by_filter.ok_or_else(|| Error::internal("a condition has neither a filter nor a test"));
        };
        let by_test = test.test(&chosen(&self.tested, fields, columns, rows)?)?;
        if by_test.len() != rows {
            return Err(Error::internal("a test did not return one result for each row"));
        }
        Ok(match by_filter {
            Some(by_filter) => &by_filter & &by_test,
            None => by_test,
        })
    }
}

/// Returns a struct column with the `_metadata` columns of a condition as its fields.
pub(super) fn column_of_rows(kinds: &[RowColumnKind]) -> FieldRef {
    let fields: Fields = kinds.iter().map(|kind| Field::new(kind.name(), kind.arrow_type(), true)).collect();
    Arc::new(Field::new(METADATA_COLUMN, ArrowType::Struct(fields), true))
}

impl CompiledFilter {
    fn matches(&self, batch: &RecordBatch) -> Result<BooleanBuffer> {
        let matching = matching_rows(&self.text, self.run.as_ref(), batch)?;
        if matching.len() != batch.num_rows() || matching.nulls().is_some() {
            return Err(Error::internal("a filter did not return one result for each row"));
        }
        Ok(matching.values().clone())
    }
}

/// Returns some of the columns, in the requested types.
fn chosen(wanted: &[(usize, ArrowType)], fields: &[FieldRef], columns: &[ArrayRef], rows: usize) -> Result<RecordBatch> {
    let missing = || Error::internal("a column of the predicate was not read");
    let column = |(place, wanted): &(usize, ArrowType)| {
        let (field, column) = fields.get(*place).zip(columns.get(*place)).ok_or_else(missing)?;
        as_wanted(field, column, wanted)
    };
    let (fields, columns): (Vec<_>, Vec<_>) = wanted.iter().map(column).collect::<Result<Vec<_>>>()?.into_iter().unzip();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)?)
}
