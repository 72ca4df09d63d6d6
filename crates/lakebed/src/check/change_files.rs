//! The change data files of a commit beside the store.

use lakebed_core::action::Action;
use lakebed_core::action::json::Line;
use lakebed_core::path::FilePath;

use super::existence::Existence;
use super::finding::{Finding, FindingKind};
use super::findings::Findings;
use crate::Result;

/// The change data files that a commit names.
#[derive(Default)]
pub(super) struct ChangeFiles {
    /// The time of the commit, as its writer recorded it.
    pub(super) time_ms: Option<i64>,
    paths: Vec<String>,
}

impl ChangeFiles {
    /// Takes a line of the commit.
    pub(super) fn read(&mut self, line: &Line<'_>) {
        match line {
            Line::Other(Action::Cdc(file)) => self.paths.push(file.path.clone()),
            Line::Other(Action::CommitInfo(info)) => self.time_ms = info.in_commit_timestamp().or_else(|| info.long("timestamp")),
            _ => {}
        }
    }

    /// Reports the files that do not exist.
    pub(super) async fn check(self, existence: &Existence, version: u64, findings: &mut Findings) -> Result<()> {
        let valid: Vec<(String, FilePath)> =
            self.paths.into_iter().filter_map(|path| FilePath::parse(&path).ok().map(|parsed| (path, parsed))).collect();
        let sizes = existence.sizes(valid.iter().map(|(_, path)| path.clone()).collect()).await?;
        let missing = valid.into_iter().zip(sizes).filter(|(_, size)| size.is_none());
        findings.extend(missing.map(|((path, _), _)| {
            let message = format!("the change data file of version {version} does not exist");
            Finding::new(FindingKind::ChangeFileMissing, message).file(path).version(version)
        }));
        Ok(())
    }
}
