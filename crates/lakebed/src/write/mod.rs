//! Writes rows from outside to data files of a table. This module uses no snapshot and no
//! transaction.
//!
//! `rules` contains the table's requirements for rows. `input` and `fill` convert the data to the
//! table's columns and types, `check` tests its conditions, and `files` encodes it, partition by
//! partition. `account` compares the rows that came in with the rows of the files.

pub(crate) mod account;
pub(crate) mod unify_schema;
mod null_children;
pub(crate) mod check;
pub(crate) mod data_file;
pub(crate) mod file_options;
pub(crate) mod files;
pub(crate) mod incoming;
pub(crate) mod convert;
pub(crate) mod identity_column;
pub(crate) mod input;
mod overflow;
pub(crate) mod partition;
pub(crate) mod file_names;
pub(crate) mod rules;
mod sample;
pub(crate) mod settings;

pub use lakebed_core::property::LEAST_FILE_SIZE_BYTES;

pub use convert::OnLossy;
pub use identity_column::PartNumber;
pub use unify_schema::SchemaUnifier;
