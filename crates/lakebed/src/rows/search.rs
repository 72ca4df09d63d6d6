//! Which rows leave the table: whole files where the log shows that all their rows do, else rows of files by their positions.
//!
//! A file is opened only if the log leaves open whether it has rows that leave, and of it only the columns are read that tell, unless the
//! rows themselves are wanted too. Read [`Search::next`].

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{BooleanArray, Int64Array, RecordBatch};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use lakebed_core::action::Add;
use lakebed_core::dv::DeletionVector;
use lakebed_core::log::files::{FileBatch, column};
use lakebed_core::schema::StructType;
use lakebed_expr::prune::Pruner;
use lakebed_expr::{Filter, Options, filter_schema, parse_filter};

use crate::metrics::PlanMetrics;
use crate::scan::count::known_rows;
use crate::scan::plan::{Plan, PlanOptions, may_match};
use crate::scan::read::{ReadOptions, read_files};
use crate::scan::{FileRows, RowColumn, RowColumnKind, Scan, ScanFile};
use crate::transaction::{Partitions, ReadSet};
use crate::{Error, RecordBatchStream, Result, Snapshot};

/// Groups of files whose rows may be on their way at a time: rows of more than two are never looked at together.
const GROUPS_AT_ONCE: usize = 2;
/// Files that are read in one go: enough to keep all cores busy, few enough to hold.
const FILES_AT_ONCE: usize = 4096;
/// The names of the columns by which rows are found again. Tables have no columns of such names.
const FILE_COLUMN: &str = "\u{0}file";
const ROW_COLUMN: &str = "\u{0}row";

/// The rows that leave.
#[derive(Debug)]
pub(crate) enum Leaving {
    All,
    Where(Arc<Filter>),
    /// Some partitions.
    Partitions(Partitions),
}

/// The rows that leave the table, by file.
#[derive(Debug, Default)]
pub(crate) struct DeletedRows {
    /// Files of which nothing is left, as the log shows.
    pub(crate) whole: Vec<FileBatch>,
    /// Files that were read.
    pub(crate) parts: Vec<PartOfFile>,
}

/// A file that loses rows, perhaps all.
#[derive(Debug)]
pub(crate) struct PartOfFile {
    /// As the log has it, alone.
    pub(crate) file: FileBatch,
    pub(crate) add: Add,
    /// The rows that it loses, which it had until now.
    pub(crate) rows: DeletionVector,
}

/// Rows of one file.
#[derive(Debug)]
pub(crate) struct InFile {
    /// As the log has it, alone.
    pub(crate) file: FileBatch,
    /// By their places among those that were found, and their positions in the file.
    pub(crate) rows: Vec<(usize, u64)>,
}

/// Looks through the files.
pub(crate) struct Search {
    scan: Scan,
    files: BoxStream<'static, Result<FileBatch>>,
    metrics: Arc<PlanMetrics>,
    whole: Whole,
    read: ReadOptions,
    /// The files that are read, and those before them, of which rows may still be on their way to [`Search::leave`].
    readings: VecDeque<Reading>,
    groups: u64,
    found: DeletedRows,
}

/// Rows that were found, with the columns of the scan and two behind them, which tell where they are.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) rows: RecordBatch,
    group: u64,
}

/// Which files leave without a look at their rows.
enum Whole {
    All,
    Of(Partitions),
    /// Those of which neither of these may match a row.
    Unless([Arc<Pruner>; 2]),
    /// The partition values of a file decide for all its rows.
    AllMatching,
    /// None: each row is wanted.
    None,
}

/// Files that are being read.
struct Reading {
    group: u64,
    files: Vec<FileBatch>,
    rows: Vec<DeletionVector>,
    stream: RecordBatchStream,
}

/// The condition of rows that leave.
pub(crate) fn parse_condition(table: &str, schema: &StructType, text: &str, now_ms: i64) -> Result<Arc<Filter>> {
    let options = Options { now_ms: Some(now_ms) };
    Ok(Arc::new(parse_filter(text, &filter_schema(schema)?, &options).map_err(|error| error.within(table))?))
}

