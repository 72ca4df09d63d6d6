//! Runs a write: plans on the newest version, writes files, and commits. After a conflict, the plan
//! is made again, and the files that are already written are used.

use std::sync::Arc;

use futures::TryStreamExt;
use lakebed_core::error::ConflictKind;
use lakebed_core::schema::StructType;
use lakebed_core::schema::arrow::schema_from_arrow;
use lakebed_expr::Filter;

use super::known::version_of;
use super::options::{PartitionMode, SchemaMode, WriteMode, WriteOptions};
use super::outcome::{WriteMetrics, WriteOutcome};
use super::part::PartWriter;
use crate::create::exists;
use crate::rows::effects::Effects;
use crate::rows::selection::parse_condition;
use crate::rows::target::Target;
use crate::transaction::retry::{Retry, Retryable};
use crate::transaction::{Application, Standing, Transaction};
use crate::write::files::{delete_written, take_back};
use crate::write::identity_column::PartNumber;
use crate::write::settings::check_file_size;
use crate::{Error, ErrorKind, RecordBatchStream, Result, Snapshot, Table};

pub(super) async fn run(table: Table, data: RecordBatchStream, options: WriteOptions) -> Result<WriteOutcome> {
    let schema = schema_from_arrow(&data.schema()).map_err(|error| error.within(table.store().url()))?;
    let now_ms = table.env().now_ms();
    let run = WriteRun::new(table, schema, options, now_ms)?;
    let (mut data, mut step) = (data, run.begin(None).await?);
    if matches!(step, Step::CountRows) {
        step = match run.begin(Some(count_rows(&mut data).await?)).await? {
            // The count has consumed the rows, so none are left to write.
            Step::Begun(_) => return Err(run.batch_left()),
            step => step,
        };
    }
    match step {
        Step::Done(outcome) => Ok(*outcome),
        Step::CountRows => Err(counted_already()),
        Step::Begun(begun) => {
            let files = run.write_files(data, &begun).await?;
            run.finish(*begun, files).await
        }
    }
}

/// The arguments of a write.
pub(super) struct WriteRun {
    pub(super) table: Table,
    /// The schema of the data.
    pub(super) schema: StructType,
    pub(super) options: WriteOptions,
    /// The value of the current time in conditions and defaults, for the whole write.
    pub(super) now_ms: i64,
}

/// The next step of a write.
pub(super) enum Step {
    /// There is nothing to do.
    Done(Box<WriteOutcome>),
    /// The caller has to count the rows of a batch and begin again with their number. The number
    /// shows whether the table has the batch.
    CountRows,
    Begun(Box<Begun>),
}

/// The plan of a write on top of a version.
pub(super) struct Begun {
    /// None if the table does not exist.
    pub(super) snapshot: Option<Snapshot>,
    pub(super) transaction: Option<Transaction>,
    pub(super) target: Target,
    /// The condition that selects the replaced rows, if there is one.
    pub(super) condition: Option<Arc<Filter>>,
}

impl WriteRun {
    pub(super) fn new(table: Table, schema: StructType, options: WriteOptions, now_ms: i64) -> Result<Self> {
        check_options(&options)?;
        Ok(Self { table, schema, options, now_ms })
    }

    /// Plans the write on the newest version. `rows` is the number of rows, if they were counted.
    pub(super) async fn begin(&self, rows: Option<u64>) -> Result<Step> {
        let snapshot = self.table.try_snapshot().await?;
        match snapshot {
            Some(snapshot) if self.may_change_table() => self.begin_on(Some(snapshot.by_log().await?), rows).await,
            Some(snapshot) if snapshot.needs_confirmation() => match self.begin_on(Some(snapshot.clone()), rows).await {
                // The refusal may come from a wrong checksum alone, so the log is read.
                Err(_) => self.begin_on(Some(snapshot.by_log().await?), rows).await,
                step => step,
            },
            snapshot => self.begin_on(snapshot, rows).await,
        }
    }

    /// Returns whether the write may do more than add files. Such a write needs a snapshot that the
    /// log confirms.
    fn may_change_table(&self) -> bool {
        self.options.schema_mode != SchemaMode::default() || matches!(self.options.mode, WriteMode::Overwrite)
    }

