//! Runs a merge from its plan to its files: matches target rows with the source part by part, and
//! inserts source rows without a match.
//!
//! In each target file, the columns that select rows are read first. The other columns are read
//! only for rows that may take part in the merge. Begin with
//! [`Merging::prepare`](super::super::change::Change::prepare).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow_arith::boolean::not;
use arrow_array::{RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{Field, Schema};
use arrow_select::filter::filter_record_batch;
use futures::StreamExt;
use futures::stream::FuturesOrdered;
use lakebed_core::dv::DeletionVector;
use lakebed_expr::Expression;
use lakebed_io::parquet::Cores;

use super::clause::InsertClause;
use super::clause::When;
use super::keys::predicate;
use super::lossless;
use super::names::Side;
use super::options::MergeOptions;
use super::plan::{Plan, shown};
use super::probe::{Counts, Decided, Probe, Test, taken_rows};
use super::source::Source;
use crate::dml::change::{ChangeMetrics, Prepared, RowLevelOperation};
use crate::metrics::HistoryOf;
use crate::rows::deleted::DeletedRows;
use crate::rows::effects::Effects;
use crate::rows::rewrite::{Moves, RecordedChange, Rewrite, reading};
use crate::rows::search::{FoundRows, Search};
use crate::rows::selection::Selection;
use crate::rows::shape::id_columns;
use crate::scan::read::ReadOptions;
use crate::transaction::{Operation, ReadSet};
use crate::write::account;
use crate::write::incoming::Incoming;
use crate::{Result, Snapshot};

/// A merge with its source.
pub(super) struct Merging<'a> {
    pub(super) given: &'a MergeOptions,
    pub(super) source: &'a Source,
    /// The value of the current time for the whole merge.
    pub(super) now_ms: i64,
}

/// The position of a part among all parts of a source.
#[derive(Debug, Clone, Copy)]
struct ChunkPosition {
    is_first: bool,
    is_last: bool,
}

/// The work that is done so far.
struct Progress {
    rewrite: Rewrite,
    deleted: DeletedRows,
    read: ReadSet,
    counts: Counts,
    inserted: u64,
    /// For each identity column, its high-water mark.
    marks: Vec<(usize, i64)>,
    /// For each file, the target rows that matched an earlier part of the source. This is kept only
    /// if there are several parts. With clauses for matches only, it contains only rows that were
    /// changed.
    matched: Option<HashMap<String, DeletionVector>>,
    metrics: ChangeMetrics,
}

impl RowLevelOperation for Merging<'_> {
    fn only_inserts(&self) -> bool {
        self.given.clauses.iter().all(|clause| clause.when == When::NotMatched)
    }

    async fn prepare(&self, snapshot: &Snapshot) -> Result<Prepared> {
        let (given, source) = (self.given, self.source);
        let plan = Arc::new(Plan::new(given, snapshot, source, self.now_ms).await?);
        let mut read = Selection::from(plan.matching.clone()).read_set();
        if !plan.clauses.not_matched.is_empty() {
            // The inserted rows depend on all rows that match, changed or not.
            read.staying_rows();
        }
        let mut progress = Progress {
            rewrite: Rewrite::begin(snapshot, &plan.target, plan.records)?,
            deleted: DeletedRows::default(),
            read,
            counts: Counts::default(),
            inserted: 0,
            marks: Vec::new(),
            matched: (source.chunk_count() > 1).then(HashMap::new),
            metrics: ChangeMetrics {
                source_rows: source.rows(),
                spilled_bytes: source.spilled_bytes(),
                ..ChangeMetrics::default()
            },
        };
        if let Err(error) = progress.run(&plan, snapshot, source).await {
            progress.rewrite.abort().await;
            return Err(error);
        }
        let Progress { rewrite, deleted, read, counts, inserted, marks, mut metrics, .. } = progress;
        metrics.inserted_rows = inserted;
        metrics.updated_rows = counts.matched_updated + counts.unmatched_updated;
        metrics.deleted_rows = Some(counts.matched_deleted + counts.unmatched_deleted);
        let to_leave = Some(metrics.updated_rows + metrics.deleted_rows.unwrap_or_default());
        let is_empty = deleted.is_empty() && inserted == 0 && !plan.target.changes_table();
        let moves = Moves { came_in: inserted + metrics.updated_rows, to_leave };
        let effects = Effects { marks, read, ..rewrite.finish(deleted, moves).await? };
        let definition = (!is_empty).then(|| plan.target.clone());
        let given = given.clone();
        let operation = move |metrics: &ChangeMetrics| operation(&given, metrics, &counts);
        Ok(Prepared { effects, definition, metrics, operation: Box::new(operation), is_empty })
    }
}

