//! What makes way for new rows: whole files where the log shows that all their rows do, else the matching rows of a file, whose other rows
//! are copied.
//!
//! Read [`Replacing::find`].

use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch};
use futures::TryStreamExt;
use lakebed_core::log::files::{FileBatch, column};
use lakebed_core::schema::StructType;

use super::files::FileSink;
use super::fit::{OnLossy, fit};
use super::rules::WriteRules;
use crate::expr::{Filter, Options, filter_schema, parse_filter};
use crate::scan::count::known_rows;
use crate::scan::plan::{Plan, PlanOptions};
use crate::scan::prune::Pruner;
use crate::scan::read_task;
use crate::transaction::Partitions;
use crate::{Error, Result, Snapshot};

/// The rows that make way.
#[derive(Debug)]
pub(super) enum Replaced {
    All,
    Where(Arc<Filter>),
    /// Some partitions.
    Partitions(Partitions),
}

/// Files that make way, and how many rows of them were copied.
#[derive(Debug, Default)]
pub(super) struct Replacing {
    pub(super) removed: Vec<FileBatch>,
    pub(super) copied_rows: u64,
}

/// The condition of a partial overwrite.
pub(super) fn parse_condition(table: &str, schema: &StructType, text: &str, now_ms: i64) -> Result<Arc<Filter>> {
    let options = Options { now_ms: Some(now_ms) };
    Ok(Arc::new(parse_filter(text, &filter_schema(schema)?, &options).map_err(|error| error.within(table))?))
}

impl Replacing {
    /// Finds the files. Rows that stay of files that have to go are written to `sink`.
    pub(super) async fn find(snapshot: &Snapshot, replaced: &Replaced, rules: &WriteRules, sink: &mut FileSink) -> Result<Self> {
        let filter = match replaced {
            Replaced::Where(filter) => Some(filter.as_ref()),
            Replaced::All | Replaced::Partitions(_) => None,
        };
        let plan = Plan::new(snapshot, filter, PlanOptions { whole_actions: true, row_counts: true, ..PlanOptions::default() })?;
        let mut files = plan.files();
        let mut found = Self::default();
        let partial = match replaced {
            Replaced::Where(filter) => Some(Partial::new(snapshot, filter, &plan)?),
            Replaced::All | Replaced::Partitions(_) => None,
        };
        while let Some(batch) = files.try_next().await? {
            match (replaced, &partial) {
                (Replaced::Partitions(partitions), _) => found.push(batch.filter(&partitions.holding(&batch)?)?),
                (_, Some(partial)) => found.replace_partly(partial, batch, rules, sink).await?,
                (_, None) => found.push(batch),
            }
        }
        Ok(found)
    }

    fn push(&mut self, files: FileBatch) {
        if !files.is_empty() {
            self.removed.push(files);
        }
    }

    async fn replace_partly(
        &mut self,
        partial: &Partial<'_>,
        files: FileBatch,
        rules: &WriteRules,
        sink: &mut FileSink,
    ) -> Result<()> {
        let whole = partial.goes_whole(&files)?;
        self.push(files.filter(&whole)?);
        for row in (0..files.len()).filter(|row| !whole.value(*row)) {
            let file = files.slice(row, 1);
            if partial.count_matching(&file).await? == 0 {
                continue;
            }
            partial.refuse_copies()?;
            self.copied_rows += partial.copy_others(&file, rules, sink).await?;
            self.push(file);
        }
        Ok(())
    }

    /// How many files, and their sizes.
    pub(super) fn totals(&self) -> Result<(u64, u64)> {
        let (mut files, mut bytes) = (0, 0);
        for batch in &self.removed {
            files += batch.len() as u64;
            let sizes = batch.longs(column::SIZE)?;
            bytes += sizes.iter().flatten().filter_map(|size| u64::try_from(size).ok()).sum::<u64>();
        }
        Ok((files, bytes))
    }

