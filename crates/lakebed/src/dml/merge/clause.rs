//! The clauses of a merge: as the caller gives them, and parsed.
//!
//! The rules are Delta Spark's. A clause for matches can name columns of both tables. A clause for
//! source rows without a match can name only source columns. A clause for target rows without a
//! match can name only target columns. Begin with [`Clause`], then [`Clauses::new`].

#[cfg(test)]
mod tests;

use lakebed_core::schema::{DataType, StructField, StructType};
use lakebed_expr::{Expression, Filter, field_index, quoted_path};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::names::{Side, Sides, is_same};
use crate::dml::assign::{Absent, Assignments, column_path, find, is_computed, value};
use crate::{Error, Result};

/// One clause of a merge. For each row, the first clause of its kind with a true condition applies.
///
/// ```
/// use lakebed::dml::merge::{Action, Clause, When};
///
/// let gone = Clause { when: When::Matched, condition: Some("source.deleted".into()), action: Action::Delete };
/// let changed = Clause { when: When::Matched, condition: None, action: Action::UpdateAll };
/// let new = Clause {
///     when: When::NotMatched,
///     condition: Some("NOT deleted".into()),
///     action: Action::Insert(vec![("id".into(), "source.id".into()), ("seen".into(), "current_timestamp()".into())]),
/// };
/// assert!([gone, changed, new].iter().filter(|clause| clause.when == When::Matched).count() == 2);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clause {
    /// The rows to which the clause applies.
    pub when: When,
    /// A further condition for the rows. Only the last clause of a kind can be without one.
    #[serde(rename = "where")]
    pub condition: Option<String>,
    /// The action of the clause.
    pub action: Action,
}

/// The rows to which a clause applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Target rows with the source row that matches them.
    Matched,
    /// Source rows that match no target row.
    NotMatched,
    /// Target rows that match no source row.
    NotMatchedBySource,
}

/// The action of a clause. Columns are named by path, with `a.b` for fields of structs. Values are
/// expressions. `DEFAULT` alone means the default of a column.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// All columns get the values of the source columns with the same names.
    UpdateAll,
    /// These columns get these values.
    Update(Vec<(String, String)>),
    /// The rows are deleted.
    Delete,
    /// New rows are inserted with the values of the source columns with the same names.
    InsertAll,
    /// New rows are inserted with these values in these columns. Other columns get their defaults,
    /// or null.
    Insert(Vec<(String, String)>),
}

/// All clauses of a merge, parsed. Within a kind they keep their order. Their expressions use the
/// flat schema.
#[derive(Debug)]
pub(crate) struct Clauses {
    pub(crate) matched: Vec<TargetClause>,
    pub(crate) not_matched: Vec<InsertClause>,
    pub(crate) not_matched_by_source: Vec<TargetClause>,
}

/// A parsed clause that changes target rows.
#[derive(Debug)]
pub(crate) struct TargetClause {
    pub(crate) condition: Option<Filter>,
    pub(crate) act: Act,
}

#[derive(Debug)]
pub(crate) enum Act {
    Delete,
    Update(Assignments),
}

/// A parsed clause that inserts source rows.
#[derive(Debug)]
pub(crate) struct InsertClause {
    pub(crate) condition: Option<Filter>,
    /// Indexes of columns in the table's schema and the values for them. The values still have to
    /// be cast to the column types. The table fills the other columns.
    pub(crate) columns: Vec<(usize, Expression)>,
}

impl Clauses {
    /// Parses the clauses. `table` is the schema that the table will have. If it `evolves`, values
    /// may lack columns and fields.
    ///
    /// # Errors
    /// If the clauses break a rule or cannot be parsed.
    pub(crate) fn new(given: &[Clause], sides: &Sides, table: &StructType, evolves: bool) -> Result<Self> {
        check(given)?;
        let reader = Reader { sides, table, evolves };
        let mut clauses = Self { matched: Vec::new(), not_matched: Vec::new(), not_matched_by_source: Vec::new() };
        for clause in given {
            let within = |error: Error| error.within(clause.when.words());
            match clause.when {
                When::Matched => clauses.matched.push(reader.target_clause(clause).map_err(within)?),
                When::NotMatched => clauses.not_matched.push(reader.insert_clause(clause).map_err(within)?),
                When::NotMatchedBySource => clauses.not_matched_by_source.push(reader.target_clause(clause).map_err(within)?),
            }
        }
        Ok(clauses)
    }
}

impl When {
    fn words(self) -> &'static str {
        match self {
            When::Matched => "WHEN MATCHED",
            When::NotMatched => "WHEN NOT MATCHED",
            When::NotMatchedBySource => "WHEN NOT MATCHED BY SOURCE",
        }
    }
}

