//! Writes rows from outside to data files of a table. This module uses no snapshot and no
//! transaction.
//!
//! `rules` contains the table's requirements for rows. `input` and `fill` convert the data to the
//! table's columns and types, `check` tests its conditions, and `files` encodes it, partition by
//! partition. `account` compares the rows that came in with the rows of the files.

pub(crate) mod account;
pub(crate) mod alike;
mod bare;
pub(crate) mod check;
pub(crate) mod data_file;
pub(crate) mod file_options;
pub(crate) mod files;
pub(crate) mod fill;
pub(crate) mod fit;
pub(crate) mod identity;
pub(crate) mod input;
mod overflow;
pub(crate) mod partition;
pub(crate) mod place;
pub(crate) mod rules;
mod sample;
pub(crate) mod settings;

pub use lakebed_core::property::LEAST_FILE_SIZE_BYTES;

pub use alike::Alike;
pub use fit::OnLossy;
pub use identity::Part;
