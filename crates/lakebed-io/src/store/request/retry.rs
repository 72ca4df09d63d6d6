//! Retries requests if their reply broke off.
//!
//! The clients of stores repeat requests without a reply or with a failed one. They do not repeat a
//! request if its reply ended halfway, such as a page of a listing or an error with its reason.
//! [`Store::retry`] does that for requests that may be repeated. Conditional writes must not be
//! repeated, because their caller must find out whether the first attempt succeeded.

use std::time::Duration;

use crate::at::may_pass;
use crate::store::Store;

/// The time after which nothing is retried, because the client has already tried for a long time.
const PATIENCE: Duration = Duration::from_secs(30);
/// The limit of the first pause. Pauses are random, from zero up to a limit. The limit doubles
/// until it reaches the second value.
const FIRST_PAUSE_MS: u64 = 50;
const LONGEST_PAUSE_MS: u64 = 2000;

impl Store {
    /// Repeats a request until it has a reply or a permanent error, but not more often than the
    /// option `max_retries` allows.
    pub(in crate::store) async fn retry<T, A>(&self, ask: impl Fn() -> A) -> object_store::Result<T>
    where
        A: Future<Output = object_store::Result<T>>,
    {
        let env = &self.options().env;
        let begun = env.monotonic();
        let mut longest_ms = FIRST_PAUSE_MS;
        for _ in 0..self.0.connection.max_retries {
            match ask().await {
                Err(error) if may_pass(&error) && env.monotonic() - begun < PATIENCE => {
                    tracing::debug!(store = self.url(), "retrying the request: {error}");
                    env.sleep(Duration::from_millis(env.random_u64() % longest_ms)).await;
                    longest_ms = (longest_ms * 2).min(LONGEST_PAUSE_MS);
                }
                answer => return answer,
            }
        }
        ask().await
    }
}
