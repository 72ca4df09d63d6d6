//! The runtime of a simulation: one thread, and a scheduler that takes its turn when nobody else
//! has anything to do.
//!
//! lakebed computes on blocking threads, of which there is one here. It works only while the other
//! one has nothing to do, so that the order of what they do depends on the speed of neither.
//! Whenever the runtime would go to sleep, all that this thread was given is done first; if nobody
//! was woken by it then all who live wait for their store, and the [`Network`] lets one of them go
//! on.

use std::sync::{Arc, Mutex, mpsc};

use tokio::runtime::{Builder, Handle};

use super::network::Network;

/// Runs `work`, which only waits for tasks that it spawned.
pub(crate) fn block_on<F: Future>(network: &Arc<Network>, work: F) -> F::Output {
    let gate = Arc::new(Gate::default());
    let (scheduler, idle) = (Arc::clone(network), Arc::clone(&gate));
    let runtime = Builder::new_current_thread()
        .max_blocking_threads(1)
        .on_thread_park(move || when_idle(&scheduler, &idle))
        .build()
        .unwrap();
    gate.pass(runtime.handle());
    let output = runtime.block_on(work);
    gate.open();
    output
}

fn when_idle(network: &Network, gate: &Gate) {
    let handle = Handle::current();
    gate.pass(&handle);
    if handle.metrics().global_queue_depth() == 0 {
        network.step();
    }
}

/// Where the blocking thread stands while it may not work. Who drops the sender lets it go on.
#[derive(Default)]
struct Gate(Mutex<Option<mpsc::Sender<()>>>);

impl Gate {
    /// Lets the blocking thread do all that it was given, and no more.
    fn pass(&self, handle: &Handle) {
        let (leave, stay) = mpsc::channel::<()>();
        let (arrive, arrived) = mpsc::channel();
        // It comes after everything that was there before, so when it begins all that is done.
        handle.spawn_blocking(move || {
            arrive.send(()).unwrap();
            stay.recv().unwrap_err();
        });
        drop(self.0.lock().unwrap().replace(leave));
        arrived.recv().unwrap();
    }

    /// Lets it do whatever comes.
    fn open(&self) {
        drop(self.0.lock().unwrap().take());
    }
}
