//! Whether the index of pages of a file is read.

/// Whether the index of pages is read with the metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PageIndex {
    /// It is left out: enough for reading whole row groups.
    #[default]
    Skip,
    /// It is read if the file has one: needed for skipping pages.
    Read,
}
