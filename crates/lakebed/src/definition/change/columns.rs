//! Changes of columns that keep their types: adding, renaming, dropping, moving, comments,
//! nullability and defaults.

use std::collections::BTreeMap;

use lakebed_core::commit::info::Operation;
use lakebed_core::schema::char_varchar::CHAR_VARCHAR;
use lakebed_core::schema::field_metadata::{COMMENT, CURRENT_DEFAULT, check_own_metadata};
use lakebed_core::schema::mapping::{FIELD_ID, NESTED_IDS, PHYSICAL_NAME};
use lakebed_core::schema::nested_lengths::{gather, spread};
use lakebed_core::schema::widen::TYPE_CHANGES;
use lakebed_core::schema::{DataType, StructField};
use lakebed_expr::quoted_path;
use serde_json::{Value, json};

use super::dependents::{roles, uses};
use super::draft::{ChangeDraft, HistoryEntry, RowCheck};
use super::place::{ColumnPlace, NewPlace, shown};
use super::statistics::{drop_statistics, rename_statistics};
use super::value::{NewColumn, Position};
use crate::definition::columns::checked_column;
use crate::{Error, Result};

impl ChangeDraft {
    pub(super) fn add_columns(&mut self, columns: &[NewColumn]) -> Result<()> {
        if columns.is_empty() {
            return Err(Error::invalid_input("name at least one column to add"));
        }
        columns.iter().try_for_each(|column| self.add_column(column))
    }

    fn add_column(&mut self, new: &NewColumn) -> Result<()> {
        let place = NewPlace::of(&self.schema, &new.name)?;
        let path = place.path();
        let name = shown(&path);
        let within = |error: Error| error.within(format!("column {name}"));
        let field = new.field(&place.name).map_err(within)?;
        self.check_filled(new, &place).map_err(within)?;
        if !field.nullable {
            self.checks.push(RowCheck::NoRows(format!(
                "column {name}: it would be null in the rows that the table has; add it with nulls allowed, fill it, and then \
                 forbid nulls"
            )));
        }
        let around = place.parent.as_ref().map(ColumnPlace::top_level);
        let mut stored = field.clone();
        if let Some(around) = &around {
            spread(around.field(&mut self.schema, "lengths")?);
            spread(&mut stored);
        }
        let siblings = place.siblings(&mut self.schema)?;
        if let Some(twin) = siblings.iter().find(|other| other.name.to_lowercase() == field.name.to_lowercase()) {
            let message = format!("column {name}: the table has the column {} already (case does not count)", twin.name);
            return Err(Error::invalid_input(message));
        }
        let index = match &new.position {
            Some(position) => position.index(&name, siblings)?,
            None => siblings.len(),
        };
        siblings.insert(index, stored);
        if let Some(around) = &around {
            gather(around.field(&mut self.schema, "lengths")?);
        }
        let mut field = field;
        if place.parent.is_none() {
            // The whole schema is needed, because expressions may use other new columns.
            let checked = checked_column(&self.schema, &self.metadata.partition_columns, &field)?;
            if let Some(stored) = self.schema.fields.get_mut(index) {
                stored.clone_from(&checked);
            }
            field = checked;
        }
        let mut entry = json!({ "column": column_in_history(&path, &field) });
        if let Some(position) = &new.position {
            entry["position"] = position.in_history().into();
        }
        self.history.push(HistoryEntry::AddColumn(entry));
        Ok(())
    }

