//! Metadata cleanup: deletes the files of the log that no retained version needs.
//!
//! `lakebed_core::log::cleanup` decides which files can be deleted and proves it. The deletion
//! rests on one checkpoint. A listing does not show whether that checkpoint is sound, so this
//! module reads it first. Begin with [`Snapshot::clean_up_log`].

use std::collections::HashSet;

use lakebed_core::action::Action;
use lakebed_core::feature::downgrade::CHECKPOINT_PROTECTION;
use lakebed_core::feature::{check_write, supported_features};
use lakebed_core::log::checkpoint::columns;
use lakebed_core::log::cleanup::{CleanupPlan, CleanupRules, cutoff_ms, plan};
use lakebed_core::log::segment::{self, CheckpointFiles, ListedLogFile};
use lakebed_core::path::{CheckpointKind, FilePath, LOG_DIR, LogKind, LogPath, SIDECAR_DIR, checkpoint_name};
use lakebed_io::log::hadoop_checksum_path;
use lakebed_io::{checkpoint, log};

use crate::checkpoint::write_compatible_top;
use crate::snapshot::commit_info;
use crate::{Error, Result, Snapshot};

/// The least age, in milliseconds, of an unreferenced file that is deleted. A younger file may
/// belong to a writer that is still at work.
const UNREFERENCED_MS: i64 = 86_400_000;

const MINUTE_MS: i64 = 60_000;

/// The first name in a folder that no hidden file can have.
const AFTER_HIDDEN: &str = "0";

/// The result of a cleanup.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CleanupOutcome {
    /// The oldest version that is left; None if no version was given up.
    pub first_version: Option<u64>,
    /// The number of deleted commits, checkpoints, log compactions and checksums.
    pub log_files: u64,
    /// The number of deleted sidecars. No checkpoint names them.
    pub sidecars: u64,
    /// The number of deleted files of abandoned uploads.
    pub leftovers: u64,
}

impl Snapshot {
    /// Deletes the files of the log that no version within `delta.logRetentionDuration` needs, if
    /// this does not give up any other version. The files of versions that tags or the last vacuum keep
    /// stay.
    ///
    /// Another process may still read a version that is deleted. Its reader uses other files of the
    /// log, or fails with an error that names the cause.
    pub async fn clean_up_log(&self) -> Result<CleanupOutcome> {
        self.refuse_pending("a cleanup of the log")?;
        // A deletion cannot be undone, so the retention period is read from the log and not from a
        // checksum alone.
        let snapshot = self.by_log().await?;
        let cutoff_ms = cutoff_ms(self.env().now_ms(), snapshot.properties().log_retention_ms);
        snapshot.delete_older_than(cutoff_ms).await
    }

    /// Deletes the files of the log that no version within a retention period needs, as
    /// [`clean_up_log`](Self::clean_up_log) does. As in Delta Spark, the period begins at a full
    /// minute.
    pub(crate) async fn truncate_log(&self, retention_ms: i64) -> Result<CleanupOutcome> {
        self.refuse_pending("a cleanup of the log")?;
        let moment_ms = self.env().now_ms().saturating_sub(retention_ms);
        self.by_log().await?.delete_older_than(moment_ms.saturating_sub(moment_ms.rem_euclid(MINUTE_MS))).await
    }

    async fn delete_older_than(&self, cutoff_ms: i64) -> Result<CleanupOutcome> {
        check_write(self.protocol(), self.url())?;
        let listed = log::list_log(self.store(), None).await?;
        let mut outcome = CleanupOutcome::default();
        let Some(plan) = self.plan_cleanup(&listed, cutoff_ms).await? else { return Ok(outcome) };
        if self.writes_v2()
            && let Some(newest) = segment::plan(&listed, None, &HashSet::new())?.checkpoint
            && !has_classic(&listed, newest.version)
        {
            write_compatible_top(self, &newest).await?;
        }
        self.delete_named(LOG_DIR, plan.files.iter().map(|path| path.name.as_str())).await?;
        outcome.first_version = Some(plan.first_version);
        outcome.log_files = plan.files.len() as u64;
        outcome.sidecars = self.delete_sidecars().await?;
        outcome.leftovers = self.delete_leftovers().await?;
        tracing::info!(table = self.url(), first_version = plan.first_version, log_files = outcome.log_files, "log cleaned up");
        Ok(outcome)
    }

