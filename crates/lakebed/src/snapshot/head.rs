//! The protocol and the metadata of a version, with as few requests as the log allows.
//!
//! From the checksum of the version (one request); else from the newest checksum and the commits above it; else from the commits
//! above the checkpoint and, for what they do not set, from the checkpoint.

use lakebed_core::action::{Action, Metadata, Protocol};
use lakebed_core::log::checksum::VersionChecksum;
use lakebed_core::log::segment::LogSegment;
use lakebed_core::{Error, Result};
use lakebed_io::checkpoint;
use lakebed_io::log::{self, CommitPart};
use lakebed_io::store::Store;

use super::commits::ReadCommits;

/// What was read to open a version.
pub(super) struct ReadHead {
    pub protocol: Protocol,
    pub metadata: Metadata,
    pub checksum: Option<VersionChecksum>,
    /// All commits above the checkpoint, newest first, if they were read and are few bytes.
    pub commits: Option<Vec<CommitPart>>,
}

/// Why a version could not be opened.
pub(super) struct Failure {
    pub error: Error,
    /// The checkpoint at fault, for which other files of the log can stand in.
    pub replaceable: Option<String>,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { error, replaceable: None }
    }
}

pub(super) async fn read_head(store: &Store, segment: &LogSegment, notes: &mut Vec<String>) -> Result<ReadHead, Failure> {
    let Some(path) = &segment.checksum else { return read_log(store, segment).await };
    match log::read_checksum(store, path).await {
        Ok(checksum) if path.version == segment.version => Ok(ReadHead {
            protocol: checksum.protocol.clone(),
            metadata: checksum.metadata.clone(),
            checksum: Some(checksum),
            commits: None,
        }),
        Ok(checksum) => read_above(store, segment, checksum, path.version).await,
        Err(error) => {
            notes.push(error.message().to_owned());
            read_log(store, segment).await
        }
    }
}

/// A checksum of an older version and the commits since.
async fn read_above(store: &Store, segment: &LogSegment, older: VersionChecksum, version: u64) -> Result<ReadHead, Failure> {
    let newer: Vec<_> = segment.commits.iter().filter(|path| path.version > version).cloned().collect();
    let ReadCommits { protocol, metadata, parts } = ReadCommits::read(store, &newer).await?;
    let complete = newer.len() == segment.commits.len();
    Ok(ReadHead {
        protocol: protocol.unwrap_or(older.protocol),
        metadata: metadata.unwrap_or(older.metadata),
        checksum: None,
        commits: parts.filter(|_| complete),
    })
}

async fn read_log(store: &Store, segment: &LogSegment) -> Result<ReadHead, Failure> {
    let ReadCommits { protocol, metadata, parts } = ReadCommits::read(store, &segment.commits).await?;
    let (protocol, metadata) = match (protocol, metadata) {
        (Some(protocol), Some(metadata)) => (protocol, metadata),
        (protocol, metadata) => {
            let (old_protocol, old_metadata) = read_checkpoint_head(store, segment).await?;
            (protocol.or(old_protocol), metadata.or(old_metadata)).both(store)?
        }
    };
    Ok(ReadHead { protocol, metadata, checksum: None, commits: parts })
}

async fn read_checkpoint_head(store: &Store, segment: &LogSegment) -> Result<(Option<Protocol>, Option<Metadata>), Failure> {
    let Some(files) = &segment.checkpoint else { return Ok((None, None)) };
    let (mut protocol, mut metadata) = (None, None);
    let actions = checkpoint::read_head_actions(store, files)
        .await
        .map_err(|error| Failure { replaceable: (error.is_corrupt() || error.is_not_found()).then(|| files.name()), error })?;
    for action in actions {
        match action {
            Action::Protocol(found) => protocol = Some(found),
            Action::Metadata(found) => metadata = Some(found),
            _ => {}
        }
    }
    if protocol.is_none() || metadata.is_none() {
        let error = Error::corrupt(files.name(), "a checkpoint without protocol or metaData");
        return Err(Failure { error, replaceable: Some(files.name()) });
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
