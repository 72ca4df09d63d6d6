//! Time, identifiers and randomness. [`Env`] is the only source of all three, so that tests and
//! simulations can replay a run.
//!
//! Nothing else in the workspace reads a clock or draws a random number. Read [`Env::system`] and
//! [`Env::seeded`] first.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rand::rngs::{OsRng, SmallRng};
use rand::{RngCore, SeedableRng, TryRngCore};

/// The time at which a seeded clock begins: 2023-11-14T22:13:20Z.
const SEEDED_START_MS: i64 = 1_700_000_000_000;

/// A clock and a source of random numbers. Clones share one clock and one sequence of numbers.
#[derive(Clone)]
pub struct Env(Arc<Kind>);

enum Kind {
    System { origin: Instant },
    Seeded(Mutex<Seeded>),
}

/// A clock that does not move until a task sleeps or a test advances it.
struct Seeded {
    rng: SmallRng,
    elapsed: Duration,
}

impl Env {
    /// Returns the machine's clock and randomness.
    #[expect(clippy::disallowed_methods, reason = "Env is where the clock is read")]
    pub fn system() -> Self {
        Self(Arc::new(Kind::System { origin: Instant::now() }))
    }

    /// Returns a clock that begins at a fixed moment, and random numbers that depend only on
    /// `seed`.
    pub fn seeded(seed: u64) -> Self {
        Self(Arc::new(Kind::Seeded(Mutex::new(Seeded { rng: SmallRng::seed_from_u64(seed), elapsed: Duration::ZERO }))))
    }

    /// Returns milliseconds since the epoch.
    #[expect(clippy::disallowed_methods, reason = "Env is where the clock is read")]
    pub fn now_ms(&self) -> i64 {
        match &*self.0 {
            Kind::System { .. } => match SystemTime::now().duration_since(UNIX_EPOCH) {
                Ok(since) => millis(since),
                Err(before) => -millis(before.duration()),
            },
            Kind::Seeded(seeded) => SEEDED_START_MS.saturating_add(millis(lock(seeded).elapsed)),
        }
    }

    /// Returns the time since this `Env` was created. It never goes backwards.
    #[expect(clippy::disallowed_methods, reason = "Env is where the clock is read")]
    pub fn monotonic(&self) -> Duration {
        match &*self.0 {
            Kind::System { origin } => Instant::now().saturating_duration_since(*origin),
            Kind::Seeded(seeded) => lock(seeded).elapsed,
        }
    }

    /// Waits. A seeded clock jumps forward instead, and other tasks get to run.
    pub async fn sleep(&self, duration: Duration) {
        match &*self.0 {
            Kind::System { .. } => tokio::time::sleep(duration).await,
            Kind::Seeded(_) => {
                self.advance(duration);
                tokio::task::yield_now().await;
            }
        }
    }

    /// Moves a seeded clock forward. The system's clock is not affected.
    pub fn advance(&self, duration: Duration) {
        if let Kind::Seeded(seeded) = &*self.0 {
            let mut seeded = lock(seeded);
            seeded.elapsed = seeded.elapsed.saturating_add(duration);
        }
    }

    /// Returns a random number.
    pub fn random_u64(&self) -> u64 {
        match &*self.0 {
            Kind::System { .. } => {
                let mut bytes = [0; 8];
                self.fill_from_system(&mut bytes);
                u64::from_le_bytes(bytes)
            }
            Kind::Seeded(seeded) => lock(seeded).rng.next_u64(),
        }
    }

    /// Returns a random UUID (version 4) in lower case with hyphens.
    pub fn new_uuid(&self) -> String {
        let mut bytes = [0; 16];
        match &*self.0 {
            Kind::System { .. } => self.fill_from_system(&mut bytes),
            Kind::Seeded(seeded) => lock(seeded).rng.fill_bytes(&mut bytes),
        }
        uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
    }

    /// Fills the bytes with random ones from the operating system. A generator in the process would
    /// be copied by a fork, and parent and child would draw the same identifiers.
    fn fill_from_system(&self, bytes: &mut [u8]) {
        if OsRng.try_fill_bytes(bytes).is_ok() {
            return;
        }
        // Every known system has a source of randomness. On a system without one, the process id
        // and the time distinguish processes.
        let moment =
            self.now_ms().cast_unsigned() ^ u64::try_from(self.monotonic().as_nanos()).unwrap_or(u64::MAX).rotate_left(32);
        let seed = u64::from(std::process::id()).rotate_left(40) ^ moment;
        SmallRng::seed_from_u64(seed).fill_bytes(bytes);
    }
}

impl Default for Env {
    fn default() -> Self {
        Self::system()
    }
}

impl std::fmt::Debug for Env {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match &*self.0 {
            Kind::System { .. } => "Env::system",
            Kind::Seeded(_) => "Env::seeded",
        })
    }
}

/// Locks the seeded state. A thread that panicked while it held the lock left no half-finished
/// change.
fn lock(seeded: &Mutex<Seeded>) -> MutexGuard<'_, Seeded> {
    seeded.lock().unwrap_or_else(PoisonError::into_inner)
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_seed_decides_everything() {
        let draw = || async {
            let env = Env::seeded(7);
            env.sleep(Duration::from_millis(1500)).await;
            (env.new_uuid(), env.random_u64(), env.now_ms(), env.monotonic())
        };
        let first = draw().await;
        assert_eq!(first, draw().await);
        assert_eq!(first.2, 1_700_000_001_500);
        assert_eq!(first.3, Duration::from_millis(1500));
        assert_ne!(Env::seeded(8).new_uuid(), first.0);
    }

    #[test]
    fn clones_share_clock_and_numbers() {
        let env = Env::seeded(1);
        let clone = env.clone();
        clone.advance(Duration::from_secs(1));
        assert_eq!(env.now_ms(), SEEDED_START_MS + 1000);
        assert_ne!(env.random_u64(), clone.random_u64());
    }

    #[test]
    fn uuids_are_version_4() {
        for env in [Env::system(), Env::seeded(3)] {
            let text = env.new_uuid();
            assert_eq!(uuid::Uuid::parse_str(&text).unwrap().get_version_num(), 4);
            assert_eq!(text, text.to_lowercase());
            assert_eq!(text.len(), 36);
            assert_ne!(text, env.new_uuid());
        }
    }

    #[test]
    fn system_clock_is_current_and_monotonic() {
        let env = Env::system();
        assert!(env.now_ms() > 1_600_000_000_000);
        let before = env.monotonic();
        env.advance(Duration::from_secs(3600));
        let after = env.monotonic();
        assert!(after >= before && after < Duration::from_secs(3600));
    }
}
