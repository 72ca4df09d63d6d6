//! How long what left a table stays: what is asked for against what the table says.

use std::time::Duration;

use super::options::VacuumOptions;
use crate::{Error, Result, Snapshot};

const HOUR_MS: f64 = 3_600_000.0;

/// How long, in milliseconds, and from when on things are too young to go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Retention {
    pub(super) retention_ms: i64,
    /// What happened at this moment or later counts as within the retention.
    pub(super) cutoff_ms: i64,
}

impl Retention {
    /// As asked for, else as the table says. A shorter one than that is refused.
    pub(super) fn of(snapshot: &Snapshot, options: &VacuumOptions) -> Result<Self> {
        let retention_ms = options.retention.map_or(snapshot.properties().deleted_file_retention_ms, millis);
        let cutoff_ms = snapshot.env().now_ms().saturating_sub(retention_ms);
        let retention = Self { retention_ms, cutoff_ms };
        retention.check(snapshot, options)?;
        Ok(retention)
    }

    /// Refuses to be shorter than a version asks for.
    pub(super) fn check(&self, snapshot: &Snapshot, options: &VacuumOptions) -> Result<()> {
        let of_table_ms = snapshot.properties().deleted_file_retention_ms;
        if !options.enforce_retention || self.retention_ms >= of_table_ms {
            return Ok(());
        }
        let hours = |ms: i64| ms as f64 / HOUR_MS;
        Err(Error::invalid_input(format!(
            "{}: a retention of {} hours is shorter than the {} hours of the table (delta.deletedFileRetentionDuration): files would go that \
             readers of an older version still read, and files of writers that have not committed yet, whose rows would be lost. If nobody \
             needs that long, set the property; if nobody else uses the table now, leave the check out with enforce_retention = false",
            snapshot.url(),
            hours(self.retention_ms),
            hours(of_table_ms),
        )))
    }

    /// Whether the state of a version may have forgotten what left the table within the retention.
    pub(super) fn exceeds_memory_of(&self, snapshot: &Snapshot) -> bool {
        self.retention_ms > snapshot.properties().deleted_file_retention_ms
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
