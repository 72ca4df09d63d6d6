//! Resolves names in a merge to columns of the target or of the source.
//!
//! Each table has an alias. Expressions are evaluated on batches whose columns are called
//! `alias.column`; these names are called flat. Names in a text are resolved to flat names while
//! the text is parsed. Begin with [`Sides::new`], then [`Sides::condition`].

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::{Fields, Schema, SchemaRef};
use lakebed_core::schema::StructType;
use lakebed_expr::{Expression, Filter, Options, field_index, filter_schema, nearest_name, parse_expr_named, parse_filter_named};

use crate::{Error, Result};

/// The two tables of a merge with their aliases.
#[derive(Debug)]
pub(crate) struct Sides {
    target: Named,
    source: Named,
    flat: SchemaRef,
    options: Options,
}

/// The arguments from which [`Sides`] are built.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SidesOptions<'a> {
    /// The schema with which target rows are read, without columns that the merge adds.
    pub(crate) target: &'a StructType,
    pub(crate) target_alias: &'a str,
    pub(crate) source: &'a StructType,
    pub(crate) source_alias: &'a str,
    /// The time of the call, for `current_timestamp()` and similar functions.
    pub(crate) now_ms: Option<i64>,
}

/// A table of a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Target,
    Source,
}

#[derive(Debug)]
struct Named {
    alias: String,
    schema: SchemaRef,
}

/// The columns that a text may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Both,
    Only(Side),
}

impl Sides {
    /// Creates the sides.
    ///
    /// # Errors
    /// If both have the same alias, or if two columns have the same flat name.
    pub(crate) fn new(options: SidesOptions<'_>) -> Result<Self> {
        let SidesOptions { target, target_alias, source, source_alias, now_ms } = options;
        if is_same(target_alias, source_alias) {
            return Err(Error::invalid_input(format!(
                "target and source both have the alias {target_alias}: give one of them another alias"
            )));
        }
        let target = Named { alias: target_alias.to_owned(), schema: Arc::new(filter_schema(target)?) };
        let source = Named { alias: source_alias.to_owned(), schema: Arc::new(filter_schema(source)?) };
        let fields = [&target, &source].into_iter().flat_map(Named::flat_fields);
        let flat = Arc::new(Schema::new(fields.collect::<Fields>()));
        let mut seen = HashSet::new();
        match flat.fields().iter().find(|field| !seen.insert(field.name().as_str())) {
            Some(twice) => Err(Error::invalid_input(format!(
                "{} could be a column of the target or of the source: give one of them another alias",
                twice.name()
            ))),
            None => Ok(Self { target, source, flat, options: Options { now_ms } }),
        }
    }

    /// Returns the schema of the flat columns, `alias.column`: first the target's, then the
    /// source's. All are nullable.
    pub(crate) fn flat(&self) -> &SchemaRef {
        &self.flat
    }

    /// Returns the columns of one table under their own names.
    pub(crate) fn schema(&self, side: Side) -> &SchemaRef {
        &self.side(side).schema
    }

    pub(crate) fn alias(&self, side: Side) -> &str {
        &self.side(side).alias
    }

    /// Parses a condition on pairs of rows.
    pub(crate) fn condition(&self, text: &str) -> Result<Filter> {
        self.filter(text, Scope::Both)
    }

    /// Parses a value for pairs of rows.
    pub(crate) fn expression(&self, text: &str) -> Result<Expression> {
        self.value(text, Scope::Both)
    }

    /// Parses a condition on target rows alone.
    pub(crate) fn target_condition(&self, text: &str) -> Result<Filter> {
        self.filter(text, Scope::Only(Side::Target))
    }

    /// Parses a value for target rows alone.
    pub(crate) fn target_expression(&self, text: &str) -> Result<Expression> {
        self.value(text, Scope::Only(Side::Target))
    }

    /// Parses a condition on source rows alone.
    pub(crate) fn source_condition(&self, text: &str) -> Result<Filter> {
        self.filter(text, Scope::Only(Side::Source))
    }

    /// Parses a value for source rows alone.
    pub(crate) fn source_expression(&self, text: &str) -> Result<Expression> {
        self.value(text, Scope::Only(Side::Source))
    }

    /// Returns the table to which a flat column belongs, and the column's name in that table.
    pub(crate) fn side_of(&self, flat: &str) -> Option<(Side, &str)> {
        let place = self.flat.index_of(flat).ok()?;
        let own = self.target.schema.fields().len();
        let (side, place) = if place < own { (Side::Target, place) } else { (Side::Source, place - own) };
        Some((side, self.side(side).schema.fields().get(place)?.name()))
    }

