//! Raises the high-water mark of row ids, so that new rows get new ids.

use lakebed_core::commit::row_ids;

use super::options::RepairOptions;
use crate::check::GreatestRowId;
use crate::transaction::retry::{Retry, Retryable};
use crate::transaction::{CommitSettings, Operation, Transaction};
use crate::{Result, Table};

/// Commits the greatest row id as the high-water mark. Returns the version, or `None` if the mark is
/// high enough.
pub(super) async fn raise(table: &Table, options: &RepairOptions) -> Result<Option<u64>> {
    let settings = CommitSettings::of(options.user_metadata.as_ref(), &options.commit_info, options.upkeep, options.timeout);
    let mut retry = Retry::new(table.env(), &settings, Retryable::all());
    loop {
        let snapshot = table.snapshot().await?.by_log().await?;
        let mark = row_ids::high_water_mark(snapshot.domain_metadata(row_ids::DOMAIN).await?.as_ref())?;
        let Some(greatest) = GreatestRowId::of(&snapshot).await?.0.filter(|greatest| *greatest > mark) else { return Ok(None) };
        let mut transaction = Transaction::begin(&snapshot, settings.clone()).await?;
        // Files that another writer adds meanwhile may have greater row ids.
        transaction.read().list_of_files();
        transaction.set_domain(row_ids::domain(greatest)?);
        match transaction.commit(Operation::new("FSCK").with("dryRun", false)).await {
            Ok(committed) => {
                if let Some(snapshot) = &committed.snapshot {
                    table.keep(snapshot).await;
                }
                return Ok(Some(committed.version));
            }
            Err(error) => retry.again(error).await?,
        }
    }
}
