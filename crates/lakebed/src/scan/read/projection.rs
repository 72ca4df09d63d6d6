//! The columns that are searched for in files, and the sources of `_metadata` columns.

use lakebed_core::schema::{PrimitiveType, StructField, StructType};

use super::column_source::ColumnSource;
use super::condition::Condition;
use super::table_layout::TableLayout;
use crate::scan::file::ScanFile;
use crate::scan::row_column::{ChangeType, RowColumnKind};

/// The columns that are searched for in files: first those of the condition, then the others.
#[derive(Default)]
pub(super) struct FileProjection {
    pub(super) tested: StructType,
    pub(super) others: StructType,
    /// The columns that are found by name even if the others are found by field id.
    pub(super) by_name: Vec<String>,
    /// The sources of the `_metadata` columns in the condition, in the order of the condition.
    pub(super) tested_metadata: Vec<ColumnSource>,
}

impl FileProjection {
    /// Returns the position of a column of the output. The column is added if the condition does
    /// not use the same column.
    pub(super) fn position_of(&mut self, field: &StructField) -> usize {
        let same = |other: &StructField| other.name == field.name && other.data_type == field.data_type;
        if let Some(position) = self.tested.fields.iter().position(same) {
            return position;
        }
        self.others.fields.push(field.clone());
        self.tested.fields.len() + self.others.fields.len() - 1
    }

    /// Adds the columns of the condition. Columns that files store for its `_metadata` columns are
    /// read together with them.
    pub(super) fn add_condition(&mut self, condition: &Condition, table: &TableLayout, read: &[ScanFile]) {
        let fields = condition.columns().fields.iter().filter(|field| table.partition_position(&field.name).is_none());
        self.tested.fields.extend(fields.cloned());
        for kind in condition.of_rows() {
            let source = self.metadata_source(*kind, table, read);
            self.tested.fields.append(&mut self.others.fields);
            self.tested_metadata.push(source);
        }
    }

    /// Returns the source of a `_metadata` column.
    pub(super) fn metadata_source(&mut self, kind: RowColumnKind, table: &TableLayout, read: &[ScanFile]) -> ColumnSource {
        let rows_tell = |file: &ScanFile| file.change.is_some_and(|change| change.change_type == ChangeType::InFile);
        match kind {
            RowColumnKind::FilePath => ColumnSource::FilePath,
            RowColumnKind::FileSize => ColumnSource::FileSize,
            RowColumnKind::FileIndex => ColumnSource::FileIndex,
            RowColumnKind::RowIndex => ColumnSource::RowIndex,
            RowColumnKind::RowId => ColumnSource::RowId(self.moved(table.materialized.row_id.as_ref())),
            RowColumnKind::RowCommitVersion => {
                ColumnSource::RowCommitVersion(self.moved(table.materialized.row_commit_version.as_ref()))
            }
            RowColumnKind::ChangeType => ColumnSource::ChangeType(
                read.iter().any(rows_tell).then(|| self.position_by_name(ChangeType::CHANGE_TYPE_COLUMN, PrimitiveType::String)),
            ),
            RowColumnKind::CommitVersion => ColumnSource::CommitVersion,
            RowColumnKind::CommitTimestamp => ColumnSource::CommitTimestamp,
        }
    }

    /// Returns the position of a column that stores values of rows that moved.
    fn moved(&mut self, name: Option<&String>) -> Option<usize> {
        name.map(|name| self.position_by_name(name, PrimitiveType::Long))
    }

    /// Returns the position of a column that is not in the schema of the table.
    fn position_by_name(&mut self, name: &str, data_type: PrimitiveType) -> usize {
        if self.by_name.iter().any(|known| known == name)
            && let Some(position) = self.tested.fields.iter().chain(&self.others.fields).position(|field| field.name == name)
        {
            return position;
        }
        self.by_name.push(name.to_owned());
        self.others.fields.push(StructField::new(name, data_type, true));
        self.tested.fields.len() + self.others.fields.len() - 1
    }

    /// Returns all columns.
    pub(super) fn all(&self) -> StructType {
        StructType { fields: self.tested.fields.iter().chain(&self.others.fields).cloned().collect() }
    }
}
