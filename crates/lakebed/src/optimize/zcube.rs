//! Which files are clustered together already, as their tags tell, and which are to be.
//!
//! The tags are Delta Spark's: files that were clustered in one go are a cube, with an id and the names of the columns. What its own
//! clustering leaves open, whether rows lie exactly along a Z-order curve, stands in one more.

use std::collections::HashMap;

use arrow_array::{Array, StringArray};
use lakebed_core::action::Add;
use lakebed_core::log::files::{FileBatch, column};

use crate::Result;

const ID: &str = "ZCUBE_ID";
const COLUMNS: &str = "ZCUBE_ZORDER_BY";
const ORDER: &str = "lakebed.layout";
/// Who clusters the files of tables that are clustered by columns.
pub(super) const PROVIDER: &str = "liquid";

/// To what a file belongs that was clustered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ZCube {
    pub(super) id: Option<String>,
    /// A list of names as JSON.
    pub(super) columns: Option<String>,
    pub(super) order: Option<String>,
    pub(super) provider: Option<String>,
}

impl ZCube {
    /// Of each file; none if its tags do not tell of any.
    pub(super) fn of_files(files: &FileBatch) -> Result<Vec<Option<Self>>> {
        let tags = [ID, COLUMNS, ORDER].map(|name| files.tag_texts(name));
        let [id, columns, order] = tags;
        let (id, columns, order) = (id?, columns?, order?);
        let provider = files.texts(column::CLUSTERING_PROVIDER)?;
        let text = |texts: &StringArray, row: usize| texts.is_valid(row).then(|| texts.value(row).to_owned());
        let cube = |row: usize| {
            let cube = Self {
                id: text(&id, row),
                columns: text(&columns, row),
                order: text(&order, row),
                provider: text(&provider, row),
            };
            (cube.id.is_some() || cube.provider.is_some()).then_some(cube)
        };
        Ok((0..files.len()).map(cube).collect())
    }

    /// Marks new files as clustered in one go.
    pub(super) fn mark<'a>(&self, adds: impl IntoIterator<Item = &'a mut Add>) {
        let tags = [(ID, &self.id), (COLUMNS, &self.columns), (ORDER, &self.order)];
        let tags = tags.into_iter().filter(|(_, value)| value.is_some());
        let tags: HashMap<String, Option<String>> = tags.map(|(name, value)| (name.to_owned(), value.clone())).collect();
        for add in adds {
            add.tags.get_or_insert_default().extend(tags.clone());
            add.clustering_provider = self.provider.clone();
        }
    }

    /// Whether another provider clustered it, whose it stays.
    pub(super) fn is_of_others(&self) -> bool {
        self.provider.as_deref().is_some_and(|provider| provider != PROVIDER)
    }
}
