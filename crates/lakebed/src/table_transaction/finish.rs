//! The end of a transaction with several operations: it is committed or rolled back.

use lakebed_core::error::ConflictKind;
use lakebed_core::property::TableProperties;

use super::TableTransaction;
use super::feed::net_change_files;
use super::outcome::{OperationOutcome, TransactionOutcome, summary};
use crate::snapshot::StageState;
use crate::transaction::Standing;
use crate::transaction::staged::{Staged, StagedOperations};
use crate::write::data_file::WrittenFile;
use crate::write::files::delete_written;
use crate::{Error, ErrorKind, Result, Snapshot};

impl TableTransaction {
    /// Commits all operations as one version.
    ///
    /// If there was no operation, nothing is committed, unless the transaction has an identifier. If
    /// another process committed the same identifier meanwhile, nothing is committed, either.
    ///
    /// # Errors
    /// [`ErrorKind::CommitConflict`] if another writer committed first and its commit conflicts with
    /// the transaction. Nothing was committed then, and the files of the transaction are deleted. The
    /// caller may run the whole transaction again.
    /// [`ErrorKind::CommitUnknown`] if the store does not report the outcome of the commit.
    pub async fn commit(self) -> Result<TransactionOutcome> {
        let mut staged = self.stage.work::<StagedOperations>()?.take().await?;
        // No operation can follow.
        let pending = self.stage.snapshot()?;
        if staged.operations.is_empty() && self.options.txn.is_none() {
            let version = self.base.version();
            self.stage.set(StageState::Committed(version));
            let snapshot = Some(self.base.clone());
            return Ok(TransactionOutcome { version, committed: false, operations: Vec::new(), conflicts: 0, snapshot });
        }
        self.stage.set(StageState::Ended("its commit has begun"));
        if let Some(application) = &self.options.txn {
            staged.whole.record(application, None);
        }
        let mut written: Vec<WrittenFile> = staged.written().iter().cloned().map(WrittenFile::safe).collect();
        let changes = match self.change_files(&pending, &staged).await {
            Ok(changes) => changes,
            Err(error) => {
                staged.whole.delete_vectors(false).await;
                return self.failed(&written, error).await;
            }
        };
        let mut unnamed: Vec<WrittenFile> = staged.vanished.iter().cloned().map(WrittenFile::safe).collect();
        if let Some(changes) = changes {
            written.extend(changes.iter().cloned());
            let replaced = staged.whole.replace_changes(changes.into_iter().map(|file| (file.to_cdc(), file.unflushed)));
            unnamed.extend(replaced.into_iter().map(WrittenFile::of_changes));
        }
        let operations: Vec<OperationOutcome> = staged.operations.iter().map(|staged| (&staged.operation).into()).collect();
        match staged.whole.commit_alone(summary(&operations)).await {
            Ok(committed) => {
                self.stage.set(StageState::Committed(committed.version));
                delete_written(self.origin.store(), &unnamed).await;
                if let Some(snapshot) = &committed.snapshot {
                    self.origin.keep(snapshot).await;
                }
                let (version, snapshot, conflicts) = (committed.version, committed.snapshot, committed.conflicts);
                Ok(TransactionOutcome { version, committed: true, operations, conflicts, snapshot })
            }
            Err(error) => match self.committed_by_another(&error).await {
                Some(newest) => {
                    let version = newest.version();
                    self.stage.set(StageState::Committed(version));
                    delete_written(self.origin.store(), &written).await;
                    let (operations, snapshot) = (Vec::new(), Some(newest));
                    Ok(TransactionOutcome { version, committed: false, operations, conflicts: 1, snapshot })
                }
                None => self.failed(&written, error).await,
            },
        }
    }

    /// Returns the newest version if another process has committed the transaction with the same
    /// identifier.
    async fn committed_by_another(&self, error: &Error) -> Option<Snapshot> {
        let is_identifier = matches!(error.kind(), ErrorKind::CommitConflict { kind: ConflictKind::ConcurrentTransaction, .. });
        let application = self.options.txn.as_ref().filter(|_| is_identifier)?;
        let newest = self.origin.snapshot().await.ok()?.by_log().await.ok()?;
        matches!(application.standing(&newest, None).await, Ok(Standing::Known)).then_some(newest)
    }

    /// Ends the transaction without a commit, and deletes its files.
    pub async fn rollback(self) -> Result<()> {
        let staged = self.stage.work::<StagedOperations>()?.take().await?;
        self.stage.set(StageState::Ended("it was rolled back"));
        staged.whole.delete_vectors(false).await;
        let written: Vec<WrittenFile> = staged.written().iter().cloned().map(WrittenFile::safe).collect();
        delete_written(self.origin.store(), &written).await;
        Ok(())
    }

    async fn failed(&self, written: &[WrittenFile], error: Error) -> Result<TransactionOutcome> {
        if matches!(error.kind(), ErrorKind::CommitUnknown { .. }) {
            self.stage.set(StageState::Ended("the outcome of its commit is unknown"));
        } else {
            self.stage.set(StageState::Ended("its commit failed, and nothing was committed"));
            delete_written(self.origin.store(), written).await;
        }
        Err(error)
    }

    /// Returns the change data files that the commit needs in place of those of its operations, or
    /// `None` if these are right.
    async fn change_files(&self, pending: &Snapshot, staged: &Staged) -> Result<Option<Vec<WrittenFile>>> {
        let has_files = staged.operations.iter().any(|staged| !staged.draft.cdc.is_empty());
        if !TableProperties::parse(&pending.metadata().configuration)?.change_data_feed {
            return Ok(has_files.then(Vec::new));
        }
        let changing = staged.operations.iter().filter(|staged| staged.draft.changes_data()).count();
        // Without change data files, all changes follow from the added and removed files. PROTOCOL
        // "Add CDC File": otherwise the files hold all changes of the commit.
        if !has_files || changing < 2 {
            return Ok(None);
        }
        net_change_files(pending, &staged.operations).await.map(Some)
    }
}
