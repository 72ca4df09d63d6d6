//! The state on top of which a draft is committed: the facts of the newest known version on which a
//! commit depends.

use super::row_ids;
use super::winner::Winner;
use crate::Result;
use crate::action::{DomainMetadata, Metadata, Protocol};
use crate::property::TableProperties;

pub use super::row_ids::DOMAIN as ROW_TRACKING_DOMAIN;

/// The state on top of which a draft is committed.
#[derive(Debug, Clone)]
pub struct Base {
    /// The newest version. It is `None` before the table exists.
    pub version: Option<u64>,
    /// The protocol of that version, or of the table that is created.
    pub protocol: Protocol,
    /// The metadata of that version, or of the table that is created.
    pub metadata: Metadata,
    /// The parsed configuration of the metadata.
    pub properties: TableProperties,
    /// The in-commit timestamp of that version's commit, if the table has in-commit timestamps. If
    /// the draft enables them, it is the time of that commit's file.
    pub in_commit_timestamp: Option<i64>,
    /// The highest row id given so far.
    pub row_id_high_water_mark: i64,
}

impl Base {
    /// Returns the state of a version. `row_tracking` is the domain of row tracking, and
    /// `in_commit_timestamp` is the timestamp of the version's commit.
    pub fn of_version(
        version: u64,
        protocol: Protocol,
        metadata: Metadata,
        row_tracking: Option<&DomainMetadata>,
        in_commit_timestamp: Option<i64>,
    ) -> Result<Self> {
        let properties = TableProperties::parse(&metadata.configuration)?;
        let row_id_high_water_mark = row_ids::high_water_mark(row_tracking)?;
        Ok(Self { version: Some(version), protocol, metadata, properties, in_commit_timestamp, row_id_high_water_mark })
    }

    /// Returns the state before the first version of a table.
    pub fn of_nothing(protocol: Protocol, metadata: Metadata) -> Result<Self> {
        let properties = TableProperties::parse(&metadata.configuration)?;
        let row_id_high_water_mark = row_ids::NONE_GIVEN;
        Ok(Self { version: None, protocol, metadata, properties, in_commit_timestamp: None, row_id_high_water_mark })
    }

    /// Returns the version that a draft on top of this state would create.
    pub fn next_version(&self) -> u64 {
        self.version.map_or(0, |version| version + 1)
    }

    /// Advances to the version of a winner.
    pub fn advance(&mut self, winner: &Winner) -> Result<()> {
        self.version = Some(winner.version);
        if let Some(protocol) = &winner.protocol {
            self.protocol = protocol.clone();
        }
        if let Some(metadata) = &winner.metadata {
            self.metadata = metadata.clone();
            self.properties = TableProperties::parse(&metadata.configuration)?;
        }
        self.in_commit_timestamp = winner.info.as_ref().and_then(|info| info.in_commit_timestamp());
        if let Some(domain) = winner.domains.iter().find(|domain| domain.domain == row_ids::DOMAIN) {
            self.row_id_high_water_mark = self.row_id_high_water_mark.max(row_ids::high_water_mark(Some(domain))?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