    async fn begin_on(&self, snapshot: Option<Snapshot>, rows: Option<u64>) -> Result<Step> {
        if let Some(step) = self.nothing_to_do(snapshot.as_ref(), rows).await? {
            return Ok(step);
        }
        let transaction = self.transaction(snapshot.as_ref()).await?;
        let target = Target::plan(snapshot.as_ref(), &self.table, &self.schema, &self.options, self.now_ms).await?;
        let condition = self.condition(snapshot.as_ref(), &target)?;
        Ok(Step::Begun(Box::new(Begun { snapshot, transaction, target, condition })))
    }

    pub(super) async fn transaction(&self, snapshot: Option<&Snapshot>) -> Result<Option<Transaction>> {
        match snapshot {
            Some(snapshot) => Transaction::begin(snapshot, self.options.commit_settings()).await.map(Some),
            None => Ok(None),
        }
    }

    pub(super) async fn nothing_to_do(&self, snapshot: Option<&Snapshot>, rows: Option<u64>) -> Result<Option<Step>> {
        let Some(snapshot) = snapshot else { return Ok(None) };
        let standing = match (self.options.mode, &self.options.txn) {
            (WriteMode::Error, _) => return Err(exists(self.table.store().url())),
            (WriteMode::Ignore, _) => Standing::Known,
            (_, Some(application)) => application.standing(snapshot, rows).await?,
            (_, None) => Standing::New,
        };
        Ok(match standing {
            Standing::New => None,
            Standing::Known => {
                let (version, metrics) = (snapshot.version(), WriteMetrics::default());
                let outcome = WriteOutcome { version, committed: false, metrics, snapshot: Some(snapshot.clone()) };
                Some(Step::Done(Box::new(outcome)))
            }
            Standing::Uncounted => Some(Step::CountRows),
        })
    }

    /// Returns the condition that selects the replaced rows. Rows of a table that this write
    /// creates must meet it too, because a repetition of the write would refuse them otherwise.
    pub(super) fn condition(&self, snapshot: Option<&Snapshot>, target: &Target) -> Result<Option<Arc<Filter>>> {
        let Some(text) = &self.options.replace_where else { return Ok(None) };
        let schema = snapshot.map_or(&target.rules.schema, Snapshot::schema);
        parse_condition(self.table.store().url(), schema, text, self.now_ms).map(Some)
    }

    async fn write_files(&self, data: RecordBatchStream, begun: &Begun) -> Result<Effects> {
        let writer = PartWriter {
            store: self.table.store(),
            env: self.table.env(),
            target: &begun.target,
            condition: begun.condition.as_ref(),
            on_lossy: self.options.on_lossy,
        };
        writer.write(PartNumber::WHOLE, data).await
    }

    /// Commits the files. If the commit is impossible, the files are deleted.
    pub(super) async fn finish(&self, begun: Begun, files: Effects) -> Result<WriteOutcome> {
        let outcome = self.until_committed(begun, &files).await;
        match &outcome {
            Ok(outcome) if !outcome.committed => delete_written(self.table.store(), &files.added).await,
            Ok(_) => {}
            Err(error) => take_back(self.table.store(), &files.added, error).await,
        }
        outcome
    }

    /// Commits the files, and retries on newer versions after conflicts.
    pub(super) async fn until_committed(&self, mut begun: Begun, files: &Effects) -> Result<WriteOutcome> {
        let (written_for, mut after) = (begun.target.clone(), begun.snapshot.as_ref().map(Snapshot::version));
        let mut retry = Retry::new(self.table.env(), &self.options.commit_settings(), self.retryable());
        loop {
            match self.commit(begun, files).await {
                Ok(mut outcome) => {
                    outcome.metrics.conflicts += retry.conflicts();
                    return Ok(outcome);
                }
                Err(error) => retry.again(error).await?,
            }
            begun = match self.begin(Some(files.new_rows)).await? {
                Step::Done(outcome) => return Ok(*outcome),
                Step::CountRows => return Err(counted_already()),
                Step::Begun(begun) => *begun,
            };
            // The conflicting commit may be a commit of the same files by another process.
            if let Some(outcome) = outcome_of(&self.table, after, files).await? {
                return Ok(outcome);
            }
            after = begun.snapshot.as_ref().map(Snapshot::version);
            if !begun.target.takes_files_of(&written_for) {
                return Err(self.rules_changed());
            }
        }
    }

