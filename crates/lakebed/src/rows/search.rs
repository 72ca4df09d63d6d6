//! Finds the rows to delete: whole files if the log proves that all their rows match, else rows of
//! files by their positions.
//!
//! A file is opened only if the log does not decide whether it has such rows. Only the columns of
//! the predicate are read from it, unless the caller wants the rows themselves too. Begin with
//! [`Search::next`].

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{BooleanArray, Int64Array, RecordBatch};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use lakebed_core::dv::DeletionVector;
use lakebed_core::log::files::FileBatch;
use lakebed_expr::Filter;
use lakebed_expr::prune::Pruner;

use super::deleted::{DeletedRows, PartOfFile};
use super::selection::{Matching, Selection};
use crate::metrics::PlanMetrics;
use crate::scan::plan::{Plan, PlanOptions, may_match};
use crate::scan::read::{ReadOptions, read_files};
use crate::scan::{RowColumn, RowColumnKind, Scan, ScanFile};
use crate::transaction::Partitions;
use crate::{Error, RecordBatchStream, Result, Snapshot};

/// The maximum number of groups of files with rows that may still be in use. A caller never uses
/// rows of more than two groups together.
const GROUPS_AT_ONCE: usize = 2;
/// The maximum number of files that one read takes: enough to keep all cores busy, and few enough
/// for memory.
const FILES_AT_ONCE: usize = 4096;
/// The names of the columns with the file and the position of each row. No table has columns of
/// such names.
const FILE_COLUMN: &str = "\u{0}file";
const ROW_COLUMN: &str = "\u{0}row";

/// Rows of one file.
#[derive(Debug)]
pub(crate) struct InFile {
    /// The file as in the log, in a batch of its own.
    pub(crate) file: FileBatch,
    /// For each row, its index among the found rows and its position in the file.
    pub(crate) rows: Vec<(usize, u64)>,
}

/// Searches the files of a scan for rows to delete.
pub(crate) struct Search {
    scan: Scan,
    files: BoxStream<'static, Result<FileBatch>>,
    metrics: Arc<PlanMetrics>,
    whole: Whole,
    read: ReadOptions,
    /// The files that are read now, and earlier ones with rows that may still be passed to
    /// [`Search::leave`].
    readings: VecDeque<Reading>,
    groups: u64,
    found: DeletedRows,
}

/// Rows that were found. They have the columns of the scan, and then two columns with their file
/// and position.
#[derive(Debug, Clone)]
pub(crate) struct FoundRows {
    pub(crate) rows: RecordBatch,
    group: u64,
}

/// The choice of files that are deleted whole, without reading their rows.
enum Whole {
    All,
    Of(Partitions),
    /// Files in which neither pruner can match a row.
    Unless([Arc<Pruner>; 2]),
    /// All files of the plan, because the partition values of a file decide for all its rows.
    AllMatching,
    /// No file, because each row is needed.
    None,
}

/// Files that are being read.
struct Reading {
    group: u64,
    files: Vec<FileBatch>,
    rows: Vec<DeletionVector>,
    stream: RecordBatchStream,
}

impl Search {
    /// Returns a search for the places of rows to delete. It reads no other columns than the
    /// predicate needs.
    pub(crate) fn of_places(snapshot: &Snapshot, selection: &Selection) -> Result<Self> {
        let scan = snapshot.scan().select(Vec::<String>::new());
        let whole = match selection {
            Selection::All => Whole::All,
            Selection::Partitions(partitions) => Whole::Of(partitions.clone()),
            Selection::Matching(matching) if matching.pruner.is_exact_on_partitions() => Whole::AllMatching,
            Selection::Matching(matching) => Whole::Unless(may_stay(snapshot, &matching.filter)?),
        };
        Ok(Self::new(scan, selection.matching(), whole, ReadOptions::default()))
    }

