//! The times at which versions were created, and the version that a timestamp means.
//!
//! There are two clocks: the times of the commit files, made strictly increasing ([`monotonise`]),
//! and the in-commit timestamps of tables that have them, from the version at which they were
//! enabled. In-commit timestamps are inside the commits, so [`Search`] requests only the few that
//! it needs. PROTOCOL "In-Commit Timestamps".

#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;

use chrono::{DateTime, SecondsFormat};

use crate::{Error, ErrorKind, Result};

/// The time at which a version was created, in milliseconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VersionTime {
    /// The version.
    pub version: u64,
    /// The time.
    pub timestamp_ms: i64,
}

/// The point from which a table has in-commit timestamps. A table that was created with them has
/// them since version 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IctEnablement {
    /// The first version that has an in-commit timestamp.
    pub version: u64,
    /// The in-commit timestamp of this version. If it is unknown, it is the least number.
    pub timestamp_ms: i64,
}

/// Makes the times of commit files strictly increasing. Each time becomes at least a millisecond
/// later than the previous one.
///
/// The commits must be in order. The result depends on the first of them, as in Delta Spark.
pub fn monotonise(commits: &mut [VersionTime]) {
    let mut least = i64::MIN;
    for commit in commits {
        commit.timestamp_ms = commit.timestamp_ms.max(least);
        least = commit.timestamp_ms.saturating_add(1);
    }
}

/// The search for the version that a timestamp means. This is the latest version that was created
/// at or before the timestamp.
///
/// Call [`step`](Self::step) until it is done. Whenever it needs a version's in-commit timestamp,
/// pass it to [`learn`](Self::learn).
#[derive(Debug, Clone)]
pub struct Search {
    timestamp_ms: i64,
    state: State,
}

#[derive(Debug, Clone)]
enum State {
    /// The result, which file times alone decided.
    Done(u64),
    /// A search among in-commit timestamps. Neither end of the range has been read yet.
    Ends { versions: RangeInclusive<u64> },
    /// The timestamp of the last version is known to be later than the one that is searched.
    First { versions: RangeInclusive<u64> },
    /// The version `not_younger` was created at or before the timestamp, and `younger` was created
    /// after it.
    Between { not_younger: u64, younger: u64 },
}

/// The next step of a [`Search`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The search needs this version's in-commit timestamp.
    Read(u64),
    /// The search is done, and this is the version.
    Done(u64),
}

impl Search {
    /// Creates a search among the commits of the versions that can be reconstructed, in order, with
    /// the times of their files.
    ///
    /// PROTOCOL "Recommendations for Readers of Tables with In-Commit Timestamps": the enablement
    /// decides which clock applies to a timestamp.
    pub fn new(timestamp_ms: i64, commits: &[VersionTime], ict: Option<IctEnablement>) -> Result<Self> {
        let (Some(first), Some(last)) = (commits.first(), commits.last()) else {
            return Err(Error::new(ErrorKind::VersionNotFound, "the log has no commits, so no version has a timestamp"));
        };
        if let Some(ict) = ict.filter(|ict| ict.version <= last.version)
            && (timestamp_ms >= ict.timestamp_ms || ict.version <= first.version)
        {
            let versions = ict.version.max(first.version)..=last.version;
            return Ok(Self { timestamp_ms, state: State::Ends { versions } });
        }
        let has_later = ict.is_some_and(|ict| ict.version <= last.version);
        let mut times: Vec<VersionTime> =
            commits.iter().filter(|commit| ict.is_none_or(|ict| commit.version < ict.version)).copied().collect();
        monotonise(&mut times);
        let state = State::Done(among_file_times(timestamp_ms, &times, has_later)?);
        Ok(Self { timestamp_ms, state })
    }

    /// Returns the next step of the search.
    pub fn step(&self) -> Step {
        match &self.state {
            State::Done(version) => Step::Done(*version),
            State::Ends { versions } => Step::Read(*versions.end()),
            State::First { versions } => Step::Read(*versions.start()),
            State::Between { not_younger, younger } => match younger.saturating_sub(*not_younger) {
                0 | 1 => Step::Done(*not_younger),
                width => Step::Read(not_younger + width / 2),
            },
        }
    }

    /// Receives the in-commit timestamp of the version that [`step`](Self::step) requested.
    pub fn learn(&mut self, timestamp_ms: i64) -> Result<()> {
        let wanted = self.timestamp_ms;
        let younger_than_wanted = timestamp_ms > wanted;
        self.state = match (&self.state, self.step()) {
            (State::Ends { versions }, _) if !younger_than_wanted => {
                let last = VersionTime { version: *versions.end(), timestamp_ms };
                State::Done(not_after(wanted, last)?)
            }
            (State::Ends { versions }, _) if versions.start() == versions.end() => {
                return Err(before(wanted, VersionTime { version: *versions.start(), timestamp_ms }));
            }
            (State::Ends { versions }, _) => State::First { versions: versions.clone() },
            (State::First { versions }, _) if younger_than_wanted => {
                return Err(before(wanted, VersionTime { version: *versions.start(), timestamp_ms }));
            }
            (State::First { versions }, _) => State::Between { not_younger: *versions.start(), younger: *versions.end() },
            (State::Between { not_younger, .. }, Step::Read(version)) if younger_than_wanted => {
                State::Between { not_younger: *not_younger, younger: version }
            }
            (State::Between { younger, .. }, Step::Read(version)) => State::Between { not_younger: version, younger: *younger },
            (_, Step::Done(version)) => State::Done(version),
            (State::Done(version), _) => State::Done(*version),
        };
        Ok(())
    }
}

/// Searches among file times. `has_later` is true if versions follow that are younger than any of
/// these timestamps.
fn among_file_times(timestamp_ms: i64, times: &[VersionTime], has_later: bool) -> Result<u64> {
    let after = times.partition_point(|time| time.timestamp_ms <= timestamp_ms);
    match (after.checked_sub(1).and_then(|index| times.get(index)), times.first()) {
        (Some(found), _) if after < times.len() || has_later => Ok(found.version),
        (Some(last), _) => not_after(timestamp_ms, *last),
        (None, Some(first)) => Err(before(timestamp_ms, *first)),
        (None, None) => Err(Error::internal("a search among no commits")),
    }
}

/// Returns the latest version, unless the timestamp is later. The meaning of a later timestamp may
/// still change.
fn not_after(timestamp_ms: i64, last: VersionTime) -> Result<u64> {
    if timestamp_ms <= last.timestamp_ms {
        return Ok(last.version);
    }
    let message = format!(
        "timestamp {} is after the latest commit, version {} at {}: open that version, or the latest one",
        iso(timestamp_ms),
        last.version,
        iso(last.timestamp_ms)
    );
    Err(Error::new(ErrorKind::VersionNotFound, message))
}

fn before(timestamp_ms: i64, first: VersionTime) -> Error {
    let message = format!(
        "timestamp {} is before the earliest commit that can be read, version {} at {}",
        iso(timestamp_ms),
        first.version,
        iso(first.timestamp_ms)
    );
    Error::new(ErrorKind::VersionNotFound, message)
}

/// Formats a timestamp as in `2026-01-31T12:00:00.000Z`, or as a number if it is outside the
/// calendar's range.
fn iso(timestamp_ms: i64) -> String {
    match DateTime::from_timestamp_millis(timestamp_ms) {
        Some(time) => time.to_rfc3339_opts(SecondsFormat::Millis, true),
        None => format!("{timestamp_ms} ms"),
    }
}
