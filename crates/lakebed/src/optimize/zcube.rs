//! Cubes: the tags of files that were clustered together.
//!
//! The tags are Delta Spark's. Files that were clustered together are a cube with an id and the
//! names of the columns. Delta Spark's tags do not say whether rows lie exactly along a Z-order
//! curve, so one more tag says it.

use std::collections::HashMap;

use arrow_array::{Array, StringArray};
use lakebed_core::action::Add;
use lakebed_core::log::files::{FileBatch, column};

use crate::Result;

const ID: &str = "ZCUBE_ID";
const COLUMNS: &str = "ZCUBE_ZORDER_BY";
const ORDER: &str = "lakebed.layout";
/// The clustering provider of tables with clustering columns.
pub(super) const PROVIDER: &str = "liquid";

/// The cube of a clustered file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ZCube {
    pub(super) id: Option<String>,
    /// A list of names as JSON.
    pub(super) columns: Option<String>,
    pub(super) order: Option<String>,
    pub(super) provider: Option<String>,
}

impl ZCube {
    /// Returns the cube of each file; None for files without tags of a cube and without a provider.
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

    /// Tags new files as clustered together.
    pub(super) fn mark<'a>(&self, adds: impl IntoIterator<Item = &'a mut Add>) {
        let tags = [(ID, &self.id), (COLUMNS, &self.columns), (ORDER, &self.order)];
        let tags = tags.into_iter().filter(|(_, value)| value.is_some());
        let tags: HashMap<String, Option<String>> = tags.map(|(name, value)| (name.to_owned(), value.clone())).collect();
        for add in adds {
            add.tags.get_or_insert_default().extend(tags.clone());
            add.clustering_provider = self.provider.clone();
        }
    }

    /// Returns whether another provider clustered the file. Such a file is left alone.
    pub(super) fn is_of_others(&self) -> bool {
        self.provider.as_deref().is_some_and(|provider| provider != PROVIDER)
    }
}