impl Leaving {
    /// What is read to find the rows.
    pub(crate) fn read_set(&self, snapshot: &Snapshot) -> Result<ReadSet> {
        let mut read = ReadSet::default();
        match self {
            Self::All => read.all(),
            Self::Where(filter) => read.matching(snapshot.pruner(filter)?),
            Self::Partitions(partitions) => read.partitions(partitions.clone()),
        }
        Ok(read)
    }
}

impl Search {
    /// For rows that leave, of which nothing is wanted but where they are.
    pub(crate) fn of_places(snapshot: &Snapshot, leaving: Leaving) -> Result<Self> {
        let scan = snapshot.scan().select(Vec::<String>::new());
        let (scan, filter) = match &leaving {
            Leaving::Where(filter) => (scan.filter(Arc::clone(filter)), Some(Arc::clone(filter))),
            Leaving::All | Leaving::Partitions(_) => (scan, None),
        };
        let plan = plan(snapshot, filter.as_deref())?;
        let whole = match leaving {
            Leaving::All => Whole::All,
            Leaving::Partitions(partitions) => Whole::Of(partitions),
            Leaving::Where(_) if plan.pruner().is_none_or(Pruner::is_exact_on_partitions) => Whole::AllMatching,
            Leaving::Where(filter) => Whole::Unless(may_stay(snapshot, &filter)?),
        };
        Ok(Self::new(scan, plan, whole, ReadOptions::default()))
    }

    /// For rows that a scan gives, with its columns.
    pub(crate) fn of_rows(scan: Scan, filter: Option<&Filter>, read: ReadOptions) -> Result<Self> {
        let plan = plan(scan.snapshot(), filter)?;
        Ok(Self::new(scan, plan, Whole::None, read))
    }

