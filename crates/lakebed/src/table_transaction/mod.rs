//! Transactions with several operations: all of their changes become one version, or none.
//!
//! A [`TableTransaction`] has a handle of the table whose verbs do not commit by themselves: each
//! reads what those before it did. `transaction::staged` combines their changes. At the end they are
//! committed as a transaction of one operation would be: on top of what others committed meanwhile,
//! unless that conflicts. Begin with [`Table::transaction`].

mod row_log;
mod net_changes;
mod feed;
mod finish;
mod outcome;

use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt;
use serde::Deserialize;

use crate::scan::ScanOptions;
use crate::scan::plan::{Plan, PlanOptions};
use crate::snapshot::Stage;
use crate::transaction::staged::StagedOperations;
use crate::transaction::{Application, CommitSettings, InfoEntries, ReadSet, Standing};
use crate::upkeep::UpkeepOptions;
use crate::{Error, ErrorKind, Result, Scan, Snapshot, Table};

pub use outcome::{OperationOutcome, TransactionOutcome};

/// The options of a transaction with several operations.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TransactionOptions {
    /// An application id and its number of this transaction. A transaction that the table knows
    /// already is not committed again.
    pub txn: Option<Application>,
    /// A text of the caller that is stored in the history.
    pub user_metadata: Option<String>,
    /// Entries of the caller in `commitInfo`, beside those that lakebed records.
    pub commit_info: InfoEntries,
    /// Whether a checkpoint and a cleanup of the log may follow the commit.
    pub upkeep: UpkeepOptions,
    /// The time limit for the commit while other writers commit first.
    #[serde(deserialize_with = "crate::option_value::seconds::deserialize")]
    pub timeout: Option<Duration>,
}

/// Describes a transaction; [`begin`](Self::begin) begins it.
#[derive(Debug, Clone)]
pub struct BeginTransaction {
    table: Table,
    options: TransactionOptions,
}

/// A transaction that goes on. Several operations become one version with [`commit`](Self::commit).
///
/// The operations run one after the other, with the verbs of [`table`](Self::table). An operation
/// that fails leaves the transaction as it was before. If the transaction is dropped, nothing is
/// committed, but its files stay until a vacuum; [`rollback`](Self::rollback) deletes them.
pub struct TableTransaction {
    /// The handle from which the transaction began.
    origin: Table,
    /// The handle whose verbs are operations of the transaction.
    table: Table,
    stage: Arc<Stage>,
    base: Snapshot,
    options: TransactionOptions,
}

impl Table {
    /// Describes a transaction with several operations on the newest version.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> lakebed::Result<()> {
    /// use std::sync::Arc;
    /// use arrow_array::{Int64Array, RecordBatch};
    /// use lakebed::{RecordBatchStream, Table};
    ///
    /// let rows = RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from(vec![1, 2, 3])) as _)])?;
    /// let rows = || RecordBatchStream::from_batches(rows.schema(), vec![rows.clone()]);
    /// let table = Table::at("memory://docs/transaction").build()?;
    /// table.write(rows()).run().await?;
    ///
    /// let Some(transaction) = table.transaction().txn("nightly load", 7).begin().await? else {
    ///     return Ok(()); // The table has this load already.
    /// };
    /// transaction.table().delete().filter("id > 1").run().await?;
    /// transaction.table().write(rows()).run().await?;
    /// let outcome = transaction.commit().await?;
    /// assert_eq!((outcome.version, outcome.operations.len()), (1, 2));
    /// assert_eq!(table.snapshot().await?.scan().count().await?, 4);
    /// # Ok(())
    /// # }
    /// ```
    pub fn transaction(&self) -> BeginTransaction {
        BeginTransaction { table: self.clone(), options: TransactionOptions::default() }
    }

