//! Decides what happens to target rows, batch by batch, against one part of the source.
//!
//! This module does no I/O. Begin with [`Probe::decide`].

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_buffer::BooleanBuffer;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_select::take::{take, take_record_batch};

use super::clause::{Act, TargetClause};
use super::index::JoinIndex;
use super::names::Side;
use super::plan::{Pairs, Plan, flat_names};
use crate::metrics::metrics;
use crate::rows::shape::{Shape, ids};
use crate::runtime::size::array_bytes;
use crate::scan::read::RowTest;
use crate::write::incoming::Incoming;
use crate::{Error, ErrorKind, Result};

/// A part of the source, with its index, ready to be matched with target rows.
#[derive(Debug)]
pub(super) struct Probe {
    plan: Arc<Plan>,
    shape: Arc<Shape>,
    /// The steps that complete updated rows: one element for each clause for matches, and one for
    /// each clause for target rows without a match.
    matched: Vec<Option<Incoming>>,
    unmatched: Vec<Option<Incoming>>,
    chunk: RecordBatch,
    index: JoinIndex,
    /// Whether this is the last part of the source. After it, a target row without a match so far
    /// has no match at all.
    is_last: bool,
}

/// The decisions for the rows of a batch.
#[derive(Debug, Default)]
pub(super) struct Decided {
    /// Target rows that match a source row, ascending and without duplicates.
    pub(super) matched: Vec<u32>,
    /// Source rows that match a target row.
    pub(super) matched_source: Vec<u32>,
    /// Target rows that are removed from their files, ascending.
    pub(super) leaving: Vec<u32>,
    pub(super) updates: Vec<Updated>,
    /// The deleted rows, if the merge writes change data files.
    pub(super) deleted: Option<RecordBatch>,
    pub(super) counts: Counts,
}

/// Rows before and after an update, with their ids.
#[derive(Debug)]
pub(super) struct Updated {
    pub(super) before: RecordBatch,
    pub(super) after: RecordBatch,
    pub(super) ids: Option<ArrayRef>,
}

metrics! {
    /// The number of updated and deleted rows, with and without a match.
    #[derive(Debug, Clone, Copy, Default)]
    pub(super) struct Counts {
        #[history(Merge = "numTargetRowsMatchedUpdated")]
        pub(super) matched_updated: u64,
        #[history(Merge = "numTargetRowsMatchedDeleted")]
        pub(super) matched_deleted: u64,
        #[history(Merge = "numTargetRowsNotMatchedBySourceUpdated")]
        pub(super) unmatched_updated: u64,
        #[history(Merge = "numTargetRowsNotMatchedBySourceDeleted")]
        pub(super) unmatched_deleted: u64,
    }
}

/// A test for target rows that may take part in the merge.
#[derive(Debug)]
pub(super) struct Test(pub(super) Arc<Probe>);

/// Pairs of rows by their indexes.
#[derive(Debug, Default)]
struct MatchedPairs {
    target_rows: Vec<u32>,
    source_rows: Vec<u32>,
}

/// Rows for which a clause was chosen, and the clause of each.
#[derive(Debug, Default)]
struct ChosenRows {
    /// Indexes among the rows that were passed in.
    rows: Vec<usize>,
    clauses: Vec<usize>,
}

impl Probe {
    pub(super) fn new(plan: &Arc<Plan>, shape: &Arc<Shape>, chunk: RecordBatch, is_last: bool) -> Result<Self> {
        let keys = plan.source_keys(&chunk)?;
        let null_safe: Vec<bool> = plan.on.keys.iter().map(|key| key.null_safe).collect();
        let index = JoinIndex::new(&keys, &null_safe, chunk.num_rows())?;
        let incoming = |changes: &[TargetClause]| {
            let one = |change: &TargetClause| match &change.act {
                Act::Update(assignments) => {
                    Incoming::of_changed(Arc::clone(&plan.target.rules), &assignments.columns()).map(Some)
                }
                Act::Delete => Ok(None),
            };
            changes.iter().map(one).collect::<Result<Vec<_>>>()
        };
        let (matched, unmatched) = (incoming(&plan.clauses.matched)?, incoming(&plan.clauses.not_matched_by_source)?);
        Ok(Self { plan: Arc::clone(plan), shape: Arc::clone(shape), matched, unmatched, chunk, index, is_last })
    }

