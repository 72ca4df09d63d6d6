//! Converts batches with columns that may differ in order, type and number to batches of one
//! schema.
//!
//! Columns are found by name, and values are converted to the types of the first batch by the rules
//! of a write, so nothing is lost. A batch that does not fit is an error that names the batch and
//! the column. Begin with [`SchemaUnifier::batch`].

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType as ArrowType, Field, Fields, Schema, SchemaRef};
use futures::StreamExt;
use lakebed_core::schema::arrow::schema_from_arrow;
use lakebed_core::schema::assign::{Difference, DifferenceKind, compare};
use lakebed_core::schema::{DataType, PrimitiveType, StructType};

use super::convert::{OnLossy, fit, position};
use crate::{Error, RecordBatchStream, Result};

/// Converts batches to one schema.
///
/// ```
/// # fn main() -> lakebed::Result<()> {
/// use std::sync::Arc;
/// use arrow_array::{ArrayRef, Int8Array, Int64Array, RecordBatch};
/// use lakebed::write::SchemaUnifier;
///
/// let column = |name, values: ArrayRef| (name, values);
/// let first = RecordBatch::try_from_iter([
///     column("a", Arc::new(Int64Array::from(vec![1]))),
///     column("b", Arc::new(Int64Array::from(vec![2]))),
/// ])?;
/// let second = RecordBatch::try_from_iter([
///     column("b", Arc::new(Int8Array::from(vec![4]))),
///     column("a", Arc::new(Int64Array::from(vec![3]))),
/// ])?;
/// let unifier = SchemaUnifier::new(first.schema());
/// let second = unifier.batch(2, &second)?;
/// assert_eq!(second.column(0).as_ref(), &Int64Array::from(vec![3]));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct SchemaUnifier {
    schema: SchemaRef,
    on_lossy: OnLossy,
}

impl SchemaUnifier {
    /// Converts to a schema that was known before the batches came.
    pub fn new(schema: SchemaRef) -> Self {
        Self { schema, on_lossy: OnLossy::default() }
    }

    /// Converts to the schema of the first batch. Dictionaries become plain values, because the
    /// first batch's key type may be too small for later ones.
    pub fn to_first(schema: &Schema) -> Self {
        let field = |field: &Arc<Field>| match field.data_type() {
            ArrowType::Dictionary(_, values) => Arc::new(field.as_ref().clone().with_data_type(values.as_ref().clone())),
            _ => Arc::clone(field),
        };
        let fields: Fields = schema.fields().iter().map(field).collect();
        Self::new(Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())))
    }

    /// Sets the handling of digits that a column cannot hold.
    #[must_use]
    pub fn on_lossy(self, on_lossy: OnLossy) -> Self {
        Self { on_lossy, ..self }
    }

    /// Returns the schema of every batch.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Returns the rows of a batch in the one schema. `number` is for messages.
    ///
    /// # Errors
    /// Returns an error if a column is missing or unknown, or a value does not fit its type.
    pub fn batch(&self, number: u64, batch: &RecordBatch) -> Result<RecordBatch> {
        if Arc::ptr_eq(batch.schema_ref(), &self.schema) {
            return Ok(batch.clone());
        }
        let is_same = |(given, wanted): (&Arc<Field>, &Arc<Field>)| {
            given.name() == wanted.name() && given.data_type() == wanted.data_type()
        };
        let (given, wanted) = (batch.schema_ref().fields(), self.schema.fields());
        let columns = match given.len() == wanted.len() && given.iter().zip(wanted).all(is_same) {
            true => batch.columns().to_vec(),
            false => self.matched(batch).map_err(|error| error.within(format!("batch {number} of the data")))?,
        };
        self.refuse_nulls(number, &columns)?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(self.schema(), columns, &options)?)
    }

    /// Returns the columns in the order and the types of the schema.
    fn matched(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let types = schema_from_arrow(&self.schema)?;
        refuse_differences(&types, &schema_from_arrow(batch.schema_ref())?)?;
        let names: Vec<&str> = batch.schema_ref().fields().iter().map(|field| field.name().as_str()).collect();
        let column = |(field, data_type): (&Arc<Field>, &DataType)| {
            let index = position(&names, field.name()).ok_or_else(|| doubled(field.name()))?;
            converted(batch.column(index), field, data_type, self.on_lossy)
        };
        let mut seen = HashSet::new();
        if let Some(twice) = names.iter().find(|name| !seen.insert(name.to_lowercase())) {
            return Err(doubled(twice));
        }
        self.schema.fields().iter().zip(types.fields.iter().map(|field| &field.data_type)).map(column).collect()
    }

    fn refuse_nulls(&self, number: u64, columns: &[ArrayRef]) -> Result<()> {
        let has_nulls = |(field, column): &(&Arc<Field>, &ArrayRef)| !field.is_nullable() && column.logical_null_count() > 0;
        match self.schema.fields().iter().zip(columns).find(has_nulls) {
            None => Ok(()),
            Some((field, _)) => Err(Error::schema_mismatch(format!(
                "batch {number} of the data: column {} has nulls, which the schema of the data does not allow",
                field.name()
            ))),
        }
    }
}

