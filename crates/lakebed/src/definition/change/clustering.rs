//! The change of the clustering columns.

use lakebed_core::commit::info::Operation;

use super::draft::ChangeDraft;
use crate::clustering::{key_columns_of, logical_column};
use crate::{Error, Result};

impl ChangeDraft {
    pub(super) fn cluster_by(&mut self, names: &[String]) -> Result<()> {
        if !self.metadata.partition_columns.is_empty() {
            return Err(Error::invalid_input("the table is partitioned, and a table cannot be both partitioned and clustered"));
        }
        let mode = self.mode()?;
        let columns = if names.is_empty() { Vec::new() } else { key_columns_of(&self.schema, mode, &[], names)? };
        let physical: Vec<Vec<String>> = columns.iter().map(|column| column.physical.clone()).collect();
        if physical == self.clustering {
            return Ok(());
        }
        let old: Vec<String> = self.clustering.iter().filter_map(|column| logical_column(&self.schema, mode, column)).collect();
        let new: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let operation =
            Operation::new("CLUSTER BY").with("oldClusteringColumns", old.join(",")).with("newClusteringColumns", new.join(","));
        self.record(operation);
        self.clustering = physical;
        self.changes_clustering = true;
        Ok(())
    }
}
