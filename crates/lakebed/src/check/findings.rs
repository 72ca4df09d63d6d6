//! Collects findings. The memory is bounded by the limit of each kind.

use std::collections::BTreeMap;

use super::finding::{Finding, FindingKind};

/// The findings so far.
pub(super) struct Findings {
    limit: u64,
    pub(super) listed: Vec<Finding>,
    pub(super) counts: BTreeMap<FindingKind, u64>,
}

impl Findings {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit: limit as u64, listed: Vec::new(), counts: BTreeMap::new() }
    }

    /// Counts a finding, and keeps it unless enough of its kind are kept.
    pub(super) fn report(&mut self, finding: Finding) {
        let count = self.counts.entry(finding.kind).or_default();
        *count += 1;
        if *count <= self.limit {
            self.listed.push(finding);
        }
    }

    /// Returns no findings, with the same limit.
    pub(super) fn of_same_limit(&self) -> Self {
        Self { limit: self.limit, listed: Vec::new(), counts: BTreeMap::new() }
    }

    /// Adds findings that were collected apart.
    pub(super) fn absorb(&mut self, others: Self) {
        for (kind, more) in others.counts {
            let count = self.counts.entry(kind).or_default();
            let room = self.limit.saturating_sub(*count);
            let listed = others.listed.iter().filter(|finding| finding.kind == kind);
            self.listed.extend(listed.take(usize::try_from(room).unwrap_or(usize::MAX)).cloned());
            *count += more;
        }
    }

    /// Adds several findings.
    pub(super) fn extend(&mut self, findings: impl IntoIterator<Item = Finding>) {
        findings.into_iter().for_each(|finding| self.report(finding));
    }

    /// Returns whether there is a finding of one of these kinds.
    pub(super) fn has(&self, kinds: &[FindingKind]) -> bool {
        kinds.iter().any(|kind| self.counts.contains_key(kind))
    }
}
