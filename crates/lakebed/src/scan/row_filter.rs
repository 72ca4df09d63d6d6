//! Predicates on rows: on the columns of a table, and on `_metadata`. That is the file and the
//! position of a row, and its row id and row commit version in a table with row tracking.

use std::sync::Arc;

use arrow_schema::Schema;
use lakebed_core::schema::StructType;
use lakebed_expr::{Filter, METADATA_COLUMN, Options, Predicate, metadata_field, nullable, parse_filter, scan_schema};

use super::row_column::RowColumnKind;
use crate::{Error, Result, Snapshot};

/// Parses a predicate on the columns of a table and on `_metadata`.
pub(crate) fn parse_row_filter(schema: &StructType, text: &str, now_ms: i64) -> Result<Filter> {
    parse_filter(text, &scan_schema(schema, text)?, &Options { now_ms: Some(now_ms) })
}

/// Returns the fields of `_metadata` that a predicate names.
pub(crate) fn row_columns_of(filter: &Filter, schema: &StructType) -> Result<Vec<RowColumnKind>> {
    let columns = filter.columns();
    let fields = columns.iter().filter_map(|path| metadata_field(schema, path));
    let no_name = || {
        Error::predicate(format!(
            "{METADATA_COLUMN} has no value of its own; name one of its fields, such as {METADATA_COLUMN}.row_id"
        ))
    };
    fields.map(|name| name.and_then(RowColumnKind::of_name).ok_or_else(no_name)).collect()
}

impl Snapshot {
    /// Returns the parsed form of a predicate on rows of this version.
    pub(crate) fn filter_of(&self, predicate: &Predicate, now_ms: i64) -> Result<Arc<Filter>> {
        match predicate {
            Predicate::Text(text) => self.parse_row_filter(text, now_ms),
            Predicate::Filter(filter) => {
                self.check_bound(filter)?;
                self.refuse_untracked(filter)?;
                self.refuse_collations(filter)?;
                Ok(Arc::clone(filter))
            }
        }
    }

    /// Refuses a predicate if one of its columns is not in the table with the same type.
    fn check_bound(&self, filter: &Filter) -> Result<()> {
        let own = nullable(&scan_schema(self.schema(), filter.text())?);
        let type_in = |schema: &Schema, name: &str| schema.field_with_name(name).map(|field| field.data_type().clone()).ok();
        for path in filter.columns() {
            let Some(name) = path.first() else { continue };
            if type_in(&own, name).is_none() || type_in(&own, name) != type_in(filter.schema(), name) {
                let url = self.url();
                return Err(Error::predicate(format!(
                    "{url}: the filter was created for another schema, in which column {name} differs"
                )));
            }
        }
        Ok(())
    }

    /// Parses a predicate on rows of this version: on their columns and on `_metadata`. A predicate
    /// that lakebed cannot decide is refused.
    pub(crate) fn parse_row_filter(&self, text: &str, now_ms: i64) -> Result<Arc<Filter>> {
        let filter = parse_row_filter(self.schema(), text, now_ms).map_err(|error| error.within(self.url()))?;
        self.refuse_untracked(&filter)?;
        self.refuse_collations(&filter)?;
        Ok(Arc::new(filter))
    }

    fn refuse_untracked(&self, filter: &Filter) -> Result<()> {
        let kinds = row_columns_of(filter, self.schema())?;
        match kinds.into_iter().find(|kind| kind.is_of_row_tracking() && !self.properties().row_tracking) {
            Some(kind) => Err(not_tracked(self.url(), &format!("{METADATA_COLUMN}.{}", kind.name()), kind)),
            None => Ok(()),
        }
    }

    /// Refuses predicates on columns with a collation. Such strings do not compare by their bytes,
    /// so a predicate would lose rows.
    fn refuse_collations(&self, filter: &Filter) -> Result<()> {
        for path in filter.columns() {
            let field = path.first().and_then(|name| self.schema().field(name));
            if field.is_some_and(|field| field.metadata.contains_key("__COLLATIONS")) {
                let (url, column) = (self.url(), path.join("."));
                let message = format!("{url}: column {column} has a collation, and lakebed cannot compare strings by collations");
                return Err(Error::unsupported(vec!["collations".to_owned()], message));
            }
        }
        Ok(())
    }
}

/// Returns the error for a row tracking column in a table without row tracking.
pub(super) fn not_tracked(url: &str, name: &str, kind: RowColumnKind) -> Error {
    let what = kind.name();
    Error::invalid_input(format!(
        "{url}: column {name}: the table does not track rows (delta.enableRowTracking), so its rows have no {what}"
    ))
}
