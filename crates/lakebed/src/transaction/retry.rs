//! The policy for retries on a newer version: which conflicts allow one, for how long, and with
//! which pauses.
//!
//! A commit moves past other commits by itself as long as it does not conflict with them. After a
//! conflict, a verb may start again on the newest version. Each verb uses a [`Retry`] for that, and
//! its [`Retryable`] lists the conflicts after which it starts again. Read [`Retry::again`].

use std::time::Duration;

use lakebed_core::error::ConflictKind;
use lakebed_io::env::Env;

use super::CommitSettings;
use crate::{Error, ErrorKind, Result};

/// The limits of the pauses between attempts. The pauses are random, and their limit doubles each
/// time.
const FIRST_PAUSE: Duration = Duration::from_millis(4);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// The conflicts after which a verb may be retried.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Retryable {
    kinds: Vec<ConflictKind>,
    creation: bool,
}

/// The attempts of one verb, and their time limit.
pub(crate) struct Retry {
    env: Env,
    retryable: Retryable,
    timeout: Duration,
    begun: Duration,
    pauses: Pauses,
    conflicts: u64,
}

/// Random pauses, so that many writers that failed together do not try again together.
pub(super) struct Pauses {
    longest: Duration,
}

impl Retryable {
    /// Returns the conflicts of these kinds.
    pub(crate) fn of(kinds: impl IntoIterator<Item = ConflictKind>) -> Self {
        Self { kinds: kinds.into_iter().collect(), creation: false }
    }

    /// Returns the conflicts that are about changes of the table by another writer. They do not
    /// include the failure to take a version in time.
    pub(crate) fn all() -> Self {
        Self::of([
            ConflictKind::ProtocolChanged,
            ConflictKind::MetadataChanged,
            ConflictKind::ConcurrentAppend,
            ConflictKind::ConcurrentDeleteRead,
            ConflictKind::ConcurrentDeleteDelete,
            ConflictKind::ConcurrentTransaction,
        ])
    }

    /// Adds conflicts of these kinds if `condition` is true.
    #[must_use]
    pub(crate) fn or_if(mut self, condition: bool, kinds: impl IntoIterator<Item = ConflictKind>) -> Self {
        if condition {
            self.kinds.extend(kinds);
        }
        self
    }

    /// Adds the creation of the table by another writer.
    #[must_use]
    pub(crate) fn or_creation(self) -> Self {
        Self { creation: true, ..self }
    }

    fn allows(&self, error: &Error) -> bool {
        match error.kind() {
            ErrorKind::CommitConflict { winner_version: 0, .. } if self.creation => true,
            ErrorKind::CommitConflict { kind, retryable: true, .. } => self.kinds.contains(kind),
            _ => false,
        }
    }
}

impl Retry {
    /// Starts the time limit now.
    pub(crate) fn new(env: &Env, settings: &CommitSettings, retryable: Retryable) -> Self {
        Self {
            env: env.clone(),
            retryable,
            timeout: settings.timeout,
            begun: env.monotonic(),
            pauses: Pauses::new(),
            conflicts: 0,
        }
    }

    /// Returns after a pause if the verb may be retried.
    ///
    /// # Errors
    /// Returns the error of the attempt if it is no conflict that allows a retry, or if the time
    /// limit has passed.
    pub(crate) async fn again(&mut self, error: Error) -> Result<()> {
        if !self.retryable.allows(&error) {
            return Err(error);
        }
        self.conflicts += 1;
        if self.env.monotonic() - self.begun > self.timeout {
            return Err(self.timed_out(error));
        }
        self.env.sleep(self.pauses.next(self.env.random_u64())).await;
        Ok(())
    }

    /// Returns the number of attempts that failed because of another writer.
    pub(crate) fn conflicts(&self) -> u64 {
        self.conflicts
    }

    fn timed_out(&self, error: Error) -> Error {
        let (attempts, seconds) = (self.conflicts, self.timeout.as_secs_f64());
        let message = format!("{}; the timeout of {seconds} s ended after {attempts} attempts", error.message());
        Error::new(error.kind().clone(), message).with_source(error)
    }
}

impl Pauses {
    pub(super) fn new() -> Self {
        Self { longest: FIRST_PAUSE }
    }

    pub(super) fn next(&mut self, random: u64) -> Duration {
        let longest = u64::try_from(self.longest.as_micros()).unwrap_or(u64::MAX).max(1);
        self.longest = (self.longest * 2).min(LONGEST_PAUSE);
        Duration::from_micros(random % longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conflict(kind: ConflictKind, winner_version: u64) -> Error {
        Error::new(ErrorKind::CommitConflict { kind, winner_version, retryable: true }, "lost")
    }

    fn retry(env: &Env, timeout: Duration, retryable: Retryable) -> Retry {
        Retry::new(env, &CommitSettings { timeout, ..CommitSettings::default() }, retryable)
    }

    #[test]
    fn retryable_allows_only_its_kinds() {
        let appends = Retryable::of([ConflictKind::ConcurrentAppend]);
        assert!(appends.allows(&conflict(ConflictKind::ConcurrentAppend, 7)));
        assert!(!appends.allows(&conflict(ConflictKind::MetadataChanged, 7)));
        assert!(!appends.allows(&Error::invalid_input("no conflict")));
        assert!(!Retryable::all().allows(&conflict(ConflictKind::ConcurrentWrite, 7)));
    }

    #[test]
    fn creation_is_the_conflict_with_version_zero() {
        let made = conflict(ConflictKind::ConcurrentWrite, 0);
        assert!(!Retryable::all().allows(&made));
        assert!(Retryable::default().or_creation().allows(&made));
        assert!(!Retryable::default().or_creation().allows(&conflict(ConflictKind::ConcurrentWrite, 1)));
    }

    #[tokio::test]
    async fn again_counts_and_pauses() {
        let (env, timeout) = (Env::seeded(7), Duration::from_secs(600));
        let mut retry = retry(&env, timeout, Retryable::all());
        for expected in 1..=5 {
            retry.again(conflict(ConflictKind::ConcurrentAppend, 1)).await.unwrap();
            assert_eq!(retry.conflicts(), expected);
        }
    }

    #[tokio::test]
    async fn again_after_timeout_returns_the_conflict() {
        let env = Env::seeded(7);
        let mut retry = retry(&env, Duration::ZERO, Retryable::all());
        env.sleep(Duration::from_millis(1)).await;
        let error = retry.again(conflict(ConflictKind::ConcurrentAppend, 4)).await.unwrap_err();
        let kind = ErrorKind::CommitConflict { kind: ConflictKind::ConcurrentAppend, winner_version: 4, retryable: true };
        assert_eq!(*error.kind(), kind);
        assert_eq!(error.message(), "lost; the timeout of 0 s ended after 1 attempts");
    }

    #[tokio::test]
    async fn again_without_permission_returns_the_error() {
        let env = Env::seeded(7);
        let mut retry = retry(&env, Duration::from_secs(600), Retryable::default());
        let error = retry.again(conflict(ConflictKind::ConcurrentAppend, 4)).await.unwrap_err();
        assert_eq!((error.message(), retry.conflicts()), ("lost", 0));
    }

    #[test]
    fn pauses_stay_below_a_doubling_limit() {
        let mut pauses = Pauses::new();
        let limits: Vec<u128> = (0..12).map(|_| pauses.next(u64::MAX - 1).as_millis()).collect();
        assert!(limits.iter().all(|millis| *millis < 2000));
        assert_eq!(pauses.longest, LONGEST_PAUSE);
    }
}
