//! The runtime of a simulation: one thread, and a scheduler that takes its turn when nobody else has anything to do.
//!
//! lakebed computes on blocking threads, of which there is one here. Whenever the runtime would go to sleep, all that this thread was
//! given is waited for; if nobody was woken by it then all who live wait for their store, and the [`Network`] lets one of them go on.

use std::sync::{Arc, mpsc};

use tokio::runtime::{Builder, Handle};

use super::network::Network;

/// Runs `work`, which only waits for tasks that it spawned.
pub(crate) fn block_on<F: Future>(network: &Arc<Network>, work: F) -> F::Output {
    let scheduler = Arc::clone(network);
    let runtime =
        Builder::new_current_thread().max_blocking_threads(1).on_thread_park(move || when_idle(&scheduler)).build().unwrap();
    runtime.block_on(work)
}

fn when_idle(network: &Network) {
    let handle = Handle::current();
    let (done, waiting) = mpsc::channel();
    // It comes after everything that was there before, so when it is done so is that.
    handle.spawn_blocking(move || done.send(()));
    waiting.recv().unwrap();
    if handle.metrics().global_queue_depth() == 0 {
        network.step();
    }
}
