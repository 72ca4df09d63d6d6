//! The one gate between Python and the asynchronous core.
//!
//! [`enter`] detaches from the interpreter, runs a future, lets Ctrl-C through, keeps panics in and maps errors. There is one Tokio runtime per
//! process id: a forked child has none of its parent's threads, so it makes its own and leaves the parent's untouched.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Duration;

use futures::FutureExt;
use lakebed::{Error, Result};
use pyo3::prelude::*;
use tokio::runtime::Runtime;

use crate::error::to_py;

/// How often a waiting call looks for Ctrl-C.
const SIGNAL_PERIOD: Duration = Duration::from_millis(50);

struct Slot {
    process: u32,
    runtime: Runtime,
}

static SLOT: AtomicPtr<Slot> = AtomicPtr::new(std::ptr::null_mut());

/// This process's runtime.
#[expect(unsafe_code, reason = "the slot is published once per process and never freed, so the reference stays valid")]
pub fn runtime() -> Result<&'static Runtime> {
    let process = std::process::id();
    let current = SLOT.load(Ordering::Acquire);
    // SAFETY: a published slot is never freed nor changed.
    if let Some(slot) = unsafe { current.as_ref() }
        && slot.process == process
    {
        return Ok(&slot.runtime);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("lakebed")
        .build()
        .map_err(|error| Error::internal("cannot start the runtime").with_source(error))?;
    let fresh = Box::into_raw(Box::new(Slot { process, runtime }));
    match SLOT.compare_exchange(current, fresh, Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: just published, never freed.
        Ok(_) => Ok(unsafe { &(*fresh).runtime }),
        Err(_) => {
            // Another thread was first. SAFETY: `fresh` was never shared.
            let loser = unsafe { Box::from_raw(fresh) };
            loser.runtime.shutdown_background();
            self::runtime()
        }
    }
}

/// Runs a future without the interpreter; Ctrl-C ends it and raises `KeyboardInterrupt`.
pub fn enter<T, F>(py: Python<'_>, future: F) -> PyResult<T>
where
    T: Send,
    F: Future<Output = Result<T>> + Send,
{
    let runtime = runtime().map_err(to_py)?;
    py.detach(|| {
        runtime.block_on(async {
            let mut future = std::pin::pin!(AssertUnwindSafe(future).catch_unwind());
            loop {
                match tokio::time::timeout(SIGNAL_PERIOD, &mut future).await {
                    Ok(Ok(result)) => return result.map_err(to_py),
                    Ok(Err(_)) => return Err(to_py(Error::internal("lakebed met an internal error; please report it"))),
                    Err(_) => Python::attach(|py| py.check_signals())?,
                }
            }
        })
    })
}
