//! Reads the lines of files of the log, one after the other.

use std::pin::pin;

use futures::TryStreamExt;
use lakebed_core::action::json::{Line, each_line};
use lakebed_core::path::LogPath;
use lakebed_io::log;
use lakebed_io::store::Store;

use crate::{Error, Result};

/// Parses the lines of commits, oldest first, or of a log compaction, on threads for blocking work.
/// Returns `found` after it has taken all lines.
pub(super) async fn read_lines<T: Send + 'static>(
    store: &Store,
    paths: &[LogPath],
    mut found: T,
    take: fn(&mut T, &Line<'_>),
) -> Result<T> {
    let mut parts = pin!(log::read_commits(store, paths));
    while let Some(part) = parts.try_next().await? {
        let name = part.name.to_string();
        let parse = move || {
            each_line(part.part(), |line| {
                take(&mut found, &line);
                Ok(())
            })?;
            Ok::<_, Error>(found)
        };
        let parsed = tokio::task::spawn_blocking(parse).await;
        found = parsed.map_err(|error| Error::corrupt(name, "its lines cannot be parsed").with_source(error))??;
    }
    Ok(found)
}
