//! Where changes begin and end: versions, or moments that mean versions. Read [`Table::changes_between`] first.

use tokio::sync::OnceCell;

use super::feed::Changes;
use crate::snapshot::CommitTimes;
use crate::{Error, Result, Table};

/// An end of a range of versions, which belongs to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// This version.
    Version(u64),
    /// Where changes begin, the first version that was made at this time or later; where they end, the last one that was made at this time or
    /// earlier. In milliseconds since the epoch.
    Timestamp(i64),
}

impl Table {
    /// The changes from one bound to another, or to the newest version; with the columns of the last version among them. The table must record
    /// changes in all of them.
    ///
    /// A time that no version answers to is an error of the kind [`VersionNotFound`](crate::ErrorKind::VersionNotFound): one later than the
    /// newest version where changes begin, and one older than the log remembers. An end in the future is the newest version. Two times
    /// with no version between them give no changes.
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
                "{}: changes between two times: the end comes before the start",
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
            // A start that is not there yet is told as such.
            None => latest.version().max(first),
        };
        // Between two moments, nothing need have happened.
        if last + 1 == first && matches!((start, end), (Bound::Timestamp(_), Some(Bound::Timestamp(_)))) {
            return Changes::none_since(self, latest.clone(), last).await;
        }
        Changes::of(self, latest.clone(), first..=last).await
    }
}
