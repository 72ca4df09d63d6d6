//! Creating tables without rows, and replacing tables with them. [`CreateOptions`] describes the new
//! table. Begin with [`Create`].

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use futures::TryStreamExt;
use lakebed_core::schema::StructType;
use serde::Deserialize;
use serde_json::json;

use crate::definition::{Definition, NewTable};
use crate::scan::plan::{Plan, PlanOptions};
use crate::transaction::retry::{Retry, Retryable};
use crate::transaction::{CommitSettings, Committed, InfoEntries, Operation, Transaction};
use crate::upkeep::UpkeepOptions;
use crate::{Error, ErrorKind, Result, Snapshot, Table};

/// The options of a creation.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CreateOptions {
    /// What happens if the table exists already.
    pub mode: CreateMode,
    /// The partition columns.
    pub partition_by: Vec<String>,
    /// The clustering columns. A field of a struct is written as `a.b`.
    pub cluster_by: Vec<String>,
    /// The properties of the table. They can also enable features and set protocol versions.
    pub properties: HashMap<String, String>,
    /// CHECK constraints: the name, and the SQL condition that all rows meet.
    pub constraints: HashMap<String, String>,
    /// The name of the table, for people.
    pub name: Option<String>,
    /// The description of the table, for people.
    pub description: Option<String>,
    /// A text of the caller that is stored in the history.
    pub user_metadata: Option<String>,
    /// Entries of the caller in `commitInfo`, beside those that lakebed records.
    pub commit_info: InfoEntries,
    /// Whether a checkpoint and a cleanup of the log may follow the commit.
    pub upkeep: UpkeepOptions,
    /// The time limit for retries after conflicts.
    #[serde(deserialize_with = "crate::option_value::seconds::deserialize")]
    pub timeout: Option<Duration>,
}

/// The behaviour of a creation if the table exists already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
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
    schema: StructType,
    options: CreateOptions,
}

impl Table {
    /// Describes the creation of a table with these columns; [`Create::run`] runs it.
    pub fn create(&self, schema: StructType) -> Create {
        Create { table: self.clone(), schema, options: CreateOptions::default() }
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

impl CreateOptions {
    fn new_table(&self, schema: StructType) -> NewTable {
        NewTable {
            schema,
            partition_by: self.partition_by.clone(),
            cluster_by: self.cluster_by.clone(),
            properties: self.properties.clone(),
            constraints: self.constraints.clone(),
            name: self.name.clone(),
            description: self.description.clone(),
        }
    }

    fn commit_settings(&self) -> CommitSettings {
        CommitSettings::of(self.user_metadata.as_ref(), &self.commit_info, self.upkeep, self.timeout)
    }
}

impl Create {
    /// Sets the options.
    #[must_use]
    pub fn options(mut self, options: CreateOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets the behaviour if the table exists already.
    #[must_use]
    pub fn mode(mut self, mode: CreateMode) -> Self {
        self.options.mode = mode;
        self
    }

    /// Creates the table and returns its version. If an existing table is left as it is, its
    /// version is returned.
    pub async fn run(self) -> Result<Snapshot> {
        let url = self.table.store().url().to_owned();
        let definition = self.options.new_table(self.schema.clone()).define(&url, self.table.env())?;
        // If another writer created the table meanwhile, the mode decides again.
        let retryable = match self.options.mode {
            CreateMode::Error | CreateMode::Ignore => Retryable::default().or_creation(),
            CreateMode::Replace => Retryable::default(),
        };
        let mut retry = Retry::new(self.table.env(), &self.options.commit_settings(), retryable);
        loop {
            let outcome = match (self.table.try_snapshot().await?, self.options.mode) {
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
        let transaction = definition.begin(store, env, self.options.commit_settings())?;
        transaction.commit(self.operation("CREATE TABLE", definition)).await
    }

    async fn replace(&self, snapshot: &Snapshot, definition: &Definition) -> Result<Committed> {
        let mut transaction = Transaction::begin(snapshot, self.options.commit_settings()).await?;
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
        let properties: BTreeMap<&String, &String> = self.options.properties.iter().collect();
        Operation::new(name)
            .with_names("partitionBy", &definition.metadata.partition_columns)
            .with_names("clusterBy", &self.options.cluster_by)
            .with("description", definition.metadata.description.clone())
            .with("isManaged", "false")
            .with("properties", json!(properties).to_string())
    }
}

/// Returns the error for a table that exists where none was expected.
pub(crate) fn exists(url: &str) -> Error {
    Error::new(ErrorKind::TableExists, format!("{url}: a table exists already"))
}
