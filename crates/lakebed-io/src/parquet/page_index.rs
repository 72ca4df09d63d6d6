//! Whether the page index of a file is read.

/// Whether the page index is read with the metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PageIndex {
    /// It is not read. This is enough for reading whole row groups.
    #[default]
    Skip,
    /// It is read if the file has one. Skipping pages needs it.
    Read,
}
