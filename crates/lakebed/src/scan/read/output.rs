//! How the output is put together: its schema, and the source of each column.

use std::sync::Arc;

use arrow_schema::{FieldRef, Fields, Schema, SchemaRef};

use super::column_source::ColumnSource;
use super::decoded_type::moving_type;

/// How the output is put together.
pub(super) struct Output {
    schema: SchemaRef,
    sources: Vec<ColumnSource>,
    /// Whether columns are returned in the types in which they are decoded.
    is_moving: bool,
}

impl Output {
    /// Returns an output. If it `is_moving`, the columns of files have the types in which rows move
    /// to other files.
    pub(super) fn new(schema: SchemaRef, sources: Vec<ColumnSource>, is_moving: bool) -> Self {
        let schema = if is_moving { moving_schema(&schema, &sources) } else { schema };
        Self { schema, sources, is_moving }
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    pub(super) fn sources(&self) -> &[ColumnSource] {
        &self.sources
    }

    /// Returns whether columns are returned in the types in which they are decoded.
    pub(super) fn is_moving(&self) -> bool {
        self.is_moving
    }

    /// Returns whether an output column reads the column of the file at this position.
    pub(super) fn takes(&self, position: usize) -> bool {
        self.sources.iter().any(|source| source.position() == Some(position))
    }

    /// Returns whether an output column has this source.
    pub(super) fn has(&self, source: ColumnSource) -> bool {
        self.sources.contains(&source)
    }

    /// Returns the fields of the output with their sources.
    pub(super) fn fields(&self) -> impl Iterator<Item = (&FieldRef, ColumnSource)> {
        self.schema.fields().iter().zip(self.sources.iter().copied())
    }
}

/// Returns the schema with the columns of files in the types in which rows move to other files.
fn moving_schema(schema: &Schema, sources: &[ColumnSource]) -> SchemaRef {
    let field = |(field, source): (&FieldRef, &ColumnSource)| match moving_type(field.data_type())
        .filter(|_| matches!(source, ColumnSource::File(_)))
    {
        Some(moving) => Arc::new(field.as_ref().clone().with_data_type(moving)),
        None => Arc::clone(field),
    };
    let fields: Fields = schema.fields().iter().zip(sources).map(field).collect();
    Arc::new(Schema::new(fields))
}
