//! Records the versions that a vacuum keeps, so that the cleanup of the log keeps them too.

use lakebed_core::commit::conflict::KEPT_VERSIONS;
use serde_json::json;

use super::options::VacuumOptions;
use crate::tags::kept_versions_text;
use crate::transaction::retry::{Retry, Retryable};
use crate::transaction::{CommitSettings, Committed, Operation, Transaction};
use crate::{Result, Table};

/// Records the versions of the options in place of those that an earlier vacuum kept. Returns false
/// if the table has this record already.
pub(super) async fn record(table: &Table, options: &VacuumOptions) -> Result<bool> {
    let settings = CommitSettings::of(options.user_metadata.as_ref(), &options.commit_info, None);
    let mut retry = Retry::new(table.env(), &settings, Retryable::all());
    loop {
        let current = table.snapshot().await?.by_log().await?;
        if current.recorded_versions()? == options.keep_versions {
            return Ok(false);
        }
        let mut metadata = current.metadata().clone();
        let operation = if options.keep_versions.is_empty() {
            metadata.configuration.remove(KEPT_VERSIONS);
            Operation::new("UNSET TBLPROPERTIES").with_names("properties", &[KEPT_VERSIONS.to_owned()]).with("ifExists", "false")
        } else {
            let versions = kept_versions_text(&options.keep_versions);
            metadata.configuration.insert(KEPT_VERSIONS.to_owned(), Some(versions.clone()));
            Operation::new("SET TBLPROPERTIES").with("properties", json!({ KEPT_VERSIONS: versions }).to_string())
        };
        let mut transaction = Transaction::begin(&current, settings.clone()).await?;
        transaction.set_metadata(metadata);
        match transaction.commit(operation).await {
            Ok(Committed { snapshot, .. }) => {
                if let Some(snapshot) = &snapshot {
                    table.keep(snapshot).await;
                }
                return Ok(true);
            }
            Err(error) => retry.again(error).await?,
        }
    }
}