    /// Returns a flat filter as a filter over the target's own schema; None if it reads columns
    /// that are not the target's.
    pub(crate) fn of_target(&self, flat: &Filter) -> Option<Filter> {
        let name = |flat: &str| match self.side_of(flat) {
            Some((Side::Target, name)) => Some(name.to_owned()),
            _ => None,
        };
        flat.renamed(&self.target.schema, name)
    }

    fn side(&self, side: Side) -> &Named {
        match side {
            Side::Target => &self.target,
            Side::Source => &self.source,
        }
    }

    fn filter(&self, text: &str, scope: Scope) -> Result<Filter> {
        parse_filter_named(text, &self.flat, &self.options, &|path| self.flat_path(path, scope))
    }

    fn value(&self, text: &str, scope: Scope) -> Result<Expression> {
        parse_expr_named(text, &self.flat, &self.options, &|path| self.flat_path(path, scope))
    }

    /// Returns the flat name of a path, or the reason why it has none. As in Spark, an alias takes
    /// precedence over a struct column of the same name.
    fn flat_path(&self, path: &[String], scope: Scope) -> Result<Vec<String>, String> {
        let Some((first, fields)) = path.split_first() else { return Err("a name is missing".into()) };
        let sides = scope.sides().iter().map(|side| self.side(*side));
        for side in sides.clone().filter(|side| is_same(&side.alias, first)) {
            if let Some((column, fields)) = fields.split_first()
                && let Some(flat) = side.flat_name(column)
            {
                return Ok([&[flat], fields].concat());
            }
        }
        let owners: Vec<String> = sides.filter_map(|side| side.flat_name(first)).collect();
        match owners.as_slice() {
            [flat] => Ok([std::slice::from_ref(flat), fields].concat()),
            [] => Err(self.unknown(first, fields, scope)),
            _ => Err(format!("`{first}` is a column of both tables; write {}", owners.join(" or "))),
        }
    }

    fn unknown(&self, first: &str, fields: &[String], scope: Scope) -> String {
        let qualified = fields.first().filter(|_| [&self.target, &self.source].iter().any(|side| is_same(&side.alias, first)));
        if let Scope::Only(side) = scope {
            let (other, rows) = match side {
                Side::Target => (&self.source, "the source, but this clause is for target rows without a source row"),
                Side::Source => (&self.target, "the target, but this clause is for source rows without a target row"),
            };
            let is_of_other = is_same(&other.alias, first) && qualified.is_some() || other.flat_name(first).is_some();
            if is_of_other {
                let name = [&[first.to_owned()], fields].concat().join(".");
                return format!("`{name}` is a column of {rows}");
            }
        }
        let sides: Vec<&Named> = match qualified {
            Some(_) => [&self.target, &self.source].into_iter().filter(|side| is_same(&side.alias, first)).collect(),
            None => scope.sides().iter().map(|side| self.side(*side)).collect(),
        };
        let name = qualified.map_or(first, String::as_str);
        let names = || sides.iter().flat_map(|side| side.schema.fields()).map(|field| field.name().as_str());
        let place = if qualified.is_some() { format!(" in {first}") } else { String::new() };
        if names().filter(|other| is_same(other, name)).count() > 1 {
            return format!(
                "`{name}` may be any of several columns{place}, whose names differ only in case; write its name exactly"
            );
        }
        match nearest_name(name, names()) {
            Some(near) => format!("there is no column `{name}`{place}; did you mean `{near}`?"),
            None => format!("there is no column `{name}`{place}; there are {}", names().take(12).collect::<Vec<_>>().join(", ")),
        }
    }
}

impl Named {
    /// Returns the flat fields. They keep their metadata, which contains the length of texts.
    fn flat_fields(&self) -> impl Iterator<Item = arrow_schema::Field> {
        let flat = |field: &arrow_schema::FieldRef| {
            field.as_ref().clone().with_name(format!("{}.{}", self.alias, field.name())).with_nullable(true)
        };
        self.schema.fields().iter().map(flat)
    }

    fn flat_name(&self, column: &str) -> Option<String> {
        let field = self.schema.fields().get(field_index(self.schema.fields(), column)?)?;
        Some(format!("{}.{}", self.alias, field.name()))
    }
}

impl Scope {
    fn sides(self) -> &'static [Side] {
        match self {
            Scope::Both => &[Side::Target, Side::Source],
            Scope::Only(Side::Target) => &[Side::Target],
            Scope::Only(Side::Source) => &[Side::Source],
        }
    }
}

/// Returns whether two names are equal without regard to case.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}