    /// Returns the size of the part of the source.
    pub(super) fn source_bytes(&self) -> u64 {
        self.chunk.columns().iter().map(array_bytes).sum()
    }

    /// Decides what happens to target rows. `earlier` marks the rows that matched another part of
    /// the source.
    pub(super) fn decide(&self, rows: &RecordBatch, earlier: Option<&BooleanBuffer>) -> Result<Decided> {
        let mut decided = Decided::default();
        let found = self.pairs(rows)?;
        decided.matched_source.clone_from(&found.source_rows);
        decided.matched.clone_from(&found.target_rows);
        decided.matched.dedup();
        self.change_matched(rows, found, earlier, &mut decided)?;
        if self.is_last && !self.plan.clauses.not_matched_by_source.is_empty() {
            let mut alone = vec![true; rows.num_rows()];
            decided.matched.iter().for_each(|row| alone[*row as usize] = false);
            let alone =
                alone.iter().enumerate().filter(|(row, alone)| **alone && !earlier.is_some_and(|earlier| earlier.value(*row)));
            let alone: Vec<u32> = alone.map(|(row, _)| row as u32).collect();
            self.change_unmatched(rows, alone, &mut decided)?;
        }
        decided.leaving.sort_unstable();
        Ok(decided)
    }

    /// Returns the pairs that match, in the order of the target rows.
    fn pairs(&self, rows: &RecordBatch) -> Result<MatchedPairs> {
        let (plan, mut found) = (&self.plan, MatchedPairs::default());
        let named = flat_names(&plan.on.whole);
        for block in self.index.pairs(&plan.target_keys(rows)?, rows.num_rows()) {
            let block = block?;
            let (target_rows, source_rows) = (UInt32Array::from(block.target_rows), UInt32Array::from(block.source_rows));
            let pairs = Pairs { target: rows, target_rows: &target_rows, source: &self.chunk, source_rows: Some(&source_rows) };
            let matching = plan.on.whole.evaluate(&plan.flat(&named, &pairs)?)?;
            for pair in matching.values().set_indices() {
                found.target_rows.push(target_rows.value(pair));
                found.source_rows.push(source_rows.value(pair));
            }
        }
        Ok(found)
    }

    fn change_matched(
        &self,
        rows: &RecordBatch,
        found: MatchedPairs,
        earlier: Option<&BooleanBuffer>,
        decided: &mut Decided,
    ) -> Result<()> {
        let (plan, changes) = (&self.plan, &self.plan.clauses.matched);
        if changes.is_empty() || found.target_rows.is_empty() {
            return Ok(());
        }
        let (target_rows, source_rows) = (UInt32Array::from(found.target_rows), UInt32Array::from(found.source_rows));
        let pairs = Pairs { target: rows, target_rows: &target_rows, source: &self.chunk, source_rows: Some(&source_rows) };
        let mut chosen = self.choose(changes, &pairs)?;
        if plan.is_of_matches_alone() {
            // With clauses for matches only, a pair to which no clause applies counts as no match.
            let kept = UInt32Array::from_iter_values(chosen.rows.iter().map(|row| *row as u32));
            self.check_ambiguity(rows, taken(&target_rows, &kept)?.values(), earlier)?;
        } else {
            self.check_ambiguity(rows, target_rows.values(), earlier)?;
        }
        if plan.allows_many() {
            // A row is deleted once, even if it matches several source rows.
            let mut last = None;
            chosen.rows.retain(|row| last.replace(target_rows.value(*row)) != Some(target_rows.value(*row)));
            chosen.rows.retain(|row| !earlier.is_some_and(|earlier| earlier.value(target_rows.value(*row) as usize)));
            chosen.clauses.truncate(chosen.rows.len());
        }
        let kept = UInt32Array::from_iter_values(chosen.rows.iter().map(|row| *row as u32));
        let (target_rows, source_rows) = (taken(&target_rows, &kept)?, taken(&source_rows, &kept)?);
        let pairs = Pairs { target_rows: &target_rows, source_rows: Some(&source_rows), ..pairs };
        let (updated, deleted) = self.change(changes, &self.matched, &pairs, &chosen.clauses, decided)?;
        decided.counts.matched_updated += updated;
        decided.counts.matched_deleted += deleted;
        Ok(())
    }

