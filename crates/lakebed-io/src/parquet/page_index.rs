//! The choice whether the page index of a file is read.

/// The choice whether the page index is read with the metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PageIndex {
    /// The page index is not read. This is enough for reading whole row groups.
    #[default]
    Skip,
    /// The page index is read if the file has one. Skipping pages needs it.
    Read,
}
