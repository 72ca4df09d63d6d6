//! Creating tables without rows, and replacing tables with them. [`NewTable`] describes the new
//! table. Begin with [`Create`].

use futures::TryStreamExt;
use serde_json::json;

use crate::definition::{Definition, NewTable};
use crate::scan::plan::{Plan, PlanOptions};
use crate::transaction::retry::{Retry, Retryable};
use crate::transaction::{CommitSettings, Committed, Operation, Transaction};
use crate::{Error, ErrorKind, Result, Snapshot, Table};

/// The behaviour of a creation if the table exists already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CreateMode {
    /// Returns an error.
    #[default]
    Error,
    /// Leaves the table as it is.
    Ignore,
    /// Replaces the table in one commit. Its older versions can still be read.
    Replace,
}

/// Creates a table without rows.
#[derive(Debug, Clone)]
pub struct Create {
    table: Table,
    new: NewTable,
    mode: CreateMode,
    settings: CommitSettings,
}

impl Table {
    /// Describes the creation of a table; [`Create::run`] runs it.
    pub fn create(&self, new: NewTable) -> Create {
        Create { table: self.clone(), new, mode: CreateMode::default(), settings: CommitSettings::default() }
    }

    /// Returns the latest version, or `None` if there is no table.
    pub async fn try_snapshot(&self) -> Result<Option<Snapshot>> {
        match self.snapshot().await {
            Ok(snapshot) => Ok(Some(snapshot)),
            Err(error) if *error.kind() == ErrorKind::TableNotFound && self.may_be_made() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Create {
    /// Sets the behaviour if the table exists already.
    #[must_use]
    pub fn mode(mut self, mode: CreateMode) -> Self {
        self.mode = mode;
        self
    }

    /// Sets the options of the commit.
    #[must_use]
    pub fn settings(mut self, settings: CommitSettings) -> Self {
        self.settings = settings;
        self
    }

    /// Creates the table and returns its version. If an existing table is left as it is, its
    /// version is returned.
    pub async fn run(self) -> Result<Snapshot> {
        let url = self.table.store().url().to_owned();
        let definition = self.new.define(&url, self.table.env())?;
        // If another writer created the table meanwhile, the mode decides again.
        let retryable = match self.mode {
            CreateMode::Error | CreateMode::Ignore => Retryable::default().or_creation(),
            CreateMode::Replace => Retryable::default(),
        };
        let mut retry = Retry::new(self.table.env(), &self.settings, retryable);
        loop {
            let outcome = match (self.table.try_snapshot().await?, self.mode) {
                (Some(_), CreateMode::Error) => return Err(exists(&url)),
                (Some(snapshot), CreateMode::Ignore) => return Ok(snapshot),
                (Some(snapshot), CreateMode::Replace) => self.replace(&snapshot, &definition).await,
                (None, _) => self.begin(&definition).await,
            };
            match outcome {
                Ok(Committed { snapshot: Some(snapshot), .. }) => return Ok(snapshot),
                Ok(Committed { version, .. }) => return self.table.snapshot_at(version).await,
                Err(error) => retry.again(error).await?,
            }
        }
    }

    async fn begin(&self, definition: &Definition) -> Result<Committed> {
        let (store, env) = (self.table.store().clone(), self.table.env().clone());
        let transaction = definition.begin(store, env, self.settings.clone())?;
        transaction.commit(self.operation("CREATE TABLE", definition)).await
    }

    async fn replace(&self, snapshot: &Snapshot, definition: &Definition) -> Result<Committed> {
        let mut transaction = Transaction::begin(snapshot, self.settings.clone()).await?;
        transaction.read().all();
        let plan = Plan::new(snapshot, None, PlanOptions { whole_actions: true, ..PlanOptions::default() })?;
        let mut files = plan.files();
        while let Some(batch) = files.try_next().await? {
            transaction.read().files(&batch)?;
            transaction.remove(batch, true);
        }
        definition.register_in_place_of(&mut transaction, snapshot).await?;
        transaction.commit(self.operation("CREATE OR REPLACE TABLE", definition)).await
    }

    fn operation(&self, name: &str, definition: &Definition) -> Operation {
        let properties: std::collections::BTreeMap<&String, &String> = self.new.properties.iter().collect();
        let clustering = self.new.cluster_by.clone();
        Operation::new(name)
            .with_names("partitionBy", &definition.metadata.partition_columns)
            .with_names("clusterBy", &clustering)
            .with("description", definition.metadata.description.clone())
            .with("isManaged", "false")
            .with("properties", json!(properties).to_string())
    }
}

/// Returns the error for a table that exists where none was expected.
pub(crate) fn exists(url: &str) -> Error {
    Error::new(ErrorKind::TableExists, format!("{url}: a table exists already"))
}
