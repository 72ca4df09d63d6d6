//! Metrics. Those of a scan are counted while it runs, and read when it has ended. Those of a verb
//! are declared with `metrics!`, once for the result and for the history.

use std::sync::atomic::{AtomicU64, Ordering};

/// The result of planning a scan. Each file counts once: for the first reason to skip it, or as
/// kept.
#[derive(Debug, Default)]
pub struct PlanMetrics {
    /// Files that partition values ruled out.
    pub skipped_by_partition: Counter,
    /// Files that statistics ruled out.
    pub skipped_by_statistics: Counter,
    /// Files that may hold rows.
    pub kept: Counter,
    /// The sizes of the kept files.
    pub kept_bytes: Counter,
}

/// A number that only grows, counted by several threads.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds to the count.
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// Returns the count so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// An operation in the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HistoryOf {
    Write,
    /// The further metrics of a write that replaces rows.
    Overwrite,
    /// The further metrics of a write that replaces the rows for which a predicate is true.
    ReplaceWhere,
    Delete,
    Update,
    Merge,
    Optimize,
    VacuumStart,
    VacuumEnd,
    Restore,
    Clone,
    Convert,
    Erase,
}

/// A metric, which may be unknown.
pub(crate) trait Metric {
    /// Returns the number, if it is known.
    fn number(&self) -> Option<u64>;
}

impl Metric for u64 {
    fn number(&self) -> Option<u64> {
        Some(*self)
    }
}

impl Metric for Option<u64> {
    fn number(&self) -> Option<u64> {
        *self
    }
}

/// Declares the metrics of a verb. The name of a field is its name in results, also in Python.
/// `#[history(…)]` gives Delta Spark's names in the history, by operation.
///
/// It adds the method `history`, which returns the metrics of an operation with these names. A
/// number that is not known is not in the history.
macro_rules! metrics {
    (
        $(#[$of_struct:meta])*
        $of_name:vis struct $name:ident {
            $(
                $(#[doc = $doc:literal])*
                $(#[history($($operation:ident = $in_history:literal),+)])?
                $of_field:vis $field:ident: $type:ty,
            )+
        }
    ) => {
        $(#[$of_struct])*
        $of_name struct $name {
            $(
                $(#[doc = $doc])*
                $of_field $field: $type,
            )+
        }

        impl $name {
            /// Returns the metrics that the history of an operation has, with Delta Spark's names.
            pub(crate) fn history(&self, of: $crate::metrics::HistoryOf) -> impl Iterator<Item = (&'static str, u64)> + use<> {
                use $crate::metrics::{HistoryOf, Metric};
                let all = [$($($((HistoryOf::$operation, $in_history, self.$field.number())),+,)?)+];
                all.into_iter().filter(move |(operation, ..)| *operation == of).filter_map(|(_, name, number)| Some((name, number?)))
            }
        }
    };
}

pub(crate) use metrics;

#[cfg(test)]
mod tests {
    use super::HistoryOf;

    metrics! {
        struct Counts {
            #[history(Delete = "numDeletedRows", Merge = "numTargetRowsDeleted")]
            deleted_rows: Option<u64>,
            #[history(Delete = "numAddedFiles")]
            added_files: u64,
        }
    }

    #[test]
    fn history_has_known_metrics_of_operation() {
        let history = |deleted_rows, of| Counts { deleted_rows, added_files: 2 }.history(of).collect::<Vec<_>>();
        assert_eq!(history(Some(1), HistoryOf::Delete), [("numDeletedRows", 1), ("numAddedFiles", 2)]);
        assert_eq!(history(Some(1), HistoryOf::Merge), [("numTargetRowsDeleted", 1)]);
        assert_eq!(history(None, HistoryOf::Delete), [("numAddedFiles", 2)]);
        assert_eq!(history(None, HistoryOf::Update), []);
    }
}
