//! The list of deeds. A deed is a verb with its rows: it runs on a table, and it has an effect on a
//! list of rows.
//!
//! The races and the simulation share the list. Each of them defines its rows with a [`Model`]. A
//! new verb of lakebed is one more [`Verb`].

use std::fmt::Debug;

use arrow_array::RecordBatch;
use lakebed::alter::{AlterOptions, AlterOutcome};
use lakebed::dml::merge::{Action, Clause, MergeSource, When};
use lakebed::dml::write::{PartitionMode, WriteMode, WriteOptions, WriteOutcome};
use lakebed::dml::{ChangeOptions, ChangeOutcome};
use lakebed::erase::{EraseOptions, EraseOutcome};
use lakebed::optimize::{Layout, OptimizeOptions, OptimizeOutcome};
use lakebed::restore::{RestoreOptions, RestoreOutcome};
use lakebed::{RecordBatchStream, Result, Snapshot, Table};

use crate::lake::stream_of;

/// The rows of a table, and the predicates and assignments over them, in SQL and in Rust alike.
pub trait Model {
    type Row: Copy + Ord + Debug + Send + Sync;
    /// A predicate.
    type Where: Copy + Debug + Send + Sync;
    /// An assignment to a column.
    type Set: Copy + Debug + Send + Sync;

    /// The columns that identify a row.
    const KEYS: &'static [&'static str];
    /// The columns by which files are clustered.
    const CLUSTER_BY: &'static [&'static str];

    fn batch(rows: &[Self::Row]) -> RecordBatch;
    /// Returns whether two rows have the same keys.
    fn has_same_keys(one: &Self::Row, other: &Self::Row) -> bool;
    /// Returns whether two rows are in the same partition. Without partitions all rows are.
    fn is_same_partition(one: &Self::Row, other: &Self::Row) -> bool;
    fn holds(condition: Self::Where, row: &Self::Row) -> bool;
    fn where_text(condition: Self::Where) -> String;
    fn assign(set: Self::Set, row: &mut Self::Row);
    /// Returns the column and its new value.
    fn set_text(set: Self::Set) -> (&'static str, String);
}

/// The property that [`Verb::SetProperty`] sets.
pub const PROPERTY: &str = "app.owner";

/// A kind of deed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb<W, S> {
    Append,
    Overwrite,
    /// Replaces the rows that match the predicate by the new rows.
    ReplaceWhere(W),
    /// Replaces the rows of the partitions that get new rows.
    ReplacePartitions,
    Delete(W),
    /// Deletes rows, and rewrites every file that holds them, also below deletion vectors.
    Erase(W),
    Update(W, S),
    /// Updates rows that have the keys of new rows, and inserts the other new rows.
    Upsert,
    /// Compacts small files. No row changes.
    Compact,
    /// Clusters rows. No row changes.
    Cluster,
    /// Goes back to a version. The rows of the deed are the rows of that version.
    Restore(u64),
    /// Sets the property [`PROPERTY`] of the table. No row changes.
    SetProperty(i64),
}

/// A verb with the rows that it adds.
#[derive(Debug, Clone)]
pub struct Deed<M: Model> {
    pub verb: Verb<M::Where, M::Set>,
    pub rows: Vec<M::Row>,
}

/// The outcome of a deed.
#[derive(Debug)]
pub struct Done {
    pub version: u64,
    pub committed: bool,
    pub conflicts: u64,
    pub snapshot: Option<Snapshot>,
}

impl<W, S> Verb<W, S> {
    /// Returns whether the verb changes rows in place.
    pub fn is_change(&self) -> bool {
        matches!(self, Self::Delete(_) | Self::Update(..) | Self::Upsert)
    }

    /// Returns whether the verb changes no row.
    pub fn keeps_rows(&self) -> bool {
        matches!(self, Self::Compact | Self::Cluster | Self::SetProperty(_))
    }

    /// Returns whether the verb adds rows.
    pub fn brings_rows(&self) -> bool {
        matches!(self, Self::Append | Self::Overwrite | Self::ReplaceWhere(_) | Self::ReplacePartitions | Self::Upsert)
    }
}

impl<M: Model> Deed<M> {
    /// Returns the rows of the table after the deed, sorted.
    pub fn apply(&self, before: &[M::Row]) -> Vec<M::Row> {
        let stay = before.iter().filter(|row| !self.removes(row));
        let mut after: Vec<M::Row> = stay.copied().collect();
        if let Verb::Update(condition, set) = self.verb {
            after.iter_mut().filter(|row| M::holds(condition, row)).for_each(|row| M::assign(set, row));
        }
        after.extend(&self.rows);
        after.sort();
        after
    }

    fn removes(&self, row: &M::Row) -> bool {
        match self.verb {
            Verb::Append | Verb::Update(..) | Verb::Compact | Verb::Cluster | Verb::SetProperty(_) => false,
            Verb::Overwrite | Verb::Restore(_) => true,
            Verb::Delete(condition) | Verb::Erase(condition) | Verb::ReplaceWhere(condition) => M::holds(condition, row),
            Verb::ReplacePartitions => self.rows.iter().any(|new| M::is_same_partition(new, row)),
            Verb::Upsert => self.rows.iter().any(|new| M::has_same_keys(new, row)),
        }
    }

