//! Transaction identifiers of applications, and the marks that distinguish two batches of a stream
//! that have the same number.
//!
//! The number of a write is the `txn` action of its application. A batch of a stream also commits
//! marks: further `txn` actions in the same commit with names that begin with the application's id.
//! Marks last as long as the number does: through checkpoints, checksums and the cleanup of the
//! log.

use std::collections::HashSet;

use lakebed_core::action::{Action, SetTransaction};
use lakebed_core::log::checkpoint::columns;
use serde::{Deserialize, Serialize};

use super::Transaction;
use crate::{Error, Result, Snapshot};

/// An application and its number of a write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Application {
    /// The application's id.
    pub id: String,
    /// The application's number of this write. A write is skipped if the table already has this
    /// number or a higher one.
    pub version: i64,
    /// For a batch of a stream, the data that distinguishes it from another batch with the same
    /// number.
    #[serde(default)]
    pub batch: Option<Batch>,
    /// Further applications and their numbers, which the same commit records. The table has the
    /// write if it has all of its numbers.
    #[serde(default)]
    pub others: Vec<OtherApplication>,
}

/// A further application and its number of the same write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OtherApplication {
    /// The application's id.
    pub id: String,
    /// The application's number of this write.
    pub version: i64,
}

/// The known facts about a batch of a stream. Facts that are not known are not compared.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Batch {
    /// A digest of the identity of the query, which lasts as long as its checkpoint.
    pub query: Option<i64>,
    /// A digest of the offsets at which the batch ends.
    pub offsets: Option<i64>,
    /// The number of rows of the batch, if the caller has counted them. A commit counts them by
    /// itself.
    pub rows: Option<u64>,
    /// Whether a repeated batch may have another number of rows than the batch that the table has,
    /// because the query returns other rows each time that it runs.
    #[serde(rename = "trusted")]
    pub is_trusted: bool,
}

/// The result of comparing a write with the writes that the table has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    New,
    Known,
    /// The rows of the batch must be counted first, because only their number shows whether the
    /// table has the batch.
    Uncounted,
}

/// The marks that were committed with a number.
#[derive(Debug, Default)]
struct Marks {
    query: Option<i64>,
    offsets: Option<i64>,
    rows: Option<i64>,
}

const QUERY: &str = "query";
const OFFSETS: &str = "offsets";
const ROWS: &str = "rows";

/// The advice for all errors about a batch of another stream than the one in the table.
const REMEDY: &str = "Continue with the checkpoint of that query, or start another stream: with a new checkpoint, and with \
                      another app_id in foreach_batch";

impl Application {
    /// Refuses an identifier without a name, with a negative number, or with a name that is given
    /// twice.
    pub(crate) fn check(&self) -> Result<()> {
        let mut names = HashSet::new();
        for (id, version) in self.numbers() {
            if id.is_empty() || version < 0 {
                return Err(Error::invalid_input(format!(
                    "txn=({id:?}, {version}): it must be a name and a number of 0 or more"
                )));
            }
            if !names.insert(id) {
                return Err(Error::invalid_input(format!("txn: application '{id}' is given twice: give it one number")));
            }
        }
        Ok(())
    }

    /// Returns the applications with their numbers.
    fn numbers(&self) -> impl Iterator<Item = (&str, i64)> {
        let others = self.others.iter().map(|other| (other.id.as_str(), other.version));
        std::iter::once((self.id.as_str(), self.version)).chain(others)
    }

    /// Returns the identifier of a write that is no batch of a stream.
    pub fn new(id: impl Into<String>, version: i64) -> Self {
        Self { id: id.into(), version, batch: None, others: Vec::new() }
    }

    /// Compares this write with the application's last one in the table. It is an error if a batch
    /// shares only its number with the batch that the table has.
    pub(crate) async fn standing(&self, snapshot: &Snapshot, rows: Option<u64>) -> Result<Standing> {
        let first = self.first_standing(snapshot, rows).await?;
        for other in &self.others {
            let known = snapshot.transaction(&other.id).await?.is_some_and(|known| known.version >= other.version);
            if known != (first == Standing::Known) {
                let (has, lacks) = if known { (&other.id, &self.id) } else { (&self.id, &other.id) };
                return Err(Error::invalid_input(format!(
                    "{}: txn: the table has the number of application '{has}' already, and not that of '{lacks}': a write is \
                     repeated with all of its numbers, and another write needs new numbers for all of them",
                    snapshot.url()
                )));
            }
        }
        Ok(first)
    }

    async fn first_standing(&self, snapshot: &Snapshot, rows: Option<u64>) -> Result<Standing> {
        let Some(known) = snapshot.transaction(&self.id).await? else { return Ok(Standing::New) };
        match &self.batch {
            Some(batch) => {
                let marks = Marks::of(snapshot, &known).await?;
                self.compare(snapshot.url(), batch, rows.or(batch.rows), known.version, &marks)
            }
            None => Ok(self.by_number(snapshot.url(), known.version)),
        }
    }

    fn by_number(&self, url: &str, known: i64) -> Standing {
        let Self { id, version, .. } = self;
        if known > *version {
            tracing::warn!(
                table = url,
                "{url}: write {version} of application '{id}' is skipped, because the table already has write {known} of it. If \
                 write {version} was never committed, its rows are missing: the numbers must increase"
            );
        }
        if known >= *version { Standing::Known } else { Standing::New }
    }