    /// Refuses a column that gets values in another way than from rows, if it is inside a struct. The
    /// rows that the table has would be null in such a column.
    fn check_filled(&mut self, new: &NewColumn, place: &NewPlace) -> Result<()> {
        let ways = [
            (new.default.is_some(), "a default: add the column without it, and set the default afterwards, for later rows"),
            (new.generated.is_some(), "a generation expression: create a table with the column, and copy the rows"),
            (new.identity.is_some(), "identity numbers: create a table with the column, and copy the rows"),
        ];
        let Some((_, what)) = ways.into_iter().find(|(is_given, _)| *is_given) else { return Ok(()) };
        if place.parent.is_some() {
            return Err(Error::invalid_input("only whole columns can have a default, a generation expression or an identity"));
        }
        self.checks.push(RowCheck::NoRows(format!(
            "column {}: the rows that the table has would be null in it, so it cannot have {what}",
            place.name
        )));
        Ok(())
    }

    pub(super) fn rename_column(&mut self, column: &str, new_name: &str) -> Result<()> {
        let place = ColumnPlace::find(&self.schema, column)?;
        let name = place.name();
        if new_name.is_empty() {
            return Err(Error::invalid_input(format!("column {name}: the new name is empty")));
        }
        if !place.is_top_level() && new_name.starts_with(&format!("{}.", shown(place.parent_names()))) {
            return Err(Error::invalid_input(format!(
                "column {name}: give only the new name, without the path before it, instead of {new_name}"
            )));
        }
        let field = place.field(&mut self.schema, "names")?;
        if field.name == new_name {
            return Ok(());
        }
        self.drop_or_rename(&name, "renamed")?;
        refuse_used(&name, "renamed", uses(self, &place, &[])?)?;
        let lower = new_name.to_lowercase();
        let (index, siblings) = place.siblings(&mut self.schema, "names")?;
        let twin = siblings.iter().enumerate().find(|(other, field)| *other != index && field.name.to_lowercase() == lower);
        if let Some((_, twin)) = twin {
            let message = format!("column {name}: the table has the column {} already (case does not count)", twin.name);
            return Err(Error::invalid_input(message));
        }
        self.with_lengths(&place, |draft| {
            place.field(&mut draft.schema, "names")?.name = new_name.to_owned();
            Ok(())
        })?;
        let mut path = place.names.clone();
        if let Some(last) = path.last_mut() {
            new_name.clone_into(last);
        }
        if place.is_top_level() {
            for partition_column in
                self.metadata.partition_columns.iter_mut().filter(|column| place.names.first() == Some(column))
            {
                new_name.clone_into(partition_column);
            }
        }
        rename_statistics(&mut self.metadata, &place.names, &path)?;
        let operation = Operation::new("RENAME COLUMN").with("oldColumnPath", name).with("newColumnPath", shown(&path));
        self.record(operation);
        Ok(())
    }

    pub(super) fn drop_columns(&mut self, columns: &[String]) -> Result<()> {
        if columns.is_empty() {
            return Err(Error::invalid_input("name at least one column to drop"));
        }
        let places = columns.iter().map(|column| ColumnPlace::find(&self.schema, column)).collect::<Result<Vec<_>>>()?;
        let mut problems = Vec::new();
        for (index, place) in places.iter().enumerate() {
            let name = place.name();
            if let Some(other) = places.iter().take(index).find(|other| *other == place) {
                return Err(Error::invalid_input(format!("column {} is given twice", other.name())));
            }
            place.field(&mut self.schema, "place in the table of their own, so they cannot be dropped")?;
            self.drop_or_rename(&name, "dropped")?;
            let mut used = roles(self, place)?;
            used.extend(uses(self, place, &places)?);
            if !used.is_empty() {
                problems.push(used_by(&name, "dropped", &used));
            }
        }
        if !problems.is_empty() {
            return Err(Error::invalid_input(problems.join("; ")));
        }
        let paths: Vec<Vec<String>> = places.iter().map(|place| place.names.clone()).collect();
        for path in &paths {
            // Positions change when columns before them are dropped, so each is searched anew. A
            // column may have gone with the struct around it.
            if let Ok(place) = ColumnPlace::find(&self.schema, &quoted_path(path)) {
                self.with_lengths(&place, |draft| {
                    let (index, siblings) = place.siblings(&mut draft.schema, "place of their own")?;
                    if siblings.len() == 1 {
                        let message =
                            format!("column {}: it is the last one, and a table or struct needs at least one", place.name());
                        return Err(Error::invalid_input(message));
                    }
                    siblings.remove(index);
                    Ok(())
                })?;
            }
        }
        if self.schema.fields.iter().all(|field| self.metadata.partition_columns.contains(&field.name)) {
            let message = "only partition columns would be left, and the data files need at least one other column";
            return Err(Error::invalid_input(format!("column {}: {message}", columns.join(", "))));
        }
        drop_statistics(&mut self.metadata, &paths)?;
        let names: Vec<String> = paths.iter().map(|path| shown(path)).collect();
        self.record(Operation::new("DROP COLUMNS").with_names("columns", &names));
        Ok(())
    }

