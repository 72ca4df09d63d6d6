//! The schema of a table's rows on their way from files to new files. If the table tracks rows,
//! their row ids are part of it.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, new_null_array};
use arrow_schema::{DataType as ArrowType, Field, Fields, Schema, SchemaRef};
use lakebed_core::schema::StructField;

use super::target::Target;
use crate::scan::read::decoded_type::{in_form, moving_batch, value_type};
use crate::scan::{RowColumn, RowColumnKind};
use crate::write::convert::{OnLossy, fit};
use crate::write::file_options::FileOptions;
use crate::write::files::FileSink;
use crate::write::rules::{Contents, WriteRules};
use crate::{Result, Snapshot};

/// The names of the columns with the row ids and row commit versions. No table has columns of such
/// names.
const ID_COLUMN: &str = "\u{0}id";
const VERSION_COLUMN: &str = "\u{0}version";

/// The columns of rows on their way to files: the table's in their order and types, then those of
/// the row ids, if the table tracks rows.
#[derive(Debug)]
pub(crate) struct Shape {
    rules: Arc<WriteRules>,
    /// The schema without the columns of row ids.
    table_schema: SchemaRef,
    schema: SchemaRef,
    tracks_rows: bool,
    is_moving: bool,
}

impl Shape {
    /// Returns the shape of rows of this version that go to files of this target.
    pub(crate) fn new(snapshot: &Snapshot, target: &Target) -> Result<Self> {
        let table_schema = target.rules.loose_schema()?;
        Ok(Self::of(Arc::clone(&target.rules), table_schema, snapshot.properties().row_tracking, false))
    }

    fn of(rules: Arc<WriteRules>, table_schema: SchemaRef, tracks_rows: bool, is_moving: bool) -> Self {
        let ids = [ID_COLUMN, VERSION_COLUMN].into_iter().filter(|_| tracks_rows);
        let ids = ids.map(|name| Arc::new(Field::new(name, ArrowType::Int64, true)));
        let schema = Schema::new(table_schema.fields().iter().cloned().chain(ids).collect::<Vec<_>>());
        Self { rules, table_schema, schema: Arc::new(schema), tracks_rows, is_moving }
    }

    /// Returns the same shape for rows that move without an inspection of their values. Their types
    /// are described at [`ReadOptions::is_moving`].
    pub(crate) fn moving(&self) -> Self {
        let fields = self.table_schema.fields().iter().enumerate().map(|(index, field)| self.rules.moving_field(index, field));
        let table_schema = Arc::new(Schema::new(fields.collect::<Fields>()));
        Self::of(Arc::clone(&self.rules), table_schema, self.tracks_rows, true)
    }

    /// Returns the schema of all columns.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns a writer for rows of this shape.
    pub(crate) fn sink(&self, snapshot: &Snapshot, target: &Target) -> Result<FileSink> {
        let contents = if self.tracks_rows { Contents::MovedRows } else { Contents::Rows };
        let options = FileOptions { contents, is_moving: self.is_moving, ..target.files.clone() };
        FileSink::new(snapshot.store().clone(), snapshot.env().clone(), Arc::clone(&self.rules), options)
    }

    /// Converts rows that were read as rows of the table. Columns that the table only gets with
    /// this write are null in them.
    pub(crate) fn written(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let column = |(field, of): (&StructField, &Arc<Field>)| match batch.column_by_name(&field.name) {
            Some(array) if self.is_moving && value_type(array.data_type()) == of.data_type() => Ok(Arc::clone(array)),
            Some(array) => in_form(&fit(array, &field.data_type, OnLossy::Error, &field.name)?, of.data_type()),
            None => Ok(new_null_array(of.data_type(), batch.num_rows())),
        };
        let columns = self.rules.schema.fields.iter().zip(self.table_schema.fields()).map(column);
        moving_batch(&self.table_schema, columns.collect::<Result<_>>()?, batch.num_rows())
    }

    /// Converts rows that were read with [`id_columns`]. They keep their row ids and commit
    /// versions.
    pub(crate) fn moved(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let versions = batch.column_by_name(VERSION_COLUMN).cloned();
        self.identified(&self.written(batch)?, ids(batch), versions)
    }

    /// Returns rows of the table with their row ids and commit versions. New rows and changed rows
    /// lack some of these, which are null then.
    pub(crate) fn identified(
        &self,
        rows: &RecordBatch,
        ids: Option<ArrayRef>,
        versions: Option<ArrayRef>,
    ) -> Result<RecordBatch> {
        let mut columns: Vec<ArrayRef> = rows.columns().to_vec();
        if self.tracks_rows {
            let none = || new_null_array(&ArrowType::Int64, rows.num_rows());
            columns.extend([ids.unwrap_or_else(none), versions.unwrap_or_else(none)]);
        }
        moving_batch(&self.schema, columns, rows.num_rows())
    }
}

/// Returns the columns of the row ids, for scans of rows that move to new files.
pub(crate) fn id_columns(snapshot: &Snapshot) -> Vec<RowColumn> {
    let columns = [(RowColumnKind::RowId, ID_COLUMN), (RowColumnKind::RowCommitVersion, VERSION_COLUMN)];
    let tracks_rows = snapshot.properties().row_tracking;
    columns.into_iter().filter(|_| tracks_rows).map(|(kind, name)| RowColumn::new(kind, name)).collect()
}

/// Returns the row ids in a batch of a scan with [`id_columns`].
pub(crate) fn ids(batch: &RecordBatch) -> Option<ArrayRef> {
    batch.column_by_name(ID_COLUMN).cloned()
}
