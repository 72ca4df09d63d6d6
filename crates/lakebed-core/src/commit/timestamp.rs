//! When versions were made, and which version a timestamp means.
//!
//! Two clocks: the times of the commit files, made strictly increasing ([`monotonise`]), and the
//! in-commit timestamps of tables that have them, from the version on at which they got them. The
//! latter stand inside the commits, so [`Search`] asks for those few that it needs. PROTOCOL
//! "In-Commit Timestamps".

#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;

use chrono::{DateTime, SecondsFormat};

use crate::{Error, ErrorKind, Result};

/// When a version was made, in milliseconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VersionTime {
    /// The version.
    pub version: u64,
    /// When.
    pub timestamp_ms: i64,
}

/// Since when a table has in-commit timestamps. A table that was made with them has them since
/// version 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IctEnablement {
    /// The first version that has one.
    pub version: u64,
    /// Its in-commit timestamp; if unknown, the least number.
    pub timestamp_ms: i64,
}

/// Makes the times of commit files strictly increasing: each at least a millisecond later than the
/// one before.
///
/// The commits must be in order. The outcome depends on the first of them, as it does in Delta
/// Spark.
pub fn monotonise(commits: &mut [VersionTime]) {
    let mut least = i64::MIN;
    for commit in commits {
        commit.timestamp_ms = commit.timestamp_ms.max(least);
        least = commit.timestamp_ms.saturating_add(1);
    }
}

/// The search for the version that a timestamp means: the latest one that is not younger.
///
/// Call [`step`](Self::step) until it is done; whenever it wants to know a version's in-commit
/// timestamp, [`learn`](Self::learn) it.
#[derive(Debug, Clone)]
pub struct Search {
    timestamp_ms: i64,
    state: State,
}

#[derive(Debug, Clone)]
enum State {
    /// The answer, from file times alone.
    Done(u64),
    /// In-commit timestamps, of which neither end is known yet.
    Ends { versions: RangeInclusive<u64> },
    /// The youngest is known to be younger.
    First { versions: RangeInclusive<u64> },
    /// `not_younger` is not younger than the timestamp, `younger` is.
    Between { not_younger: u64, younger: u64 },
}

/// What a [`Search`] wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// To know this version's in-commit timestamp.
    Read(u64),
    /// Nothing more: this is the version.
    Done(u64),
}

impl Search {
    /// Searches among commits: those of the versions that can be rebuilt, in order, with the times
    /// of their files.
    ///
    /// PROTOCOL "Recommendations for Readers of Tables with In-Commit Timestamps": the enablement
    /// decides which clock a timestamp is read by.
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

    /// What the search wants now.
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

    /// Takes the in-commit timestamp of the version that [`step`](Self::step) wanted to know.
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

/// `has_later` tells that versions follow that are younger than any of these timestamps.
fn among_file_times(timestamp_ms: i64, times: &[VersionTime], has_later: bool) -> Result<u64> {
    let after = times.partition_point(|time| time.timestamp_ms <= timestamp_ms);
    match (after.checked_sub(1).and_then(|index| times.get(index)), times.first()) {
        (Some(found), _) if after < times.len() || has_later => Ok(found.version),
        (Some(last), _) => not_after(timestamp_ms, *last),
        (None, Some(first)) => Err(before(timestamp_ms, *first)),
        (None, None) => Err(Error::internal("a search among no commits")),
    }
}

/// The latest version, unless the timestamp is later: then what it means may still change.
fn not_after(timestamp_ms: i64, last: VersionTime) -> Result<u64> {
    if timestamp_ms <= last.timestamp_ms {
        return Ok(last.version);
    }
    let message = format!(
        "timestamp {} is after the latest commit, version {} at {}: ask for that version, or for the latest one",
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

/// As in `2026-01-31T12:00:00.000Z`; as a number if it lies beyond all calendars.
fn iso(timestamp_ms: i64) -> String {
    match DateTime::from_timestamp_millis(timestamp_ms) {
        Some(time) => time.to_rfc3339_opts(SecondsFormat::Millis, true),
        None => format!("{timestamp_ms} ms"),
    }
}
