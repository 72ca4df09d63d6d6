//! The options of a scan.

use lakebed_expr::Predicate;
use serde::{Deserialize, Deserializer};

use super::row_column::{RowColumn, RowColumnKind};

/// The options of a scan. The default is all rows and all columns.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScanOptions {
    /// The columns, in this order. `a.b` is a field of a struct. The columns `_metadata.row_id`,
    /// `_metadata.row_commit_version`, `_metadata.file_path`, `_metadata.file_size` and
    /// `_metadata.row_index` describe rows, unless the table has a column `_metadata`.
    pub columns: Option<Vec<String>>,
    /// Only rows for which this predicate is true are returned. It may use the `_metadata` columns
    /// that [`Self::columns`] accepts, as in `_metadata.row_id = 5`.
    #[serde(rename = "where", deserialize_with = "predicate")]
    pub filter: Option<Predicate>,
    /// The greatest number of rows.
    pub limit: Option<u64>,
    /// Columns about rows, behind the other columns.
    #[serde(deserialize_with = "row_columns")]
    pub row_columns: Vec<RowColumn>,
}

/// Reads a predicate that is given as text.
fn predicate<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Predicate>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.map(Predicate::from))
}

/// Reads columns about rows. Each is given as a pair of its kind and its name.
fn row_columns<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<RowColumn>, D::Error> {
    let column = |(kind, name): (String, String)| match RowColumnKind::of_name(&kind) {
        Some(kind) => Ok(RowColumn { kind, name }),
        None => Err(serde::de::Error::custom(format!("column {name}: there is no metadata column {kind}"))),
    };
    Vec::deserialize(deserializer)?.into_iter().map(column).collect()
}