impl Progress {
    async fn run(&mut self, plan: &Arc<Plan>, snapshot: &Snapshot, source: &Source) -> Result<()> {
        let chunks = source.chunk_count();
        if chunks == 0 {
            let nothing = RecordBatch::new_empty(Arc::clone(source.arrow_schema()));
            self.meet(plan, snapshot, nothing, ChunkPosition { is_first: true, is_last: true }).await?;
        }
        let mut in_parts = 0;
        for number in 0..chunks {
            let chunk = source.chunk(number).await?;
            in_parts += chunk.rows.num_rows() as u64;
            if plan.is_lossless {
                lossless::check_values(&plan.target.rules.schema, source.schema(), &chunk.rows)?;
            }
            let place = ChunkPosition { is_first: number == 0, is_last: number + 1 == chunks };
            self.meet(plan, snapshot, chunk.rows.clone(), place).await?;
        }
        account::check_parts(snapshot.url(), source.rows(), in_parts)
    }

    /// Matches the target rows with a part of the source, and inserts its source rows without a
    /// match.
    async fn meet(
        &mut self,
        plan: &Arc<Plan>,
        snapshot: &Snapshot,
        chunk: RecordBatch,
        ChunkPosition { is_first, is_last }: ChunkPosition,
    ) -> Result<()> {
        if chunk.num_rows() == 0 && plan.clauses.not_matched_by_source.is_empty() {
            return Ok(());
        }
        let probe = Arc::new(Probe::new(plan, self.rewrite.shape(), chunk.clone(), is_last)?);
        let mut matched = vec![false; chunk.num_rows()];
        let mut search = search(plan, snapshot, &probe);
        let cores = Cores::new();
        let (mut deciding, mut is_over) = (FuturesOrdered::new(), false);
        loop {
            while !is_over && deciding.len() < cores.count() {
                match search.next().await? {
                    Some(found) => deciding.push_back(self.decide(&probe, &search, &cores, found)?),
                    None => is_over = true,
                }
            }
            let Some(decided) = deciding.next().await else { break };
            let (found, decided) = decided?;
            decided.matched_source.iter().for_each(|row| matched[*row as usize] = true);
            self.take(plan, &mut search, &found, decided).await?;
        }
        if is_first {
            // Each part of the source reads the same target files, so they are counted once.
            self.metrics.add_plan(&search.metrics());
        }
        self.deleted.join(search.finish()?);
        self.insert(plan, &chunk, &matched, &cores).await
    }

    fn decide(
        &self,
        probe: &Arc<Probe>,
        search: &Search,
        cores: &Cores,
        found: FoundRows,
    ) -> Result<impl Future<Output = Result<(FoundRows, Decided)>> + Send + use<>> {
        let earlier = self.earlier(search, &found)?;
        let (probe, cores) = (Arc::clone(probe), cores.clone());
        Ok(async move {
            let work = move || {
                let decided = probe.decide(&found.rows, earlier.as_ref())?;
                Ok((found, decided))
            };
            cores.compute("merging rows", work).await
        })
    }

