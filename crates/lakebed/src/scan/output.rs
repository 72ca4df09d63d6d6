//! The output columns of a scan and their order: columns of the table, and columns about rows.
//!
//! Columns about rows come last if the caller gives them names of its own. They come among the
//! other columns if a path names them as Spark does: `_metadata.row_id`. If the table itself has a
//! column `_metadata`, the name means that column.

use std::collections::HashSet;

use arrow_schema::{Field, Schema, SchemaRef};

use lakebed_core::schema::arrow::schema_to_arrow;
use lakebed_core::schema::{StructField, StructType};
use lakebed_expr::METADATA_COLUMN;

use super::row_column::{RowColumn, RowColumnKind};
use super::spec::ScanSpec;
use crate::scan::read::column_selection::ColumnSelection;
use crate::{Error, Result};

/// The columns about rows that a path below `_metadata` can name.
const NAMED: [RowColumnKind; 5] = [
    RowColumnKind::FilePath,
    RowColumnKind::FileSize,
    RowColumnKind::RowIndex,
    RowColumnKind::RowId,
    RowColumnKind::RowCommitVersion,
];

/// A column in the output of a scan.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum OutputColumn {
    /// A column of the table, or the selected part of it.
    OfTable(StructField),
    /// A column about rows.
    OfRows(RowColumn),
}

impl OutputColumn {
    fn name(&self) -> &str {
        match self {
            Self::OfTable(field) => &field.name,
            Self::OfRows(column) => &column.name,
        }
    }
}

impl ScanSpec {
    /// Returns the output columns in order.
    pub(crate) fn output_columns(&self) -> Result<Vec<OutputColumn>> {
        let mut of_table = self.columns.as_ref().map(|paths| Vec::with_capacity(paths.len()));
        let mut named = Vec::new();
        for path in self.columns.iter().flatten() {
            match self.row_column(path)? {
                // The column comes behind the columns that are named before it.
                Some(column) => {
                    named.push((ColumnSelection::select(&self.schema, of_table.as_deref())?.schema().fields.len(), column))
                }
                None => of_table.get_or_insert_default().push(path.clone()),
            }
        }
        let selected = ColumnSelection::select(&self.schema, of_table.as_deref())?.into_schema();
        let mut columns: Vec<OutputColumn> = selected.fields.into_iter().map(OutputColumn::OfTable).collect();
        for (before, (place, column)) in named.into_iter().enumerate() {
            columns.insert(place + before, OutputColumn::OfRows(column));
        }
        columns.extend(self.row_columns.iter().cloned().map(OutputColumn::OfRows));
        let mut names = HashSet::with_capacity(columns.len());
        match columns.iter().find(|column| !names.insert(column.name())) {
            Some(twin) => {
                Err(Error::invalid_input(format!("{}: the result would have two columns {}", self.table_url, twin.name())))
            }
            None => Ok(columns),
        }
    }

    /// Returns the schema of the rows that are read.
    pub fn output_schema(&self) -> Result<SchemaRef> {
        let columns = self.output_columns()?;
        let of_table = columns.iter().filter_map(|column| match column {
            OutputColumn::OfTable(field) => Some(field.clone()),
            OutputColumn::OfRows(_) => None,
        });
        let schema = schema_to_arrow(&StructType { fields: of_table.collect() })?;
        if schema.fields().len() == columns.len() {
            return Ok(schema);
        }
        let mut of_table = schema.fields().iter().cloned();
        let fields = columns.iter().filter_map(|column| match column {
            OutputColumn::OfTable(_) => of_table.next(),
            OutputColumn::OfRows(RowColumn { kind, name }) => {
                Some(Field::new(name, kind.arrow_type(), kind.is_nullable()).into())
            }
        });
        Ok(Schema::new(fields.collect::<Vec<_>>()).into())
    }

    /// Returns the column about rows that a path names, if it names one.
    fn row_column(&self, path: &str) -> Result<Option<RowColumn>> {
        let of_rows = path.split_once('.').filter(|(first, _)| first.eq_ignore_ascii_case(METADATA_COLUMN));
        let Some((_, name)) = of_rows else { return Ok(None) };
        if self.schema.index_of(METADATA_COLUMN).is_some() || self.schema.index_of(path).is_some() {
            return Ok(None);
        }
        let full_name = |kind: RowColumnKind| format!("{METADATA_COLUMN}.{}", kind.name());
        match NAMED.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(name)) {
            Some(kind) => Ok(Some(RowColumn::new(kind, full_name(kind)))),
            None => {
                let names = NAMED.map(full_name).join(", ");
                Err(Error::invalid_input(format!("there is no column {path}; the metadata columns are: {names}")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use lakebed_core::schema::PrimitiveType;

    use super::*;

    fn task(own: &[&str], columns: Option<&[&str]>) -> ScanSpec {
        let inner = StructType { fields: ["x", "y"].map(|name| StructField::new(name, PrimitiveType::Long, true)).into() };
        let mut fields = vec![StructField::new("id", PrimitiveType::Long, true), StructField::new("s", inner, true)];
        fields.extend(own.iter().map(|name| StructField::new(*name, PrimitiveType::Long, true)));
        ScanSpec {
            table_url: "memory://t/".to_owned(),
            schema: StructType { fields },
            columns: columns.map(|columns| columns.iter().map(|&name| name.to_owned()).collect()),
            row_columns: vec![RowColumn::new(RowColumnKind::RowIndex, "_row")],
            ..ScanSpec::default()
        }
    }

    #[track_caller]
    fn check(own: &[&str], columns: Option<&[&str]>, expected: &str) {
        let schema = task(own, columns).output_schema().unwrap();
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        assert_eq!(names.join(" "), expected);
    }

    #[track_caller]
    fn check_refused(columns: &[&str], expected: &str) {
        assert_eq!(task(&[], Some(columns)).output_schema().unwrap_err().message(), expected);
    }

    #[test]
    fn row_columns_keep_place_in_projection() {
        check(&[], None, "id s _row");
        check(&[], Some(&[]), "_row");
        check(&[], Some(&["_metadata.row_id"]), "_metadata.row_id _row");
        check(
            &[],
            Some(&["_metadata.file_path", "s.y", "_METADATA.Row_Id", "s.x", "_metadata.file_size", "id"]),
            "_metadata.file_path s _metadata.row_id _metadata.file_size id _row",
        );
    }

    #[test]
    fn columns_of_the_table_keep_their_names() {
        check(
            &["_metadata.row_id"],
            Some(&["_metadata.row_id", "_metadata.file_path"]),
            "_metadata.row_id _metadata.file_path _row",
        );
        let error = task(&["_Metadata"], Some(&["_metadata.row_id"])).output_schema().unwrap_err();
        assert_eq!(error.message(), "column _metadata.row_id: a long has no field row_id");
    }

    #[test]
    fn unknown_or_repeated_row_column_is_refused() {
        check_refused(
            &["_metadata.change_type"],
            "there is no column _metadata.change_type; the metadata columns are: _metadata.file_path, _metadata.file_size, \
             _metadata.row_index, _metadata.row_id, _metadata.row_commit_version",
        );
        check_refused(
            &["_metadata.row_id", "_metadata.row_id"],
            "memory://t/: the result would have two columns _metadata.row_id",
        );
    }
}