    pub(super) fn move_column(&mut self, column: &str, position: &Position) -> Result<()> {
        let place = ColumnPlace::find(&self.schema, column)?;
        let name = place.name();
        let (index, found) = self.with_lengths(&place, |draft| {
            let (index, siblings) = place.siblings(&mut draft.schema, "position")?;
            let field = siblings.remove(index);
            let found = match position {
                Position::After(other) if other.to_lowercase() == field.name.to_lowercase() => {
                    return Err(Error::invalid_input(format!("column {name}: it cannot be moved behind itself")));
                }
                position => position.index(&name, siblings)?,
            };
            siblings.insert(found, field);
            Ok((index, found))
        })?;
        let moved = place.siblings(&mut self.schema, "position")?.1.get(found).cloned();
        if let (true, Some(field)) = (found != index, moved) {
            self.changed(&place, &field, Some(position.in_history()));
        }
        Ok(())
    }

    pub(super) fn set_comment(&mut self, column: &str, comment: Option<&str>) -> Result<()> {
        let place = ColumnPlace::find(&self.schema, column)?;
        let field = place.field(&mut self.schema, "comments")?;
        if field.metadata.get(COMMENT).and_then(Value::as_str) == comment {
            return Ok(());
        }
        match comment {
            Some(comment) => field.metadata.insert(COMMENT.to_owned(), comment.into()),
            None => field.metadata.remove(COMMENT),
        };
        let field = field.clone();
        self.changed(&place, &field, None);
        Ok(())
    }

    pub(super) fn set_column_metadata(&mut self, column: &str, metadata: &BTreeMap<String, Value>) -> Result<()> {
        let place = ColumnPlace::find(&self.schema, column)?;
        check_own_metadata(metadata).map_err(|error| error.within(format!("column {}", place.name())))?;
        let field = place.field(&mut self.schema, "metadata")?;
        let before = field.metadata.clone();
        for (key, value) in metadata {
            match value {
                Value::Null => field.metadata.remove(key),
                value => field.metadata.insert(key.clone(), value.clone()),
            };
        }
        if field.metadata != before {
            let field = field.clone();
            self.changed(&place, &field, None);
        }
        Ok(())
    }

    pub(super) fn set_nullable(&mut self, column: &str, nullable: bool) -> Result<()> {
        let place = ColumnPlace::find(&self.schema, column)?;
        let name = place.name();
        let is_in_structs = place.names_in_structs(&self.schema)?.len() == place.names.len();
        let field = place.field(&mut self.schema, "rule about nulls that could be changed")?;
        if field.nullable == nullable {
            return Ok(());
        }
        if !nullable && !is_in_structs {
            return Err(Error::invalid_input(format!(
                "column {name}: nulls can be forbidden only in columns and in fields of structs, not inside arrays and maps"
            )));
        }
        field.nullable = nullable;
        let field = field.clone();
        if !nullable {
            // A field of a null struct has no value that could be null.
            let structs = (1..place.names.len()).filter_map(|length| place.names.get(..length));
            let mut condition = format!("{} IS NOT NULL", quoted_path(&place.names));
            structs.for_each(|above| condition = format!("{condition} OR {} IS NULL", quoted_path(above)));
            self.checks.push(RowCheck::Every { what: format!("column {name} must not be null"), condition });
        }
        self.changed(&place, &field, None);
        Ok(())
    }

