//! Rules for local files.

use super::hidden_file::Flush;
use super::within::Within;

/// The folder in which local files must lie, and the time at which they are flushed.
pub(in crate::store) struct FileRules {
    pub(in crate::store) within: Within,
    pub(in crate::store) flush: Flush,
}