    /// Returns a search for the rows of a scan that match, with the columns of the scan.
    pub(crate) fn of_rows(scan: Scan, matching: Option<&Matching>, read: ReadOptions) -> Self {
        Self::new(scan, matching, Whole::None, read)
    }

    fn new(scan: Scan, matching: Option<&Matching>, whole: Whole, read: ReadOptions) -> Self {
        let options = PlanOptions { whole_actions: true, row_counts: true, ..PlanOptions::default() };
        let plan = Plan::of_pruner(scan.snapshot(), matching.map(|matching| Arc::clone(&matching.pruner)), options);
        let scan = match matching {
            Some(matching) => scan.filter(Arc::clone(&matching.filter)),
            None => scan,
        };
        let places = [RowColumn::new(RowColumnKind::FileIndex, FILE_COLUMN), RowColumn::new(RowColumnKind::RowIndex, ROW_COLUMN)];
        let scan = scan.more_row_columns(places);
        Self {
            scan,
            files: plan.files().fuse().boxed(),
            metrics: plan.metrics(),
            whole,
            read,
            readings: VecDeque::new(),
            groups: 0,
            found: DeletedRows::default(),
        }
    }

    /// Returns the metrics of the files that were skipped so far.
    pub(crate) fn metrics(&self) -> Arc<PlanMetrics> {
        Arc::clone(&self.metrics)
    }

    /// Returns more rows, or `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<FoundRows>> {
        loop {
            if let Some(reading) = self.readings.back_mut()
                && let Some(rows) = reading.stream.try_next().await?
            {
                return Ok(Some(FoundRows { rows, group: reading.group }));
            }
            match self.next_files().await? {
                Some(reading) => self.readings.push_back(reading),
                None => return Ok(None),
            }
            if self.readings.len() > GROUPS_AT_ONCE {
                self.end_reading()?;
            }
        }
    }

    /// Records that these rows are deleted. They are given by their indexes among the found rows,
    /// in ascending order.
    pub(crate) fn leave(&mut self, found: &FoundRows, rows: impl IntoIterator<Item = usize>) -> Result<()> {
        let (files, positions) = places(&found.rows)?;
        let reading = self.readings.iter_mut().find(|reading| reading.group == found.group);
        let reading = reading.ok_or_else(|| Error::internal("rows were deleted after their files were closed"))?;
        let mut rows = rows.into_iter().peekable();
        while let Some(first) = rows.peek().copied() {
            let file = files.value(first);
            let run = std::iter::from_fn(|| rows.next_if(|row| files.value(*row) == file))
                .map(|row| positions.value(row).unsigned_abs());
            let vector = usize::try_from(file).ok().and_then(|file| reading.rows.get_mut(file));
            vector.ok_or_else(|| Error::internal("a row belongs to a file that was not read"))?.insert_ascending(run);
        }
        Ok(())
    }

    /// Returns the files of these rows. Each file has the indexes of its rows and their positions
    /// in the file.
    pub(crate) fn files_of(&self, found: &FoundRows, rows: impl IntoIterator<Item = usize>) -> Result<Vec<InFile>> {
        let (files, positions) = places(&found.rows)?;
        let reading = self.readings.iter().find(|reading| reading.group == found.group);
        let reading = reading.ok_or_else(|| Error::internal("the files of rows were requested after they were closed"))?;
        let mut of_files: Vec<(i64, InFile)> = Vec::new();
        for row in rows {
            let (file, position) = (files.value(row), positions.value(row).unsigned_abs());
            match of_files.last_mut().filter(|(last, _)| *last == file) {
                Some((_, in_file)) => in_file.rows.push((row, position)),
                None => of_files.push((file, InFile { file: reading.file(file)?, rows: vec![(row, position)] })),
            }
        }
        Ok(of_files.into_iter().map(|(_, in_file)| in_file).collect())
    }

    /// Reads to the end, and deletes all rows that are found.
    pub(crate) async fn all(mut self) -> Result<DeletedRows> {
        while let Some(found) = self.next().await? {
            self.leave(&found, 0..found.rows.num_rows())?;
        }
        self.finish()
    }

    /// Ends the search and returns the deleted rows.
    pub(crate) fn finish(mut self) -> Result<DeletedRows> {
        while !self.readings.is_empty() {
            self.end_reading()?;
        }
        Ok(self.found)
    }

    async fn next_files(&mut self) -> Result<Option<Reading>> {
        let (mut files, mut scans) = (Vec::new(), Vec::new());
        let partitions = self.scan.snapshot().physical_partition_columns();
        while scans.len() < FILES_AT_ONCE {
            let Some(batch) = self.files.try_next().await? else { break };
            let whole = self.whole.of(&batch)?;
            let rest = match whole.true_count() {
                0 => batch,
                _ => {
                    self.found.whole.push(batch.filter(&whole)?);
                    batch.filter(&arrow_arith::boolean::not(&whole)?)?
                }
            };
            if !rest.is_empty() && !matches!(self.whole, Whole::Of(_)) {
                scans.extend(ScanFile::of_batch(&rest, &partitions)?);
                files.push(rest);
            }
        }
        if scans.is_empty() {
            return Ok(None);
        }
        let rows = vec![DeletionVector::new(); scans.len()];
        let stream = read_files(self.scan.snapshot().store(), &self.scan.spec(), scans, self.read.clone())?;
        self.groups += 1;
        Ok(Some(Reading { group: self.groups, files, rows, stream }))
    }

    fn end_reading(&mut self) -> Result<()> {
        let Some(Reading { files, rows, .. }) = self.readings.pop_front() else { return Ok(()) };
        let places = files.iter().flat_map(|batch| (0..batch.len()).map(move |row| (batch, row)));
        for ((batch, row), rows) in places.zip(rows) {
            if rows.is_empty() {
                continue;
            }
            let file = batch.slice(row, 1);
            let add = file.to_adds()?.pop().ok_or_else(|| Error::internal("a file has no action"))?;
            self.found.parts.push(PartOfFile { file, add, rows });
        }
        Ok(())
    }
}

