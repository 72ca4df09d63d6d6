//! Explains a scan: the files that it would read, and the reasons why it does not skip more files.

use futures::TryStreamExt;
use lakebed_expr::prune::{ConjunctCounts, SkippedBy};

use super::Scan;
use super::plan::{Plan, PlanOptions};
use crate::Result;

/// The explanation of a scan. All counts are numbers of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The URL of the table.
    pub table: String,
    /// The version of the table.
    pub version: u64,
    /// The files that may hold rows of the scan.
    pub files: u64,
    /// The size of these files in bytes.
    pub size_bytes: u64,
    /// The files that were skipped by partition values.
    pub skipped_by_partition: u64,
    /// The files that were skipped by statistics.
    pub skipped_by_statistics: u64,
    /// The predicate as it was parsed.
    pub filter: Option<String>,
    /// The conjuncts of the predicate, in order.
    pub conjuncts: Vec<ExplainedConjunct>,
}

/// The files that one conjunct of the predicate skipped. A file counts for the first conjunct that
/// can skip it. Partition values are tried before statistics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedConjunct {
    /// The text of the conjunct.
    pub text: String,
    /// The files that the conjunct skipped by partition values.
    pub skipped_by_partition: u64,
    /// The files that the conjunct skipped by statistics.
    pub skipped_by_statistics: u64,
    /// The reason why the conjunct did not skip the remaining files; None if no files remain.
    pub reason: Option<String>,
}

impl Scan {
    /// Plans the scan and returns the result of the plan. No data is read.
    pub async fn explain(&self) -> Result<Explanation> {
        let scan = self.by_log().await?;
        let filter = scan.parsed_filter()?;
        let options = PlanOptions { exact_metrics: true, ..PlanOptions::default() };
        let plan = Plan::new(&scan.snapshot, filter.as_deref(), options)?;
        plan.files().try_for_each(|_| async { Ok(()) }).await?;
        let metrics = plan.metrics();
        let kept = metrics.kept.get();
        let conjuncts = plan.pruner().into_iter().flat_map(|pruner| pruner.conjuncts()).zip(plan.by_conjunct());
        Ok(Explanation {
            table: self.snapshot.url().to_owned(),
            version: self.snapshot.version(),
            files: kept,
            size_bytes: metrics.kept_bytes.get(),
            skipped_by_partition: metrics.skipped_by_partition.get(),
            skipped_by_statistics: metrics.skipped_by_statistics.get(),
            filter: filter.map(|filter| filter.text().to_owned()),
            conjuncts: conjuncts.map(|((text, used), counts)| explained(text, used, counts, kept)).collect(),
        })
    }
}

fn explained(text: &str, used: &SkippedBy, counts: ConjunctCounts, kept: u64) -> ExplainedConjunct {
    ExplainedConjunct {
        text: text.to_owned(),
        skipped_by_partition: counts.by_partition as u64,
        skipped_by_statistics: counts.by_stats as u64,
        reason: (kept > 0).then(|| reason(used, counts.undecided as u64, kept)),
    }
}

/// Returns the reason why files remain.
fn reason(used: &SkippedBy, undecided: u64, kept: u64) -> String {
    match used {
        SkippedBy::Nothing(reason) => reason.clone(),
        SkippedBy::Partitions(names) => format!("the values of {} allow it", names.join(", ")),
        SkippedBy::Statistics { names, asks_of_nan } => {
            let names = names.join(", ");
            let missing = if *asks_of_nan { "are missing or may leave NaN out" } else { "are missing" };
            match (kept.saturating_sub(undecided), undecided) {
                (_, 0) => format!("the statistics of {names} allow it"),
                (0, _) => format!("statistics of {names} {missing}"),
                (allowed, of_files) => {
                    format!("the statistics of {names} allow it in {allowed} files, and {missing} in {of_files}")
                }
            }
        }
    }
}
