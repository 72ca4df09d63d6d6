//! Finds the row groups in which the statistics of the footer prove that a column is null in every
//! row.

use parquet::file::metadata::RowGroupMetaData;

use super::file::ParquetFile;

impl ParquetFile {
    /// Returns the row groups for which the statistics do not prove that this top-level column is
    /// null in every row.
    pub fn row_groups_with(&self, column: &str) -> Vec<usize> {
        let groups = self.metadata.row_groups().iter().enumerate();
        groups.filter(|(_, group)| !is_all_null(group, column)).map(|(index, _)| index).collect()
    }
}

/// Returns whether statistics prove that a top-level column is null in every row.
///
/// A leaf without repetition is null if its column is null. So if all such leaves are null, the
/// column is null, provided that each of its values has at least one leaf that is never null. Every
/// action of a checkpoint has one.
fn is_all_null(group: &RowGroupMetaData, column: &str) -> bool {
    let leaves = group.columns().iter().filter(|leaf| {
        leaf.column_descr().max_rep_level() == 0 && leaf.column_path().parts().first().is_some_and(|root| root == column)
    });
    let mut found = false;
    for leaf in leaves {
        found = true;
        let nulls = leaf.statistics().and_then(|statistics| statistics.null_count_opt());
        if nulls.and_then(|nulls| i64::try_from(nulls).ok()) != Some(group.num_rows()) {
            return false;
        }
    }
    found
}
