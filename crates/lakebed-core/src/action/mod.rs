//! The actions of a commit, with one file for each action. They have the protocol's names. `json`
//! parses the lines of a commit.

mod add;
#[cfg(test)]
pub(crate) mod arbitrary;
mod cdc;
mod commit_info;
mod domain;
mod dv;
pub mod json;
mod metadata;
mod protocol;
mod remove;
mod text_map;
mod transaction;
mod v2;

pub use add::Add;
pub use cdc::Cdc;
pub use commit_info::CommitInfo;
pub use domain::DomainMetadata;
pub use dv::{DeletionVectorDescriptor, DvStorage};
pub use metadata::{Format, Metadata};
pub use protocol::Protocol;
pub use remove::Remove;
pub use transaction::SetTransaction;
pub use v2::{CheckpointMetadata, Sidecar};

/// One action. Readers ignore unknown actions, so this type has none.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// A file is part of the table.
    Add(Add),
    /// A file is no longer part of the table.
    Remove(Remove),
    /// A change data file.
    Cdc(Cdc),
    /// The schema, the partitioning and the properties.
    Metadata(Metadata),
    /// The versions and features that readers and writers must support.
    Protocol(Protocol),
    /// The last write of an application.
    SetTransaction(SetTransaction),
    /// A named configuration.
    DomainMetadata(DomainMetadata),
    /// The writer, the operation and the time of the commit.
    CommitInfo(CommitInfo),
    /// The version of a V2 checkpoint.
    CheckpointMetadata(CheckpointMetadata),
    /// A file with the file actions of a V2 checkpoint.
    Sidecar(Sidecar),
}