    fn new(scan: Scan, plan: Plan, whole: Whole, read: ReadOptions) -> Self {
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

    /// What was skipped so far.
    pub(crate) fn metrics(&self) -> Arc<PlanMetrics> {
        Arc::clone(&self.metrics)
    }

    /// More rows.
    pub(crate) async fn next(&mut self) -> Result<Option<Found>> {
        loop {
            if let Some(reading) = self.readings.back_mut()
                && let Some(rows) = reading.stream.try_next().await?
            {
                return Ok(Some(Found { rows, group: reading.group }));
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

    /// Notes that these rows leave, by their places among rows that were found, ascending.
    pub(crate) fn leave(&mut self, found: &Found, rows: impl IntoIterator<Item = usize>) -> Result<()> {
        let (files, positions) = places(&found.rows)?;
        let reading = self.readings.iter_mut().find(|reading| reading.group == found.group);
        let reading = reading.ok_or_else(|| Error::internal("rows leave too late"))?;
        let mut rows = rows.into_iter().peekable();
        while let Some(first) = rows.peek().copied() {
            let file = files.value(first);
            let run = std::iter::from_fn(|| rows.next_if(|row| files.value(*row) == file))
                .map(|row| positions.value(row).unsigned_abs());
            let vector = usize::try_from(file).ok().and_then(|file| reading.rows.get_mut(file));
            vector.ok_or_else(|| Error::internal("rows of a file that was not read"))?.insert_ascending(run);
        }
        Ok(())
    }

    /// The files that these rows are in, each as the log has it, with its rows among them and their positions in it.
    pub(crate) fn files_of(&self, found: &Found, rows: impl IntoIterator<Item = usize>) -> Result<Vec<InFile>> {
        let (files, positions) = places(&found.rows)?;
        let reading = self.readings.iter().find(|reading| reading.group == found.group);
        let reading = reading.ok_or_else(|| Error::internal("rows are asked for too late"))?;
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

    /// Reads to the end, where all rows leave that are found.
    pub(crate) async fn all(mut self) -> Result<DeletedRows> {
        while let Some(found) = self.next().await? {
            self.leave(&found, 0..found.rows.num_rows())?;
        }
        self.finish()
    }

    /// What was found, once nothing more comes.
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
            let add = file.to_adds()?.pop().ok_or_else(|| Error::internal("a file without an action"))?;
            self.found.parts.push(PartOfFile { file, add, rows });
        }
        Ok(())
    }
}

/// Where the rows of a batch stand: which file of those that are read, and which row of it.
fn places(batch: &RecordBatch) -> Result<(&Int64Array, &Int64Array)> {
    let column = |name: &str| batch.column_by_name(name).and_then(|column| column.as_primitive_opt::<Int64Type>());
    column(FILE_COLUMN).zip(column(ROW_COLUMN)).ok_or_else(|| Error::internal("rows without their places"))
}

fn plan(snapshot: &Snapshot, filter: Option<&Filter>) -> Result<Plan> {
    Plan::new(snapshot, filter, PlanOptions { whole_actions: true, row_counts: true, ..PlanOptions::default() })
}

/// What must be shown to be impossible for all rows of a file to match.
fn may_stay(snapshot: &Snapshot, filter: &Filter) -> Result<[Arc<Pruner>; 2]> {
    Ok([snapshot.pruner(&filter.negated())?, snapshot.pruner(&filter.is_unknown())?])
}

impl Whole {
    /// Of each file whether it leaves as a whole.
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
        Err(Error::internal("rows of a file that was not read"))
    }
}

impl DeletedRows {
    /// Takes in what another search found, be it in the same files.
    pub(crate) fn join(&mut self, other: Self) {
        let mut known: HashMap<String, usize> =
            self.parts.iter().enumerate().map(|(place, part)| (part.add.path.clone(), place)).collect();
        for part in other.parts {
            match known.get(&part.add.path).and_then(|place| self.parts.get_mut(*place)) {
                Some(same) => same.rows = same.rows.union(&part.rows),
                None => {
                    known.insert(part.add.path.clone(), self.parts.len());
                    self.parts.push(part);
                }
            }
        }
        self.whole.extend(other.whole);
    }

    /// Whether no row leaves.
    pub(crate) fn is_empty(&self) -> bool {
        self.whole.is_empty() && self.parts.is_empty()
    }

    /// The number of rows that leave; none if the log does not tell the rows of a whole file.
    pub(crate) fn rows(&self) -> Result<Option<u64>> {
        Ok(self.rows_of_whole()?.map(|rows| rows + self.rows_of_parts()))
    }

    /// Rows of whole files, if the log says how many they are.
    fn rows_of_whole(&self) -> Result<Option<u64>> {
        let rows = self.whole.iter().map(known_rows).collect::<Result<Option<Vec<u64>>>>()?;
        Ok(rows.map(|rows| rows.iter().sum()))
    }

    /// Rows that were found by reading.
    fn rows_of_parts(&self) -> u64 {
        self.parts.iter().map(|part| part.rows.len()).sum()
    }
}

impl PartOfFile {
    /// Of the rows of the file those that leave.
    pub(crate) fn leaving(&self) -> Result<ScanFile> {
        let only = Some(FileRows::Known(Arc::new(self.rows.clone())));
        Ok(ScanFile { deletion_vector: None, only, ..ScanFile::new(self.add.clone(), None)? })
    }

    /// Of the rows of the file those that stay; none if none does.
    pub(crate) async fn staying(&self, snapshot: &Snapshot) -> Result<Option<ScanFile>> {
        let file = ScanFile::new(self.add.clone(), None)?;
        let gone = match &file.deletion_vector {
            Some(deleted) => deleted.read(snapshot.store()).await?.union(&self.rows),
            None => self.rows.clone(),
        };
        if self.add.num_records().is_some_and(|rows| u64::try_from(rows) == Ok(gone.len())) {
            return Ok(None);
        }
        Ok(Some(ScanFile { deletion_vector: Some(FileRows::Known(Arc::new(gone))), ..file }))
    }
}

/// How many files these are, and their sizes.
pub(crate) fn totals<'a>(files: impl IntoIterator<Item = &'a FileBatch>) -> Result<(u64, u64)> {
    let (mut count, mut bytes) = (0, 0);
    for batch in files {
        count += batch.len() as u64;
        bytes += batch.longs(column::SIZE)?.iter().flatten().filter_map(|size| u64::try_from(size).ok()).sum::<u64>();
    }
    Ok((count, bytes))
}
