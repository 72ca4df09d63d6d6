//! Which files are clustered together already, as their tags tell, and which are to be.
//!
//! The tags are Delta Spark's: files that were clustered in one go are a cube, with an id and the names of the columns. What its own
//! clustering leaves open, whether rows lie exactly along a Z-order curve, stands in one more.

use std::collections::HashMap;

use arrow_array::{Array, StringArray};
use lakebed_core::action::Add;
use lakebed_core::layout::binpack::PackRules;
use lakebed_core::log::files::{FileBatch, column};

use super::plan::Candidate;
use crate::Result;

const ID: &str = "ZCUBE_ID";
const COLUMNS: &str = "ZCUBE_ZORDER_BY";
const ORDER: &str = "lakebed.layout";
/// Who clusters the files of tables that are clustered by columns.
const PROVIDER: &str = "liquid";

/// To what a file belongs that was clustered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cube {
    id: Option<String>,
    /// A list of names as JSON.
    columns: Option<String>,
    order: Option<String>,
    provider: Option<String>,
}

/// How files are to be clustered.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    /// The names of the columns, as `a` or `a.b`.
    pub(super) columns: Vec<String>,
    pub(super) order: Arrangement,
    /// Whether all files are clustered anew.
    pub(super) full: bool,
    /// When a file has too many deleted rows.
    pub(super) rules: PackRules,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrangement {
    /// Exactly along a Z-order curve.
    ZOrder,
    /// As it is best.
    Best,
    /// The same for a table that is clustered by its own columns: bit by bit.
    OfTable,
}

impl Cube {
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
}

impl Wanted {
    /// The places of the files that are to be clustered together; none if that would change nothing.
    pub(super) fn choose(&self, files: &[Candidate]) -> Option<Vec<usize>> {
        let chosen = if self.order == Arrangement::OfTable { self.of_table(files) } else { self.of_all(files) };
        (!chosen.is_empty()).then_some(chosen)
    }

    /// All files, unless they were clustered so in one go and nothing has come since.
    fn of_all(&self, files: &[Candidate]) -> Vec<usize> {
        let all: Vec<usize> = (0..files.len()).collect();
        if !self.full && self.is_one_cube(files, &all) { Vec::new() } else { all }
    }

    /// Files that are not clustered, with the cubes that are no larger than what comes to them: so each row is clustered anew about as often
    /// as the table doubles. Files of other providers are theirs, and those of other columns stay until all are asked for.
    fn of_table(&self, files: &[Candidate]) -> Vec<usize> {
        let own: Vec<usize> = (0..files.len()).filter(|place| !files[*place].is_of_others()).collect();
        if self.full {
            return own;
        }
        let (mut chosen, mut bytes) = (Vec::new(), 0);
        let mut cubes: HashMap<&str, (u64, Vec<usize>)> = HashMap::new();
        for place in own {
            let file = &files[place];
            let cube = file.cube.as_ref().filter(|_| !self.rules.purges(&file.file));
            match cube.and_then(|cube| Some((cube, cube.id.as_deref()?))) {
                Some((cube, id)) if self.is_of(cube) => {
                    let (of_cube, places) = cubes.entry(id).or_default();
                    *of_cube += file.file.size_bytes;
                    places.push(place);
                }
                Some((cube, _)) if cube.columns.is_some() => {}
                _ => {
                    bytes += file.file.size_bytes;
                    chosen.push(place);
                }
            }
        }
        let mut cubes: Vec<(u64, Vec<usize>)> = cubes.into_values().collect();
        cubes.sort_unstable();
        for (of_cube, places) in cubes {
            if of_cube > bytes {
                break;
            }
            bytes += of_cube;
            chosen.extend(places);
        }
        chosen.sort_unstable();
        chosen
    }

    /// Whether these files were clustered so in one go, and have all their rows.
    fn is_one_cube(&self, files: &[Candidate], places: &[usize]) -> bool {
        let first = places.first().and_then(|place| files[*place].cube.as_ref());
        places.iter().map(|place| &files[*place]).all(|file| {
            let is_of = file.cube.as_ref().is_some_and(|cube| self.is_of(cube));
            is_of && file.cube.as_ref() == first && !self.rules.purges(&file.file)
        })
    }

    /// Marks new files as clustered in one go.
    pub(super) fn mark<'a>(&self, adds: impl IntoIterator<Item = &'a mut Add>, id: &str) {
        let mut tags = HashMap::from([(ID, id.to_owned()), (COLUMNS, self.columns_text())]);
        tags.extend(self.order.name().map(|name| (ORDER, name.to_owned())));
        let tags: HashMap<String, Option<String>> =
            tags.into_iter().map(|(name, value)| (name.to_owned(), Some(value))).collect();
        for add in adds {
            add.tags.get_or_insert_default().extend(tags.clone());
            add.clustering_provider = (self.order == Arrangement::OfTable).then(|| PROVIDER.to_owned());
        }
    }

    fn is_of(&self, cube: &Cube) -> bool {
        cube.columns == Some(self.columns_text())
            && (self.order == Arrangement::OfTable || cube.order.as_deref() == self.order.name())
    }

    fn columns_text(&self) -> String {
        serde_json::Value::from(self.columns.clone()).to_string()
    }
}

impl Candidate {
    /// Whether another provider clustered it, whose it stays.
    fn is_of_others(&self) -> bool {
        let provider = self.cube.as_ref().and_then(|cube| cube.provider.as_deref());
        provider.is_some_and(|provider| provider != PROVIDER)
    }
}

impl Arrangement {
    /// As tags name it.
    fn name(self) -> Option<&'static str> {
        match self {
            Self::ZOrder => Some("zorder"),
            Self::Best => Some("cluster"),
            Self::OfTable => None,
        }
    }
}
