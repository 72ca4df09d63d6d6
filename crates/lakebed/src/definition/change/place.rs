//! The place of a column in a schema: the positions that lead to it. Changes edit the schema there.
//! Begin with [`ColumnPlace::find`].

use lakebed_core::schema::{DataType, StructField, StructType};

use super::value::Position;
use crate::scan::read::column_selection::{resolve, split};
use crate::{Error, Result};

/// The place of a column, a field of a struct, an element, a key or a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ColumnPlace {
    positions: Vec<usize>,
    /// The names on the path, as the schema spells them.
    pub(super) names: Vec<String>,
}

/// The place of a column that does not exist yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NewPlace {
    /// The place of the struct around the column. It is `None` for a column of the table.
    pub(super) parent: Option<ColumnPlace>,
    pub(super) name: String,
}

impl ColumnPlace {
    /// Returns the place of a column that exists.
    pub(super) fn find(schema: &StructType, path: &str) -> Result<Self> {
        let positions = resolve(schema, path)?;
        let mut names = Vec::with_capacity(positions.len());
        let mut fields = Some(schema);
        let mut data_type = None::<&DataType>;
        for position in &positions {
            let (name, next) = match (fields, data_type) {
                (Some(fields), _) => {
                    let field = fields.fields.get(*position).ok_or_else(lost)?;
                    (field.name.clone(), &field.data_type)
                }
                (None, Some(DataType::Array(array))) => ("element".to_owned(), &array.element),
                (None, Some(DataType::Map(map))) if *position == 0 => ("key".to_owned(), &map.key),
                (None, Some(DataType::Map(map))) => ("value".to_owned(), &map.value),
                _ => return Err(lost()),
            };
            names.push(name);
            fields = match next {
                DataType::Struct(fields) => Some(fields),
                _ => None,
            };
            data_type = Some(next);
        }
        Ok(Self { positions, names })
    }

    /// Returns the path as it is shown to people and in the history.
    pub(super) fn name(&self) -> String {
        shown(&self.names)
    }

    /// Returns whether this is a column of the table.
    pub(super) fn is_top_level(&self) -> bool {
        self.positions.len() == 1
    }

    /// Returns the field of the column. The error is for elements, keys and values, which are not
    /// fields. `what` is the part of a field that they lack.
    pub(super) fn field<'s>(&self, schema: &'s mut StructType, what: &str) -> Result<&'s mut StructField> {
        let (index, fields) = self.siblings(schema, what)?;
        fields.get_mut(index).ok_or_else(lost)
    }

    /// Returns the position of the column in its struct, and the fields of the struct.
    pub(super) fn siblings<'s>(&self, schema: &'s mut StructType, what: &str) -> Result<(usize, &'s mut Vec<StructField>)> {
        let (last, above) = self.positions.split_last().ok_or_else(lost)?;
        match above {
            [] => Ok((*last, &mut schema.fields)),
            above => match type_at(schema, above)? {
                DataType::Struct(fields) => Ok((*last, &mut fields.fields)),
                _ => Err(Error::invalid_input(format!("column {}: elements, keys and values have no {what}", self.name()))),
            },
        }
    }

    /// Returns the type of the column.
    pub(super) fn data_type<'s>(&self, schema: &'s mut StructType) -> Result<&'s mut DataType> {
        type_at(schema, &self.positions)
    }

    /// Returns the field that keeps the history of the column's type: the column itself, or the
    /// nearest field around an element, key or value. Also returns the path from it to the column.
    pub(super) fn nearest_field(&self, schema: &StructType) -> Result<(ColumnPlace, Vec<String>)> {
        let mut length = self.positions.len();
        while length > 1 && !self.is_field_at(schema, length)? {
            length -= 1;
        }
        let (names, rest) = self.names.split_at_checked(length).ok_or_else(lost)?;
        let positions = self.positions.iter().copied().take(length).collect();
        Ok((ColumnPlace { positions, names: names.to_vec() }, rest.to_vec()))
    }

    /// Returns the place of the column of the table that this column is in.
    pub(super) fn top_level(&self) -> ColumnPlace {
        ColumnPlace {
            positions: self.positions.iter().copied().take(1).collect(),
            names: self.names.iter().take(1).cloned().collect(),
        }
    }

    /// Returns the names of the struct around the column.
    pub(super) fn parent_names(&self) -> &[String] {
        self.names.split_last().map_or(&[], |(_, above)| above)
    }

    /// Returns the first names of the path, as far as it leads through structs only.
    pub(super) fn names_in_structs(&self, schema: &StructType) -> Result<&[String]> {
        for length in 2..=self.positions.len() {
            if !self.is_field_at(schema, length)? {
                return self.names.get(..length - 1).ok_or_else(lost);
            }
        }
        Ok(&self.names)
    }

    /// Returns whether the first names of the path lead to a field of a struct.
    fn is_field_at(&self, schema: &StructType, length: usize) -> Result<bool> {
        let above = self.positions.get(..length.saturating_sub(1)).ok_or_else(lost)?;
        Ok(above.is_empty() || matches!(type_at(&mut schema.clone(), above)?, DataType::Struct(_)))
    }
}