impl Action {
    /// Returns the name of the action in the history.
    fn name(&self) -> &'static str {
        match self {
            Action::UpdateAll | Action::Update(_) => "update",
            Action::Delete => "delete",
            Action::InsertAll | Action::Insert(_) => "insert",
        }
    }
}

/// Returns the clauses of a kind as Delta Spark writes them to `operationParameters`.
pub(crate) fn shown(given: &[Clause], when: When) -> String {
    let shown = given.iter().filter(|clause| clause.when == when).map(|clause| {
        let predicate = clause.condition.as_ref().map(|condition| ("predicate".to_owned(), json!(condition)));
        let action = ("actionType".to_owned(), json!(clause.action.name()));
        Value::Object(predicate.into_iter().chain([action]).collect::<Map<_, _>>())
    });
    Value::Array(shown.collect()).to_string()
}

/// Returns the part of the source schema that is added to the table under schema evolution: the
/// columns and fields that clauses assign under their own names.
pub(crate) fn evolving(source: &StructType, given: &[Clause], target_alias: &str) -> Result<StructType> {
    let takes_part = given.iter().filter(|clause| clause.when != When::NotMatchedBySource);
    let (mut all, mut paths) = (false, Vec::new());
    for clause in takes_part {
        match &clause.action {
            Action::UpdateAll | Action::InsertAll => all = true,
            Action::Update(columns) | Action::Insert(columns) => {
                for (column, _) in columns {
                    paths.push(own_path(column, target_alias, |name| source.index_of(name).is_some())?);
                }
            }
            Action::Delete => {}
        }
    }
    let paths: Vec<&[String]> = paths.iter().map(Vec::as_slice).collect();
    Ok(assigned_part(source, &paths, all))
}

/// Returns the fields that the paths name, or every field with `all`.
fn assigned_part(source: &StructType, paths: &[&[String]], all: bool) -> StructType {
    let part = |field: &StructField| {
        let own = paths.iter().filter_map(|path| path.split_first()).filter(|(name, _)| is_same(name, &field.name));
        let below: Vec<&[String]> = own.map(|(_, below)| below).collect();
        if below.iter().any(|path| path.is_empty()) {
            return Some(field.clone());
        }
        match &field.data_type {
            DataType::Struct(fields) if all || !below.is_empty() => {
                Some(StructField { data_type: assigned_part(fields, &below, all).into(), ..field.clone() })
            }
            _ => all.then(|| field.clone()),
        }
    };
    StructType { fields: source.fields.iter().filter_map(part).collect() }
}

/// Returns the path of a target column, without the alias that may precede it.
fn own_path(text: &str, target_alias: &str, has_column: impl Fn(&str) -> bool) -> Result<Vec<String>> {
    let mut path = column_path(text)?;
    let is_qualified =
        path.first().is_some_and(|first| is_same(first, target_alias)) && path.get(1).is_some_and(|name| has_column(name));
    if is_qualified {
        path.remove(0);
    }
    Ok(path)
}

/// Checks the rules for the clauses as a whole. These do not depend on the expressions.
fn check(given: &[Clause]) -> Result<()> {
    if given.is_empty() {
        return Err(Error::invalid_input(
            "a merge without clauses does nothing: add a clause for rows that match or do not match",
        ));
    }
    for (place, clause) in given.iter().enumerate() {
        let words = clause.when.words();
        let fits = match (clause.when, &clause.action) {
            (When::NotMatched, action) => matches!(action, Action::InsertAll | Action::Insert(_)),
            (When::Matched, action) => !matches!(action, Action::InsertAll | Action::Insert(_)),
            (When::NotMatchedBySource, action) => matches!(action, Action::Update(_) | Action::Delete),
        };
        if !fits {
            let what = match clause.when {
                When::NotMatched => "rows can only be inserted",
                When::Matched => "rows can only be updated or deleted",
                When::NotMatchedBySource => {
                    "rows can only be deleted, or updated column by column, because there is no source row"
                }
            };
            return Err(Error::invalid_input(format!("{words}: {what}")));
        }
        if matches!(&clause.action, Action::Update(columns) | Action::Insert(columns) if columns.is_empty()) {
            return Err(Error::invalid_input(format!("{words}: name at least one column and its value")));
        }
        let is_last = !given.iter().skip(place + 1).any(|later| later.when == clause.when);
        if clause.condition.is_none() && !is_last {
            let message = format!(
                "{words}: only the last of these clauses may have no condition, because the later ones would never apply"
            );
            return Err(Error::invalid_input(message));
        }
    }
    Ok(())
}