    fn change_unmatched(&self, rows: &RecordBatch, alone: Vec<u32>, decided: &mut Decided) -> Result<()> {
        let changes = &self.plan.clauses.not_matched_by_source;
        let target_rows = UInt32Array::from(alone);
        if target_rows.is_empty() {
            return Ok(());
        }
        let pairs = Pairs { target: rows, target_rows: &target_rows, source: &self.chunk, source_rows: None };
        let chosen = self.choose(changes, &pairs)?;
        let kept = UInt32Array::from_iter_values(chosen.rows.iter().map(|row| *row as u32));
        let target_rows = taken(&target_rows, &kept)?;
        let pairs = Pairs { target_rows: &target_rows, ..pairs };
        let (updated, deleted) = self.change(changes, &self.unmatched, &pairs, &chosen.clauses, decided)?;
        decided.counts.unmatched_updated += updated;
        decided.counts.unmatched_deleted += deleted;
        Ok(())
    }

    /// Returns for each pair the first clause with a true condition. A condition is evaluated only
    /// for pairs for which no earlier condition was true.
    fn choose(&self, changes: &[TargetClause], pairs: &Pairs<'_>) -> Result<ChosenRows> {
        let named: BTreeSet<String> =
            changes.iter().filter_map(|change| change.condition.as_ref()).flat_map(flat_names).collect();
        let flat = self.plan.flat(&named, pairs)?;
        let mut of_rows = vec![None; flat.num_rows()];
        let mut left = UInt32Array::from_iter_values(0..flat.num_rows() as u32);
        for (clause, change) in changes.iter().enumerate() {
            if left.is_empty() {
                break;
            }
            let Some(condition) = &change.condition else {
                left.values().iter().for_each(|row| of_rows[*row as usize] = Some(clause));
                break;
            };
            let is_true = condition.evaluate(&taken_rows(&flat, &left)?)?;
            is_true.values().set_indices().for_each(|place| of_rows[left.value(place) as usize] = Some(clause));
            let others = left.values().iter().zip(is_true.values().iter()).filter(|(_, is_true)| !is_true);
            left = UInt32Array::from_iter_values(others.map(|(row, _)| *row));
        }
        let mut chosen = ChosenRows::default();
        for (row, clause) in of_rows.into_iter().enumerate() {
            if let Some(clause) = clause {
                chosen.rows.push(row);
                chosen.clauses.push(clause);
            }
        }
        Ok(chosen)
    }

    /// Applies the chosen clause to each pair; returns the numbers of updated and deleted rows.
    fn change(
        &self,
        changes: &[TargetClause],
        incoming: &[Option<Incoming>],
        pairs: &Pairs<'_>,
        chosen: &[usize],
        decided: &mut Decided,
    ) -> Result<(u64, u64)> {
        let (mut updated, mut deleted) = (0, 0);
        decided.leaving.extend(pairs.target_rows.values());
        for (clause, (change, incoming)) in changes.iter().zip(incoming).enumerate() {
            let own = chosen.iter().enumerate().filter(|(_, chosen)| **chosen == clause);
            let own = UInt32Array::from_iter_values(own.map(|(place, _)| place as u32));
            if own.is_empty() {
                continue;
            }
            let target_rows = taken(pairs.target_rows, &own)?;
            let (Act::Update(assignments), Some(incoming)) = (&change.act, incoming) else {
                deleted += own.len() as u64;
                self.record_deleted(pairs.target, &target_rows, decided)?;
                continue;
            };
            updated += own.len() as u64;
            let source_rows = pairs.source_rows.map(|source_rows| taken(source_rows, &own)).transpose()?;
            let pairs = Pairs { target_rows: &target_rows, source_rows: source_rows.as_ref(), ..*pairs };
            let rows = taken_rows(pairs.target, &target_rows)?;
            let before = self.shape.written(&rows)?;
            let named = assignments.reads().into_iter().filter_map(|path| path.into_iter().next()).collect();
            let columns = assignments.apply(before.columns(), &self.plan.flat(&named, &pairs)?)?;
            let options = RecordBatchOptions::new().with_row_count(Some(before.num_rows()));
            let after = incoming.rows(&RecordBatch::try_new_with_options(before.schema(), columns, &options)?, 0)?;
            decided.updates.push(Updated { before, after, ids: ids(&rows) });
        }
        Ok((updated, deleted))
    }

