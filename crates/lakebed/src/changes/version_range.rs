//! Which changes are read. The bounds of their range are versions, or timestamps that are converted
//! to versions. Begin with [`Table::changes_between`].

use serde::Deserialize;
use tokio::sync::OnceCell;

use super::feed::Changes;
use crate::snapshot::CommitTimes;
use crate::{Error, Result, Table};

/// The options of a change data feed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChangesOptions {
    /// Where the changes begin.
    pub start: Bound,
    /// Where the changes end. The default is the newest version.
    pub end: Option<Bound>,
    /// The columns of the table, in this order. The columns of the feed follow after them.
    pub columns: Option<Vec<String>>,
    /// Only changes of rows for which this Spark SQL expression is true are returned.
    #[serde(rename = "where")]
    pub filter: Option<String>,
}

/// An inclusive bound of a range of versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Bound {
    /// This version.
    #[serde(rename = "version")]
    Version(u64),
    /// A timestamp, in milliseconds since the epoch. As a start, it means the first version that
    /// was committed at this time or later. As an end, it means the last version that was committed
    /// at this time or earlier.
    #[serde(rename = "timestamp_ms")]
    Timestamp(i64),
}

impl Default for Bound {
    fn default() -> Self {
        Self::Version(0)
    }
}

impl Table {
    /// Returns the changes that the options select, as [`Self::changes_between`] does.
    pub async fn changes_with(&self, options: ChangesOptions) -> Result<Changes> {
        let ChangesOptions { start, end, columns, filter } = options;
        let mut changes = self.changes_between(start, end).await?;
        if let Some(columns) = columns {
            changes = changes.select(columns);
        }
        if let Some(filter) = filter {
            changes = changes.filter(filter);
        }
        Ok(changes)
    }

    /// Returns the changes from one bound to another, or to the newest version, with the columns of
    /// the last version in the range. All these versions must record changes.
    ///
    /// A timestamp without a version is an error of the kind
    /// [`VersionNotFound`](crate::ErrorKind::VersionNotFound). This applies to a start that is
    /// later than the newest version, and to a timestamp that is older than the log. An end in the
    /// future means the newest version. Two timestamps with no version between them give no
    /// changes.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> lakebed::Result<()> {
    /// use lakebed::changes::Bound;
    ///
    /// let url = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/trips");
    /// let table = lakebed::Table::at(url).open().await?;
    /// let error = table.changes_between(Bound::Timestamp(i64::MAX), None).await.unwrap_err();
    /// assert!(error.message().contains("is after the latest commit"));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn changes_between(&self, start: Bound, end: Option<Bound>) -> Result<Changes> {
        let latest = self.snapshot().await?;
        if let (Bound::Timestamp(from), Some(Bound::Timestamp(until))) = (start, end)
            && until < from
        {
            return Err(Error::invalid_input(format!(
                "{}: changes between two timestamps: the end comes before the start",
                latest.url()
            )));
        }
        let listed = OnceCell::new();
        let times = || listed.get_or_try_init(|| CommitTimes::list(&latest));
        let first = match start {
            Bound::Version(version) => version,
            Bound::Timestamp(time) => times().await?.first_since(time).await?,
        };
        let last = match end {
            Some(Bound::Version(version)) => version,
            Some(Bound::Timestamp(time)) => times().await?.last_until(time).await?,
            // A start after the newest version is reported as such.
            None => latest.version().max(first),
        };
        // There may be no version between two timestamps.
        if last + 1 == first && matches!((start, end), (Bound::Timestamp(_), Some(Bound::Timestamp(_)))) {
            return Changes::none_since(self, latest.clone(), last).await;
        }
        Changes::of(self, latest.clone(), first..=last).await
    }
}
