//! Placeholders: the commits that an erase puts in the place of commits that it drops.
//!
//! A writer that began before the erase takes the version after the one that it has read, if there
//! is no commit of that version. Its commit would lie below the new beginning of the log, and would
//! be lost without an error. So the commits of the last day are not deleted: a commit with the same
//! version and time takes their place. It requires a table feature that no engine has, so that a
//! writer, a stream or a change feed that reads it fails, instead of missing the changes. Readers of
//! the table begin at the new checkpoint and never read placeholders, and histories show them.

use lakebed_core::action::{Action, CommitInfo, Protocol};
use lakebed_core::commit::info::ENGINE;
use serde_json::{Map, Value};

use crate::Result;

/// The table feature that no engine has.
pub(super) const FEATURE: &str = "lakebed.erasedHistory";

/// The age from which a commit is deleted: no writer works that long.
pub(super) const OLD_MS: i64 = 86_400_000;

/// Returns the lines of the commit that takes the place of a commit with this information.
pub(super) fn lines(dropped: Option<&CommitInfo>) -> Result<String> {
    let mut info = Map::new();
    for key in ["inCommitTimestamp", "timestamp"] {
        info.extend(dropped.and_then(|info| info.long(key)).map(|time| (key.to_owned(), Value::from(time))));
    }
    info.insert("operation".to_owned(), "ERASED".into());
    info.insert("operationParameters".to_owned(), Value::Object(Map::new()));
    info.insert("engineInfo".to_owned(), ENGINE.into());
    let features = || Some(vec![FEATURE.to_owned()]);
    let protocol =
        Protocol { min_reader_version: 3, min_writer_version: 7, reader_features: features(), writer_features: features() };
    let actions = [Action::CommitInfo(CommitInfo(info)), Action::Protocol(protocol)];
    let lines = actions.iter().map(Action::to_line);
    Ok(lines.collect::<Result<Vec<_>>>()?.join("\n") + "\n")
}