    fn record_deleted(&self, rows: &RecordBatch, target_rows: &UInt32Array, decided: &mut Decided) -> Result<()> {
        if !self.plan.records {
            return Ok(());
        }
        let deleted = self.shape.written(&taken_rows(rows, target_rows)?)?;
        decided.deleted = Some(match decided.deleted.take() {
            Some(others) => arrow_select::concat::concat_batches(&deleted.schema(), [&others, &deleted])?,
            None => deleted,
        });
        Ok(())
    }

    /// Refuses a target row that several source rows match.
    fn check_ambiguity(&self, rows: &RecordBatch, target_rows: &[u32], earlier: Option<&BooleanBuffer>) -> Result<()> {
        if self.plan.allows_many() {
            return Ok(());
        }
        let twice =
            target_rows.windows(2).find(|pair| matches!(pair, [one, other] if one == other)).and_then(|pair| pair.first());
        let before = || target_rows.iter().find(|row| earlier.is_some_and(|earlier| earlier.value(**row as usize)));
        let Some(row) = twice.or_else(before) else { return Ok(()) };
        let message = format!(
            "{}: several source rows match one target row ({}), so its new values are ambiguous. Pass a source with one row for \
             each target row, or make the ON condition more specific",
            self.plan.target.rules.table,
            self.shown_keys(rows, *row as usize)?
        );
        Err(Error::new(ErrorKind::InvalidInput, message))
    }

    /// Returns the values of a target row that the ON condition names.
    fn shown_keys(&self, rows: &RecordBatch, row: usize) -> Result<String> {
        let mut words = Vec::new();
        for flat in flat_names(&self.plan.on.whole) {
            let Some((Side::Target, name)) = self.plan.sides.side_of(&flat) else { continue };
            let Some(column) = rows.column_by_name(name) else { continue };
            let format = ArrayFormatter::try_new(column.as_ref(), &FormatOptions::new().with_null("NULL"))?;
            words.push(format!("{name} = {}", format.value(row).to_string().chars().take(100).collect::<String>()));
        }
        Ok(if words.is_empty() { "the ON condition has no column of the target".to_owned() } else { words.join(", ") })
    }
}

impl RowTest for Test {
    fn columns(&self) -> Vec<Vec<String>> {
        let Self(probe) = self;
        let (plan, mut paths) = (&probe.plan, BTreeSet::new());
        paths.extend(plan.on.keys.iter().flat_map(|key| key.target.columns()));
        if probe.is_last {
            for condition in plan.clauses.not_matched_by_source.iter().filter_map(|change| change.condition.as_ref()) {
                let own = condition.columns().into_iter().filter_map(|path| {
                    let (_, name) = plan.sides.side_of(path.first()?)?;
                    Some(std::iter::once(name.to_owned()).chain(path.into_iter().skip(1)).collect::<Vec<_>>())
                });
                paths.extend(own);
            }
        }
        paths.into_iter().collect()
    }

    fn test(&self, rows: &RecordBatch) -> Result<BooleanBuffer> {
        let Self(probe) = self;
        let mut wanted = probe.index.may_match(&probe.plan.target_keys(rows)?, rows.num_rows())?;
        if probe.is_last && !probe.plan.clauses.not_matched_by_source.is_empty() {
            let flat = probe.plan.flat_rows(Side::Target, rows)?;
            for change in &probe.plan.clauses.not_matched_by_source {
                match &change.condition {
                    Some(condition) if !condition.conjuncts().iter().any(|part| part.may_fail) => {
                        wanted = &wanted | condition.evaluate(&flat)?.values();
                    }
                    _ => return Ok(BooleanBuffer::new_set(rows.num_rows())),
                }
            }
        }
        Ok(wanted)
    }
}

fn taken(values: &UInt32Array, places: &UInt32Array) -> Result<UInt32Array> {
    let taken = take(values, places, None)?;
    Ok(UInt32Array::from(taken.to_data()))
}

pub(super) fn taken_rows(rows: &RecordBatch, places: &UInt32Array) -> Result<RecordBatch> {
    if rows.num_columns() > 0 {
        return Ok(take_record_batch(rows, places)?);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(places.len()));
    Ok(RecordBatch::try_new_with_options(rows.schema(), Vec::new(), &options)?)
}
