//! The columns by which rows are clustered.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, make_array};
use arrow_buffer::NullBuffer;
use lakebed_core::layout::is_orderable;
use lakebed_core::schema::DataType;
use lakebed_core::schema::arrow::type_to_arrow;
use lakebed_core::schema::mapping::physical_path;

use crate::detail::column_name;
use crate::scan::read::columns::resolve;
use crate::{Error, Result, Snapshot};

/// A column, or a field of a struct, whose values have an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyColumn {
    /// As SQL spells it: `a`, `a.b`.
    pub(crate) name: String,
    /// The names that lead to it in files.
    pub(crate) physical: Vec<String>,
    /// Those of the table's schema.
    path: Vec<String>,
}

/// The columns of these names, each of which can cluster a table's rows.
pub(crate) fn key_columns(snapshot: &Snapshot, names: &[String]) -> Result<Vec<KeyColumn>> {
    let refuse = |name: &str, why: String| Err(Error::invalid_input(format!("{}: column {name}: {why}", snapshot.url())));
    let mut columns: Vec<KeyColumn> = Vec::with_capacity(names.len());
    for name in names {
        let column = key_column(snapshot, name).map_err(|error| error.within(snapshot.url()))?;
        if snapshot.partition_columns().contains(&column.name) {
            return refuse(name, "it is a partition column, all rows of a file have the same value of it".to_owned());
        }
        if columns.contains(&column) {
            return refuse(name, "it is given twice".to_owned());
        }
        columns.push(column);
    }
    match columns.is_empty() {
        true => Err(Error::invalid_input(format!("{}: name the columns by which rows are to be clustered", snapshot.url()))),
        false => Ok(columns),
    }
}

fn key_column(snapshot: &Snapshot, name: &str) -> Result<KeyColumn> {
    let mut fields = snapshot.schema();
    let (mut path, mut found) = (Vec::new(), None::<&DataType>);
    for place in resolve(snapshot.schema(), name)? {
        if let Some(DataType::Struct(below)) = found {
            fields = below;
        } else if found.is_some() {
            return Err(Error::invalid_input(format!("column {name}: what is in arrays and maps has no order among rows")));
        }
        let field = fields.fields.get(place).ok_or_else(|| Error::internal("a place without a field"))?;
        path.push(field.name.clone());
        found = Some(&field.data_type);
    }
    if !found.is_some_and(|data_type| type_to_arrow(data_type).is_ok_and(|known| is_orderable(&known))) {
        return Err(Error::invalid_input(format!("column {name}: rows cannot be put into an order by values of its type")));
    }
    let names: Vec<&str> = path.iter().map(String::as_str).collect();
    let physical = physical_path(snapshot.schema(), &names, snapshot.mapping_mode());
    let physical = physical.ok_or_else(|| Error::internal(format!("column {name} has no name in files")))?;
    Ok(KeyColumn { name: column_name(&path), physical, path })
}

impl KeyColumn {
    /// Its values in rows of the table.
    pub(super) fn values(&self, rows: &RecordBatch) -> Result<ArrayRef> {
        let missing = || Error::internal(format!("rows without column {}", self.name));
        let (first, rest) = self.path.split_first().ok_or_else(missing)?;
        let mut array = Arc::clone(rows.column_by_name(first).ok_or_else(missing)?);
        for name in rest {
            let of_struct = array.as_struct_opt().ok_or_else(missing)?;
            let field = of_struct.column_by_name(name).ok_or_else(missing)?;
            // A field of nothing is nothing, whatever stands there.
            let nulls = NullBuffer::union(of_struct.nulls(), field.nulls());
            array = make_array(field.to_data().into_builder().nulls(nulls).build()?);
        }
        Ok(array)
    }
}
