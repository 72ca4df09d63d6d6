//! Deletion vectors: which rows of a data file are deleted, by their position in the file.
//!
//! Here live the set ([`DeletionVector`]), its bytes, the descriptor that an action carries, and
//! the layout of the files that hold many of them. Fetching those files is the work of
//! `lakebed-io`: it asks [`location`] which bytes to read and gives them to
//! [`DeletionVector::parse_framed`]. Read [`DeletionVector`] first.

mod bitmap;
mod format;
mod frame;
mod location;
#[cfg(test)]
mod tests;
pub mod z85;

pub use bitmap::DeletionVector;
pub use frame::{FILE_VERSION, check_file_version, frame};
pub use location::{DvLocation, location};
