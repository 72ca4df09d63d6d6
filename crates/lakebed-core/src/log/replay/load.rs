//! The added files whose actions were not kept, out of the text of their commits.

use std::collections::HashSet;

use super::added_files::{Actions, AddedFiles};
use super::layer::Layer;
use crate::action::json::CommitLines;
use crate::error::Result;
use crate::log::files::{FileBatch, FileKey};

impl AddedFiles {
    /// The files, out of what stands in each of the places.
    pub fn into_files<'a>(self, texts: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<FileBatch>> {
        let places = match self.actions {
            Actions::Kept(files) => return Ok(vec![files]),
            Actions::InLog(places) => places,
        };
        let parts = places.iter().zip(texts).map(|(place, bytes)| CommitLines {
            name: &place.name,
            bytes,
            lines_before: place.lines_before,
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