    /// Returns a scan of the pending state of the transaction to which this handle belongs. The
    /// commit fails if another writer changes the rows of the scan before it.
    pub async fn scan_in_transaction(&self, options: ScanOptions) -> Result<Scan> {
        let snapshot = self.snapshot().await?;
        let Some(stage) = snapshot.stage()? else {
            return Err(Error::invalid_input("the table is not a handle of a transaction"));
        };
        let mut read = ReadSet::default();
        match &options.filter {
            None => read.all(),
            Some(predicate) => {
                let filter = snapshot.filter_of(predicate, snapshot.env().now_ms())?;
                read.matching(snapshot.pruner(&filter)?);
                // The rows that were read have to stay as they are.
                read.staying_rows();
                let plan = Plan::new(&snapshot, Some(&filter), PlanOptions::default())?;
                let mut files = plan.files();
                while let Some(batch) = files.try_next().await? {
                    read.files(&batch)?;
                }
            }
        }
        stage.work::<StagedOperations>()?.read(read).await?;
        Ok(snapshot.scan().options(options))
    }
}

impl BeginTransaction {
    /// Sets the options.
    #[must_use]
    pub fn options(mut self, options: TransactionOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets the id of an application and its number of this transaction.
    #[must_use]
    pub fn txn(mut self, app_id: impl Into<String>, version: i64) -> Self {
        self.options.txn = Some(Application::new(app_id, version));
        self
    }

    /// Begins the transaction. The result is `None` if the table knows the transaction already: its
    /// identifier was committed before.
    ///
    /// # Errors
    /// [`ErrorKind::TableNotFound`] if there is no table. Create it first, with
    /// [`Table::create`](crate::Table::create).
    pub async fn begin(self) -> Result<Option<TableTransaction>> {
        let Self { table, options } = self;
        table.refuse_in_transaction("another transaction")?;
        options.txn.as_ref().map_or(Ok(()), Application::check)?;
        let base = table.snapshot().await.map_err(create_first)?.by_log().await?;
        if let Some(application) = &options.txn {
            match application.standing(&base, None).await? {
                Standing::New => {}
                Standing::Known => return Ok(None),
                Standing::Uncounted => return Err(uncounted(&base, application)),
            }
        }
        let settings = CommitSettings::of(options.user_metadata.as_ref(), &options.commit_info, options.upkeep, options.timeout);
        let stage = StagedOperations::begin(&base, settings).await?;
        let pending = table.staged(Arc::clone(&stage));
        Ok(Some(TableTransaction { origin: table, table: pending, stage, base, options }))
    }
}

impl TableTransaction {
    /// Returns the table as a handle of this transaction. Its verbs (write, delete, update, merge and
    /// changes of the definition) become operations of the transaction. After its end, the handle
    /// returns errors.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Returns the version on which the transaction began.
    pub fn base(&self) -> &Snapshot {
        &self.base
    }

    /// Returns the state that the operations so far left behind. Other writers may change what is
    /// read from it; [`scan`](Self::scan) is for reads on which the transaction depends.
    pub fn snapshot(&self) -> Result<Snapshot> {
        self.stage.snapshot()
    }

    /// Returns a scan of the state that the operations so far left behind. The commit fails if
    /// another writer changes the rows of the scan before it.
    pub async fn scan(&self, options: ScanOptions) -> Result<Scan> {
        self.table.scan_in_transaction(options).await
    }
}

impl Drop for TableTransaction {
    fn drop(&mut self) {
        self.stage.end("it was dropped, and nothing was committed");
    }
}

impl std::fmt::Debug for TableTransaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableTransaction").field("base", &self.base).field("options", &self.options).finish_non_exhaustive()
    }
}

/// Says what to do if there is no table yet.
fn create_first(error: Error) -> Error {
    match error.kind() {
        ErrorKind::TableNotFound => error.within("a transaction begins on a version of a table, so create the table first"),
        _ => error,
    }
}

fn uncounted(snapshot: &Snapshot, Application { id, version, .. }: &Application) -> Error {
    Error::invalid_input(format!(
        "{}: the table has batch {version} of stream '{id}', and lakebed cannot check whether this transaction is the same \
         batch: give the offsets at which it ends, or trust its number alone (is_trusted)",
        snapshot.url()
    ))
}
