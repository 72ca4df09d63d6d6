//! Finds a single action of a version that does not concern files.

use lakebed_core::Result;
use lakebed_core::action::Action;
use lakebed_core::log::checkpoint::columns::Columns;
use lakebed_core::log::replay::Layer;
use lakebed_io::checkpoint;

use super::Snapshot;

impl Snapshot {
    /// Returns the value of the newest commit that has one, else the value from these columns of
    /// the checkpoint. Log files that are broken, or missing since the version was opened, are
    /// replaced by others.
    pub(crate) async fn find<T: Clone>(
        &self,
        in_commits: impl Fn(&Layer) -> Option<&T>,
        columns: Columns,
        in_checkpoint: impl Fn(Action) -> Option<T>,
    ) -> Result<Option<T>> {
        let mut log = self.readable_log().await?;
        loop {
            let snapshot = log.snapshot();
            if let Some(found) = snapshot.layers().await?.newest(&in_commits) {
                return Ok(Some(found.clone()));
            }
            let Some(files) = &snapshot.segment().checkpoint else { return Ok(None) };
            match checkpoint::read_other_actions(snapshot.store(), files, columns).await {
                Ok(actions) => return Ok(actions.into_iter().find_map(in_checkpoint)),
                Err(error) => log.mend(error).await?,
            }
        }
    }
}
