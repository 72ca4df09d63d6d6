//! Plans a merge before any target row is read: resolves names, finds keys, and computes a filter
//! for the target rows that the merge may change. Begin with [`Plan::new`].

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_schema::{Field, Schema};
use arrow_select::filter::filter_record_batch;
use arrow_select::take::take;
use lakebed_expr::{Filter, quoted_path};

use super::clause::When;
use super::clause::{Act, Clause, Clauses, TargetClause, evolving};
use super::keys::condition;
use super::lossless;
use super::names::{Side, Sides, SidesOptions};
use super::on::On;
use super::options::MergeOptions;
use super::source::Source;
use super::summary::Summary;
use crate::rows::effects::notes_vectors;
use crate::rows::selection::Matching;
use crate::rows::target::Target;
use crate::{Error, Result, Snapshot};

/// The plan of a merge on top of a version.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) sides: Sides,
    pub(super) on: On,
    pub(super) clauses: Clauses,
    pub(super) target: Target,
    /// Whether source values must not change on their way into the table.
    pub(super) is_lossless: bool,
    /// The predicate over the table's own schema for target rows that take part in the merge. Rows
    /// for which it is not true are skipped.
    pub(super) matching: Option<Matching>,
    /// Whether the merge writes change data files.
    pub(super) records: bool,
    /// The target columns that the merge reads; None means all, because rows are written to new
    /// files.
    pub(super) columns: Option<Vec<String>>,
}

impl Plan {
    /// Plans the merge.
    ///
    /// # Errors
    /// If the merge cannot be parsed, or does not fit the table or the source.
    pub(super) async fn new(given: &MergeOptions, snapshot: &Snapshot, source: &Source, now_ms: i64) -> Result<Self> {
        let within =
            |error: Error| if error.message().starts_with(snapshot.url()) { error } else { error.within(snapshot.url()) };
        let evolving = match given.evolves() {
            true => Some(evolving(source.schema(), &given.clauses, &given.target_alias).map_err(within)?),
            false => None,
        };
        let target = Target::of_table(snapshot, evolving.as_ref(), &given.change.file_settings(), now_ms).await?;
        let is_lossless = lossless::is_asked(given, source);
        if is_lossless {
            lossless::check_types(snapshot.url(), &target.rules.schema, source.schema())?;
        }
        let sides = SidesOptions {
            target: snapshot.schema(),
            target_alias: &given.target_alias,
            source: source.schema(),
            source_alias: &given.source_alias,
            now_ms: Some(now_ms),
        };
        let sides = Sides::new(sides).map_err(within)?;
        let on = On::new(&sides, &condition(given, &target.rules, source.schema())).map_err(within)?;
        let clauses = Clauses::new(&given.clauses, &sides, &target.rules.schema, given.evolves()).map_err(within)?;
        let mut plan = Self { sides, on, clauses, target, is_lossless, matching: None, records: false, columns: None };
        let (updates, deletes) =
            (plan.acts().any(|act| matches!(act, Act::Update(_))), plan.acts().any(|act| matches!(act, Act::Delete)));
        // The added and removed files and the deletion vectors of a commit show its inserted and
        // deleted rows. They do not show updates, so a merge that updates rows writes change data
        // files.
        plan.records = snapshot.properties().change_data_feed && (updates || (deletes && !notes_vectors(snapshot)));
        if !updates && !plan.records {
            plan.columns = Some(plan.named_columns());
        }
        let filter = plan.concerned(source).await?.map(Arc::new);
        plan.matching = filter.map(|filter| Matching::new(snapshot, filter)).transpose()?;
        Ok(plan)
    }

    /// Returns whether the merge has clauses for matches only.
    pub(super) fn is_of_matches_alone(&self) -> bool {
        self.clauses.not_matched.is_empty() && self.clauses.not_matched_by_source.is_empty()
    }

    /// Returns whether a target row may match several source rows.
    pub(super) fn allows_many(&self) -> bool {
        matches!(self.clauses.matched.as_slice(), [] | [TargetClause { condition: None, act: Act::Delete }])
    }

    /// Returns the keys of target rows.
    pub(super) fn target_keys(&self, rows: &RecordBatch) -> Result<Vec<ArrayRef>> {
        self.on.keys.iter().map(|key| key.target.evaluate(rows)).collect()
    }

    /// Returns the keys of source rows.
    pub(super) fn source_keys(&self, rows: &RecordBatch) -> Result<Vec<ArrayRef>> {
        self.on.keys.iter().map(|key| key.source.evaluate(rows)).collect()
    }

