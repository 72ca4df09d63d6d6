//! Drops the history: everything below a fence commit goes.
//!
//! The order makes an interruption harmless. First a commit without changes is made, the fence, and
//! then a checkpoint of its version. From then on, no reader of the newest version needs an older
//! file of the log. Then the files with matching rows are deleted, and at last the log below the
//! fence, oldest first. Another erase finds the files that an interrupted one left,
//! because the log still names them.
//!
//! The fence sets the metadata again. So writers of an older version, and restores of one, meet a
//! conflict when they find the fence ahead of them.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};
use lakebed_core::feature::downgrade::CHECKPOINT_PROTECTION;
use lakebed_core::feature::supported_features;
use lakebed_core::log::files::FileKey;
use lakebed_core::log::segment::{self, ListedLogFile};
use lakebed_core::path::{LOG_DIR, LogKind, LogPath, SIDECAR_DIR, checkpoint_name};
use lakebed_io::log::{self, hadoop_checksum_path};
use lakebed_io::store::Store;

use super::account::Account;
use super::held_rows::HeldRows;
use super::log_search::FENCE;
use super::newest::path_keys;
use super::options::EraseOptions;
use super::outcome::EraseMetrics;
use super::placeholder;
use crate::checkpoint::write_compatible_top;
use crate::rows::selection::Selection;
use crate::scan::plan::{Plan, PlanOptions};
use crate::snapshot::{commit_info, load};
use crate::symlink_manifest::MANIFEST_DIR;
use crate::transaction::{Operation, Transaction};
use crate::{Error, Result, Snapshot, Table};

/// The number of files that are deleted with one call.
const TOGETHER: usize = 1_000;

/// The number of commits that are replaced at a time.
const AT_ONCE: usize = 16;

/// Returns whether something may keep older versions.
pub(super) fn may_refuse(newest: &Snapshot) -> Result<bool> {
    let is_protected = supported_features(newest.protocol()).contains(&CHECKPOINT_PROTECTION);
    Ok(is_protected || !newest.kept_versions()?.is_empty())
}

/// Refuses to drop versions that something keeps.
pub(super) fn refuse_kept(newest: &Snapshot, first_version: u64) -> Result<()> {
    let url = newest.url();
    let tags = newest.tags()?;
    let names: Vec<&str> = tags.iter().filter(|tag| tag.version < first_version).map(|tag| tag.name.as_str()).collect();
    if !names.is_empty() {
        return Err(Error::invalid_input(format!(
            "{url}: older versions hold rows to erase, so all older versions would go, but tags keep some of them: {}. Drop these \
             tags first (drop_tag), or erase without history",
            names.join(", ")
        )));
    }
    let recorded: Vec<u64> = newest.recorded_versions()?.into_iter().filter(|version| *version < first_version).collect();
    if !recorded.is_empty() {
        return Err(Error::invalid_input(format!(
            "{url}: older versions hold rows to erase, so all older versions would go, but the last vacuum kept some of them: \
             {recorded:?}. Vacuum without keep_versions first, or erase without history"
        )));
    }
    let protected = newest.properties().require_checkpoint_protection_before_version;
    if supported_features(newest.protocol()).contains(&CHECKPOINT_PROTECTION) && first_version < protected {
        return Err(Error::invalid_input(format!(
            "{url}: the log of the versions before {protected} is protected \
             (delta.requireCheckpointProtectionBeforeVersion), so they can only be dropped when the table has that version"
        )));
    }
    Ok(())
}