/// Returns the stream with every batch converted to its schema.
pub(crate) fn unify_schema(data: RecordBatchStream, on_lossy: OnLossy) -> RecordBatchStream {
    let unifier = SchemaUnifier::new(data.schema()).on_lossy(on_lossy);
    let schema = unifier.schema();
    let batches = data.enumerate().map(move |(index, batch)| unifier.batch(index as u64 + 1, &batch?));
    RecordBatchStream::new(schema, batches)
}

fn doubled(column: &str) -> Error {
    Error::schema_mismatch(format!("column {column} appears more than once (names that differ only in case are the same)"))
}

/// Refuses a batch that lacks a column, has an additional one, or has another type. The message has
/// a line for each difference.
fn refuse_differences(types: &StructType, given: &StructType) -> Result<()> {
    let mut required = types.clone();
    required.fields.iter_mut().for_each(|field| field.nullable = false);
    let differences = compare(&required, given, |_| false);
    if differences.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = differences.iter().map(|difference| format!("\n  {}", told(difference))).collect();
    Err(Error::schema_mismatch(format!(
        "it does not match the first batch:{}\nAll batches must have the same columns with the same types (use nulls for missing \
         values); nothing was written",
        lines.concat()
    )))
}

fn told(Difference { column, kind }: &Difference) -> String {
    match kind {
        DifferenceKind::NotInTable(data) => format!("+ {column}: {} is in this batch, but not in the first", data),
        DifferenceKind::NotInData(first) => format!("- {column}: {} is in the first batch, but not in this one", first),
        DifferenceKind::Type { table, data } => {
            let hint = if *table == PrimitiveType::Void.into() {
                " (the column has only nulls in the first batch, and nulls have no type: set the type of the column)"
            } else if *data == PrimitiveType::Double.into() {
                " (pandas turns whole numbers into floats if values are missing: give the column the dtype \"Int64\" or \
                 \"float64\" in every batch)"
            } else {
                ""
            };
            format!("~ {column}: {} in the first batch, {} in this one{hint}", table, data)
        }
    }
}

/// Converts all values to another Arrow type, or returns an error. If lossy values are allowed,
/// digits that the column cannot hold are dropped. Digits that only the first batch's type cannot
/// hold are never dropped.
fn converted(array: &ArrayRef, field: &Field, data_type: &DataType, on_lossy: OnLossy) -> Result<ArrayRef> {
    let wanted = field.data_type();
    if array.data_type() == wanted {
        return Ok(Arc::clone(array));
    }
    let fitted = fit(array, data_type, on_lossy, field.name())?;
    if fitted.data_type() == wanted {
        return Ok(fitted);
    }
    let not_held = || {
        let message =
            format!("column {}: a value does not fit the column's type in the first batch, {}", field.name(), data_type);
        Error::schema_mismatch(message)
    };
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let converted = cast_with_options(&fitted, wanted, &options).map_err(|error| not_held().with_source(error))?;
    let back = cast_with_options(&converted, fitted.data_type(), &options).map_err(|error| not_held().with_source(error))?;
    if back.as_ref() != fitted.as_ref() { Err(not_held()) } else { Ok(converted) }
}