    /// Returns the named columns of pairs of rows, under their flat names.
    pub(super) fn flat(&self, named: &BTreeSet<String>, pairs: &Pairs<'_>) -> Result<RecordBatch> {
        let (mut fields, mut columns) = (Vec::with_capacity(named.len()), Vec::with_capacity(named.len()));
        for flat in named {
            let (side, name) = self
                .sides
                .side_of(flat)
                .ok_or_else(|| Error::internal(format!("{flat} is neither a column of the target nor of the source")))?;
            let (from, rows) = match side {
                Side::Target => (pairs.target, Some(pairs.target_rows)),
                Side::Source => (pairs.source, pairs.source_rows),
            };
            let missing = || Error::internal(format!("column {flat} was not read"));
            let column = from.column_by_name(name).ok_or_else(missing)?;
            let column = take(column, rows.ok_or_else(missing)?, None)?;
            fields.push(Field::new(flat, column.data_type().clone(), true));
            columns.push(column);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(pairs.target_rows.len()));
        Ok(RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)?)
    }

    /// Returns rows of one table under their flat names.
    pub(super) fn flat_rows(&self, side: Side, rows: &RecordBatch) -> Result<RecordBatch> {
        let alias = self.sides.alias(side);
        let own = self.sides.schema(side);
        let named =
            rows.schema_ref().fields().iter().zip(rows.columns()).filter(|(field, _)| own.field_with_name(field.name()).is_ok());
        let (fields, columns): (Vec<Field>, Vec<ArrayRef>) = named
            .map(|(field, column)| (field.as_ref().clone().with_name(format!("{alias}.{}", field.name())), Arc::clone(column)))
            .unzip();
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)?)
    }

    fn acts(&self) -> impl Iterator<Item = &Act> {
        self.clauses.matched.iter().chain(&self.clauses.not_matched_by_source).map(|change| &change.act)
    }

    /// Returns the target columns that keys and conditions name. A condition that is never true
    /// names none.
    fn named_columns(&self) -> Vec<String> {
        let changes = self.clauses.matched.iter().chain(&self.clauses.not_matched_by_source);
        let conditions = changes.filter_map(|change| change.condition.as_ref()).chain([&self.on.whole]);
        let names: BTreeSet<String> = conditions.flat_map(flat_names).collect();
        let own = names.iter().filter_map(|name| match self.sides.side_of(name) {
            Some((Side::Target, name)) => Some(name.to_owned()),
            _ => None,
        });
        let of_keys = self.on.keys.iter().flat_map(|key| key.target.columns()).filter_map(|path| path.into_iter().next());
        let all: BTreeSet<String> = own.chain(of_keys).collect();
        all.into_iter().map(|name| quoted_path(&[name])).collect()
    }

    /// Returns the source rows that can match at all.
    fn matchable(&self, mut rows: RecordBatch) -> Result<RecordBatch> {
        for condition in &self.on.source_only {
            let answers = condition.evaluate(&rows)?;
            let is_true = answers.as_boolean_opt().ok_or_else(|| Error::internal("a condition did not return booleans"))?;
            rows = filter_record_batch(&rows, is_true)?;
        }
        Ok(rows)
    }

    /// Returns a filter for the target rows that take part in the merge; None if there is no such
    /// filter.
    async fn concerned(&self, source: &Source) -> Result<Option<Filter>> {
        let mut parts = self.on.target_only.clone();
        let mut summaries: Vec<Option<Summary>> =
            self.on.keys.iter().map(|key| key.target_path.as_ref().map(|_| Summary::new(&key.source.data_type))).collect();
        if summaries.iter().any(Option::is_some) {
            for number in 0..source.chunk_count() {
                let rows = self.matchable(source.chunk(number).await?.rows)?;
                for (key, summary) in self.on.keys.iter().zip(&mut summaries) {
                    if let Some(summary) = summary {
                        summary.add(&key.source.evaluate(&rows)?);
                    }
                }
            }
        }
        for (key, summary) in self.on.keys.iter().zip(summaries) {
            if let (Some(path), Some(summary)) = (&key.target_path, summary) {
                parts.extend(summary.filter(self.sides.schema(Side::Target), path, key.null_safe));
            }
        }
        let mut concerned = Vec::with_capacity(1 + self.clauses.not_matched_by_source.len());
        match Filter::all(parts) {
            Some(matched) => concerned.push(matched),
            None => return Ok(None),
        }
        for change in &self.clauses.not_matched_by_source {
            // The filter is also evaluated for rows that match. A condition that may fail could
            // then fail without need, so it is left out.
            let condition = change.condition.as_ref().filter(|condition| !condition.conjuncts().iter().any(|part| part.may_fail));
            let Some(filter) = condition.and_then(|condition| self.sides.of_target(condition)) else { return Ok(None) };
            concerned.push(filter);
        }
        Ok(Filter::any(concerned))
    }
}

/// Target rows paired with source rows.
pub(super) struct Pairs<'a> {
    pub(super) target: &'a RecordBatch,
    pub(super) target_rows: &'a UInt32Array,
    pub(super) source: &'a RecordBatch,
    /// The source row of each pair; None if the target rows have no source rows.
    pub(super) source_rows: Option<&'a UInt32Array>,
}

/// Returns the flat names of the columns that a condition names.
pub(super) fn flat_names(condition: &Filter) -> BTreeSet<String> {
    condition.columns().into_iter().filter_map(|path| path.into_iter().next()).collect()
}

/// Returns the clauses of a kind for the history.
pub(super) fn shown(clauses: &[Clause], when: When) -> String {
    super::clause::shown(clauses, when)
}
