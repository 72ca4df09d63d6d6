//! Reads the protocol and the metadata of a version, with as few requests as the log allows.
//!
//! They come from the checksum of the version (one request). Without it, they come from the newest
//! checksum and the commits above it. Without any checksum, they come from the commits above the
//! checkpoint, and what these do not set comes from the checkpoint.

use std::sync::Arc;

use lakebed_core::action::{Action, Metadata, Protocol};
use lakebed_core::log::checksum::VersionChecksum;
use lakebed_core::log::segment::LogSegment;
use lakebed_core::path::LogPath;
use lakebed_core::{Error, Result};
use lakebed_io::checkpoint;
use lakebed_io::log::{self, CommitPart};
use lakebed_io::store::Store;

use super::commits::ReadCommits;
use super::{Head, TrustedChecksum};

/// The result of reading the head of a version.
pub(super) struct ReadHead {
    pub head: Head,
    /// Whether a checksum was ignored because of its content.
    pub is_checksum_wrong: bool,
    /// All commits above the checkpoint, newest first, if they were read and are small.
    pub commits: Option<Vec<CommitPart>>,
}

/// The reason why a version could not be opened.
pub(super) struct HeadFailure {
    pub error: Error,
    /// The broken checkpoint, which other files of the log can replace.
    pub replaceable: Option<String>,
}

impl From<Error> for HeadFailure {
    fn from(error: Error) -> Self {
        Self { error, replaceable: None }
    }
}

pub(super) async fn read_head(store: &Store, segment: &LogSegment, notes: &mut Vec<String>) -> Result<ReadHead, HeadFailure> {
    let Some(path) = &segment.checksum else { return read_log(store, segment).await };
    let note = match log::read_checksum(store, path).await {
        Ok(checksum) => match read_above(store, segment, checksum, path).await? {
            Ok(read) => return Ok(read),
            // The refusal may come from a wrong checksum alone.
            Err(refusal) => format!("{} describes a table that cannot be read ({})", path.name, refusal.message()),
        },
        Err(error) => error.message().to_owned(),
    };
    let read = read_log(store, segment).await?;
    notes.push(note);
    Ok(ReadHead { is_checksum_wrong: true, ..read })
}

/// Reads the head from a checksum and the commits since. The inner error is a head that cannot be
/// read with these values.
async fn read_above(
    store: &Store,
    segment: &LogSegment,
    told: VersionChecksum,
    path: &LogPath,
) -> Result<Result<ReadHead>, HeadFailure> {
    let newer: Vec<_> = segment.commits.iter().filter(|commit| commit.version > path.version).cloned().collect();
    let ReadCommits { protocol, metadata, parts } = match newer.is_empty() {
        true => ReadCommits { protocol: None, metadata: None, parts: None },
        false => ReadCommits::read(store, &newer).await?,
    };
    let is_of_log = protocol.is_some() && metadata.is_some();
    let (protocol, metadata) =
        (protocol.unwrap_or_else(|| told.protocol.clone()), metadata.unwrap_or_else(|| told.metadata.clone()));
    let checksum = (path.version == segment.version).then_some(told);
    let complete = newer.len() == segment.commits.len();
    Ok(Head::new(store.url(), protocol, metadata, checksum).map(|head| ReadHead {
        head: Head { trusted: (!is_of_log).then(|| Arc::new(TrustedChecksum::new(&path.name))), ..head },
        is_checksum_wrong: false,
        commits: parts.filter(|_| complete),
    }))
}

async fn read_log(store: &Store, segment: &LogSegment) -> Result<ReadHead, HeadFailure> {
    let ReadCommits { protocol, metadata, parts } = ReadCommits::read(store, &segment.commits).await?;
    let (protocol, metadata) = match (protocol, metadata) {
        (Some(protocol), Some(metadata)) => (protocol, metadata),
        (protocol, metadata) => {
            let (old_protocol, old_metadata) = read_checkpoint_head(store, segment).await?;
            (protocol.or(old_protocol), metadata.or(old_metadata)).both(store)?
        }
    };
    Ok(ReadHead { head: Head::new(store.url(), protocol, metadata, None)?, is_checksum_wrong: false, commits: parts })
}

/// Returns the protocol and the metadata of the checkpoint, if there is one.
pub(super) async fn read_checkpoint_head(
    store: &Store,
    segment: &LogSegment,
) -> Result<(Option<Protocol>, Option<Metadata>), HeadFailure> {
    let Some(files) = &segment.checkpoint else { return Ok((None, None)) };
    let (mut protocol, mut metadata) = (None, None);
    let actions = checkpoint::read_head_actions(store, files).await.map_err(|error| HeadFailure {
        replaceable: (error.is_corrupt() || error.is_not_found()).then(|| files.name()),
        error,
    })?;
    for action in actions {
        match action {
            Action::Protocol(found) => protocol = Some(found),
            Action::Metadata(found) => metadata = Some(found),
            _ => {}
        }
    }
    if protocol.is_none() || metadata.is_none() {
        let error = Error::corrupt(files.name(), "the checkpoint has no protocol or no metaData");
        return Err(HeadFailure { error, replaceable: Some(files.name()) });
    }
    Ok((protocol, metadata))
}

trait Both {
    fn both(self, store: &Store) -> Result<(Protocol, Metadata)>;
}

impl Both for (Option<Protocol>, Option<Metadata>) {
    fn both(self, store: &Store) -> Result<(Protocol, Metadata)> {
        match self {
            (Some(protocol), Some(metadata)) => Ok((protocol, metadata)),
            (None, _) => Err(Error::corrupt(store.url(), "the log sets no protocol")),
            (_, None) => Err(Error::corrupt(store.url(), "the log sets no metaData")),
        }
    }
}
