//! Conditions that every row of a table must meet: columns that may not be null, strings that may
//! not be too long, CHECK constraints and invariants.
//!
//! A condition must be true; null is not enough. Begin with [`Check::rows`].

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::Schema;
use datafusion_physical_expr::PhysicalExpr;
use lakebed_core::property::TableProperties;
use lakebed_core::schema::char_varchar::{CHAR_VARCHAR, Limit, limits};
use lakebed_core::schema::{DataType, StructType};
use lakebed_expr::{Filter, Options, matching_rows, parse_filter};

use crate::definition::columns::invariant;
use crate::{Error, ErrorKind, Result};

/// A condition on rows.
#[derive(Debug)]
pub struct Check {
    table: String,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// A column that may not be null, given by its index. Values nested in it are checked too.
    NotNull { index: usize, name: String, data_type: DataType, itself: bool },
    /// A column with strings that may not be longer than a number of characters.
    Length { index: usize, name: String, limits: Limit },
    /// An SQL condition, with a description for messages.
    Condition { what: String, filter: Box<Filter>, compiled: Arc<dyn PhysicalExpr> },
}

impl Check {
    /// Returns all conditions of a table.
    pub(super) fn of_table(
        table: &str,
        schema: &StructType,
        properties: &TableProperties,
        expressions: &Schema,
        options: &Options,
    ) -> Result<Vec<Self>> {
        let mut checks = Vec::new();
        let mut push = |kind| checks.push(Self { table: table.to_owned(), kind });
        for (index, field) in schema.fields.iter().enumerate() {
            let name = field.name.clone();
            if !field.nullable || forbids_nulls(&field.data_type) {
                push(Kind::NotNull { index, name: name.clone(), data_type: field.data_type.clone(), itself: !field.nullable });
            }
            let words = field.metadata.get(CHAR_VARCHAR).and_then(|words| words.as_str());
            if let Some(limits) = words.and_then(|words| limits(&field.data_type, words)) {
                push(Kind::Length { index, name, limits });
            }
        }
        for field in &schema.fields {
            if let Some(condition) = invariant(field)? {
                push(condition_of(format!("the invariant of column {}", field.name), &condition, expressions, options)?);
            }
        }
        for (name, condition) in &properties.constraints {
            push(condition_of(format!("CHECK constraint {name}"), condition, expressions, options)?);
        }
        Ok(checks)
    }

    /// Returns a condition that all rows of one write must meet, whether they are new to the table
    /// or not.
    pub(crate) fn of_filter(table: &str, what: String, filter: Filter, schema: &Schema) -> Result<Self> {
        let compiled = filter.physical(schema)?;
        Ok(Self { table: table.to_owned(), kind: Kind::Condition { what, filter: Box::new(filter), compiled } })
    }

    /// Refuses rows that do not meet the condition.
    pub fn rows(&self, batch: &RecordBatch) -> Result<()> {
        match self.violation(batch)? {
            None => Ok(()),
            Some(what) => Err(Error::new(ErrorKind::ConstraintViolation, format!("{}: {what}; nothing was written", self.table))),
        }
    }

    /// Returns the column that the condition is about, if it is about one alone.
    pub(crate) fn column(&self) -> Option<&str> {
        match &self.kind {
            Kind::NotNull { name, .. } | Kind::Length { name, .. } => Some(name),
            Kind::Condition { .. } => None,
        }
    }

    /// Returns how the rows violate the condition, if they do.
    pub(crate) fn violation(&self, batch: &RecordBatch) -> Result<Option<String>> {
        match &self.kind {
            Kind::NotNull { index, name, data_type, itself } => not_null(batch.column(*index), name, data_type, !itself),
            Kind::Length { index, name, limits } => Ok(too_long(batch.column(*index), limits).map(|(text, most)| {
                let length = text.chars().count();
                let start: String = text.chars().take(40).collect();
                format!("column {name} allows at most {most} characters, but {start:?} has {length}")
            })),
            Kind::Condition { what, filter, compiled } => {
                let meets = matching_rows(filter.text(), compiled.as_ref(), batch)?;
                match first_false(&meets) {
                    None => Ok(None),
                    Some(row) => {
                        let values = values(batch, row, filter)?;
                        Ok(Some(format!("{what} ({}) is not met by a row with {values}", filter.text())))
                    }
                }
            }
        }
    }
}