    /// Runs the deed. A change of rows takes `application` and `user_metadata` from the options of
    /// a write.
    pub async fn run(&self, table: &Table, options: WriteOptions, retries: bool) -> Result<Done> {
        let change = ChangeOptions {
            txn: options.txn.clone(),
            user_metadata: options.user_metadata.clone(),
            retries,
            ..ChangeOptions::default()
        };
        match self.verb {
            Verb::Delete(condition) => table.delete().filter(M::where_text(condition)).change(change).run().await.map(Done::from),
            Verb::Erase(condition) => {
                let filter = M::where_text(condition);
                let options = EraseOptions { user_metadata: options.user_metadata, ..EraseOptions::new(filter.clone()) };
                table.erase(filter).options(options).run().await.map(Done::from)
            }
            Verb::Update(condition, set) => {
                let (column, value) = M::set_text(set);
                let update = table.update().set(column, value).filter(M::where_text(condition));
                update.change(change).run().await.map(Done::from)
            }
            Verb::Upsert => self.upsert(table, change).await,
            Verb::Compact | Verb::Cluster => {
                let clustered = || Layout::Cluster(M::CLUSTER_BY.iter().map(|column| (*column).to_owned()).collect());
                let optimize = OptimizeOptions {
                    layout: if matches!(self.verb, Verb::Compact) { Layout::OfTable } else { clustered() },
                    user_metadata: options.user_metadata,
                    ..OptimizeOptions::default()
                };
                table.optimize().options(optimize).run().await.map(Done::from)
            }
            Verb::Restore(version) => {
                let user_metadata = options.user_metadata;
                let options = RestoreOptions { version: Some(version), user_metadata, ..RestoreOptions::default() };
                table.restore().options(options).run().await.map(Done::from)
            }
            Verb::SetProperty(value) => {
                let user_metadata = options.user_metadata;
                let options = AlterOptions { user_metadata, ..AlterOptions::default() };
                table.alter().set_properties([(PROPERTY, value.to_string())]).options(options).run().await.map(Done::from)
            }
            Verb::Append | Verb::Overwrite | Verb::ReplaceWhere(_) | Verb::ReplacePartitions => {
                table.write(self.data()).options(self.write_options(options)).run().await.map(Done::from)
            }
        }
    }

    async fn upsert(&self, table: &Table, change: ChangeOptions) -> Result<Done> {
        let source = MergeSource::read(self.data()).await?;
        let on: Vec<_> = M::KEYS.iter().map(|key| format!("target.{key} = source.{key}")).collect();
        let clause = |when, action| Clause { when, condition: None, action };
        let merge = table.merge(&source, on.join(" AND ")).change(change);
        let merge = merge.when(clause(When::Matched, Action::UpdateAll));
        merge.when(clause(When::NotMatched, Action::InsertAll)).run().await.map(Done::from)
    }

    fn write_options(&self, options: WriteOptions) -> WriteOptions {
        let replace_where = match self.verb {
            Verb::ReplaceWhere(condition) => Some(M::where_text(condition)),
            _ => None,
        };
        WriteOptions {
            mode: if matches!(self.verb, Verb::Append) { WriteMode::Append } else { WriteMode::Overwrite },
            replace_where,
            partitions: if matches!(self.verb, Verb::ReplacePartitions) { PartitionMode::Dynamic } else { PartitionMode::Static },
            ..options
        }
    }

    /// Returns the rows that the deed adds.
    pub fn data(&self) -> RecordBatchStream {
        stream_of(M::batch(&self.rows))
    }
}

impl From<ChangeOutcome> for Done {
    fn from(outcome: ChangeOutcome) -> Self {
        let ChangeOutcome { version, committed, snapshot, metrics, .. } = outcome;
        Self { version, committed, conflicts: metrics.conflicts, snapshot }
    }
}

impl From<WriteOutcome> for Done {
    fn from(outcome: WriteOutcome) -> Self {
        let WriteOutcome { version, committed, snapshot, metrics, .. } = outcome;
        Self { version, committed, conflicts: metrics.conflicts, snapshot }
    }
}

impl From<OptimizeOutcome> for Done {
    fn from(outcome: OptimizeOutcome) -> Self {
        let OptimizeOutcome { version, commits, snapshot, metrics, .. } = outcome;
        Self { version, committed: commits > 0, conflicts: metrics.conflicts, snapshot }
    }
}

impl From<AlterOutcome> for Done {
    fn from(AlterOutcome { version, committed, snapshot }: AlterOutcome) -> Self {
        Self { version, committed, conflicts: 0, snapshot }
    }
}

impl From<RestoreOutcome> for Done {
    fn from(outcome: RestoreOutcome) -> Self {
        let RestoreOutcome { version, committed, snapshot, metrics, .. } = outcome;
        Self { version, committed, conflicts: metrics.conflicts, snapshot }
    }
}

impl From<EraseOutcome> for Done {
    fn from(outcome: EraseOutcome) -> Self {
        let EraseOutcome { version, committed, snapshot, metrics, .. } = outcome;
        Self { version, committed, conflicts: metrics.conflicts, snapshot }
    }
}
