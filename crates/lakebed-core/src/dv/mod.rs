//! Deletion vectors: the deleted rows of a data file, by row index.
//!
//! This module has the set ([`DeletionVector`]), its encodings, the descriptor in an action, and
//! the format of files with many vectors. `lakebed-io` reads those files: [`location`] returns the
//! bytes to read, and [`DeletionVector::parse_framed`] parses them. Read [`DeletionVector`] first.

mod bitmap;
mod format;
mod frame;
mod location;
#[cfg(test)]
mod tests;
pub mod z85;

pub use bitmap::DeletionVector;
pub use frame::{FILE_VERSION, check_file_version, frame};
pub use location::{DvLocation, location, relative_text};
