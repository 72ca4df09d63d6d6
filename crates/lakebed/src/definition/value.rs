//! The value that the rest of this module makes and checks.

use lakebed_core::action::{DomainMetadata, Metadata, Protocol};
use serde::{Deserialize, Serialize};

use crate::clustering::clustering_paths;
use crate::{Result, Snapshot};

/// The definition of a table, and how it differs from the version on which it is based.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    pub(crate) protocol: Protocol,
    pub(crate) metadata: Metadata,
    /// The domains that the definition sets.
    pub(crate) domains: Vec<DomainMetadata>,
    /// The clustering columns, by their paths in data files.
    pub(crate) clustering: Vec<Vec<String>>,
    pub(crate) changes_protocol: bool,
    /// Whether the metadata changes. If so, a schema that cannot be written is the caller's error,
    /// else the table's.
    pub(crate) changes_metadata: bool,
    /// Whether the schema is replaced as a whole. The old partitioning and clustering are replaced
    /// with it.
    pub(crate) is_replaced: bool,
}

impl Definition {
    /// Returns the definition of a new table.
    pub(super) fn new(protocol: Protocol, metadata: Metadata, domains: Vec<DomainMetadata>) -> Self {
        let clustering = domains.iter().flat_map(clustering_paths).collect();
        Self { protocol, metadata, domains, clustering, changes_protocol: true, changes_metadata: true, is_replaced: false }
    }

    /// Returns the definition of a table as it is.
    pub(crate) async fn of(snapshot: &Snapshot) -> Result<Self> {
        Ok(Self {
            protocol: snapshot.protocol().clone(),
            metadata: snapshot.metadata().clone(),
            domains: Vec::new(),
            clustering: snapshot.physical_clustering_columns().await?,
            changes_protocol: false,
            changes_metadata: false,
            is_replaced: false,
        })
    }

    /// Returns the protocol that readers and writers of the table must support.
    pub fn protocol(&self) -> &Protocol {
        &self.protocol
    }

    /// Returns the schema, partitioning and properties.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Returns whether the table gets another protocol or other metadata.
    pub(crate) fn changes_table(&self) -> bool {
        self.changes_protocol || self.changes_metadata
    }
}
