//! A file that an OPTIMIZE can choose.

use lakebed_core::layout::binpack::PackedFile;

use super::zcube::ZCube;

/// A file that an OPTIMIZE can choose.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) place: (u32, u32),
    pub(super) file: PackedFile,
    pub(super) modified: i64,
    pub(super) cube: Option<ZCube>,
}
