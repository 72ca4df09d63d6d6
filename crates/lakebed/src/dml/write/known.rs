//! Checks whether files are already in the table. A writer that does not know the result of a
//! commit calls this before it commits again or deletes the files.

use std::collections::HashSet;
use std::pin::pin;

use futures::TryStreamExt;
use lakebed_core::action::json::{FileLine, Line, each_line};
use lakebed_core::path::LogPath;
use lakebed_io::log;
use lakebed_io::store::Store;

use crate::Result;

/// Returns the first version after another that adds one of these files, by their paths as the log
/// spells them.
pub(super) async fn version_of(store: &Store, after: Option<u64>, paths: &HashSet<&str>) -> Result<Option<u64>> {
    if paths.is_empty() {
        return Ok(None);
    }
    let mut from = after.map_or(0, |version| version + 1);
    loop {
        let (listed, is_all) = log::list_commits(store, from).await?;
        let commits: Vec<LogPath> = listed.into_iter().map(|file| file.path).collect();
        let mut parts = pin!(log::read_commits(store, &commits));
        while let Some(part) = parts.try_next().await? {
            let mut is_known = false;
            each_line(part.part(), |line| {
                is_known |= matches!(line, Line::File(FileLine::Add(add)) if paths.contains(add.path.as_ref()));
                Ok(())
            })?;
            if is_known {
                return Ok(LogPath::parse(&part.name).map(|path| path.version));
            }
        }
        match commits.last() {
            Some(last) if !is_all => from = last.version + 1,
            _ => return Ok(None),
        }
    }
}
