//! Runs a clone.

use std::sync::Arc;

use serde_json::json;

use super::copied_files::CopyFiles;
use super::earlier::EarlierFiles;
use super::named_files::NameFiles;
use super::options::{CloneMode, CloneOptions};
use super::outcome::{CloneMetrics, CloneOutcome};
use super::target_file::Naming;
use crate::create::exists;
use crate::definition::Definition;
use crate::file_progress::{FileProgress, Reporter, Watcher};
use crate::metrics::HistoryOf;
use crate::snapshot::{CLONE_SOURCES, COPIED_FROM, CloneSource, clone_sources, copied_from};
use crate::transaction::retry::{Retry, Retryable};
use crate::transaction::{CommitSettings, Committed, Operation, Transaction};
use crate::{Error, Result, Snapshot, Table};

/// A clone of one version of a table.
pub struct CloneTable {
    source: Snapshot,
    target: Table,
    options: CloneOptions,
    watcher: Option<Watcher>,
}

impl Snapshot {
    /// Describes a clone of this version to the location of `target`; [`CloneTable::run`] runs it.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> lakebed::Result<()> {
    /// use std::sync::Arc;
    /// use arrow_array::{Int64Array, RecordBatch};
    /// use lakebed::{RecordBatchStream, Table};
    ///
    /// let rows = RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from(vec![1, 2, 3])) as _)])?;
    /// let table = Table::at("memory://docs/clone/source").build()?;
    /// table.write(RecordBatchStream::from_batches(rows.schema(), vec![rows])).run().await?;
    /// let copy = Table::at("memory://docs/clone/copy").build()?;
    /// let outcome = table.snapshot().await?.clone_to(&copy).run().await?;
    /// assert_eq!((outcome.version, outcome.metrics.copied_files), (0, 1));
    /// # Ok(())
    /// # }
    /// ```
    pub fn clone_to(&self, target: &Table) -> CloneTable {
        CloneTable { source: self.clone(), target: target.clone(), options: CloneOptions::default(), watcher: None }
    }
}