impl NewPlace {
    /// Returns the place of a column that is added.
    pub(super) fn of(schema: &StructType, path: &str) -> Result<Self> {
        let names = split(path).ok_or_else(|| Error::invalid_input(format!("column {path}: a backtick is not closed")))?;
        let Some((name, above)) = names.split_last() else { return Err(lost()) };
        if name.is_empty() {
            return Err(Error::invalid_input(format!("column {path:?}: its name is empty")));
        }
        let parent = match above {
            [] => None,
            above => Some(ColumnPlace::find(schema, &lakebed_expr::quoted_path(above))?),
        };
        Ok(Self { parent, name: name.clone() })
    }

    /// Returns the path as it is shown to people and in the history.
    pub(super) fn path(&self) -> Vec<String> {
        let above = self.parent.iter().flat_map(|parent| parent.names.iter());
        above.cloned().chain([self.name.clone()]).collect()
    }

    /// Returns the fields among which the column will be.
    pub(super) fn siblings<'s>(&self, schema: &'s mut StructType) -> Result<&'s mut Vec<StructField>> {
        let Some(parent) = &self.parent else { return Ok(&mut schema.fields) };
        match parent.data_type(schema)? {
            DataType::Struct(fields) => Ok(&mut fields.fields),
            other => {
                let inside = match other {
                    DataType::Array(_) => "; the fields of its elements are named with `element`",
                    DataType::Map(_) => "; the fields of its values are named with `value`",
                    _ => "",
                };
                let message = format!(
                    "column {}: a field cannot be added to {}, which is not a struct",
                    shown(&self.path()),
                    parent.name()
                );
                Err(Error::invalid_input(format!("{message}{inside}")))
            }
        }
    }
}

impl Position {
    /// Returns the index for a column among other columns. `column` is for messages.
    pub(super) fn index(&self, column: &str, siblings: &[StructField]) -> Result<usize> {
        let Self::After(name) = self else { return Ok(0) };
        let others = StructType { fields: siblings.to_vec() };
        let last = split(name).and_then(|names| names.last().cloned()).unwrap_or_default();
        match others.index_of(name).or_else(|| others.index_of(&last)) {
            Some(index) => Ok(index + 1),
            None => {
                let names: Vec<&str> = siblings.iter().map(|field| field.name.as_str()).collect();
                let message =
                    format!("column {column}: there is no column {name} after which to put it; there are: {}", names.join(", "));
                Err(Error::invalid_input(message))
            }
        }
    }

    /// Returns the position as Delta Spark writes it to the history.
    pub(super) fn in_history(&self) -> String {
        match self {
            Self::First => "FIRST".to_owned(),
            Self::After(name) => format!("AFTER {name}"),
        }
    }
}

/// Returns a path as Delta Spark writes it: names with dots are in backticks.
pub(super) fn shown(names: &[String]) -> String {
    let name = |name: &String| if name.contains('.') { format!("`{name}`") } else { name.clone() };
    names.iter().map(name).collect::<Vec<_>>().join(".")
}

fn type_at<'s>(schema: &'s mut StructType, positions: &[usize]) -> Result<&'s mut DataType> {
    let (first, rest) = positions.split_first().ok_or_else(lost)?;
    let mut data_type = &mut schema.fields.get_mut(*first).ok_or_else(lost)?.data_type;
    for position in rest {
        data_type = match data_type {
            DataType::Struct(fields) => &mut fields.fields.get_mut(*position).ok_or_else(lost)?.data_type,
            DataType::Array(array) => &mut array.element,
            DataType::Map(map) => match position {
                0 => &mut map.key,
                _ => &mut map.value,
            },
            DataType::Primitive(_) => return Err(lost()),
        };
    }
    Ok(data_type)
}

fn lost() -> Error {
    Error::internal("the position of a column leads nowhere")
}
