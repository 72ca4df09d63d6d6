//! Partitions that were read. They are compared by the values of their columns, because writers may
//! spell one value differently.

use std::collections::HashSet;

use arrow_array::{Array, BooleanArray, StringArray};
use lakebed_core::log::files::FileBatch;
use lakebed_core::schema::mapping::physical_name;
use lakebed_core::schema::{DataType, PrimitiveType};
use lakebed_core::value::Scalar;

use crate::{Result, Snapshot};

/// A value of each partition column, as a string.
type Values = Vec<Option<String>>;

/// Some partitions of a table.
#[derive(Debug, Clone)]
pub struct Partitions {
    /// The types of the partition columns, and their names in the log.
    columns: Vec<(PrimitiveType, String)>,
    values: HashSet<Values>,
}

impl Partitions {
    /// Returns the partitions with these values of these columns. The columns are given by their
    /// names in the log.
    pub fn new(snapshot: Option<&Snapshot>, columns: Vec<String>, values: HashSet<Values>) -> Self {
        let of = |name: String| (type_of(snapshot, &name), name);
        let columns: Vec<(PrimitiveType, String)> = columns.into_iter().map(of).collect();
        let own = |values: Values| spelled(&columns, values.iter().map(Option::as_deref)).unwrap_or(values);
        Self { values: values.into_iter().map(own).collect(), columns }
    }

    /// Returns whether one of these files may belong to the partitions. A value that cannot be
    /// parsed may be any value.
    pub(super) fn may_hold(&self, files: &FileBatch) -> Result<bool> {
        let texts = self.texts(files)?;
        let holds = |row: usize| self.holds(&texts, row).unwrap_or(true);
        Ok((0..files.len()).any(holds))
    }

    /// Returns which of these files belong to the partitions.
    pub(crate) fn holding(&self, files: &FileBatch) -> Result<BooleanArray> {
        let texts = self.texts(files)?;
        (0..files.len()).map(|row| self.holds(&texts, row).map(Some)).collect()
    }

    fn texts(&self, files: &FileBatch) -> Result<Vec<StringArray>> {
        self.columns.iter().map(|(_, name)| files.partition_texts(name)).collect()
    }

    fn holds(&self, texts: &[StringArray], row: usize) -> Result<bool> {
        let values = texts.iter().map(|column| column.is_valid(row).then(|| column.value(row)));
        Ok(self.values.contains(&spelled(&self.columns, values)?))
    }
}

fn type_of(snapshot: Option<&Snapshot>, name: &str) -> PrimitiveType {
    let field = snapshot.and_then(|snapshot| {
        let mode = snapshot.mapping_mode();
        snapshot.schema().fields.iter().find(|field| physical_name(field, mode) == name)
    });
    match field.map(|field| &field.data_type) {
        Some(DataType::Primitive(primitive)) => *primitive,
        _ => PrimitiveType::String,
    }
}

/// Returns the values in lakebed's spelling.
fn spelled<'a>(columns: &[(PrimitiveType, String)], values: impl Iterator<Item = Option<&'a str>>) -> Result<Values> {
    columns.iter().zip(values).map(|((of, _), text)| Scalar::parse_partition(text, *of)?.to_partition()).collect()
}

#[cfg(test)]
mod tests;
