//! Compares a later schema of a table with an earlier one, for readers of the earlier one.
//!
//! [`first_obstacle`] returns whether rows of the later schema can still be returned in the old
//! columns. It compares columns by logical names, as Delta Spark's streams do. [`column_changes`]
//! lists the columns that were renamed, dropped or changed. It compares columns by physical names.

use std::fmt;

use super::mapping::{MappingMode, physical_name};
use super::types::{DataType, PrimitiveType, StructType};
use super::widen::is_widening;

/// Returns why rows of one schema cannot be returned as rows of another, or `None` if they can.
///
/// Columns that the rows lack are null. Every column of the rows must be in `wanted`, must have the
/// same type (or, if `widen`, a wider one), and must not hold nulls where none are expected.
pub fn first_obstacle(rows: &StructType, wanted: &StructType, widen: bool) -> Option<String> {
    in_struct(rows, wanted, widen, "")
}

fn in_struct(rows: &StructType, wanted: &StructType, widen: bool, place: &str) -> Option<String> {
    let missing = rows.fields.iter().find(|field| wanted.field(&field.name).is_none());
    if let Some(field) = missing {
        return Some(format!("column {place}{} is missing", field.name));
    }
    wanted.fields.iter().find_map(|field| {
        let name = format!("{place}{}", field.name);
        let given = rows.field(&field.name)?;
        if given.name != field.name {
            return Some(format!("column {name} is spelled {}", given.name));
        }
        if given.nullable && !field.nullable {
            return Some(format!("column {name} may be null"));
        }
        in_type(&given.data_type, &field.data_type, widen, &name)
    })
}

fn in_type(rows: &DataType, wanted: &DataType, widen: bool, name: &str) -> Option<String> {
    let nulls =
        |given: bool, allowed: bool, what: &str| (given && !allowed).then(|| format!("{what} of column {name} may be null"));
    match (rows, wanted) {
        (DataType::Struct(rows), DataType::Struct(wanted)) => in_struct(rows, wanted, widen, &format!("{name}.")),
        (DataType::Array(rows), DataType::Array(wanted)) => nulls(rows.contains_null, wanted.contains_null, "elements")
            .or_else(|| in_type(&rows.element, &wanted.element, widen, &format!("{name}.element"))),
        (DataType::Map(rows), DataType::Map(wanted)) => nulls(rows.value_contains_null, wanted.value_contains_null, "values")
            .or_else(|| in_type(&rows.key, &wanted.key, widen, &format!("{name}.key")))
            .or_else(|| in_type(&rows.value, &wanted.value, widen, &format!("{name}.value"))),
        (DataType::Primitive(rows), DataType::Primitive(wanted)) if is_same(*rows, *wanted) => None,
        (DataType::Primitive(rows), DataType::Primitive(wanted)) if widen && is_widening(*rows, *wanted) => None,
        (rows, wanted) => Some(format!("column {name} has the type {} instead of {}", kind(rows), kind(wanted))),
    }
}

/// Returns whether two types are equal. All types of strings are equal, because a length is only a
/// note on a column.
fn is_same(one: PrimitiveType, other: PrimitiveType) -> bool {
    let plain = |primitive| if matches!(primitive, PrimitiveType::Char { .. }) { PrimitiveType::String } else { primitive };
    plain(one) == plain(other)
}

fn kind(data_type: &DataType) -> String {
    match data_type {
        DataType::Primitive(primitive) => primitive.to_string(),
        DataType::Struct(_) => "struct".to_owned(),
        DataType::Array(_) => "array".to_owned(),
        DataType::Map(_) => "map".to_owned(),
    }
}

/// The changes of columns between two schemas of a table. Columns are identified by their physical
/// names, and listed by their paths.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ColumnChanges {
    /// The old path and the new path of each renamed column.
    pub renamed: Vec<(String, String)>,
    /// The old paths of dropped columns.
    pub dropped: Vec<String>,
    /// The columns that became wider: the new path, the old type and the new type.
    pub widened: Vec<(String, PrimitiveType, PrimitiveType)>,
    /// The new paths of columns with a new type into which the old type does not fit.
    pub retyped: Vec<String>,
}

impl ColumnChanges {
    /// Returns whether there are no changes that readers of the old columns would notice.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for ColumnChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let renamed = self.renamed.iter().map(|(from, to)| format!("column {from} renamed to {to}"));
        let dropped = self.dropped.iter().map(|name| format!("column {name} dropped"));
        let widened = self.widened.iter().map(|(name, from, to)| format!("column {name} widened from {from} to {to}"));
        let retyped = self.retyped.iter().map(|name| format!("the type of column {name} changed"));
        f.write_str(&renamed.chain(dropped).chain(widened).chain(retyped).collect::<Vec<_>>().join(", "))
    }
}

/// Returns the changes of columns from an old schema to a new one. Each schema comes with its kind
/// of column mapping.
pub fn column_changes(old: (&StructType, MappingMode), new: (&StructType, MappingMode)) -> ColumnChanges {
    let mut comparison = Comparison { modes: (old.1, new.1), changes: ColumnChanges::default() };
    comparison.structs((old.0, ""), (new.0, ""));
    comparison.changes
}

/// The state of a comparison.
struct Comparison {
    modes: (MappingMode, MappingMode),
    changes: ColumnChanges,
}

impl Comparison {
    /// Compares two structs. Each comes with the path that its fields are under.
    fn structs(&mut self, (old, old_place): (&StructType, &str), (new, new_place): (&StructType, &str)) {
        for field in &old.fields {
            let physical = physical_name(field, self.modes.0);
            let old_path = format!("{old_place}{}", field.name);
            let Some(now) = new.fields.iter().find(|now| physical_name(now, self.modes.1) == physical) else {
                self.changes.dropped.push(old_path);
                continue;
            };
            let new_path = format!("{new_place}{}", now.name);
            self.types((&field.data_type, &old_path), (&now.data_type, &new_path));
            if field.name != now.name {
                self.changes.renamed.push((old_path, new_path));
            }
        }
    }

    /// Compares the types at two paths.
    fn types(&mut self, (old, old_path): (&DataType, &str), (new, new_path): (&DataType, &str)) {
        let mut part = |old: &DataType, new: &DataType, name: &str| {
            self.types((old, &format!("{old_path}.{name}")), (new, &format!("{new_path}.{name}")));
        };
        match (old, new) {
            (DataType::Struct(old), DataType::Struct(new)) => {
                self.structs((old, &format!("{old_path}.")), (new, &format!("{new_path}.")));
            }
            (DataType::Array(old), DataType::Array(new)) => part(&old.element, &new.element, "element"),
            (DataType::Map(old), DataType::Map(new)) => {
                part(&old.key, &new.key, "key");
                part(&old.value, &new.value, "value");
            }
            (DataType::Primitive(old), DataType::Primitive(new)) if is_same(*old, *new) => {}
            (DataType::Primitive(old), DataType::Primitive(new)) if is_widening(*old, *new) => {
                self.changes.widened.push((new_path.to_owned(), *old, *new));
            }
            _ => self.changes.retyped.push(new_path.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests;