/// Drops all versions before a new one, and returns that one.
pub(super) async fn erase(
    table: &Table,
    newest: &Snapshot,
    selection: &Selection,
    account: &Account,
    options: &EraseOptions,
    metrics: &mut EraseMetrics,
) -> Result<Snapshot> {
    refuse_kept(newest, newest.version() + 1)?;
    let mut fence = Transaction::begin(newest, options.commit_settings()).await?;
    fence.set_metadata(newest.metadata().clone());
    // Rows that others bring back meanwhile would be lost with the history.
    fence.read().extend(selection.read_set());
    let operation = Operation::new(FENCE).with_metrics([("numFilesWithErasedRows", account.found.files.len() as u64)]);
    let committed = fence.commit(operation).await?;
    metrics.conflicts += committed.conflicts;
    let first = committed.version;
    let fence = load(table.store().clone(), table.env().clone(), Some(first)).await?.by_log().await?;
    let drop = DroppedHistory { fence, first };
    let checkpoint = drop.checkpoint(account).await?;
    drop.delete_files(account, metrics).await?;
    drop.delete_log(&checkpoint, account, metrics).await?;
    metrics.deleted_log_files += drop.fence.delete_leftovers().await?;
    let snapshot = load(table.store().clone(), table.env().clone(), Some(first)).await?;
    tracing::info!(table = table.store().url(), first_version = first, "history erased");
    Ok(snapshot)
}

/// The history below a fence.
struct DroppedHistory {
    fence: Snapshot,
    /// The version of the fence.
    first: u64,
}

impl DroppedHistory {
    fn store(&self) -> &Store {
        self.fence.store()
    }

    /// Writes the checkpoint from which the log begins, and returns its name.
    async fn checkpoint(&self, account: &Account) -> Result<String> {
        let forgotten = account.found.files.iter().map(|file| FileKey::new(&file.path, None)).collect();
        let written = self.fence.checkpoint_without(&Arc::new(forgotten)).await?;
        let listed = log::list_log(self.store(), None).await?;
        let segment = segment::plan(&listed, Some(self.first), &HashSet::new())?;
        match segment.checkpoint {
            Some(files) if files.version == self.first => {
                if self.fence.writes_v2() {
                    // Clients without V2 checkpoints then find the table and its protocol, which names
                    // the missing feature.
                    write_compatible_top(&self.fence, &files).await?;
                }
                Ok(written.name)
            }
            _ => Err(Error::internal(format!(
                "{}: the checkpoint {} was written, but is not listed",
                self.fence.url(),
                written.name
            ))),
        }
    }

    /// Deletes the files with matching rows and their deletion vectors.
    async fn delete_files(&self, account: &Account, metrics: &mut EraseMetrics) -> Result<()> {
        let (paths, mut vectors) = self.needed_files().await?;
        let mut names = BTreeSet::new();
        for file in &account.found.files {
            if let Some(name) = file.name.as_ref().filter(|_| !paths.contains(&FileKey::new(&file.path, None))) {
                names.insert(name.clone());
                if file.held != HeldRows::Missing {
                    metrics.deleted_files += 1;
                    metrics.deleted_bytes += file.size;
                }
            }
        }
        vectors = account.presence.vectors.difference(&vectors).cloned().collect();
        metrics.deleted_files += vectors.len() as u64;
        names.extend(vectors);
        let all: Vec<&String> = names.iter().collect();
        for names in all.chunks(TOGETHER) {
            let mut paths = Vec::with_capacity(names.len());
            for name in names {
                paths.push(self.store().path_of(name)?);
                paths.extend(hadoop_checksum_path(self.store(), name)?);
            }
            self.store().delete(&paths).await?;
        }
        self.remove_folders(&names).await
    }

    /// Removes the folders that are empty now, because their names may have partition values.
    async fn remove_folders(&self, names: &BTreeSet<String>) -> Result<()> {
        let folders = |name: &String| {
            name.match_indices('/').map(|(end, _)| name.get(..end).unwrap_or_default().to_owned()).collect::<Vec<_>>()
        };
        let of_files: BTreeSet<String> = names.iter().flat_map(folders).collect();
        let of_manifests = of_files.iter().map(|folder| format!("{MANIFEST_DIR}/{folder}"));
        let folders: Vec<String> = of_files.iter().cloned().chain(of_manifests).collect();
        let mut folders = folders.iter().map(|folder| self.store().path_of(folder)).collect::<Result<Vec<_>>>()?;
        folders.sort_unstable_by_key(|folder| std::cmp::Reverse(folder.as_ref().matches('/').count()));
        self.store().remove_empty_folders(&folders).await?;
        Ok(())
    }

