//! Level `rows`: every row can be decoded and meets the conditions of the table, statistics contain
//! the values, and no row id is repeated.

use std::collections::{BTreeSet, HashSet};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, RecordBatch, RecordBatchOptions};
use arrow_ord::cmp::distinct;
use arrow_schema::DataType as ArrowType;
use futures::{StreamExt, TryStreamExt, stream};
use lakebed_core::log::files::FileBatch;
use lakebed_core::schema::{ArrayType, DataType, MapType, StructField, StructType};
use lakebed_core::stats::StatKind;

use super::bounds::{DescribedColumns, FileStatistics};
use super::damaged::damage;
use super::finding::{Finding, FindingKind};
use super::findings::Findings;
use super::progress::LevelReporter;
use super::row_ids::SeenRowIds;
use super::state::CheckedState;
use crate::scan::plan::{Plan, PlanOptions};
use crate::scan::read::{ReadOptions, read_files};
use crate::scan::{RowColumn, RowColumnKind, ScanFile, ScanSpec};
use crate::write::check::Check as Condition;
use crate::write::incoming::Incoming;
use crate::write::rules::{Filling, WriteRules};
use crate::{Error, ErrorKind, Result, Snapshot};

/// The number of files that are read at a time. Each is decoded on all cores.
const AT_ONCE: usize = 4;
/// The name of the column with row ids, behind the columns of the table.
const ROW_ID: &str = "_metadata.row_id";

/// Checks all rows of the newest version, and returns their number.
pub(super) async fn check(state: &CheckedState, findings: &mut Findings, reporter: &mut LevelReporter<'_>) -> Result<u64> {
    let rows = Arc::new(RowCheck::new(&state.snapshot, findings)?);
    let mut count = 0;
    let mut batches = pin!(all_files(&state.snapshot)?.files_as_logged());
    while let Some(batch) = batches.try_next().await? {
        let checks = rows.files(&batch, findings)?.into_iter().map(|(file, known)| Arc::clone(&rows).check(file, known));
        let mut checks = pin!(stream::iter(checks).buffered(AT_ONCE));
        while let Some(checked) = checks.try_next().await? {
            count += checked.rows;
            findings.extend(checked.found);
            reporter.add(1);
        }
    }
    if let Some(ids) = Arc::into_inner(rows).and_then(|rows| rows.ids).map(Mutex::into_inner) {
        check_more_ids(state, ids.unwrap_or_else(PoisonError::into_inner), findings).await?;
    }
    Ok(count)
}

fn all_files(snapshot: &Snapshot) -> Result<Plan> {
    Plan::new(snapshot, None, PlanOptions { whole_actions: true, ..PlanOptions::default() })
}

/// Compares the row ids above the first window.
async fn check_more_ids(state: &CheckedState, mut seen: SeenRowIds, findings: &mut Findings) -> Result<()> {
    let spec = ScanSpec { columns: Some(Vec::new()), ..spec_of(&state.snapshot) };
    let partitions = state.snapshot.physical_partition_columns();
    while let Some(next) = seen.next() {
        seen = next;
        let mut batches = pin!(all_files(&state.snapshot)?.files_as_logged());
        while let Some(batch) = batches.try_next().await? {
            let files = (0..batch.len()).filter_map(|row| ScanFile::of_batch(&batch.slice(row, 1), &partitions).ok()?.pop());
            for file in files {
                let path = file.path.clone();
                let Ok(mut rows) = read_files(state.snapshot.store(), &spec, vec![file], ReadOptions::default()) else {
                    continue;
                };
                while let Ok(Some(rows)) = damage(rows.try_next().await)? {
                    findings.extend(row_ids(&rows).and_then(|ids| seen.add(ids)).map(|id| repeated(id, &path)));
                }
            }
        }
    }
    Ok(())
}

/// Returns the rows to read: with every column nullable, so that a null where none may be is found
/// here and does not stop the reader.
fn spec_of(snapshot: &Snapshot) -> ScanSpec {
    let mut spec = snapshot.scan().spec();
    spec.schema = nullable(&spec.schema);
    if snapshot.properties().row_tracking {
        spec.row_columns = vec![RowColumn { kind: RowColumnKind::RowId, name: ROW_ID.to_owned() }];
    }
    spec
}

fn row_ids(rows: &RecordBatch) -> Option<&Int64Array> {
    rows.column_by_name(ROW_ID)?.as_primitive_opt::<Int64Type>()
}

fn repeated(id: i64, path: &str) -> Finding {
    Finding::new(FindingKind::RowIdsRepeated, format!("its row id {id} is also the id of another row")).file(path)
}

struct RowCheck {
    snapshot: Snapshot,
    spec: ScanSpec,
    partitions: Vec<String>,
    columns: DescribedColumns,
    conditions: Option<Conditions>,
    ids: Option<Mutex<SeenRowIds>>,
}

