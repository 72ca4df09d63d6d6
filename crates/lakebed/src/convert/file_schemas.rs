//! One schema for files that may differ in columns and in the width of types.

use lakebed_core::schema::arrow::schema_from_arrow;
use lakebed_core::schema::evolve::{MergeOptions, merge};
use lakebed_core::schema::widen::TYPE_CHANGES;
use lakebed_core::schema::{DataType, StructField, StructType};
use lakebed_io::parquet::ParquetFile;
use serde_json::Value;

use crate::{Error, Result};

/// The property that allows files with narrower types than the table's.
pub(super) const TYPE_WIDENING: &str = "delta.enableTypeWidening";

const WIDEN: MergeOptions = MergeOptions { widen: true };

/// The schemas of the files so far, each with the first file that has it.
#[derive(Debug, Default)]
pub(super) struct FileSchemas {
    distinct: Vec<(StructType, String)>,
}

/// The schema of all files.
#[derive(Debug)]
pub(super) struct MergedSchema {
    pub(super) columns: StructType,
    /// Whether some files have narrower types. The table must have type widening then.
    pub(super) is_widened: bool,
}

impl FileSchemas {
    /// Adds the schema of a file. Columns that are partition columns are left out, because their
    /// values come from the folders.
    pub(super) fn add(&mut self, name: &str, file: &ParquetFile, partition_columns: &StructType) -> Result<()> {
        let mut schema = schema_from_arrow(file.arrow_schema()?.as_ref()).map_err(|error| error.of_caller().within(name))?;
        schema.fields.retain(|field| partition_columns.field(&field.name).is_none());
        schema.fields.iter_mut().for_each(without_metadata);
        if !self.distinct.iter().any(|(known, _)| *known == schema) {
            self.distinct.push((schema, name.to_owned()));
        }
        Ok(())
    }

    /// Returns the schema with the columns of all files, in the order in which they appear, and
    /// with the widest types.
    pub(super) fn merged(&self) -> Result<MergedSchema> {
        let mut columns = StructType::default();
        for (schema, _) in &self.distinct {
            columns = merge(&columns, schema, WIDEN);
        }
        columns.fields.iter_mut().for_each(without_metadata);
        for (schema, file) in &self.distinct {
            self.check_fits(&columns, schema, file)?;
        }
        let plain = columns.clone();
        for (schema, _) in &self.distinct {
            add_changes(&mut columns, schema);
        }
        Ok(MergedSchema { is_widened: columns != plain, columns })
    }

    fn check_fits(&self, columns: &StructType, schema: &StructType, file: &str) -> Result<()> {
        let mut wide = merge(schema, columns, WIDEN);
        wide.fields.iter_mut().for_each(without_metadata);
        for field in &schema.fields {
            let (Some(wanted), Some(found)) = (columns.field(&field.name), wide.field(&field.name)) else { continue };
            let same = |one: &DataType, other: &DataType| shape(one) == shape(other);
            if same(&wanted.data_type, &found.data_type) {
                continue;
            }
            let other = self
                .distinct
                .iter()
                .find(|(schema, _)| schema.field(&field.name).is_some_and(|other| !same(&other.data_type, &field.data_type)));
            let (other_type, other_file) = other.map_or_else(
                || (type_name(&wanted.data_type), "other files"),
                |(schema, file)| {
                    (schema.field(&field.name).map(|field| type_name(&field.data_type)).unwrap_or_default(), file.as_str())
                },
            );
            return Err(Error::invalid_input(format!(
                "column {}: its type is {} in {file}, but {other_type} in {other_file}, and neither can hold the values of the \
                 other: rewrite one of the files",
                field.name,
                type_name(&field.data_type),
            )));
        }
        Ok(())
    }
}

/// Adds the changes of types from the columns of a file to the columns of the table, which are
/// those that the table has anyway. `of_file` has the names of the table.
///
/// # Errors
/// If the values of a column cannot become those of the table. The error names the column.
pub(super) fn widen_to(columns: &mut StructType, of_file: &StructType) -> Result<()> {
    for field in &of_file.fields {
        let Some(wanted) = columns.field(&field.name) else { continue };
        let one = |field: &StructField| StructType { fields: vec![field.clone()] };
        let mut plain = wanted.clone();
        without_metadata(&mut plain);
        let widened = merge(&one(field), &one(&plain), WIDEN);
        if !widened.fields.iter().all(|widened| shape(&widened.data_type) == shape(&plain.data_type)) {
            return Err(Error::invalid_input(format!(
                "column {}: its type is {} in this file, and its values cannot become {}",
                field.name,
                type_name(&field.data_type),
                type_name(&plain.data_type)
            )));
        }
    }
    add_changes(columns, of_file);
    Ok(())
}

/// Adds the changes of types from a file's schema to the table's. PROTOCOL "Type Widening": they
/// stand in the metadata of the nearest field.
fn add_changes(columns: &mut StructType, of_file: &StructType) {
    for field in &mut columns.fields {
        let Some(found) = of_file.field(&field.name) else { continue };
        let one = |field: &StructField| StructType { fields: vec![field.clone()] };
        let mut target = field.clone();
        without_metadata(&mut target);
        let merged = merge(&one(found), &one(&target), WIDEN);
        let changes = merged.fields.first().and_then(|merged| merged.metadata.get(TYPE_CHANGES).cloned());
        if let Some(Value::Array(changes)) = changes {
            let known = field.metadata.entry(TYPE_CHANGES).or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(known) = known {
                for change in changes {
                    if !known.contains(&change) {
                        known.push(change);
                    }
                }
            }
        }
        inner_changes(&mut field.data_type, &found.data_type);
    }
}

fn inner_changes(data_type: &mut DataType, of_file: &DataType) {
    match (data_type, of_file) {
        (DataType::Struct(columns), DataType::Struct(found)) => add_changes(columns, found),
        (DataType::Array(array), DataType::Array(found)) => inner_changes(&mut array.element, &found.element),
        (DataType::Map(map), DataType::Map(found)) => {
            inner_changes(&mut map.key, &found.key);
            inner_changes(&mut map.value, &found.value);
        }
        _ => {}
    }
}

/// Removes the metadata of a field, which is that of the file.
fn without_metadata(field: &mut StructField) {
    field.metadata.clear();
    field.data_type.each_field_mut(&mut |inner| inner.metadata.clear());
}

/// Returns a type without the order of its fields, their nullability, and fields that only one file
/// may have.
fn shape(data_type: &DataType) -> Value {
    match data_type {
        DataType::Primitive(primitive) => Value::from(primitive.to_string()),
        DataType::Struct(columns) => {
            let fields = columns.fields.iter().map(|field| (field.name.to_lowercase(), shape(&field.data_type)));
            Value::Object(fields.collect())
        }
        DataType::Array(array) => Value::Array(vec![shape(&array.element)]),
        DataType::Map(map) => Value::Array(vec![shape(&map.key), shape(&map.value)]),
    }
}

fn type_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Primitive(primitive) => primitive.to_string(),
        DataType::Struct(_) => "a struct".to_owned(),
        DataType::Array(_) => "a list".to_owned(),
        DataType::Map(_) => "a map".to_owned(),
    }
}
