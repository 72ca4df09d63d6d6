//! The names below a table's folder that a vacuum ignores.

use lakebed_core::path::hive;

use crate::Snapshot;

/// Folders that begin like hidden ones, but contain files of the table: change data files and
/// indexes.
const OPEN: [&str; 2] = ["_change_data", "_delta_index"];

/// The folder in which other formats store their metadata of the same table.
const OTHERS_METADATA: &str = "metadata";

/// Decides which names are hidden.
#[derive(Debug, Clone, Default)]
pub(super) struct HiddenNames {
    /// The beginnings of folders of partition columns with hidden names.
    partitions: Vec<String>,
}

impl HiddenNames {
    /// Creates the rules from the partition columns of a version, under both their logical and
    /// their physical names.
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        let columns = snapshot.partition_columns().iter().cloned().chain(snapshot.physical_partition_columns());
        Self::of_columns(columns)
    }

    fn of_columns(columns: impl IntoIterator<Item = String>) -> Self {
        let prefix = |column: String| format!("{}=", hive::escape(&column));
        Self { partitions: columns.into_iter().map(prefix).filter(|prefix| prefix.starts_with(['_', '.'])).collect() }
    }

    /// Returns whether a file is hidden or is in a hidden folder. `path` is below the table.
    pub(super) fn hides(&self, path: &str) -> bool {
        path.split('/').next() == Some(OTHERS_METADATA) || path.split('/').any(|name| self.hides_name(name))
    }

    fn hides_name(&self, name: &str) -> bool {
        let starts_with = |prefix: &str| name.starts_with(prefix);
        name.starts_with(['_', '.'])
            && !OPEN.iter().any(|open| starts_with(open))
            && !self.partitions.iter().any(|prefix| starts_with(prefix))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(paths: &[&str], hidden: bool) {
        let names = HiddenNames::of_columns(["_q".to_owned(), "p".to_owned(), "_a:b".to_owned()]);
        for path in paths {
            assert_eq!(names.hides(path), hidden, "{path}");
        }
    }

    #[test]
    fn names_of_the_table_are_open() {
        check(&["f", "p=_x/f", "_q=1/f", "_q=/f", "p=1/_q=_2/f", "_a%3Ab=1/f", "sub/metadata/f", "metadata_x", "a/b/c"], false);
        check(&["_change_data/f", "_change_data/p=1/f", "p=1/_change_data/f", "_delta_index/f", "_delta_index_x"], false);
    }

    #[test]
    fn hidden_names_are_so_in_any_folder() {
        check(
            &["_delta_log/0.json", "_delta_log/_sidecars/f", ".f", "_f", "p=1/.f.crc", "p=1/_tmp/f", "_q=1/_tmp/f", "_q"],
            true,
        );
        check(&["_other=1/f", "_qq=1/f", "_a:b=1/f", "metadata/v1.json", "metadata", "_change_data/_x/f", "_SUCCESS"], true);
    }
}