    /// Returns which rows matched an earlier part of the source.
    fn earlier(&self, search: &Search, found: &FoundRows) -> Result<Option<BooleanBuffer>> {
        let Some(matched) = self.matched.as_ref().filter(|matched| !matched.is_empty()) else { return Ok(None) };
        let mut marks = vec![false; found.rows.num_rows()];
        for in_file in search.files_of(found, 0..found.rows.num_rows())? {
            let Some(vector) = in_file.file.paths()?.iter().flatten().next().and_then(|path| matched.get(path)) else { continue };
            in_file.rows.iter().for_each(|(row, position)| marks[*row] = vector.contains(*position));
        }
        Ok(Some(BooleanBuffer::from(marks)))
    }

    /// Writes the decided changes of some rows.
    async fn take(&mut self, plan: &Plan, search: &mut Search, found: &FoundRows, decided: Decided) -> Result<()> {
        search.leave(found, decided.leaving.iter().map(|row| *row as usize))?;
        let inserts = !plan.clauses.not_matched.is_empty();
        if inserts || self.matched.is_some() {
            // With clauses for matches only, a pair to which no clause applies counts as no match.
            let matched = if plan.is_of_matches_alone() { &decided.leaving } else { &decided.matched };
            for in_file in search.files_of(found, matched.iter().map(|row| *row as usize))? {
                if inserts {
                    self.read.files(&in_file.file)?;
                }
                if let (Some(matched), Some(path)) = (&mut self.matched, in_file.file.paths()?.iter().flatten().next()) {
                    let vector = matched.entry(path.to_owned()).or_default();
                    vector.insert_ascending(in_file.rows.iter().map(|(_, position)| *position));
                }
            }
        }
        for updated in decided.updates {
            self.rewrite.update(&updated.before, &updated.after, updated.ids).await?;
        }
        if let Some(deleted) = &decided.deleted {
            self.rewrite.record(deleted, RecordedChange::Delete).await?;
        }
        self.counts.add(&decided.counts);
        Ok(())
    }

    /// Inserts the rows of a part of the source that have no match. The first clause with a true
    /// condition applies.
    async fn insert(&mut self, plan: &Arc<Plan>, chunk: &RecordBatch, matched: &[bool], cores: &Cores) -> Result<()> {
        if plan.clauses.not_matched.is_empty() {
            return Ok(());
        }
        let inserter = Arc::new(Inserter::new(plan)?);
        let (before, mut unmatched, mut passed_over) = (self.inserted, 0, 0);
        let chunk = plan.flat_rows(Side::Source, chunk)?;
        for (first, matched) in matched.chunks(MOST_ROWS).enumerate() {
            let left = matched.iter().enumerate().filter(|(_, matched)| !**matched);
            let left: UInt32Array = left.map(|(row, _)| (first * MOST_ROWS + row) as u32).collect();
            if left.is_empty() {
                continue;
            }
            unmatched += left.len() as u64;
            let (inserter, rows, inserted) = (Arc::clone(&inserter), taken_rows(&chunk, &left)?, self.inserted);
            let (complete, unwanted) = cores.compute("inserting rows", move || inserter.complete(rows, inserted)).await?;
            passed_over += unwanted;
            for rows in complete {
                self.rewrite.insert(&rows).await?;
                self.inserted += rows.num_rows() as u64;
            }
        }
        self.marks = inserter.marks(self.inserted);
        account::check_inserted(self.rewrite.table(), unmatched, self.inserted - before, passed_over)
    }
}

/// The most rows that are inserted in one batch.
const MOST_ROWS: usize = 1 << 16;

/// Converts source rows to rows of the table.
struct Inserter {
    plan: Arc<Plan>,
    /// For each clause, how its rows are completed.
    incoming: Vec<Incoming>,
}