impl CloneTable {
    /// Sets the options.
    #[must_use]
    pub fn options(mut self, options: CloneOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets a function that is called with the progress.
    #[must_use]
    pub fn watched_by(mut self, watcher: impl Fn(FileProgress) + Send + Sync + 'static) -> Self {
        self.watcher = Some(Arc::new(watcher));
        self
    }

    /// Runs the clone. If it fails before its commit, the target has no new version. Files that
    /// were copied until then stay, and the next run uses them.
    pub async fn run(self) -> Result<CloneOutcome> {
        self.source.refuse_pending("CLONE")?;
        self.target.refuse_in_transaction("CLONE")?;
        let source = self.source.by_log().await?;
        self.check_places(&source)?;
        let mut retry = Retry::new(self.target.env(), &self.settings(), Retryable::all().or_creation());
        loop {
            let existing = match (self.target.try_snapshot().await?, self.options.mode) {
                (Some(_), CloneMode::Error) => return Err(exists(self.target.store().url())),
                (Some(found), CloneMode::Replace) => Some(found.by_log().await?),
                (None, _) => None,
            };
            match self.attempt(&source, existing.as_ref()).await {
                Ok(mut outcome) => {
                    outcome.metrics.conflicts += retry.conflicts();
                    if let Some(snapshot) = &outcome.snapshot {
                        self.target.keep(snapshot).await;
                    }
                    return Ok(outcome);
                }
                Err(error) => retry.again(error).await?,
            }
        }
    }

    fn settings(&self) -> CommitSettings {
        CommitSettings::of(
            self.options.user_metadata.as_ref(),
            &self.options.commit_info,
            self.options.upkeep,
            self.options.timeout,
        )
    }

    /// Refuses a target in the folder of the source, and the other way round. A vacuum of the outer
    /// table would delete the files of the inner one.
    fn check_places(&self, source: &Snapshot) -> Result<()> {
        let (from, to) = (source.store(), self.target.store());
        let why = match (from.holds_root_of(to), to.holds_root_of(from)) {
            (true, true) => "a table cannot be cloned to its own location",
            (true, false) => "the target lies in the folder of the source, where a vacuum of the source would delete its files",
            (false, true) => "the source lies in the folder of the target, where a vacuum of the target would delete its files",
            (false, false) => return Ok(()),
        };
        Err(Error::invalid_input(format!("{}: {why}: choose another target", to.url())))
    }

    async fn attempt(&self, source: &Snapshot, existing: Option<&Snapshot>) -> Result<CloneOutcome> {
        if let Some(target) = existing.filter(|target| target.properties().append_only) {
            let message =
                "the table is append-only (delta.appendOnly is true), so a clone cannot replace it; unset the property first";
            return Err(Error::invalid_input(format!("{}: {message}", target.url())));
        }
        let earlier = existing.and_then(|target| copied_from(target.metadata()));
        let is_earlier_copy = earlier.as_ref().is_some_and(|earlier| *earlier.id == source.metadata().id);
        let naming = self.naming(source, existing, earlier.filter(|_| is_earlier_copy));
        let record = self.record(source, &naming)?;
        let (given, env) = (&self.options.properties, self.target.env());
        let definition = Definition::cloned(source, existing, given, record, env).await?;
        let mut transaction = match existing {
            None => definition.begin(self.target.store().clone(), env.clone(), self.settings())?,
            Some(target) => {
                let mut transaction = Transaction::begin(target, self.settings()).await?;
                transaction.read().all();
                definition.register_in_place_of(&mut transaction, target).await?;
                transaction
            }
        };
        let mut files = match existing {
            Some(target) => Some(EarlierFiles::read(target, is_earlier_copy).await?),
            None => None,
        };
        let reporter = self.reporter(source).await?;
        let mut metrics = match &naming {
            Naming::Absolute { root } => {
                // Only a new table has no files but those of the clone.
                let new = Some(&definition).filter(|_| existing.is_none());
                NameFiles { source, root, reporter: &reporter }.run(new, &mut files, &mut transaction).await?
            }
            Naming::Copied { folder } => {
                CopyFiles { source, folder, reporter: &reporter }.run(&mut files, &mut transaction).await?
            }
        };
        if let Some(files) = files {
            files.remove_others(&mut transaction, &mut metrics).await?;
        }
        let Committed { version, snapshot, conflicts } = transaction.commit(self.operation(source, &metrics)).await?;
        metrics.conflicts = conflicts;
        Ok(CloneOutcome { version, metrics, snapshot })
    }

    /// Returns the names for the files. Copies have the names of the source. If another table was
    /// at the target, its files may have the same names, so the copies get a folder of their own.
    fn naming(&self, source: &Snapshot, existing: Option<&Snapshot>, earlier: Option<CloneSource>) -> Naming {
        let folder = match (earlier, existing) {
            (Some(earlier), _) => earlier.folder.unwrap_or_default(),
            (None, Some(_)) => source.metadata().id.clone(),
            (None, None) => String::new(),
        };
        match self.options.shallow {
            true => Naming::Absolute { root: source.store().uri_of("").into() },
            false => Naming::Copied { folder: folder.into() },
        }
    }

    /// Returns the property that records the source.
    fn record(&self, source: &Snapshot, naming: &Naming) -> Result<(&'static str, String)> {
        let own = CloneSource { url: source.url().to_owned(), id: source.metadata().id.clone(), folder: None };
        let (name, value) = match naming {
            Naming::Absolute { .. } => {
                let mut sources = vec![own];
                for further in clone_sources(source.metadata()) {
                    if !sources.contains(&further) {
                        sources.push(further);
                    }
                }
                (CLONE_SOURCES, serde_json::to_string(&sources))
            }
            Naming::Copied { folder } => {
                let folder = Some(folder.to_string()).filter(|folder| !folder.is_empty());
                (COPIED_FROM, serde_json::to_string(&CloneSource { folder, ..own }))
            }
        };
        Ok((name, value.map_err(|error| Error::internal("a source that JSON cannot hold").with_source(error))?))
    }

    async fn reporter(&self, source: &Snapshot) -> Result<Reporter> {
        let Some(watcher) = &self.watcher else { return Ok(Reporter::new(None, 0, 0)) };
        let detail = source.detail().await?;
        Ok(Reporter::new(Some(Arc::clone(watcher)), detail.num_files, detail.size_bytes))
    }

    fn operation(&self, source: &Snapshot, metrics: &CloneMetrics) -> Operation {
        Operation::new("CLONE")
            .with("source", format!("delta.`{}`", source.store().hadoop_path()))
            .with("sourceVersion", json!(source.version()))
            .with("isShallow", json!(self.options.shallow))
            .with_metrics(metrics.history(HistoryOf::Clone))
    }
}