/// Returns two columns of a batch: the index of each row's file among the files that are read, and
/// the row's position in the file.
fn places(batch: &RecordBatch) -> Result<(&Int64Array, &Int64Array)> {
    let column = |name: &str| batch.column_by_name(name).and_then(|column| column.as_primitive_opt::<Int64Type>());
    column(FILE_COLUMN).zip(column(ROW_COLUMN)).ok_or_else(|| Error::internal("the rows have no file index and no row index"))
}

/// Returns two pruners: one for rows where the predicate is false, one for rows where it is
/// unknown. A file matches with all rows if neither of them can match.
fn may_stay(snapshot: &Snapshot, filter: &Filter) -> Result<[Arc<Pruner>; 2]> {
    Ok([snapshot.pruner(&filter.negated())?, snapshot.pruner(&filter.is_unknown())?])
}

impl Whole {
    /// Returns for each file whether it is deleted whole.
    fn of(&self, files: &FileBatch) -> Result<BooleanArray> {
        let all = |leaves: bool| BooleanArray::from(vec![leaves; files.len()]);
        Ok(match self {
            Self::All | Self::AllMatching => all(true),
            Self::None => all(false),
            Self::Of(partitions) => partitions.holding(files)?,
            Self::Unless([no, unknown]) => {
                let stays = arrow_arith::boolean::or(&may_match(no, files)?, &may_match(unknown, files)?)?;
                arrow_arith::boolean::not(&stays)?
            }
        })
    }
}

impl Reading {
    fn file(&self, place: i64) -> Result<FileBatch> {
        let mut place = usize::try_from(place).unwrap_or(usize::MAX);
        for batch in &self.files {
            if place < batch.len() {
                return Ok(batch.slice(place, 1));
            }
            place -= batch.len();
        }
        Err(Error::internal("a row belongs to a file that was not read"))
    }
}
