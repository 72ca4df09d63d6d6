//! The physical names of the columns. Readers must find columns by ids, but some find them by
//! physical names, such as DuckDB 1.5.5 and deltalake 1.6.6. So a column gets the name that it has
//! in the files, if all files agree. No column gets a name that a file uses for another one: such
//! readers would return the values of the other one.

use std::collections::{BTreeSet, HashMap};

use arrow_schema::{DataType as ArrowType, Fields};
use lakebed_core::schema::mapping::{PHYSICAL_NAME, field_id};
use lakebed_core::schema::{DataType, StructType};

use super::file_ids::id_of;

/// The names of columns in files.
#[derive(Debug, Default)]
pub(super) struct FileNames {
    /// The names that files use for a column.
    names: HashMap<i32, BTreeSet<String>>,
    /// The columns for which files use a name, by their struct and the name in lower case.
    users: HashMap<(String, String), BTreeSet<i32>>,
    /// The columns of the last file. Most files have the same.
    last: Fields,
}

impl FileNames {
    /// Adds the columns of a file.
    pub(super) fn add(&mut self, fields: &Fields) {
        if self.last != *fields {
            self.add_struct(fields, "");
            self.last = fields.clone();
        }
    }

    fn add_struct(&mut self, fields: &Fields, place: &str) {
        for field in fields {
            let Some(id) = id_of(field) else { continue };
            self.names.entry(id).or_default().insert(field.name().clone());
            self.users.entry((place.to_owned(), field.name().to_lowercase())).or_default().insert(id);
            self.add_parts(field.data_type(), &format!("{place}.{id}"));
        }
    }

    fn add_parts(&mut self, data_type: &ArrowType, place: &str) {
        match data_type {
            ArrowType::Struct(fields) => self.add_struct(fields, place),
            ArrowType::List(element) => self.add_parts(element.data_type(), &format!("{place}.element")),
            ArrowType::Map(entries, _) => {
                let ArrowType::Struct(parts) = entries.data_type() else { return };
                for (part, name) in parts.iter().zip(["key", "value"]) {
                    self.add_parts(part.data_type(), &format!("{place}.{name}"));
                }
            }
            _ => {}
        }
    }

    /// Sets the physical names. A column without a name that is its own gets none. It will get a
    /// new name, as a column that is added later. Returns the columns that cannot be found by
    /// names.
    pub(super) fn give_to(&self, columns: &mut StructType) -> Vec<String> {
        let mut lost = Vec::new();
        self.give_to_struct(columns, &Place::default(), &mut lost);
        lost
    }

    fn give_to_struct(&self, columns: &mut StructType, place: &Place, lost: &mut Vec<String>) {
        for field in &mut columns.fields {
            let Some(id) = field_id(field) else { continue };
            let inner = place.part(&id.to_string(), &field.name);
            let in_files = self.names.get(&id);
            let only = in_files.filter(|names| names.len() == 1).and_then(BTreeSet::first);
            let name = only.unwrap_or(&field.name).clone();
            let users = self.users.get(&(place.ids.clone(), name.to_lowercase()));
            let is_own = users.is_none_or(|users| users.iter().all(|user| *user == id));
            if in_files.is_some() && (only.is_none() || !is_own) {
                lost.push(inner.names.trim_start_matches('.').to_owned());
            }
            if is_own {
                field.metadata.insert(PHYSICAL_NAME.to_owned(), name.into());
            }
            self.give_to_parts(&mut field.data_type, &inner, lost);
        }
    }

    fn give_to_parts(&self, data_type: &mut DataType, place: &Place, lost: &mut Vec<String>) {
        match data_type {
            DataType::Struct(columns) => self.give_to_struct(columns, place, lost),
            DataType::Array(array) => self.give_to_parts(&mut array.element, &place.part("element", "element"), lost),
            DataType::Map(map) => {
                self.give_to_parts(&mut map.key, &place.part("key", "key"), lost);
                self.give_to_parts(&mut map.value, &place.part("value", "value"), lost);
            }
            DataType::Primitive(_) => {}
        }
    }
}

/// A place in a schema.
#[derive(Default)]
struct Place {
    /// The ids on the way to it, for comparisons.
    ids: String,
    /// The names on the way to it, for messages.
    names: String,
}

impl Place {
    fn part(&self, id: &str, name: &str) -> Self {
        Self { ids: format!("{}.{id}", self.ids), names: format!("{}.{name}", self.names) }
    }
}

#[cfg(test)]
mod tests {
    use arrow_schema::Field;
    use lakebed_core::schema::mapping::FIELD_ID;
    use lakebed_core::schema::{PrimitiveType, StructField};
    use parquet::arrow::PARQUET_FIELD_ID_META_KEY;

    use super::*;

    /// Checks the physical names of columns, which are given by id and name, after files with these
    /// columns.
    #[track_caller]
    fn check(files: &[&[(i32, &str)]], columns: &[(i32, &str)], expected: &[Option<&str>], lost: &[&str]) {
        let mut names = FileNames::default();
        for file in files {
            let field = |(id, name): &(i32, &str)| {
                let id = (PARQUET_FIELD_ID_META_KEY.to_owned(), id.to_string());
                Field::new(*name, ArrowType::Int64, true).with_metadata([id].into())
            };
            names.add(&file.iter().map(field).collect());
        }
        let column = |(id, name): &(i32, &str)| {
            let mut field = StructField::new(*name, PrimitiveType::Long, true);
            field.metadata.insert(FIELD_ID.to_owned(), (*id).into());
            field
        };
        let mut columns = StructType { fields: columns.iter().map(column).collect() };
        assert_eq!(names.give_to(&mut columns), lost);
        let found: Vec<_> =
            columns.fields.iter().map(|field| field.metadata.get(PHYSICAL_NAME).and_then(|name| name.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn columns_get_the_name_of_all_files() {
        check(&[&[(1, "old"), (2, "x")]], &[(1, "new"), (2, "x"), (3, "added")], &[Some("old"), Some("x"), Some("added")], &[]);
        check(&[&[(1, "old")], &[(1, "new")]], &[(1, "new")], &[Some("new")], &["new"]);
    }

    #[test]
    fn no_column_gets_the_name_of_another() {
        // The first column was renamed, and another one took its name.
        check(&[&[(1, "a")]], &[(1, "b"), (2, "a")], &[Some("a"), None], &[]);
        check(&[&[(1, "a")], &[(1, "b"), (2, "a")]], &[(1, "b"), (2, "a")], &[Some("b"), None], &["b", "a"]);
        // The first column was dropped.
        check(&[&[(1, "A")]], &[(2, "a")], &[None], &[]);
        // The names were swapped.
        check(&[&[(1, "a"), (2, "b")], &[(1, "b"), (2, "a")]], &[(1, "b"), (2, "a")], &[None, None], &["b", "a"]);
    }
}
