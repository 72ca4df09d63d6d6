//! Reads added files from the log again if their actions were not kept.

use std::collections::HashSet;

use super::added_files::{Actions, AddedFiles};
use super::layer::Layer;
use crate::action::json::CommitLines;
use crate::error::Result;
use crate::log::files::{FileBatch, FileKey};

impl AddedFiles {
    /// Returns the files. `texts` has the bytes of each range.
    pub fn into_files<'a>(self, texts: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<FileBatch>> {
        let ranges = match self.actions {
            Actions::Kept(files) => return Ok(vec![files]),
            Actions::InLog(ranges) => ranges,
        };
        let parts = ranges.iter().zip(texts).map(|(range, bytes)| CommitLines {
            name: &range.name,
            bytes,
            lines_before: range.lines_before,
        });
        let layer = Layer::fold(parts)?;
        let wanted: HashSet<FileKey> = self.keys.into_iter().collect();
        let mut batches = Vec::new();
        for added in layer.added.iter().rev() {
            if let Some(Self { actions: Actions::Kept(files), .. }) = added.shown(|key| !wanted.contains(key))? {
                batches.push(files);
            }
        }
        Ok(batches)
    }
}
