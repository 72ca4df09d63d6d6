//! The account of an erase: which older versions hold matching rows, and until when.

use std::collections::{BTreeSet, HashMap};

use lakebed_core::path::LogPath;
use lakebed_io::log;

use super::held_rows::HeldRows;
use super::log_search::{FoundInLog, LogSearch};
use super::outcome::HoldingVersions;
use super::presence::Presence;
use crate::tags::Tag;
use crate::{ErrorKind, Result, Snapshot};

/// What the log names, and the versions that hold matching rows.
pub(super) struct Account {
    pub(super) found: FoundInLog,
    pub(super) presence: Presence,
}

/// The number of attempts to read the log while other processes delete old files of it.
const ATTEMPTS: usize = 5;

impl Account {
    /// Reads the log. If a file of it was deleted since it was listed, it is listed again.
    pub(super) async fn read(search: &LogSearch<'_>) -> Result<Self> {
        for _ in 1..ATTEMPTS {
            match Self::read_once(search).await {
                Err(error) if error.is_not_found() || matches!(error.kind(), ErrorKind::VersionNotFound) => {}
                read => return read,
            }
        }
        Self::read_once(search).await
    }

    async fn read_once(search: &LogSearch<'_>) -> Result<Self> {
        let found = search.run().await?;
        let presence = Presence::read(search.table, &found).await?;
        Ok(Self { found, presence })
    }

    /// Returns whether an erase of the history has something to drop: matching rows in older
    /// versions, or files of the log that an interrupted erase left.
    pub(super) fn has_history(&self) -> bool {
        let is_left = |path: &LogPath, fence: u64| {
            path.version < fence && !(path.is_commit() && self.found.placeholders.contains(&path.version))
        };
        let fence = self.found.fence;
        !self.found.files.is_empty() || fence.is_some_and(|fence| self.found.listed.iter().any(|file| is_left(&file.path, fence)))
    }

    /// Returns the number of files with matching rows outside of the table's folder.
    pub(super) fn outside_files(&self) -> u64 {
        self.found.files.iter().filter(|file| file.name.is_none() && file.held != HeldRows::Missing).count() as u64
    }

    /// Returns the versions that hold matching rows, oldest first.
    pub(super) fn holding_versions(&self, newest: &Snapshot) -> Result<Vec<HoldingVersions>> {
        let times: HashMap<u64, i64> =
            log::adjusted_times(&self.found.listed).into_iter().map(|(path, time_ms)| (path.version, time_ms)).collect();
        let tags = newest.tags()?;
        let recorded = newest.recorded_versions()?;
        let mut runs: Vec<(u64, u64, BTreeSet<usize>)> = Vec::new();
        for (&version, files) in &self.presence.versions {
            match runs.last_mut().filter(|(_, last, _)| last + 1 == version) {
                Some((_, last, all)) => {
                    *last = version;
                    all.extend(files);
                }
                None => runs.push((version, version, files.clone())),
            }
        }
        let kept = (tags.as_slice(), &recorded);
        let of_run = |(first, last, files)| self.holding(newest, &times, kept, (first, last), &files);
        Ok(runs.into_iter().map(of_run).collect())
    }

    fn holding(
        &self,
        newest: &Snapshot,
        times: &HashMap<u64, i64>,
        (tags, recorded): (&[Tag], &BTreeSet<u64>),
        (first_version, last_version): (u64, u64),
        files: &BTreeSet<usize>,
    ) -> HoldingVersions {
        let properties = newest.properties();
        let mut held = HoldingVersions {
            first_version,
            last_version,
            data_files: 0,
            change_files: 0,
            missing_files: 0,
            undecided_files: 0,
            files_until_ms: None,
            log_until_ms: None,
            tags: tags
                .iter()
                .filter(|tag| (first_version..=last_version).contains(&tag.version))
                .map(|tag| tag.name.clone())
                .collect(),
        };
        let last_commit_ms = times.get(&last_version).copied();
        for &place in files {
            let Some(file) = self.found.files.get(place) else { continue };
            match file.held {
                HeldRows::Missing => held.missing_files += 1,
                HeldRows::Undecided => held.undecided_files += 1,
                _ if file.is_changes => held.change_files += 1,
                _ => held.data_files += 1,
            }
            if file.held == HeldRows::Missing {
                continue;
            }
            // A file that no commit removes yet would be removed now.
            let gone_ms = match file.is_changes {
                true => last_commit_ms,
                false => self.presence.removed_ms.get(&place).copied().or_else(|| Some(newest.env().now_ms())),
            };
            let until_ms = gone_ms.map(|gone_ms| gone_ms.saturating_add(properties.deleted_file_retention_ms));
            held.files_until_ms = held.files_until_ms.max(until_ms);
        }
        held.log_until_ms = last_commit_ms.map(|time_ms| time_ms.saturating_add(properties.log_retention_ms));
        // The cleanup keeps the log of recorded versions until a vacuum keeps others.
        if recorded.range(first_version..=last_version).next().is_some() {
            held.log_until_ms = None;
        }
        if !held.tags.is_empty() {
            (held.files_until_ms, held.log_until_ms) = (None, None);
        }
        held
    }
}
