//! Converts incoming batches to rows of a table. Columns are found by name, put into the table's
//! order and types, and columns that the data lacks are filled.
//!
//! Begin with [`Incoming::new`], which refuses data that does not fit before any of it is read.
//! Then comes [`Incoming::rows`].

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_ord::cmp::distinct;
use arrow_schema::{DataType as ArrowType, Schema, SchemaRef};
use lakebed_core::schema::arrow::schema_from_arrow;
use lakebed_core::schema::assign::{Difference, compare};
use lakebed_core::schema::{StructField, StructType};
use lakebed_expr::Expression;

use super::check::{Check, forbids_nulls};
use super::convert::{OnLossy, fit, position};
use super::identity_column::PartNumber;
use super::null_children::without_null_children;
use super::rules::{Filling, WriteRules};
use crate::definition::data_schema;
use crate::{Error, ErrorKind, Result};

/// Converts batches of one schema to rows of a table.
#[derive(Debug)]
pub struct Incoming {
    rules: Arc<WriteRules>,
    /// For each column of the table, its index in the data.
    given: Vec<Option<usize>>,
    /// A condition of this write alone.
    condition: Option<Check>,
    /// The part of the write, which decides the numbers of identity columns.
    part: PartNumber,
    /// The schema with the types of the table. Every field is nullable.
    schema: SchemaRef,
    on_lossy: OnLossy,
}

impl Incoming {
    /// # Errors
    /// Returns an error with every difference if the data does not fit into the table.
    pub fn new(rules: Arc<WriteRules>, data: &Schema, on_lossy: OnLossy) -> Result<Self> {
        let found = schema_from_arrow(data).map_err(|error| error.within(&rules.table))?;
        let found = data_schema(&rules.schema, &found);
        refuse_doubled(&found, &rules.table)?;
        let differences = compare(&rules.schema, &found, |name| rules.is_filled(name));
        if !differences.is_empty() {
            return Err(mismatch(&rules.table, &differences));
        }
        let names: Vec<&str> = data.fields().iter().map(|field| field.name().as_str()).collect();
        let given: Vec<Option<usize>> = rules.schema.fields.iter().map(|field| position(&names, &field.name)).collect();
        refuse_given_identity(&rules, &given)?;
        let schema = rules.loose_schema()?;
        Ok(Self { rules, given, condition: None, part: PartNumber::WHOLE, schema, on_lossy })
    }

    /// Converts rows of the table in which some columns were changed. Generated columns are
    /// computed again, unless they were changed themselves.
    pub fn of_changed(rules: Arc<WriteRules>, changed: &BTreeSet<usize>) -> Result<Self> {
        let is_generated = |place: usize| {
            rules.filled.iter().any(|(filled, filling)| *filled == place && matches!(filling, Filling::Generated(_)))
        };
        let given =
            (0..rules.schema.fields.len()).map(|place| (changed.contains(&place) || !is_generated(place)).then_some(place));
        let given = given.collect();
        Self::of_given(rules, given)
    }

    /// Converts new rows with values for the columns at these indexes, in this order.
    pub fn of_places(rules: Arc<WriteRules>, places: &[usize]) -> Result<Self> {
        let given = |place: usize| places.iter().position(|given| *given == place);
        let given: Vec<Option<usize>> = (0..rules.schema.fields.len()).map(given).collect();
        refuse_given_identity(&rules, &given)?;
        Self::of_given(rules, given)
    }

    fn of_given(rules: Arc<WriteRules>, given: Vec<Option<usize>>) -> Result<Self> {
        let schema = rules.loose_schema()?;
        Ok(Self { rules, given, condition: None, part: PartNumber::WHOLE, schema, on_lossy: OnLossy::Error })
    }

    /// Adds a condition of this write alone.
    pub fn also_checking(self, condition: Option<Check>) -> Self {
        Self { condition, ..self }
    }

    /// Sets the part of the write.
    pub fn of_part(self, part: PartNumber) -> Self {
        Self { part, ..self }
    }

    /// Returns the identity columns that are numbered here, with their high water marks after this
    /// number of rows.
    pub fn identity_marks(&self, rows: u64) -> Vec<(usize, i64)> {
        let numbered = self.rules.filled.iter().filter(|(index, _)| self.given.get(*index) == Some(&None));
        let mark = |(index, filling): &(usize, Filling)| match filling {
            Filling::Identity(identity) => Some((*index, identity.mark_after(self.part, rows)?)),
            _ => None,
        };
        numbered.filter_map(mark).collect()
    }

    /// Returns the rows of a batch. The batch begins `first_row` rows after the first row of this
    /// part of the write. Every condition of the table holds for the returned rows. Values get the
    /// form in which the table stores them before conditions are checked, because later checks see
    /// only that form.
    pub fn rows(&self, batch: &RecordBatch, first_row: u64) -> Result<RecordBatch> {
        let mut columns = Vec::with_capacity(self.given.len());
        for (place, field) in self.rules.schema.fields.iter().enumerate() {
            columns.push(match self.given.get(place).copied().flatten() {
                Some(index) => self.fitted(batch.column(index), place, field)?,
                None => new_null_array(self.schema.field(place).data_type(), batch.num_rows()),
            });
        }
        let rows = self.filled(columns, batch.num_rows(), first_row)?;
        for check in self.rules.checks.iter().chain(&self.condition) {
            check.rows(&rows)?;
        }
        Ok(rows)
    }