impl Inserter {
    fn new(plan: &Arc<Plan>) -> Result<Self> {
        let incoming = |row: &InsertClause| {
            let places: Vec<usize> = row.columns.iter().map(|(place, _)| *place).collect();
            Incoming::of_places(Arc::clone(&plan.target.rules), &places)
        };
        Ok(Self { plan: Arc::clone(plan), incoming: plan.clauses.not_matched.iter().map(incoming).collect::<Result<_>>()? })
    }

    /// Returns the rows to insert, clause by clause, and the number of rows to which no clause
    /// applies. `before` is the number of rows that were inserted earlier.
    fn complete(&self, mut left: RecordBatch, mut before: u64) -> Result<(Vec<RecordBatch>, u64)> {
        let mut complete = Vec::new();
        for (clause, incoming) in self.plan.clauses.not_matched.iter().zip(&self.incoming) {
            let own = match &clause.condition {
                None => {
                    let nothing = RecordBatch::new_empty(left.schema());
                    std::mem::replace(&mut left, nothing)
                }
                Some(condition) => {
                    let is_true = condition.evaluate(&left)?;
                    let own = filter_record_batch(&left, &is_true)?;
                    left = filter_record_batch(&left, &not(&is_true)?)?;
                    own
                }
            };
            if own.num_rows() > 0 {
                complete.push(incoming.rows(&values(&clause.columns, &own)?, before)?);
                before += own.num_rows() as u64;
            }
        }
        Ok((complete, left.num_rows() as u64))
    }

    /// Returns the high-water marks of the identity columns after `inserted` rows.
    fn marks(&self, inserted: u64) -> Vec<(usize, i64)> {
        let marks: BTreeMap<usize, i64> = self.incoming.iter().flat_map(|incoming| incoming.identity_marks(inserted)).collect();
        marks.into_iter().collect()
    }
}

/// Returns the values that a clause assigns to columns. The fields are named by the indexes of the
/// columns.
fn values(columns: &[(usize, Expression)], rows: &RecordBatch) -> Result<RecordBatch> {
    let (mut fields, mut values) = (Vec::with_capacity(columns.len()), Vec::with_capacity(columns.len()));
    for (place, expression) in columns {
        let value = expression.evaluate(rows)?;
        fields.push(Field::new(place.to_string(), value.data_type().clone(), true));
        values.push(value);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), values, &options)?)
}

/// Starts the search for target rows that a part of the source may change.
fn search(plan: &Arc<Plan>, snapshot: &Snapshot, probe: &Arc<Probe>) -> Search {
    let mut scan = snapshot.scan();
    scan = match &plan.columns {
        Some(columns) => scan.select(columns.clone()),
        None => scan.row_columns(id_columns(snapshot)),
    };
    let test = Some(Arc::new(Test(Arc::clone(probe))) as _);
    // The search is expected to return about as many bytes as the part of the source has.
    Search::of_rows(scan, plan.matching.as_ref(), ReadOptions { test, ..reading(snapshot, probe.source_bytes()) })
}

impl Counts {
    fn add(&mut self, more: &Self) {
        self.matched_updated += more.matched_updated;
        self.matched_deleted += more.matched_deleted;
        self.unmatched_updated += more.unmatched_updated;
        self.unmatched_deleted += more.unmatched_deleted;
    }
}

/// Returns the operation for the history, with Delta Spark's names.
fn operation(given: &MergeOptions, metrics: &ChangeMetrics, counts: &Counts) -> Operation {
    let operation = Operation::new("MERGE")
        .with("predicate", serde_json::json!([predicate(given)]).to_string())
        .with("matchedPredicates", shown(&given.clauses, When::Matched))
        .with("notMatchedPredicates", shown(&given.clauses, When::NotMatched))
        .with("notMatchedBySourcePredicates", shown(&given.clauses, When::NotMatchedBySource));
    let output_rows = metrics.inserted_rows + metrics.updated_rows + metrics.copied_rows;
    let operation = metrics.record(HistoryOf::Merge, operation).with_metrics(counts.history(HistoryOf::Merge));
    operation.with_metrics([("numOutputRows", output_rows)])
}