/// The context in which clauses are parsed.
struct Reader<'a> {
    sides: &'a Sides,
    table: &'a StructType,
    evolves: bool,
}

impl Reader<'_> {
    fn target_clause(&self, clause: &Clause) -> Result<TargetClause> {
        let is_matched = clause.when == When::Matched;
        let condition = match (&clause.condition, is_matched) {
            (None, _) => None,
            (Some(text), true) => Some(self.sides.condition(text)?),
            (Some(text), false) => Some(self.sides.target_condition(text)?),
        };
        let parse = |text: &str| if is_matched { self.sides.expression(text) } else { self.sides.target_expression(text) };
        let act = match &clause.action {
            Action::Update(columns) => {
                let given = columns.iter().map(|(column, text)| Ok((quoted_path(&self.path(column)?), text.clone())));
                let absent = if self.evolves { Absent::Null } else { Absent::Refused };
                Act::Update(Assignments::with(self.table, &given.collect::<Result<Vec<_>>>()?, absent, &parse)?)
            }
            Action::UpdateAll => {
                let given: Vec<(String, String)> = self.same_names("UPDATE SET *")?.into_iter().map(|(_, given)| given).collect();
                let absent = if self.evolves { Absent::Kept } else { Absent::Refused };
                Act::Update(Assignments::with(self.table, &given, absent, &parse)?)
            }
            Action::Delete => Act::Delete,
            Action::InsertAll | Action::Insert(_) => return Err(Error::internal("an insert in a clause for target rows")),
        };
        Ok(TargetClause { condition, act })
    }

    fn insert_clause(&self, clause: &Clause) -> Result<InsertClause> {
        let condition = clause.condition.as_ref().map(|text| self.sides.source_condition(text)).transpose()?;
        let given = match &clause.action {
            Action::InsertAll => self.same_names("INSERT *")?.into_iter().map(|(place, (_, text))| (place, text)).collect(),
            Action::Insert(columns) => self.inserted(columns)?,
            _ => return Err(Error::internal("an update or a delete in a clause for new rows")),
        };
        let absent = if self.evolves { Absent::Null } else { Absent::Refused };
        let mut columns = Vec::with_capacity(given.len());
        for (place, text) in given {
            let field = self.table.fields.get(place).ok_or_else(|| Error::internal("a new row has an unknown column"))?;
            let parse = |text: &str| self.sides.source_expression(text);
            let value = value(field, &text, absent, &parse).map_err(|error| error.within(format!("column {}", field.name)))?;
            columns.extend(value.map(|value| (place, value)));
        }
        Ok(InsertClause { condition, columns })
    }

    /// Returns the indexes of the columns, each at most once, with the texts of their values.
    fn inserted(&self, columns: &[(String, String)]) -> Result<Vec<(usize, String)>> {
        let mut given: Vec<(usize, String)> = Vec::with_capacity(columns.len());
        for (column, text) in columns {
            let (places, field) = find(self.table, &self.path(column)?)?;
            let [place] = places.as_slice() else {
                return Err(Error::predicate(format!(
                    "{column}: a new row needs values for whole columns, not for fields inside them"
                )));
            };
            if given.iter().any(|(other, _)| other == place) {
                return Err(Error::predicate(format!("column {} is given more than one value", field.name)));
            }
            given.push((*place, text.clone()));
        }
        Ok(given)
    }

    /// Returns the columns that `*` means: their indexes, names, and the flat names of the source
    /// columns with the same names.
    fn same_names(&self, what: &str) -> Result<Vec<(usize, (String, String))>> {
        let source = self.sides.schema(Side::Source).fields();
        let (mut found, mut missing) = (Vec::new(), Vec::new());
        for (place, field) in self.table.fields.iter().enumerate() {
            match field_index(source, &field.name).and_then(|index| source.get(index)) {
                Some(given) => {
                    let value = [self.sides.alias(Side::Source).to_owned(), given.name().clone()];
                    found.push((place, (quoted_path(std::slice::from_ref(&field.name)), quoted_path(&value))));
                }
                None if self.evolves || is_computed(field) => {}
                None => missing.push(field.name.as_str()),
            }
        }
        if missing.is_empty() {
            return Ok(found);
        }
        let message = format!(
            "{what} takes every column from the source, but the source lacks {}; name the columns one by one, or ignore the \
             missing ones with schema_mode=\"merge\"",
            missing.join(", ")
        );
        Err(Error::schema_mismatch(message))
    }

    fn path(&self, column: &str) -> Result<Vec<String>> {
        own_path(column, self.sides.alias(Side::Target), |name| self.table.index_of(name).is_some())
    }
}