    /// Fills the missing columns. Defaults and identity columns come first, because other columns
    /// may be computed from them.
    fn filled(&self, mut columns: Vec<ArrayRef>, rows: usize, first_row: u64) -> Result<RecordBatch> {
        let is_given = |place: usize| self.given.get(place).copied().flatten().is_some();
        for (place, filling) in &self.rules.filled {
            let field = self.field(*place)?;
            match filling {
                Filling::Default(expression) if !is_given(*place) => {
                    let batch = self.batch(columns.clone(), rows)?;
                    self.set(&mut columns, *place, self.evaluate(expression, &batch, *place, field)?);
                }
                Filling::Identity(identity) if !is_given(*place) => {
                    let numbers = identity.values(self.part, first_row, rows, self.schema.field(*place).data_type(), &field.name);
                    self.set(&mut columns, *place, numbers.map_err(|error| error.within(&self.rules.table))?);
                }
                _ => {}
            }
        }
        let plain = self.batch(columns.clone(), rows)?;
        for (place, filling) in &self.rules.filled {
            let Filling::Generated(expression) = filling else { continue };
            let field = self.field(*place)?;
            let computed = self.evaluate(expression, &plain, *place, field)?;
            if is_given(*place) {
                self.check_generated(plain.column(*place), &computed, expression, field)?;
            } else {
                self.set(&mut columns, *place, computed);
            }
        }
        self.batch(columns, rows)
    }

    fn field(&self, place: usize) -> Result<&StructField> {
        self.rules.schema.fields.get(place).ok_or_else(|| Error::internal("a filled column is missing"))
    }

    fn set(&self, columns: &mut [ArrayRef], place: usize, array: ArrayRef) {
        if let Some(slot) = columns.get_mut(place) {
            *slot = array;
        }
    }

    fn batch(&self, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }

    fn evaluate(&self, expression: &Expression, batch: &RecordBatch, place: usize, field: &StructField) -> Result<ArrayRef> {
        let column = || format!("{}: column {}", self.rules.table, field.name);
        let computed = expression.evaluate(batch).map_err(|error| error.within(column()))?;
        self.fitted(&computed, place, field)
    }

    /// Converts values to the form in which the table stores them.
    fn fitted(&self, values: &ArrayRef, place: usize, field: &StructField) -> Result<ArrayRef> {
        let fitted = fit(values, &field.data_type, self.on_lossy, &field.name);
        let fitted =
            fitted.and_then(|values| if forbids_nulls(&field.data_type) { without_null_children(values) } else { Ok(values) });
        fitted.and_then(|values| self.rules.stored_form(place, values)).map_err(|error| error.within(&self.rules.table))
    }

    /// PROTOCOL "Generated Columns": a given value must be equal to the value of the expression.
    fn check_generated(&self, given: &ArrayRef, computed: &ArrayRef, expression: &Expression, field: &StructField) -> Result<()> {
        let differs = match given.data_type() {
            ArrowType::Struct(_) | ArrowType::List(_) | ArrowType::Map(..) => {
                BooleanArray::from(vec![given.as_ref() != computed.as_ref()])
            }
            _ => distinct(given, computed)?,
        };
        if !differs.has_true() {
            return Ok(());
        }
        let message = format!(
            "{}: column {} is generated as {}, and some given values differ from the expression's; leave the column out, or give \
             the values of the expression",
            self.rules.table, field.name, expression.text
        );
        Err(Error::new(ErrorKind::ConstraintViolation, message))
    }
}

fn refuse_doubled(data: &StructType, table: &str) -> Result<()> {
    let mut seen = std::collections::HashSet::new();
    match data.fields.iter().find(|field| !seen.insert(field.name.to_lowercase())) {
        Some(field) => {
            let message = format!(
                "{table}: the data has column {} more than once (names that differ only in case are the same)",
                field.name
            );
            Err(Error::schema_mismatch(message))
        }
        None => Ok(()),
    }
}

fn refuse_given_identity(rules: &WriteRules, given: &[Option<usize>]) -> Result<()> {
    for (place, filling) in &rules.filled {
        let is_given = given.get(*place).copied().flatten().is_some();
        if let (Filling::Identity(identity), true) = (filling, is_given)
            && !identity.allows_given
        {
            let name = rules.schema.fields.get(*place).map_or("", |field| field.name.as_str());
            let message = format!(
                "{}: column {name} is an identity column that is always generated: leave it out of the data",
                rules.table
            );
            return Err(Error::invalid_input(message));
        }
    }
    Ok(())
}

/// Returns an error that lists all differences, one per line.
pub(super) fn mismatch(table: &str, differences: &[Difference]) -> Error {
    let lines: Vec<String> = differences.iter().map(|difference| format!("\n  {difference}")).collect();
    let message = format!(
        "{table}: the data does not fit into the table:{}\nschema_mode=\"merge\" adds new columns to the table, schema_mode=\"overwrite\" replaces its schema",
        lines.concat()
    );
    Error::schema_mismatch(message)
}