    /// Returns whether more files are out of date than at the time of this version's checkpoint. A
    /// writer cleans up when it writes a checkpoint, and the retained files change only at
    /// midnight. A listing of the whole log after each checkpoint would cost more than the
    /// checkpoint.
    pub(crate) fn is_clean_up_due(&self) -> bool {
        let cutoff_ms = |moment_ms| cutoff_ms(moment_ms, self.properties().log_retention_ms);
        let last = self.segment().checkpoint.as_ref().and_then(|checkpoint| checkpoint.files.first());
        last.is_none_or(|file| cutoff_ms(file.modified_ms) < cutoff_ms(self.env().now_ms()))
    }

    /// Returns a plan that rests on a readable checkpoint.
    async fn plan_cleanup(&self, listed: &[ListedLogFile], cutoff_ms: i64) -> Result<Option<CleanupPlan>> {
        let Some(cutoff_version) = self.newest_until(listed, cutoff_ms).await? else { return Ok(None) };
        let is_protected = supported_features(self.protocol()).contains(&CHECKPOINT_PROTECTION);
        let protected_before = if is_protected { self.properties().require_checkpoint_protection_before_version } else { 0 };
        let pinned = self.kept_versions()?;
        let mut rules = CleanupRules { cutoff_version, protected_before, pinned, unusable: HashSet::new() };
        loop {
            let Some(found) = plan(listed, &rules) else { return Ok(None) };
            let base = segment::plan(listed, Some(found.first_version), &rules.unusable)?.checkpoint;
            let Some(base) = base else { return Err(Error::internal("a cleanup has no checkpoint to start from")) };
            match self.check_readable(&base).await {
                Ok(()) => return Ok(Some(found)),
                Err(error) if error.is_corrupt() || error.is_not_found() => {
                    tracing::warn!(
                        table = self.url(),
                        "{}: the log was not cleaned up to a broken checkpoint: {error}",
                        self.url()
                    );
                    rules.unusable.insert(base.name());
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn check_readable(&self, files: &CheckpointFiles) -> Result<()> {
        checkpoint::open(self.store(), files).await?;
        let head = checkpoint::read_head_actions(self.store(), files).await?;
        let has = |wanted: fn(&Action) -> bool| head.iter().any(wanted);
        match has(|action| matches!(action, Action::Protocol(_))) && has(|action| matches!(action, Action::Metadata(_))) {
            true => Ok(()),
            false => Err(Error::corrupt(files.name(), "the checkpoint has no protocol or no metaData")),
        }
    }

    /// Returns the newest version that was committed at this time or earlier.
    pub(crate) async fn newest_until(&self, listed: &[ListedLogFile], moment_ms: i64) -> Result<Option<u64>> {
        let commits = log::adjusted_times(listed);
        // The first younger commit lies in this interval.
        let (mut from, mut to) = (0, commits.len());
        while from < to {
            let middle = from.midpoint(to);
            let Some((path, file_time_ms)) = commits.get(middle) else { break };
            match self.time_ms(path, *file_time_ms).await {
                Ok(time_ms) if time_ms > moment_ms => to = middle,
                Err(error) if !error.is_not_found() => return Err(error),
                // If another cleanup has deleted the commit meanwhile, the commit was old enough.
                Ok(_) | Err(_) => from = middle + 1,
            }
        }
        Ok(from.checked_sub(1).and_then(|index| commits.get(index)).map(|(path, _)| path.version))
    }

    /// Returns the time at which a version was committed: its in-commit timestamp if the table has
    /// them, else the time of its file.
    pub(crate) async fn time_ms(&self, path: &LogPath, file_time_ms: i64) -> Result<i64> {
        let properties = self.properties();
        let since = properties.in_commit_timestamp_enablement_version.unwrap_or(0);
        if !properties.in_commit_timestamps || path.version < since {
            return Ok(file_time_ms);
        }
        let info = commit_info(self.store(), path).await?;
        let timestamp = info.and_then(|info| info.in_commit_timestamp());
        timestamp
            .ok_or_else(|| Error::corrupt(&path.name, "the commit has no in-commit timestamp, although the table requires one"))
    }

    /// Deletes these files in this order, with the checksum files that Hadoop may have left beside
    /// them.
    pub(crate) async fn delete_named<'a>(&self, folder: &str, names: impl Iterator<Item = &'a str>) -> Result<()> {
        let mut paths = Vec::new();
        for name in names {
            let file = format!("{folder}/{name}");
            paths.push(self.store().path_of(&file)?);
            paths.extend(hadoop_checksum_path(self.store(), &file)?);
        }
        if paths.is_empty() { Ok(()) } else { self.store().delete(&paths).await }
    }

    /// Deletes sidecars that no checkpoint names and that are too old to belong to a checkpoint
    /// that is being written.
    async fn delete_sidecars(&self) -> Result<u64> {
        let before_ms = cutoff_ms(self.env().now_ms(), UNREFERENCED_MS);
        let listed = self.store().list_after(&self.store().path_of(SIDECAR_DIR)?, "").await?;
        let old = listed.iter().filter(|object| object.last_modified.timestamp_millis() < before_ms);
        let mut names: Vec<String> = old.filter_map(|object| object.location.filename().map(str::to_owned)).collect();
        names.retain(|name| name.ends_with(".parquet"));
        if names.is_empty() {
            return Ok(0);
        }
        let named = self.named_sidecars().await?;
        names.retain(|name| !named.contains(name));
        self.delete_named(SIDECAR_DIR, names.iter().map(String::as_str)).await?;
        Ok(names.len() as u64)
    }

    /// Returns the sidecars that any checkpoint names. A checkpoint that cannot be read is an
    /// error, because its sidecars are unknown.
    async fn named_sidecars(&self) -> Result<HashSet<String>> {
        self.sidecars_named_by(log::list_log(self.store(), None).await?).await
    }

    /// Returns the sidecars that the checkpoints among these files name.
    pub(crate) async fn sidecars_named_by(&self, files: Vec<ListedLogFile>) -> Result<HashSet<String>> {
        let mut named = HashSet::new();
        for file in files {
            let LogKind::Checkpoint(kind @ (CheckpointKind::Classic | CheckpointKind::Uuid { .. })) = file.path.kind else {
                continue;
            };
            let files = CheckpointFiles { version: file.path.version, kind, files: vec![file] };
            let actions = match checkpoint::read_other_actions(self.store(), &files, columns::SIDECARS).await {
                // Another cleanup deleted the checkpoint meanwhile.
                Err(error) if error.is_not_found() => continue,
                actions => actions?,
            };
            for action in actions {
                if let Action::Sidecar(sidecar) = action
                    && let FilePath::Relative(path) = FilePath::parse(&sidecar.path)?
                {
                    named.extend(path.rsplit('/').next().map(str::to_owned));
                }
            }
        }
        Ok(named)
    }

    /// Deletes abandoned uploads into the log: hidden files that end in `.tmp` or `.tmp.3`, as
    /// Hadoop's clients leave them.
    pub(crate) async fn delete_leftovers(&self) -> Result<u64> {
        let before_ms = cutoff_ms(self.env().now_ms(), UNREFERENCED_MS);
        let folder = self.store().path_of(LOG_DIR)?;
        let hidden = self.store().list_between(&folder, "", Some(AFTER_HIDDEN)).await?;
        let old = hidden.iter().filter(|object| object.last_modified.timestamp_millis() < before_ms);
        let names: Vec<&str> = old.filter_map(|object| object.location.filename()).filter(|name| is_upload(name)).collect();
        self.delete_named(LOG_DIR, names.iter().copied()).await?;
        Ok(names.len() as u64)
    }
}

fn has_classic(listed: &[ListedLogFile], version: u64) -> bool {
    let name = checkpoint_name(version);
    listed.iter().any(|file| file.path.name == name)
}

/// Returns whether this is the name of an upload of a log file.
fn is_upload(name: &str) -> bool {
    let Some(rest) = name.strip_prefix('.') else { return false };
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let of_version = rest.split('.').next().is_some_and(|version| version.len() == 20 && number(version));
    let ends = rest.ends_with(".tmp") || rest.rsplit_once(".tmp.").is_some_and(|(_, count)| number(count));
    (of_version || rest.starts_with("_last_checkpoint.")) && ends
}
