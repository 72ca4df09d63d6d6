//! The columns of a data file under the names of the table. They are found by the ids in the file,
//! as every reader of the converted table finds them.

use std::collections::HashSet;

use arrow_schema::{DataType as ArrowType, Field, FieldRef, Fields, Schema};
use lakebed_core::schema::arrow::schema_from_arrow;
use lakebed_core::schema::mapping::field_id;
use lakebed_core::schema::{ArrayType, DataType, MapType, StructField, StructType};
use parquet::arrow::PARQUET_FIELD_ID_META_KEY;

use crate::{Error, Result};

/// The columns of a data file.
pub(super) struct FileIds {
    /// The columns that the table has, with the names of the table and the types of the file.
    pub(super) columns: StructType,
    /// The ids of all columns, at every level.
    pub(super) ids: HashSet<i32>,
}

impl FileIds {
    /// Finds the columns of a table in a file. Refuses a file that has a column without an id,
    /// because its values would be null in the table.
    pub(super) fn of(file: &Schema, table: &StructType) -> Result<Self> {
        let mut ids = HashSet::new();
        add_ids(file.fields(), "", &mut ids)?;
        Ok(Self { columns: named(file.fields(), table)?, ids })
    }

    /// Refuses a file without one of these columns, by which it is partitioned.
    pub(super) fn check_has(&self, ids: &[i32]) -> Result<()> {
        match ids.iter().find(|id| !self.ids.contains(id)) {
            Some(id) => Err(Error::invalid_input(format!(
                "this file lacks the column with the id {id}, by which it is partitioned, and other files are not partitioned \
                 by it: rewrite the file with Iceberg (rewrite_data_files)"
            ))),
            None => Ok(()),
        }
    }

    /// Refuses a file without a column that must not be null. `partition_columns` are not in files.
    pub(super) fn check_required(&self, table: &StructType, partition_columns: &[String]) -> Result<()> {
        let is_missing = |field: &&StructField| !field.nullable && field_id(field).is_some_and(|id| !self.ids.contains(&id));
        match table.fields.iter().filter(|field| !partition_columns.contains(&field.name)).find(is_missing) {
            Some(field) => Err(Error::invalid_input(format!(
                "this file lacks the column {}, which must not be null: make the column optional with Iceberg",
                field.name
            ))),
            None => Ok(()),
        }
    }
}

fn add_ids(fields: &Fields, place: &str, ids: &mut HashSet<i32>) -> Result<()> {
    for field in fields {
        let column = format!("{place}{}", field.name());
        let id = id_of(field).ok_or_else(|| {
            Error::invalid_input(format!(
                "column {column} of this file has no field id, so no reader of the Delta table would find it (add_files registers \
                 such files): rewrite the file with Iceberg (rewrite_data_files)"
            ))
        })?;
        if !ids.insert(id) {
            return Err(Error::invalid_input(format!(
                "column {column} of this file has the field id {id}, as another column has"
            )));
        }
        add_parts(field.data_type(), &column, ids)?;
    }
    Ok(())
}

fn add_parts(data_type: &ArrowType, column: &str, ids: &mut HashSet<i32>) -> Result<()> {
    match data_type {
        ArrowType::Struct(fields) => add_ids(fields, &format!("{column}."), ids),
        ArrowType::List(element) => add_parts(element.data_type(), &format!("{column}.element"), ids),
        ArrowType::Map(entries, _) => {
            let ArrowType::Struct(parts) = entries.data_type() else { return Ok(()) };
            parts.iter().try_for_each(|part| add_parts(part.data_type(), &format!("{column}.{}", part.name()), ids))
        }
        _ => Ok(()),
    }
}

fn named(file: &Fields, table: &StructType) -> Result<StructType> {
    let mut fields = Vec::new();
    for column in &table.fields {
        let Some(id) = field_id(column) else { continue };
        if let Some(found) = file.iter().find(|field| id_of(field) == Some(id)) {
            fields.push(StructField::new(&column.name, type_of(found, &column.data_type)?, true));
        }
    }
    Ok(StructType { fields })
}

fn type_of(file: &FieldRef, table: &DataType) -> Result<DataType> {
    match (file.data_type(), table) {
        (ArrowType::Struct(fields), DataType::Struct(columns)) => Ok(named(fields, columns)?.into()),
        (ArrowType::List(element), DataType::Array(array)) => {
            Ok(ArrayType { element: type_of(element, &array.element)?, contains_null: true }.into())
        }
        (ArrowType::Map(entries, _), DataType::Map(map)) if matches!(entries.data_type(), ArrowType::Struct(parts) if parts.len() == 2) =>
        {
            let ArrowType::Struct(parts) = entries.data_type() else { return Err(Error::internal("a map without entries")) };
            let part = |index: usize, of: &DataType| match parts.get(index) {
                Some(field) => type_of(field, of),
                None => Err(Error::internal("a map without keys and values")),
            };
            Ok(MapType { key: part(0, &map.key)?, value: part(1, &map.value)?, value_contains_null: true }.into())
        }
        _ => {
            let alone = schema_from_arrow(&Schema::new(vec![file.as_ref().clone()]))?;
            alone
                .fields
                .into_iter()
                .next()
                .map(|field| field.data_type)
                .ok_or_else(|| Error::internal("a schema without its field"))
        }
    }
}

/// Returns the id of a field in a file.
pub(super) fn id_of(field: &Field) -> Option<i32> {
    field.metadata().get(PARQUET_FIELD_ID_META_KEY)?.parse().ok()
}
