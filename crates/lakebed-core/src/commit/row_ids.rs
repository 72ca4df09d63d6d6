//! Assigns new row ids. PROTOCOL "Row IDs": each new file gets the next ids above the table's
//! high-water mark, one for every physical row.

use serde::{Deserialize, Serialize};

use crate::action::{Add, DomainMetadata, Protocol};
use crate::property::TableProperties;
use crate::{Error, Result};

/// The domain that keeps the highest row id that was ever assigned.
pub const DOMAIN: &str = "delta.rowTracking";

/// The high-water mark of a table that has assigned no row ids.
pub const NONE_GIVEN: i64 = -1;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Configuration {
    row_id_high_water_mark: i64,
}

/// Returns whether new files get row ids.
pub fn are_given(protocol: &Protocol, properties: &TableProperties) -> bool {
    let listed = protocol.writer_features.iter().flatten().any(|feature| feature == "rowTracking");
    listed && !properties.row_tracking_suspended
}

/// Returns the high-water mark in the domain's configuration.
pub fn high_water_mark(domain: Option<&DomainMetadata>) -> Result<i64> {
    let Some(domain) = domain.filter(|domain| !domain.removed) else { return Ok(NONE_GIVEN) };
    let configuration: Configuration = serde_json::from_str(&domain.configuration).map_err(|error| {
        Error::corrupt(DOMAIN, format!("the domain's configuration cannot be parsed: {}", domain.configuration))
            .with_source(error)
    })?;
    Ok(configuration.row_id_high_water_mark)
}

/// Returns the domain with this high-water mark.
pub fn domain(high_water_mark: i64) -> Result<DomainMetadata> {
    let configuration = serde_json::to_string(&Configuration { row_id_high_water_mark: high_water_mark })
        .map_err(|error| Error::internal("a number that JSON cannot hold").with_source(error))?;
    Ok(DomainMetadata { domain: DOMAIN.to_owned(), configuration, removed: false })
}

/// Assigns row ids to new files.
#[derive(Debug, Clone)]
pub struct RowIds {
    next: i64,
    version: i64,
}

impl RowIds {
    /// Creates a state that assigns ids above this high-water mark to files of this version.
    pub fn above(high_water_mark: i64, version: u64) -> Self {
        Self { next: high_water_mark.saturating_add(1), version: i64::try_from(version).unwrap_or(i64::MAX) }
    }

    /// Returns the first row id of a file and the commit version of its rows. A file keeps its own
    /// values if it has them, and gets new ones otherwise.
    pub fn give(&mut self, add: &Add) -> Result<(i64, i64)> {
        let version = add.default_row_commit_version.unwrap_or(self.version);
        if let Some(base) = add.base_row_id {
            return Ok((base, version));
        }
        let rows = add.num_records().ok_or_else(|| {
            let message =
                format!("{}: a file of a table with row tracking needs the number of its rows in its statistics", add.path);
            Error::internal(message)
        })?;
        Ok((self.give_next(rows)?, version))
    }

    /// Returns the first row id of a new file with this number of rows.
    pub fn give_next(&mut self, rows: i64) -> Result<i64> {
        let base = self.next;
        self.next = base.checked_add(rows).ok_or_else(|| Error::invalid_input("the table has no row ids left to give"))?;
        Ok(base)
    }

    /// Returns the commit version of the rows of new files.
    pub fn version(&self) -> i64 {
        self.version
    }

    /// Returns the highest row id assigned so far.
    pub fn high_water_mark(&self) -> i64 {
        self.next - 1
    }
}

#[cfg(test)]
mod tests;