/// The conditions of a table, and the expressions of its generated columns.
struct Conditions {
    checks: Vec<Condition>,
    /// Computes generated columns.
    incoming: Incoming,
    /// The generated columns, with their expressions.
    generated: Vec<(usize, String)>,
}

/// The result of checking one file.
#[derive(Default)]
struct CheckedFile {
    rows: u64,
    found: Vec<Finding>,
    /// The kinds and columns of the findings. One finding of each is enough for a file.
    seen: HashSet<(FindingKind, Option<String>)>,
}

impl CheckedFile {
    fn report(&mut self, finding: Finding) {
        if self.seen.insert((finding.kind, finding.column.clone())) {
            self.found.push(finding);
        }
    }
}

impl RowCheck {
    fn new(snapshot: &Snapshot, findings: &mut Findings) -> Result<Self> {
        let conditions = match Conditions::of(snapshot) {
            Ok(conditions) => Some(conditions),
            Err(error) if matches!(error.kind(), ErrorKind::Internal) => return Err(error),
            Err(error) => {
                findings.report(Finding::new(FindingKind::ConditionsUnchecked, error.message()));
                None
            }
        };
        let ids = snapshot.properties().row_tracking.then(|| Mutex::new(SeenRowIds::first()));
        Ok(Self {
            snapshot: snapshot.clone(),
            spec: spec_of(snapshot),
            partitions: snapshot.physical_partition_columns(),
            columns: DescribedColumns::of(snapshot),
            conditions,
            ids,
        })
    }

    fn files(&self, batch: &FileBatch, findings: &mut Findings) -> Result<Vec<(ScanFile, FileStatistics)>> {
        let mut found = Vec::new();
        for (row, statistics) in self.columns.of_files(batch)?.into_iter().enumerate() {
            // The level `state` reports an action that names no file.
            match damage(ScanFile::of_batch(&batch.slice(row, 1), &self.partitions))? {
                Ok(files) => found.extend(files.into_iter().map(|file| (file, statistics.clone()))),
                Err(error) => {
                    let path = batch.paths()?.value(row);
                    findings.report(Finding::new(FindingKind::RowsUnreadable, error.message()).file(path));
                }
            }
        }
        Ok(found)
    }

    async fn check(self: Arc<Self>, file: ScanFile, known: FileStatistics) -> Result<CheckedFile> {
        let mut checked = CheckedFile::default();
        let (path, has_vector) = (file.path.clone(), file.deletion_vector.is_some());
        let rows = read_files(self.snapshot.store(), &self.spec, vec![file], ReadOptions::default());
        let mut rows = match damage(rows)? {
            Ok(rows) => rows,
            Err(error) => {
                checked.report(Finding::new(FindingKind::RowsUnreadable, error.message()).file(&path));
                return Ok(checked);
            }
        };
        let mut nulls = vec![0_i64; self.columns.columns.len()];
        loop {
            let batch = match damage(rows.try_next().await)? {
                Ok(Some(batch)) => batch,
                Ok(None) => break,
                // The level `files` reports missing files.
                Err(error) if error.is_not_found() => return Ok(checked),
                Err(error) => {
                    checked.report(Finding::new(FindingKind::RowsUnreadable, error.message()).file(&path));
                    return Ok(checked);
                }
            };
            checked.rows += batch.num_rows() as u64;
            let (this, path, known) = (Arc::clone(&self), path.clone(), known.clone());
            let work = move || {
                this.check_batch(&batch, &path, &known, &mut nulls, &mut checked)?;
                Ok::<_, Error>((nulls, checked))
            };
            let done = tokio::task::spawn_blocking(work).await;
            (nulls, checked) = done.map_err(|error| Error::internal("checking rows").with_source(error))??;
        }
        if !has_vector {
            self.check_nulls(&nulls, &path, &known, &mut checked);
        }
        Ok(checked)
    }

    fn check_batch(
        &self,
        batch: &RecordBatch,
        path: &str,
        known: &FileStatistics,
        nulls: &mut [i64],
        checked: &mut CheckedFile,
    ) -> Result<()> {
        if let Some(conditions) = &self.conditions {
            match conditions.check(batch, path, checked) {
                // An expression may fail, such as a division by zero.
                Err(error) if is_of_conditions(&error) => {
                    checked.report(Finding::new(FindingKind::ConditionsUnchecked, error.message()).file(path));
                }
                done => done?,
            }
        }
        for (index, column) in self.columns.columns.iter().enumerate() {
            let Some(values) = values_of(batch, &column.path) else { continue };
            if let Some(count) = nulls.get_mut(index) {
                *count += i64::try_from(values.logical_null_count()).unwrap_or(i64::MAX);
            }
            if !known.has_bounds(index) {
                continue;
            }
            for kind in [StatKind::Min, StatKind::Max] {
                if let Some(what) = known.outside(index, kind, &values)? {
                    checked.report(Finding::new(FindingKind::BoundsWrong, what).file(path).column(&column.name));
                }
            }
        }
        if let Some((ids, seen)) = row_ids(batch).zip(self.ids.as_ref()) {
            let found = seen.lock().unwrap_or_else(PoisonError::into_inner).add(ids);
            found.into_iter().for_each(|id| checked.report(repeated(id, path)));
        }
        Ok(())
    }