    /// Returns the keys of the data files and the names of the deletion vector files of the newest
    /// version.
    async fn needed_files(&self) -> Result<(HashSet<FileKey>, BTreeSet<String>)> {
        let (mut paths, mut vectors) = (HashSet::new(), BTreeSet::new());
        let mut files = Plan::new(&self.fence, None, PlanOptions::default())?.files();
        while let Some(batch) = files.try_next().await? {
            paths.extend(path_keys(&batch)?);
            for row in 0..batch.len() {
                super::presence::take_vector(self.store(), batch.deletion_vector(row)?, &mut vectors)?;
            }
        }
        Ok((paths, vectors))
    }

    /// Deletes the log below the fence.
    async fn delete_log(&self, checkpoint: &str, account: &Account, metrics: &mut EraseMetrics) -> Result<()> {
        let listed = log::list_log(self.store(), None).await?;
        let (mut dropped, kept): (Vec<ListedLogFile>, Vec<ListedLogFile>) =
            listed.into_iter().partition(|file| self.is_dropped(&file.path, checkpoint));
        self.delete_sidecars(&dropped, kept).await?;
        dropped.sort_by_cached_key(|file| (file.path.is_commit(), file.path.version, file.path.name.clone()));
        let old_ms = self.fence.env().now_ms().saturating_sub(placeholder::OLD_MS);
        let is_young = |file: &ListedLogFile| file.path.is_commit() && file.path.version > 0 && file.modified_ms > old_ms;
        let is_replaced = |file: &ListedLogFile| file.path.is_commit() && account.found.placeholders.contains(&file.path.version);
        for files in dropped.chunks(TOGETHER) {
            let goes: Vec<&str> = files.iter().filter(|file| !is_young(file)).map(|file| file.path.name.as_str()).collect();
            self.fence.delete_named(LOG_DIR, goes.iter().copied()).await?;
            let replaced: Vec<LogPath> =
                files.iter().filter(|file| is_young(file) && !is_replaced(file)).map(|file| file.path.clone()).collect();
            metrics.deleted_log_files += (goes.len() + replaced.len()) as u64;
            stream::iter(replaced)
                .map(|path| async move { self.replace(&path).await })
                .buffered(AT_ONCE)
                .try_collect::<Vec<()>>()
                .await?;
        }
        Ok(())
    }

    /// Puts a placeholder in the place of a commit.
    async fn replace(&self, path: &LogPath) -> Result<()> {
        let info = commit_info(self.store(), path).await?;
        let lines = placeholder::lines(info.as_ref())?;
        let at = self.store().log_path(&path.name)?;
        if let Some(checksum) = hadoop_checksum_path(self.store(), &format!("{LOG_DIR}/{}", path.name))? {
            self.store().delete(&[checksum]).await?;
        }
        self.store().put(&at, lines.into()).await
    }

    fn is_dropped(&self, path: &LogPath, checkpoint: &str) -> bool {
        match path.kind {
            LogKind::Commit | LogKind::Checksum => path.version < self.first,
            // Another writer's checkpoint of the fence has tombstones of deleted files.
            LogKind::Checkpoint(_) => {
                let is_own = path.name == checkpoint || (self.fence.writes_v2() && path.name == checkpoint_name(self.first));
                path.version < self.first || (path.version == self.first && !is_own)
            }
            LogKind::Compaction { .. } => path.version <= self.first,
        }
    }

    /// Deletes the sidecars that only dropped checkpoints name. It does not wait until they are old,
    /// because they hold statistics of the rows.
    async fn delete_sidecars(&self, dropped: &[ListedLogFile], kept: Vec<ListedLogFile>) -> Result<()> {
        let kept = self.fence.sidecars_named_by(kept).await?;
        let mut names = BTreeSet::new();
        for file in dropped {
            match self.fence.sidecars_named_by(vec![file.clone()]).await {
                Ok(named) => names.extend(named.into_iter().filter(|name| !kept.contains(name))),
                Err(error) if error.is_corrupt() => {
                    let url = self.fence.url();
                    tracing::warn!(table = url, "{url}: the sidecars of a broken checkpoint stay until a cleanup: {error}");
                }
                Err(error) => return Err(error),
            }
        }
        self.fence.delete_named(SIDECAR_DIR, names.iter().map(String::as_str)).await
    }
}