    fn rules_changed(&self) -> Error {
        let why = "another writer changed the table's schema or rules while the rows were written; write them again";
        self.conflict(ConflictKind::MetadataChanged, why)
    }

    fn batch_left(&self) -> Error {
        let why = "the table had a batch with this number, but lost it while the rows of this batch were counted; write the \
                   batch again";
        self.conflict(ConflictKind::ConcurrentTransaction, why)
    }

    fn conflict(&self, kind: ConflictKind, why: &str) -> Error {
        let kind = ErrorKind::CommitConflict { kind, winner_version: 0, retryable: true };
        Error::new(kind, format!("{}: {why}", self.table.store().url()))
    }

    /// Returns the conflicts after which the same files are committed on a newer version. Appends
    /// do not depend on what others write. An overwrite with a predicate replaces rows on top of
    /// any other commit: the replaced rows are searched for again. Another writer may have
    /// committed the same batch of an application. A table that another writer created first can be
    /// written to.
    fn retryable(&self) -> Retryable {
        use ConflictKind::{
            ConcurrentAppend, ConcurrentDeleteDelete, ConcurrentDeleteRead, ConcurrentTransaction, MetadataChanged,
            ProtocolChanged,
        };
        let options = &self.options;
        Retryable::default()
            .or_creation()
            .or_if(options.mode == WriteMode::Append, [MetadataChanged, ProtocolChanged])
            .or_if(options.txn.is_some(), [ConcurrentTransaction])
            .or_if(options.replace_where.is_some(), [ConcurrentAppend, ConcurrentDeleteRead, ConcurrentDeleteDelete])
    }
}

/// Returns the outcome of a commit of these files, if a version after `after` adds them.
pub(super) async fn outcome_of(table: &Table, after: Option<u64>, files: &Effects) -> Result<Option<WriteOutcome>> {
    let paths = files.added.iter().map(|file| file.add.path.as_str()).collect();
    let Some(version) = version_of(table.store(), after, &paths).await? else { return Ok(None) };
    let mut metrics = WriteMetrics::default();
    metrics.add_files(files);
    Ok(Some(WriteOutcome { version, committed: true, metrics, snapshot: Some(table.snapshot_at(version).await?) }))
}

/// Returns the error for a request to count rows that were already counted.
pub(super) fn counted_already() -> Error {
    Error::internal("the rows of a batch were counted twice")
}

async fn count_rows(data: &mut RecordBatchStream) -> Result<u64> {
    let mut rows = 0;
    while let Some(batch) = data.try_next().await? {
        rows += batch.num_rows() as u64;
    }
    Ok(rows)
}

fn check_options(options: &WriteOptions) -> Result<()> {
    let is_overwrite = options.mode == WriteMode::Overwrite;
    let refuse = |why: &str| Err(Error::invalid_input(why));
    check_file_size(options.target_file_size_bytes)?;
    options.txn.as_ref().map_or(Ok(()), Application::check)?;
    if options.row_group_rows == Some(0) {
        return refuse("row_group_rows=0: a row group must have at least one row");
    }
    match (&options.replace_where, options.partitions == PartitionMode::Dynamic) {
        (Some(_), _) if !is_overwrite => refuse("where needs mode=\"overwrite\": it selects the rows to replace"),
        (_, true) if !is_overwrite => refuse("partitions=\"dynamic\" needs mode=\"overwrite\": it selects the rows to replace"),
        (Some(_), true) => refuse("where and partitions=\"dynamic\" both select the rows to replace: choose one of them"),
        (replace_where, dynamic) if options.schema_mode == SchemaMode::Overwrite && (replace_where.is_some() || dynamic) => {
            refuse("schema_mode=\"overwrite\" replaces all rows: it cannot be combined with where or with partitions=\"dynamic\"")
        }
        _ => Ok(()),
    }
}