    /// Compares the counts of nulls with those of the log.
    fn check_nulls(&self, nulls: &[i64], path: &str, known: &FileStatistics, checked: &mut CheckedFile) {
        for (index, (column, actual)) in self.columns.columns.iter().zip(nulls).enumerate() {
            let Some(told) = known.nulls(index).filter(|told| !known.may_count(*told, *actual, column.path.len() > 1)) else {
                continue;
            };
            let message = format!("the log says that it has {told} nulls, but it has {actual}");
            checked.report(Finding::new(FindingKind::NullCountWrong, message).file(path).column(&column.name));
        }
    }
}

impl Conditions {
    fn of(snapshot: &Snapshot) -> Result<Self> {
        let now_ms = snapshot.env().now_ms();
        let mut rules = WriteRules::new(snapshot.url(), snapshot.protocol(), snapshot.metadata(), &[], now_ms)?;
        let checks = std::mem::take(&mut rules.checks);
        let of_filling = |(place, filling): &(usize, Filling)| match filling {
            Filling::Generated(expression) => Some((*place, expression.text.to_string())),
            _ => None,
        };
        let generated = rules.filled.iter().filter_map(of_filling).collect();
        let incoming = Incoming::of_changed(Arc::new(rules), &BTreeSet::new())?;
        Ok(Self { checks, incoming, generated })
    }

    fn check(&self, batch: &RecordBatch, path: &str, checked: &mut CheckedFile) -> Result<()> {
        let computed = self.incoming.rows(batch, 0)?;
        let mut columns = computed.columns().to_vec();
        for (place, text) in &self.generated {
            let (Some(stored), Some(slot)) = (batch.columns().get(*place), columns.get_mut(*place)) else { continue };
            if differ(stored, slot)? {
                let name = computed.schema_ref().field(*place).name().clone();
                let message =
                    format!("column {name} is generated as {text}, and some of its values differ from the expression's");
                checked.report(Finding::new(FindingKind::GeneratedColumnWrong, message).file(path).column(name));
            }
            if stored.data_type() == slot.data_type() {
                *slot = Arc::clone(stored);
            }
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let rows = RecordBatch::try_new_with_options(computed.schema(), columns, &options)?;
        for check in &self.checks {
            if let Some(what) = check.violation(&rows)? {
                let finding = Finding::new(FindingKind::ConstraintViolated, what).file(path);
                checked.report(match check.column() {
                    Some(column) => finding.column(column),
                    None => finding,
                });
            }
        }
        Ok(())
    }
}

fn is_of_conditions(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Predicate | ErrorKind::ConstraintViolation | ErrorKind::InvalidInput | ErrorKind::SchemaMismatch
    )
}

fn differ(stored: &ArrayRef, computed: &ArrayRef) -> Result<bool> {
    match stored.data_type() {
        ArrowType::Struct(_) | ArrowType::List(_) | ArrowType::Map(..) => Ok(stored.as_ref() != computed.as_ref()),
        _ => {
            let differs: BooleanArray = distinct(stored, computed)?;
            Ok(differs.has_true())
        }
    }
}

/// Returns the values of a column, with null where a struct around it is null.
fn values_of(batch: &RecordBatch, path: &[String]) -> Option<ArrayRef> {
    let (first, rest) = path.split_first()?;
    let mut values = Arc::clone(batch.column_by_name(first)?);
    for name in rest {
        let parts = values.as_struct_opt()?;
        let part = Arc::clone(parts.column_by_name(name)?);
        values = match parts.nulls() {
            None => part,
            Some(nulls) => arrow_select::nullif::nullif(&part, &BooleanArray::new(!nulls.inner(), None)).ok()?,
        };
    }
    Some(values)
}

/// Returns the same columns, in which every value may be null.
fn nullable(schema: &StructType) -> StructType {
    let field = |field: &StructField| StructField { nullable: true, data_type: nullable_type(&field.data_type), ..field.clone() };
    StructType { fields: schema.fields.iter().map(field).collect() }
}

fn nullable_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Primitive(_) => data_type.clone(),
        DataType::Struct(fields) => DataType::Struct(nullable(fields)),
        DataType::Array(array) => {
            DataType::Array(Box::new(ArrayType { element: nullable_type(&array.element), contains_null: true }))
        }
        DataType::Map(map) => DataType::Map(Box::new(MapType {
            key: nullable_type(&map.key),
            value: nullable_type(&map.value),
            value_contains_null: true,
        })),
    }
}
