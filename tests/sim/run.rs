//! The runtime of a simulation: one thread, and a scheduler that runs when no task can.
//!
//! lakebed computes on blocking threads, and the runtime has one of them. The blocking thread works
//! only while the main thread is idle, so the order of their work does not depend on the speed of
//! either. Before the runtime sleeps, the blocking thread finishes all its tasks. If this wakes no
//! task, all live tasks wait for their store, and the [`Network`] lets one of them continue.

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
    // The task of the caller may wait for something else first: a stream with several requests is
    // not polled meanwhile, and their answers wake nobody. An empty task keeps the runtime awake.
    if handle.metrics().global_queue_depth() == 0 && network.step() {
        handle.spawn(async {});
    }
}

/// The gate at which the blocking thread waits while it may not work. Dropping the sender opens it.
#[derive(Default)]
struct Gate(Mutex<Option<mpsc::Sender<()>>>);

impl Gate {
    /// Lets the blocking thread finish the tasks that it has, and no more.
    fn pass(&self, handle: &Handle) {
        let (leave, stay) = mpsc::channel::<()>();
        let (arrive, arrived) = mpsc::channel();
        // This task comes after all earlier ones, so they are done when it begins.
        handle.spawn_blocking(move || {
            arrive.send(()).unwrap();
            stay.recv().unwrap_err();
        });
        drop(self.0.lock().unwrap().replace(leave));
        arrived.recv().unwrap();
    }

    /// Lets the blocking thread run all tasks from now on.
    fn open(&self) {
        drop(self.0.lock().unwrap().take());
    }
}
