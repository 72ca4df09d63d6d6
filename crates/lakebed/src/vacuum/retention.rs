//! The retention period of a vacuum: from the options, checked against the table's property.

use std::time::Duration;

use super::options::VacuumOptions;
use crate::{Error, Result, Snapshot};

const HOUR_MS: f64 = 3_600_000.0;

/// The retention period in milliseconds, and the time from which files are kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Retention {
    pub(super) retention_ms: i64,
    /// Events at this time or later are within the retention period.
    pub(super) cutoff_ms: i64,
}

impl Retention {
    /// Returns the period of the options, else the period of the table. A shorter period than the
    /// table's is refused.
    pub(super) fn of(snapshot: &Snapshot, options: &VacuumOptions) -> Result<Self> {
        let retention_ms = options.retention.map_or(snapshot.properties().deleted_file_retention_ms, millis);
        let cutoff_ms = snapshot.env().now_ms().saturating_sub(retention_ms);
        let retention = Self { retention_ms, cutoff_ms };
        retention.check(snapshot, options)?;
        Ok(retention)
    }

    /// Refuses a period that is shorter than the property of a version.
    pub(super) fn check(&self, snapshot: &Snapshot, options: &VacuumOptions) -> Result<()> {
        let of_table_ms = snapshot.properties().deleted_file_retention_ms;
        if !options.enforce_retention || self.retention_ms >= of_table_ms {
            return Ok(());
        }
        let hours = |ms: i64| ms as f64 / HOUR_MS;
        Err(Error::invalid_input(format!(
            "{}: a retention of {} hours is shorter than the {} hours of the table (delta.deletedFileRetentionDuration): the \
             vacuum would delete files that readers of an older version still read, and files of writers that have not committed \
             yet, whose rows would be lost. If nobody needs such a long retention, set the property; if nobody else uses the \
             table now, skip this check with enforce_retention = false",
            snapshot.url(),
            hours(self.retention_ms),
            hours(of_table_ms),
        )))
    }

    /// Returns whether the period is longer than the time for which a version keeps tombstones.
    pub(super) fn exceeds_memory_of(&self, snapshot: &Snapshot) -> bool {
        self.retention_ms > snapshot.properties().deleted_file_retention_ms
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