    fn compare(&self, url: &str, batch: &Batch, rows: Option<u64>, known: i64, marks: &Marks) -> Result<Standing> {
        let Self { id, version, .. } = self;
        let refuse = |why: String| Err(Error::invalid_input(format!("{url}: batch {version} of stream '{id}' {why}. {REMEDY}")));
        if differ(marks.query, batch.query) {
            return refuse(format!(
                "belongs to another query: the table has batch {known} of this stream from a query with another checkpoint, and \
                 could not tell the batches of the two queries apart"
            ));
        }
        if known < *version {
            return Ok(Standing::New);
        }
        if known > *version {
            return refuse(format!(
                "is neither the next batch nor a repeated one: the table has batch {known} of the stream. The checkpoint is new \
                 or an older copy, and the rows of its batches would be skipped as if the table had them"
            ));
        }
        if differ(marks.offsets, batch.offsets) {
            return refuse(
                "differs from the batch with this number in the table: it ends at other offsets of its source. The checkpoint is \
                 an older copy"
                    .to_owned(),
            );
        }
        if batch.is_trusted {
            return Ok(Standing::Known);
        }
        let ends_alike = marks.offsets.is_some() && batch.offsets.is_some();
        if ends_alike && (marks.rows.is_none() || rows.is_none()) {
            // Equal offsets are sufficient proof. Counting rows means reading them, which a warning
            // is not worth.
            return Ok(Standing::Known);
        }
        let Some(rows) = rows else { return Ok(Standing::Uncounted) };
        let warn =
            |why: String| tracing::warn!(table = url, "{url}: batch {version} of stream '{id}' is skipped with {rows} rows{why}");
        match marks.rows {
            Some(had) if had == count(rows) => {
                if !ends_alike && rows > 0 {
                    warn(
                        ": the table has a batch with this number and the same number of rows. lakebed cannot check whether it \
                         is the same batch, because Spark does not provide the offsets of its source here"
                            .to_owned(),
                    );
                }
                Ok(Standing::Known)
            }
            Some(had) if ends_alike => {
                warn(format!(
                    ", and the batch with this number in the table had {had} rows. Both end at the same offsets, so the query \
                     returns other rows each time it runs, or its source has changed: the table keeps the rows of the first run. \
                     repeats=\"trust\" skips such batches without a warning"
                ));
                Ok(Standing::Known)
            }
            Some(had) => refuse(format!(
                "has {rows} rows, and the batch with this number in the table had {had}. The checkpoint is an older copy, or the \
                 query returns other rows each time it runs. Only in the latter case set repeats=\"trust\", which skips the batch"
            )),
            None => {
                warn(
                    ": the table has a batch with this number. lakebed cannot check whether it is the same batch, because \
                     another version of lakebed or another program wrote it"
                        .to_owned(),
                );
                Ok(Standing::Known)
            }
        }
    }
}

impl Batch {
    /// Returns the marks to commit for a batch that has this number of rows.
    fn marks(&self, rows: Option<u64>) -> impl Iterator<Item = (&'static str, i64)> {
        let all = [(QUERY, self.query), (OFFSETS, self.offsets), (ROWS, rows.map(count))];
        all.into_iter().filter_map(|(name, value)| Some((name, value?)))
    }
}

impl Marks {
    async fn of(snapshot: &Snapshot, known: &SetTransaction) -> Result<Self> {
        // A mark with another timestamp belongs to an earlier number. In that case the last number
        // was written by a writer that makes no marks.
        let same_commit = |mark: &SetTransaction| mark.last_updated.is_some() && mark.last_updated == known.last_updated;
        let mut found = [None; 3];
        for (name, place) in [QUERY, OFFSETS, ROWS].into_iter().zip(&mut found) {
            *place = snapshot.transaction(&mark_id(&known.app_id, name)).await?.filter(same_commit).map(|mark| mark.version);
        }
        let [query, offsets, rows] = found;
        Ok(Self { query, offsets, rows })
    }
}

impl Transaction {
    /// Registers that this is an application's write, with its number of rows if that is known. The
    /// commit conflicts with another write of the same application.
    pub(crate) fn record(&mut self, application: &Application, rows: Option<u64>) {
        application.numbers().for_each(|(id, _)| self.read.application(id));
        let last_updated = Some(self.env.now_ms());
        let mut set = |app_id: String, version| self.draft.transactions.push(SetTransaction { app_id, version, last_updated });
        application.numbers().for_each(|(id, version)| set(id.to_owned(), version));
        for (name, value) in application.batch.iter().flat_map(|batch| batch.marks(rows)) {
            set(mark_id(&application.id, name), value);
        }
    }
}

impl Snapshot {
    /// Returns the number of the application's last write, if it ever wrote to the table.
    pub async fn transaction_version(&self, app_id: &str) -> Result<Option<i64>> {
        Ok(self.transaction(app_id).await?.map(|found| found.version))
    }

    async fn transaction(&self, app_id: &str) -> Result<Option<SetTransaction>> {
        if let Some(transactions) = self.checksum().and_then(|checksum| checksum.set_transactions.as_ref()) {
            return Ok(transactions.iter().find(|txn| txn.app_id == app_id).cloned());
        }
        let in_checkpoint = |action| match action {
            Action::SetTransaction(found) if found.app_id == app_id => Some(found),
            _ => None,
        };
        self.find(|layer| layer.transactions.get(app_id), columns::TRANSACTIONS, in_checkpoint).await
    }
}

fn mark_id(app_id: &str, name: &str) -> String {
    format!("{app_id}/lakebed.{name}")
}

fn differ(known: Option<i64>, given: Option<i64>) -> bool {
    matches!((known, given), (Some(known), Some(given)) if known != given)
}

fn count(rows: u64) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}