    pub(super) fn set_default(&mut self, column: &str, default: Option<&str>) -> Result<()> {
        let place = ColumnPlace::find(&self.schema, column)?;
        if !place.is_top_level() {
            let message = format!("column {}: only whole columns can have a default, not fields inside them", place.name());
            return Err(Error::invalid_input(message));
        }
        let field = place.field(&mut self.schema, "default")?;
        if field.metadata.get(CURRENT_DEFAULT).and_then(Value::as_str) == default {
            return Ok(());
        }
        match default {
            Some(default) => field.metadata.insert(CURRENT_DEFAULT.to_owned(), default.into()),
            None => field.metadata.remove(CURRENT_DEFAULT),
        };
        let field = field.clone();
        if default.is_some() {
            checked_column(&self.schema, &self.metadata.partition_columns, &field)?;
        }
        self.changed(&place, &field, None);
        Ok(())
    }

    /// Records a change of a column in the history.
    pub(super) fn changed(&mut self, place: &ColumnPlace, field: &StructField, position: Option<String>) {
        let mut column = column_in_history(&place.names, field);
        // Delta Spark gives a column that is added its id later, and leaves it in one that is changed.
        for key in [PHYSICAL_NAME, FIELD_ID, NESTED_IDS] {
            if let (Some(value), Some(metadata)) = (field.metadata.get(key), column["metadata"].as_object_mut()) {
                metadata.insert(key.to_owned(), value.clone());
            }
        }
        self.history.push(HistoryEntry::ChangeColumn { column, position });
    }

    /// Makes a change at a place. If that is inside a column with CHAR and VARCHAR strings, the lengths
    /// of these follow the change.
    pub(super) fn with_lengths<T>(&mut self, place: &ColumnPlace, change: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if place.is_top_level() {
            return change(self);
        }
        let around = place.top_level();
        spread(around.field(&mut self.schema, "lengths")?);
        let changed = change(self)?;
        gather(around.field(&mut self.schema, "lengths")?);
        Ok(changed)
    }
}

/// Refuses a change of a column that other parts of the definition use.
pub(super) fn refuse_used(column: &str, verb: &str, used: Vec<String>) -> Result<()> {
    if used.is_empty() { Ok(()) } else { Err(Error::invalid_input(used_by(column, verb, &used))) }
}

fn used_by(column: &str, verb: &str, used: &[String]) -> String {
    format!("column {column} cannot be {verb}, because it is used by {}; change or drop these first", used.join(", "))
}

/// Returns a column as Delta Spark writes it to the history: with the lengths of its strings in the
/// type, and without the metadata that writers maintain by themselves.
fn column_in_history(path: &[String], field: &StructField) -> Value {
    let mut metadata = field.metadata.clone();
    [PHYSICAL_NAME, FIELD_ID, NESTED_IDS, TYPE_CHANGES].iter().for_each(|key| drop(metadata.remove(*key)));
    let lengths = metadata.remove(CHAR_VARCHAR);
    let data_type = match (&field.data_type, lengths) {
        (DataType::Primitive(_), Some(Value::String(lengths))) => lengths,
        (data_type, _) => type_in_history(data_type),
    };
    json!({ "name": shown(path), "type": data_type, "nullable": field.nullable, "metadata": metadata })
}

fn type_in_history(data_type: &DataType) -> String {
    match data_type {
        DataType::Primitive(primitive) => primitive.to_string(),
        DataType::Struct(_) => "struct".to_owned(),
        DataType::Array(_) => "array".to_owned(),
        DataType::Map(_) => "map".to_owned(),
    }
}
