//! The clustering columns of a table, and checks of new clustering columns.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, make_array};
use arrow_buffer::NullBuffer;
use lakebed_core::action::DomainMetadata;
use lakebed_core::layout::is_orderable;
use lakebed_core::schema::arrow::type_to_arrow;
use lakebed_core::schema::mapping::{MappingMode, physical_path};
use lakebed_core::schema::{DataType, StructType};
use serde_json::{Value, json};

use crate::scan::read::column_selection::resolve;
use crate::{Error, Result, Snapshot};

/// The domain in which Delta keeps clustering columns.
pub(crate) const CLUSTERING_DOMAIN: &str = "delta.clustering";

/// A column, or a field of a struct, with values that have an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyColumn {
    /// The name in SQL: `a`, `a.b`.
    pub(crate) name: String,
    /// The physical path: the names of the column and the structs around it in files.
    pub(crate) physical: Vec<String>,
    /// The logical path: the names in the table's schema.
    path: Vec<String>,
}

impl Snapshot {
    /// Returns the clustering columns, as SQL spells them.
    pub(crate) async fn clustering_columns(&self) -> Result<Vec<String>> {
        let columns = self.physical_clustering_columns().await?;
        Ok(columns.iter().filter_map(|column| logical_column(self.schema(), self.mapping_mode(), column)).collect())
    }

    /// Returns the physical paths of the clustering columns.
    pub(crate) async fn physical_clustering_columns(&self) -> Result<Vec<Vec<String>>> {
        let features = self.protocol().writer_features.as_deref().unwrap_or_default();
        if !features.iter().any(|feature| feature == "clustering") {
            return Ok(Vec::new());
        }
        let Some(domain) = self.domain_metadata(CLUSTERING_DOMAIN).await? else { return Ok(Vec::new()) };
        Ok(clustering_paths(&domain))
    }
}

/// Returns a clustering column's logical name.
pub(crate) fn logical_column(schema: &StructType, mode: MappingMode, physical: &[String]) -> Option<String> {
    let found = leaf_names(schema, Vec::new()).into_iter().find(|names| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        physical_path(schema, &names, mode).is_some_and(|path| path == *physical)
    });
    found.map(|names| column_name(&names))
}

/// Returns the columns of these names, and checks that each of them may be a clustering column.
pub(crate) fn key_columns(snapshot: &Snapshot, names: &[String]) -> Result<Vec<KeyColumn>> {
    let found = key_columns_of(snapshot.schema(), snapshot.mapping_mode(), snapshot.partition_columns(), names);
    found.map_err(|error| error.within(snapshot.url()))
}

/// Does the same as [`key_columns`] for a table that does not exist yet.
pub(crate) fn key_columns_of(
    schema: &StructType,
    mode: MappingMode,
    partition_columns: &[String],
    names: &[String],
) -> Result<Vec<KeyColumn>> {
    let refuse = |name: &str, why: &str| Err(Error::invalid_input(format!("column {name}: {why}")));
    let mut columns: Vec<KeyColumn> = Vec::with_capacity(names.len());
    for name in names {
        let column = key_column(schema, mode, name)?;
        if partition_columns.contains(&column.name) {
            return refuse(name, "it is a partition column, so all rows of a file have the same value of it");
        }
        if columns.contains(&column) {
            return refuse(name, "it is given twice");
        }
        columns.push(column);
    }
    match columns.is_empty() {
        true => Err(Error::invalid_input("name the columns by which the rows should be clustered")),
        false => Ok(columns),
    }
}

fn key_column(schema: &StructType, mode: MappingMode, name: &str) -> Result<KeyColumn> {
    let mut fields = schema;
    let (mut path, mut found) = (Vec::new(), None::<&DataType>);
    for place in resolve(schema, name)? {
        if let Some(DataType::Struct(below)) = found {
            fields = below;
        } else if found.is_some() {
            return Err(Error::invalid_input(format!("column {name}: rows cannot be ordered by values inside arrays and maps")));
        }
        let field = fields.fields.get(place).ok_or_else(|| Error::internal("a column position has no field"))?;
        path.push(field.name.clone());
        found = Some(&field.data_type);
    }
    if !found.is_some_and(|data_type| type_to_arrow(data_type).is_ok_and(|known| is_orderable(&known))) {
        return Err(Error::invalid_input(format!("column {name}: rows cannot be ordered by values of its type")));
    }
    let names: Vec<&str> = path.iter().map(String::as_str).collect();
    let physical = physical_path(schema, &names, mode);
    let physical = physical.ok_or_else(|| Error::internal(format!("column {name} has no physical name")))?;
    Ok(KeyColumn { name: column_name(&path), physical, path })
}

impl KeyColumn {
    /// Returns the column's values in rows of the table.
    pub(crate) fn values(&self, rows: &RecordBatch) -> Result<ArrayRef> {
        let missing = || Error::internal(format!("the rows lack column {}", self.name));
        let (first, rest) = self.path.split_first().ok_or_else(missing)?;
        let mut array = Arc::clone(rows.column_by_name(first).ok_or_else(missing)?);
        for name in rest {
            let of_struct = array.as_struct_opt().ok_or_else(missing)?;
            let field = of_struct.column_by_name(name).ok_or_else(missing)?;
            // A field of a null struct is null, whatever value it has in memory.
            let nulls = NullBuffer::union(of_struct.nulls(), field.nulls());
            array = make_array(field.to_data().into_builder().nulls(nulls).build()?);
        }
        Ok(array)
    }
}

/// Returns a column's path as a name in SQL: `a.b`.
pub(crate) fn column_name(path: &[String]) -> String {
    path.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(".")
}

/// Returns a name as SQL spells it: in backticks, unless it is a plain name.
fn quoted(name: &str) -> String {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.chars().all(|c| c.is_ascii_digit());
    if is_plain { name.to_owned() } else { format!("`{}`", name.replace('`', "``")) }
}

/// Returns the physical paths of a table's clustering columns, if the domain is the one of
/// clustering. Delta Spark writes each path as a list of names, and other writers write one string.
pub(crate) fn clustering_paths(domain: &DomainMetadata) -> Vec<Vec<String>> {
    if domain.domain != CLUSTERING_DOMAIN {
        return Vec::new();
    }
    let path = |column: &Value| match column {
        Value::Array(parts) => Some(parts.iter().filter_map(|part| part.as_str().map(str::to_owned)).collect()),
        Value::String(name) => Some(vec![name.clone()]),
        _ => None,
    };
    let configuration: Value = serde_json::from_str(&domain.configuration).unwrap_or_default();
    let columns = configuration.get("clusteringColumns").and_then(Value::as_array);
    columns.into_iter().flatten().filter_map(path).collect()
}

/// Returns the domain for these clustering columns, each given by its physical path.
pub(crate) fn clustering_domain(columns: &[Vec<String>]) -> DomainMetadata {
    let configuration = json!({ "clusteringColumns": columns, "domainName": CLUSTERING_DOMAIN }).to_string();
    DomainMetadata { domain: CLUSTERING_DOMAIN.to_owned(), configuration, removed: false }
}

/// Returns the paths of all leaves that are in structs only.
pub(crate) fn leaf_names(schema: &StructType, above: Vec<String>) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for field in &schema.fields {
        let names: Vec<String> = above.iter().cloned().chain([field.name.clone()]).collect();
        match &field.data_type {
            DataType::Struct(fields) => found.extend(leaf_names(fields, names)),
            _ => found.push(names),
        }
    }
    found
}
