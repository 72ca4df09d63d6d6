//! The rules of a stream for commits: which commits it skips, and which stop it.

use std::sync::atomic::Ordering;

use lakebed_core::feature::check_read;

use super::Follow;
use super::offset::Offset;
use super::schema::{Schema, SchemaRules};
use crate::changes::commits::Commit;
use crate::changes::feed::check_recorded;
use crate::{Error, ErrorKind, Result};

impl Follow {
    /// Refuses a commit that the stream cannot pass. Returns whether the stream skips everything
    /// that the commit adds.
    pub(super) async fn check_commit(&self, commit: &Commit) -> Result<bool> {
        if let Some(protocol) = &commit.protocol {
            check_read(protocol, self.snapshot.url())?;
        }
        if let Some(metadata) = &commit.metadata {
            let other = Schema::of_metadata(self.snapshot.url(), commit.version, metadata.clone())?;
            self.check_schema(&other).await?;
        }
        match &commit.removed {
            Some(path) if !self.options.read_change_feed => {
                self.check_removal(commit, path)?;
                Ok(self.options.skip_change_commits)
            }
            _ => Ok(false),
        }
    }

    /// Refuses a version with a schema or properties that the stream cannot use.
    async fn check_schema(&self, other: &Schema) -> Result<()> {
        if self.options.read_change_feed {
            check_recorded(self.snapshot.url(), &other.properties, other.version)?;
        }
        // With a schema log, the batch ends here instead.
        if self.stream_schema.is_in_log().await {
            return Ok(());
        }
        let rules = SchemaRules {
            url: self.snapshot.url(),
            stream: &self.stream_schema.schema,
            protocol: &self.stream_schema.protocol,
            has_start: self.options.start != super::Start::Snapshot,
        };
        rules.check(other)
    }

    /// Checks the version before the first batch. No commit of the stream contains its schema.
    pub(super) async fn check_start(&self, begin: &Offset) -> Result<()> {
        if self.progress.has_checked_start.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let version = begin.version.min(self.snapshot.version());
        let other = match self.snapshot_at(version).await {
            Ok(snapshot) => Schema::of_snapshot(&snapshot),
            // The commit of a version can be readable although the version cannot be rebuilt.
            Err(error) if self.needs_start(&error) => {
                self.progress.has_checked_start.store(false, Ordering::Relaxed);
                return Err(error.within("the schema at the start of the stream cannot be read"));
            }
            Err(_) => return Ok(()),
        };
        let checked = self.check_schema(&other).await;
        self.progress.has_checked_start.store(checked.is_ok(), Ordering::Relaxed);
        checked
    }

    fn needs_start(&self, error: &Error) -> bool {
        let is_mapped = self.stream_schema.schema.mode() != lakebed_core::schema::mapping::MappingMode::None;
        let is_telling = matches!(error.kind(), ErrorKind::UnsupportedFeature { .. } | ErrorKind::Store { not_found: false, .. });
        self.options.read_change_feed || is_mapped || is_telling
    }

    fn check_removal(&self, commit: &Commit, path: &str) -> Result<()> {
        let (url, version) = (self.snapshot.url(), commit.version);
        if commit.adds_rows && !self.options.lets_changes_pass() {
            let operation = commit.info.as_ref().and_then(|info| info.text("operation"));
            let what = operation.unwrap_or(path);
            let message = format!(
                "{url}: version {version} changes existing rows ({what}), and a stream of new rows cannot represent that. Set \
                 skipChangeCommits to skip such commits with all rows that they add, or ignoreChanges to receive the changed \
                 files as a whole, or read the changes themselves with readChangeFeed; or start again with a new checkpoint"
            );
            return Err(Error::invalid_input(message));
        }
        if !commit.adds_rows && !self.options.lets_changes_pass() && !self.options.ignore_deletes {
            let message = format!(
                "{url}: version {version} deletes rows (of the file {path}), and a stream of new rows cannot represent that. Set \
                 ignoreDeletes to skip such commits, or read the changes themselves with readChangeFeed; or start again with a \
                 new checkpoint"
            );
            return Err(Error::invalid_input(message));
        }
        Ok(())
    }
}
