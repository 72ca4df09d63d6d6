//! The clustering specification: by which columns and in which order files are clustered, and which
//! files are chosen.

use std::collections::HashMap;

use lakebed_core::action::Add;
use lakebed_core::layout::binpack::PackRules;

use super::candidate::Candidate;
use super::zcube::{PROVIDER, ZCube};
use crate::clustering::KeyColumn;

/// The specification of a clustering.
#[derive(Debug, Clone)]
pub(super) struct ClusterSpec {
    pub(super) columns: Vec<KeyColumn>,
    pub(super) order: ClusterOrder,
    /// Whether all files are clustered again.
    pub(super) full: bool,
    /// The rules for files with too many deleted rows.
    pub(super) rules: PackRules,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClusterOrder {
    /// With an exact Z-order curve.
    ZOrder,
    /// With the best method for the data.
    Best,
    /// Incrementally with the best method, for a table with clustering columns.
    OfTable,
}

impl ClusterSpec {
    /// Returns the indexes of the files to cluster together; None if clustering would change
    /// nothing.
    pub(super) fn choose(&self, files: &[Candidate]) -> Option<Vec<usize>> {
        let chosen = if self.order == ClusterOrder::OfTable { self.of_table(files) } else { self.of_all(files) };
        (!chosen.is_empty()).then_some(chosen)
    }

    /// Returns all files, or no file if all were clustered together in this way and no file was
    /// added since.
    fn of_all(&self, files: &[Candidate]) -> Vec<usize> {
        let all: Vec<usize> = (0..files.len()).collect();
        if !self.full && self.is_one_cube(files, &all) { Vec::new() } else { all }
    }

    /// Returns the files that are not clustered, and the cubes that are no larger than the files
    /// that are added to them. In this way each row is clustered again about as often as the table
    /// doubles. Files of other providers are left alone. Files that are clustered by other columns
    /// stay until `full` is set.
    fn of_table(&self, files: &[Candidate]) -> Vec<usize> {
        let own: Vec<usize> =
            (0..files.len()).filter(|place| !files[*place].cube.as_ref().is_some_and(ZCube::is_of_others)).collect();
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

    /// Returns whether these files were clustered together in this way and have no excess of
    /// deleted rows.
    fn is_one_cube(&self, files: &[Candidate], places: &[usize]) -> bool {
        let first = places.first().and_then(|place| files[*place].cube.as_ref());
        places.iter().map(|place| &files[*place]).all(|file| {
            let is_of = file.cube.as_ref().is_some_and(|cube| self.is_of(cube));
            is_of && file.cube.as_ref() == first && !self.rules.purges(&file.file)
        })
    }

    /// Tags new files as clustered together.
    pub(super) fn mark<'a>(&self, adds: impl IntoIterator<Item = &'a mut Add>, id: &str) {
        let zcube = ZCube {
            id: Some(id.to_owned()),
            columns: Some(self.columns_text()),
            order: self.order.name().map(str::to_owned),
            provider: (self.order == ClusterOrder::OfTable).then(|| PROVIDER.to_owned()),
        };
        zcube.mark(adds);
    }

    /// Returns the names of the columns, as `a` or `a.b`.
    pub(super) fn column_names(&self) -> Vec<String> {
        self.columns.iter().map(|column| column.name.clone()).collect()
    }

    fn is_of(&self, cube: &ZCube) -> bool {
        cube.columns == Some(self.columns_text())
            && (self.order == ClusterOrder::OfTable || cube.order.as_deref() == self.order.name())
    }

    fn columns_text(&self) -> String {
        serde_json::Value::from(self.column_names()).to_string()
    }
}

impl ClusterOrder {
    /// Returns the name in tags.
    fn name(self) -> Option<&'static str> {
        match self {
            Self::ZOrder => Some("zorder"),
            Self::Best => Some("cluster"),
            Self::OfTable => None,
        }
    }
}

#[cfg(test)]
mod tests;
