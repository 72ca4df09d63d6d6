//! What depends on a column: constraints, generated columns, invariants, partitioning and
//! clustering. Begin with [`uses`].

use lakebed_core::schema::StructType;
use lakebed_core::schema::field_metadata::{GENERATION_EXPRESSION, INVARIANTS};
use lakebed_core::schema::mapping::physical_path;
use lakebed_expr::{Options, filter_schema, parse_expr};
use serde_json::Value;

use super::draft::ChangeDraft;
use super::place::ColumnPlace;
use crate::Result;
use crate::definition::columns::invariant;

/// Returns what uses a column in an expression, in the order of names. `leaving` are the columns
/// that are dropped together, so that their own expressions do not count.
pub(super) fn uses(draft: &ChangeDraft, place: &ColumnPlace, leaving: &[ColumnPlace]) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for (name, condition) in &draft.properties()?.constraints {
        if names_column(condition, &draft.schema, place)? {
            found.push(format!("the CHECK constraint {name} ({condition})"));
        }
    }
    let leaves = |name: &str| {
        leaving.iter().any(|leaving| leaving.is_top_level() && leaving.names.first().is_some_and(|leaving| leaving == name))
    };
    for field in draft.schema.fields.iter().filter(|field| !leaves(&field.name)) {
        if let Some(expression) = field.metadata.get(GENERATION_EXPRESSION).and_then(Value::as_str)
            && names_column(expression, &draft.schema, place)?
        {
            found.push(format!("the generated column {} ({expression})", field.name));
        }
        if field.metadata.contains_key(INVARIANTS)
            && let Some(condition) = invariant(field)?
            && names_column(&condition, &draft.schema, place)?
        {
            found.push(format!("the invariant of column {} ({condition})", field.name));
        }
    }
    Ok(found)
}

/// Returns the roles of a column that forbid to drop it: partition column and clustering column.
pub(super) fn roles(draft: &ChangeDraft, place: &ColumnPlace) -> Result<Vec<String>> {
    let mut found = Vec::new();
    if place.is_top_level() && draft.metadata.partition_columns.iter().any(|column| place.names.first() == Some(column)) {
        found.push("the partitioning of the table".to_owned());
    }
    let names: Vec<&str> = place.names.iter().map(String::as_str).collect();
    let physical = physical_path(&draft.schema, &names, draft.mode()?);
    if physical.is_some_and(|physical| draft.clustering.iter().any(|column| column.starts_with(&physical))) {
        found.push("the clustering of the table".to_owned());
    }
    Ok(found)
}

/// Returns whether an expression reads a column, a field in it, or a struct around it.
fn names_column(expression: &str, schema: &StructType, place: &ColumnPlace) -> Result<bool> {
    let Ok(parsed) = parse_expr(expression, &filter_schema(schema)?, &Options { now_ms: Some(0) }) else {
        // Other programs know functions that lakebed does not know. Such an expression counts if it
        // contains the name of the column.
        let expression = expression.to_lowercase();
        return Ok(place.names.iter().all(|name| expression.contains(&name.to_lowercase())));
    };
    let lower = |path: &[String]| -> Vec<String> { path.iter().map(|name| name.to_lowercase()).collect() };
    let own = lower(place.names_in_structs(schema)?);
    Ok(parsed.columns().iter().map(|path| lower(path)).any(|path| path.starts_with(&own) || own.starts_with(&path)))
}