/// Returns where a value is null that must not be.
fn not_null(array: &ArrayRef, name: &str, data_type: &DataType, may_be_null: bool) -> Result<Option<String>> {
    let nulls = |name: &str, count: usize| format!("column {name} must not be null, but {count} of its rows are");
    if !may_be_null && array.logical_null_count() > 0 {
        return Ok(Some(nulls(name, array.logical_null_count())));
    }
    match data_type {
        DataType::Primitive(_) => Ok(None),
        DataType::Struct(fields) => {
            let parts = array.as_struct();
            for (field, part) in fields.fields.iter().zip(parts.columns()) {
                let place = format!("{name}.{}", field.name);
                // Values below a null do not count, whatever they are in memory.
                let shown = arrow_select::nullif::nullif(part, &is_null(parts))?;
                let own_nulls = shown.logical_null_count().saturating_sub(parts.null_count());
                if !field.nullable && own_nulls > 0 {
                    return Ok(Some(nulls(&place, own_nulls)));
                }
                if let Some(what) = not_null(part, &place, &field.data_type, true)? {
                    return Ok(Some(what));
                }
            }
            Ok(None)
        }
        DataType::Array(of) => {
            not_null(array.as_list::<i32>().values(), &format!("{name}.element"), &of.element, of.contains_null)
        }
        DataType::Map(of) => {
            let map = array.as_map();
            match not_null(map.keys(), &format!("{name}.key"), &of.key, false)? {
                Some(what) => Ok(Some(what)),
                None => not_null(map.values(), &format!("{name}.value"), &of.value, of.value_contains_null),
            }
        }
    }
}

fn condition_of(what: String, text: &str, expressions: &Schema, options: &Options) -> Result<Kind> {
    let filter = parse_filter(text, expressions, options).map_err(|error| error.within(&what))?;
    let compiled = filter.physical(filter.schema())?;
    Ok(Kind::Condition { what, filter: Box::new(filter), compiled })
}

/// Returns whether a value nested in this type may not be null.
pub(super) fn forbids_nulls(data_type: &DataType) -> bool {
    match data_type {
        DataType::Primitive(_) => false,
        DataType::Struct(fields) => fields.fields.iter().any(|field| !field.nullable || forbids_nulls(&field.data_type)),
        DataType::Array(array) => !array.contains_null || forbids_nulls(&array.element),
        // Keys of maps are never null.
        DataType::Map(_) => true,
    }
}

fn is_null(array: &dyn Array) -> BooleanArray {
    match array.nulls() {
        Some(nulls) => BooleanArray::new(!nulls.inner(), None),
        None => BooleanArray::from(vec![false; array.len()]),
    }
}

fn first_false(found: &BooleanArray) -> Option<usize> {
    if found.true_count() == found.len() {
        return None;
    }
    (0..found.len()).find(|row| !found.value(*row) || found.is_null(*row))
}

/// Returns the first string that is too long, and its maximum length.
fn too_long<'a>(array: &'a ArrayRef, limits: &Limit) -> Option<(&'a str, u32)> {
    match limits {
        Limit::Characters(most) => {
            let is_long =
                |text: &&str| text.len() > *most as usize && text.trim_end_matches(' ').chars().count() > *most as usize;
            array.as_string::<i32>().iter().flatten().find(is_long).map(|text| (text, *most))
        }
        Limit::Fields(fields) => {
            let parts = array.as_struct();
            fields.iter().find_map(|(place, limits)| too_long(parts.columns().get(*place)?, limits))
        }
        Limit::Element(limits) => too_long(array.as_list::<i32>().values(), limits),
        Limit::Entries(key, value) => {
            let map = array.as_map();
            let of_keys = key.as_ref().and_then(|limits| too_long(map.keys(), limits));
            of_keys.or_else(|| too_long(map.values(), value.as_ref()?))
        }
    }
}

/// Returns the values of a row in the columns of a condition, for messages.
fn values(batch: &RecordBatch, row: usize, filter: &Filter) -> Result<String> {
    let mut names: Vec<String> = filter.columns().into_iter().filter_map(|path| path.into_iter().next()).collect();
    names.dedup();
    let mut words = Vec::new();
    for name in names {
        let Some(array) = batch.column_by_name(&name) else { continue };
        let format = ArrayFormatter::try_new(array.as_ref(), &FormatOptions::new().with_null("NULL"))?;
        let text: String = format.value(row).to_string().chars().take(100).collect();
        words.push(format!("{name} = {text}"));
    }
    Ok(words.join(", "))
}
