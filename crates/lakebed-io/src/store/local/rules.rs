//! How files of this machine are treated.

use super::hidden_file::Flush;
use super::within::Within;

/// Where files of this machine must lie, and when they go to the disk.
pub(in crate::store) struct FileRules {
    pub(in crate::store) within: Within,
    pub(in crate::store) flush: Flush,
}