    /// How many rows go, if the log says it.
    pub(super) fn deleted_rows(&self) -> Result<Option<u64>> {
        let rows = self.removed.iter().map(known_rows).collect::<Result<Option<Vec<u64>>>>()?;
        Ok(rows.and_then(|rows| rows.iter().sum::<u64>().checked_sub(self.copied_rows)))
    }
}

/// Files whose rows make way in part.
struct Partial<'a> {
    snapshot: &'a Snapshot,
    filter: &'a Filter,
    /// The partition values of a file decide for all its rows.
    is_exact: bool,
    /// What must be shown to be impossible for all rows of a file to match.
    may_stay: [Arc<Pruner>; 2],
}

impl<'a> Partial<'a> {
    fn new(snapshot: &'a Snapshot, filter: &'a Filter, plan: &Plan) -> Result<Self> {
        let text = filter.text();
        let pruner = |text: String| {
            let filter = parse_filter(&text, filter.schema(), &Options::default())?;
            snapshot.pruner(&filter)
        };
        let may_stay = [pruner(format!("NOT ({text})"))?, pruner(format!("({text}) IS NULL"))?];
        let is_exact = plan.pruner().is_none_or(Pruner::is_exact_on_partitions);
        Ok(Self { snapshot, filter, is_exact, may_stay })
    }

    /// Of each file whether all its rows match.
    fn goes_whole(&self, files: &FileBatch) -> Result<BooleanArray> {
        if self.is_exact {
            return Ok(BooleanArray::from(vec![true; files.len()]));
        }
        let whole = |row: usize| {
            let file = files.slice(row, 1);
            Ok(!self.may_stay[0].may_match_any(&file)? && !self.may_stay[1].may_match_any(&file)?)
        };
        (0..files.len()).map(|row| whole(row).map(Some)).collect()
    }

    async fn count_matching(&self, file: &FileBatch) -> Result<u64> {
        let scan = self.snapshot.scan().select(Vec::<String>::new()).filter(self.filter.text());
        let rows = read_task(self.snapshot.store(), &scan.task_of(file)?).await?;
        rows.try_fold(0, |count, batch| async move { Ok(count + batch.num_rows() as u64) }).await
    }

    /// Writes the rows that do not match, and tells how many.
    async fn copy_others(&self, file: &FileBatch, rules: &WriteRules, sink: &mut FileSink) -> Result<u64> {
        let scan = self.snapshot.scan().filter(format!("NOT coalesce(({}), false)", self.filter.text()));
        let mut rows = read_task(self.snapshot.store(), &scan.task_of(file)?).await?;
        let mut copied = 0;
        while let Some(batch) = rows.try_next().await? {
            copied += batch.num_rows() as u64;
            sink.write(vec![as_written(&batch, rules)?]).await?;
        }
        Ok(copied)
    }

    /// Copied rows would lose what these features promise of them.
    fn refuse_copies(&self) -> Result<()> {
        let properties = self.snapshot.properties();
        let feature = match (properties.change_data_feed, properties.row_tracking) {
            (true, _) => "changeDataFeed",
            (false, true) => "rowTracking",
            (false, false) => return Ok(()),
        };
        let message = format!(
            "{}: rows of a file that do not meet `{}` would have to be copied, which lakebed cannot do on a table with {feature} yet; replace whole partitions, or whole files",
            self.snapshot.url(),
            self.filter.text()
        );
        Err(Error::unsupported(vec![feature.to_owned()], message))
    }
}

/// Rows that were read as rows that can be written.
fn as_written(batch: &RecordBatch, rules: &WriteRules) -> Result<RecordBatch> {
    let fields = rules.schema.fields.iter().zip(batch.columns());
    let columns =
        fields.map(|(field, array)| Ok((&field.name, fit(array, &field.data_type, OnLossy::Error, &field.name)?, true)));
    Ok(RecordBatch::try_from_iter_with_nullable(columns.collect::<Result<Vec<_>>>()?)?)
}
