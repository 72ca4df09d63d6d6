//! Sets and drops tags, and records the versions that a vacuum keeps. `tags` reads both.

use std::collections::BTreeSet;

use lakebed_core::action::Metadata;
use lakebed_core::commit::conflict::{KEPT_VERSIONS, TAG_PREFIX};
use serde_json::json;

use crate::restore::check_files;
use crate::tags::{Tag, check_name, kept_versions_text};
use crate::transaction::retry::{Retry, Retryable};
use crate::transaction::{CommitSettings, Committed, Operation, Transaction};
use crate::{Error, Result, Snapshot, Table};

/// The result of setting or dropping a tag.
#[derive(Debug, Clone)]
pub struct TagOutcome {
    /// The version that the change created, or the newest one if there was nothing to change.
    pub version: u64,
    /// False if the table had the tag already.
    pub committed: bool,
    /// The snapshot of that version. It is `None` if the snapshot could not be read after the commit.
    pub snapshot: Option<Snapshot>,
}

impl Table {
    /// Names a version. The files and log files of a tagged version stay as long as the tag, as far
    /// as lakebed deletes files. With `replace`, the tag may move from another version.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> lakebed::Result<()> {
    /// use std::sync::Arc;
    /// use arrow_array::{Int64Array, RecordBatch};
    /// use lakebed::{RecordBatchStream, Table};
    ///
    /// let rows = RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from(vec![1, 2, 3])) as _)])?;
    /// let table = Table::at("memory://docs/tag").build()?;
    /// table.write(RecordBatchStream::from_batches(rows.schema(), vec![rows])).run().await?;
    /// table.tag("audit-2026-q3", 0, false).await?;
    /// table.delete().run().await?;
    /// assert_eq!(table.snapshot_of_tag("audit-2026-q3").await?.scan().count().await?, 3);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the version cannot be read any more, or another version has this tag.
    pub async fn tag(&self, name: &str, version: u64, replace: bool) -> Result<TagOutcome> {
        check_name(name)?;
        self.change_tags(&TagChange::Set { name, version, replace }, CommitSettings::default()).await
    }

    /// Returns the tags of the newest version, by name.
    pub async fn tags(&self) -> Result<Vec<Tag>> {
        self.snapshot().await?.by_log().await?.tags()
    }

    /// Drops a tag. The next vacuum and the next cleanup may delete what only the tag kept.
    ///
    /// # Errors
    /// If the table has no such tag.
    pub async fn drop_tag(&self, name: &str) -> Result<TagOutcome> {
        check_name(name)?;
        self.change_tags(&TagChange::Drop { name }, CommitSettings::default()).await
    }

    /// Records the versions that a vacuum keeps, in place of those that an earlier one kept.
    pub(crate) async fn record_kept_versions(&self, versions: &BTreeSet<u64>, settings: CommitSettings) -> Result<TagOutcome> {
        self.change_tags(&TagChange::Keep { versions }, settings).await
    }

    async fn change_tags(&self, change: &TagChange<'_>, settings: CommitSettings) -> Result<TagOutcome> {
        self.refuse_in_transaction("a change of tags")?;
        let mut retry = Retry::new(self.env(), &settings, Retryable::all());
        loop {
            let current = self.snapshot().await?.by_log().await?;
            let Some((metadata, operation)) = change.apply(self, &current).await? else {
                return Ok(TagOutcome { version: current.version(), committed: false, snapshot: Some(current) });
            };
            let mut transaction = Transaction::begin(&current, settings.clone()).await?;
            transaction.set_metadata(metadata);
            match transaction.commit(operation).await {
                Ok(Committed { version, snapshot, .. }) => {
                    if let Some(snapshot) = &snapshot {
                        self.keep(snapshot).await;
                    }
                    return Ok(TagOutcome { version, committed: true, snapshot });
                }
                Err(error) => retry.again(error).await?,
            }
        }
    }
}

/// A change of the versions that the table names.
enum TagChange<'a> {
    Set { name: &'a str, version: u64, replace: bool },
    Drop { name: &'a str },
    Keep { versions: &'a BTreeSet<u64> },
}

impl TagChange<'_> {
    /// Returns the metadata after the change, and the operation for the history; `None` if there is
    /// nothing to change.
    async fn apply(&self, table: &Table, current: &Snapshot) -> Result<Option<(Metadata, Operation)>> {
        let mut metadata = current.metadata().clone();
        match *self {
            Self::Set { name, version, replace } => {
                match current.tags()?.into_iter().find(|tag| tag.name == name) {
                    Some(tag) if tag.version == version => return Ok(None),
                    Some(tag) if !replace => return Err(is_taken(current, &tag)),
                    _ => {}
                }
                check_readable(table, current, name, version).await?;
                let tag = Tag { name: name.to_owned(), version, created_at_ms: current.env().now_ms() };
                let (key, value) = tag.property()?;
                Ok(Some(with_property(metadata, key, value)))
            }
            Self::Drop { name } => {
                let key = format!("{TAG_PREFIX}{name}");
                if metadata.configuration.remove(&key).is_none() {
                    // The error lists the tags that there are.
                    current.find_tag(name)?;
                }
                Ok(Some((metadata, unset(key))))
            }
            Self::Keep { versions } if current.recorded_versions()? == *versions => Ok(None),
            Self::Keep { versions } if versions.is_empty() => {
                metadata.configuration.remove(KEPT_VERSIONS);
                Ok(Some((metadata, unset(KEPT_VERSIONS.to_owned()))))
            }
            Self::Keep { versions } => Ok(Some(with_property(metadata, KEPT_VERSIONS.to_owned(), kept_versions_text(versions)))),
        }
    }
}

/// Sets a property, and returns the metadata with the operation for the history.
fn with_property(mut metadata: Metadata, key: String, value: String) -> (Metadata, Operation) {
    let operation = Operation::new("SET TBLPROPERTIES").with("properties", json!({&key: &value}).to_string());
    metadata.configuration.insert(key, Some(value));
    (metadata, operation)
}

fn unset(key: String) -> Operation {
    Operation::new("UNSET TBLPROPERTIES").with_names("properties", &[key]).with("ifExists", "false")
}

fn is_taken(current: &Snapshot, Tag { name, version, .. }: &Tag) -> Error {
    let message = format!("{}: tag {name:?} is of version {version}: drop the tag first, or replace it", current.url());
    Error::invalid_input(message)
}

/// Checks that the log and the files of a version still exist.
async fn check_readable(table: &Table, current: &Snapshot, name: &str, version: u64) -> Result<()> {
    if version == current.version() {
        return Ok(());
    }
    let checked = match table.snapshot_at(version).await {
        Ok(target) => check_files(current, &target.by_log().await?).await,
        Err(error) => Err(error),
    };
    checked.map_err(|error| {
        let message = format!("{}: tag {name:?} cannot be set: {}", current.url(), error.message());
        Error::new(error.kind().clone(), message)
    })
}
