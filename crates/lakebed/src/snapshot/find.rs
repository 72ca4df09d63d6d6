//! Looking for one thing that a version says besides its files.

use lakebed_core::Result;
use lakebed_core::action::Action;
use lakebed_core::log::checkpoint::columns::Columns;
use lakebed_core::log::replay::Layer;
use lakebed_io::checkpoint;

use super::Snapshot;

impl Snapshot {
    /// What the newest commit says of it that says anything, else what the checkpoint says in these columns. Files of the log that are
    /// broken, or gone since the version was opened, are replaced by others.
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
