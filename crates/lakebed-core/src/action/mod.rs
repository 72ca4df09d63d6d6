//! The actions of a commit, one file each, with the protocol's names. `json` reads a line of a
//! commit.

mod add;
mod cdc;
mod commit_info;
mod domain;
mod dv;
pub mod json;
mod metadata;
mod protocol;
mod remove;
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

/// One action. What is unknown never becomes one: readers ignore it.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// A file is part of the table.
    Add(Add),
    /// A file no longer is.
    Remove(Remove),
    /// A file of changed rows.
    Cdc(Cdc),
    /// Schema, partitioning, properties.
    Metadata(Metadata),
    /// What readers and writers must know.
    Protocol(Protocol),
    /// How far an application has come.
    SetTransaction(SetTransaction),
    /// Configuration under a name.
    DomainMetadata(DomainMetadata),
    /// Who did what, when.
    CommitInfo(CommitInfo),
    /// Which version a V2 checkpoint is of.
    CheckpointMetadata(CheckpointMetadata),
    /// A file with the file actions of a V2 checkpoint.
    Sidecar(Sidecar),
}
