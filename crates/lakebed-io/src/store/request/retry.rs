//! Asking again when an answer broke off on its way.
//!
//! The clients of stores repeat requests that got no answer or a bad one, but not those of which the answer ended halfway: a page of a
//! listing, a refusal with its reason. For what may be asked twice, [`Store::retry`] does that. Conditional writes are not of that kind:
//! whoever makes them has to look what became of them.

use std::time::Duration;

use crate::at::may_pass;
use crate::store::Store;

/// Nothing is asked again after so long: then the client has tried for long enough.
const PATIENCE: Duration = Duration::from_secs(30);
/// The pauses are drawn at random, from nothing up to these, which double.
const FIRST_PAUSE_MS: u64 = 50;
const LONGEST_PAUSE_MS: u64 = 2000;

impl Store {
    /// Asks until there is an answer, or an error that will not pass, as often as the option `max_retries` allows.
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
                    tracing::debug!(store = self.url(), "asking again: {error}");
                    env.sleep(Duration::from_millis(env.random_u64() % longest_ms)).await;
                    longest_ms = (longest_ms * 2).min(LONGEST_PAUSE_MS);
                }
                answer => return answer,
            }
        }
        ask().await
    }
}
