//! The one gate between Python and the asynchronous core.
//!
//! [`enter`] detaches from the interpreter, runs a future, lets Ctrl-C through, keeps panics in and maps errors. There is one Tokio runtime per
//! process id: a forked child has none of its parent's threads, so it makes its own and leaves the parent's untouched.

use std::collections::HashMap;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use lakebed::{Error, Result};
use pyo3::prelude::*;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::doors::Doors;
use crate::error::to_py;

/// How often a waiting call looks for Ctrl-C.
const SIGNAL_PERIOD: Duration = Duration::from_millis(50);

struct Slot {
    process: u32,
    runtime: Runtime,
    /// What goes on after calls have returned.
    later: Mutex<Later>,
    doors: Doors,
}

#[derive(Default)]
struct Later {
    tasks: JoinSet<()>,
    /// What each is about.
    subjects: HashMap<String, tokio::task::AbortHandle>,
}

static SLOT: AtomicPtr<Slot> = AtomicPtr::new(std::ptr::null_mut());

/// This process's runtime.
pub fn runtime() -> Result<&'static Runtime> {
    Ok(&slot()?.runtime)
}

/// This process's.
pub fn doors() -> Result<&'static Doors> {
    Ok(&slot()?.doors)
}

#[expect(unsafe_code, reason = "the slot is published once per process and never freed, so the reference stays valid")]
fn slot() -> Result<&'static Slot> {
    let process = std::process::id();
    let current = SLOT.load(Ordering::Acquire);
    // SAFETY: a published slot is never freed nor changed.
    if let Some(slot) = unsafe { current.as_ref() }
        && slot.process == process
    {
        return Ok(slot);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("lakebed")
        .build()
        .map_err(|error| Error::internal("cannot start the runtime").with_source(error))?;
    let fresh = Box::into_raw(Box::new(Slot { process, runtime, later: Mutex::default(), doors: Doors::default() }));
    match SLOT.compare_exchange(current, fresh, Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: just published, never freed.
        Ok(_) => Ok(unsafe { &*fresh }),
        Err(_) => {
            // Another thread was first. SAFETY: `fresh` was never shared.
            let loser = unsafe { Box::from_raw(fresh) };
            loser.runtime.shutdown_background();
            slot()
        }
    }
}

/// Begins something that goes on after the call has returned, unless the same is going on about this subject.
pub fn later(subject: &str, work: impl Future<Output = ()> + Send + 'static) -> Result<()> {
    let slot = slot()?;
    let mut later = slot.later.lock().unwrap_or_else(PoisonError::into_inner);
    while later.tasks.try_join_next().is_some() {}
    later.subjects.retain(|_, task| !task.is_finished());
    if !later.subjects.contains_key(subject) {
        let task = later.tasks.spawn_on(work, slot.runtime.handle());
        later.subjects.insert(subject.to_owned(), task);
    }
    Ok(())
}

/// Waits for all that goes on. What is begun meanwhile is waited for too.
pub async fn all_done() -> Result<()> {
    let slot = slot()?;
    loop {
        let mut tasks = std::mem::take(&mut slot.later.lock().unwrap_or_else(PoisonError::into_inner).tasks);
        if tasks.is_empty() {
            return Ok(());
        }
        while tasks.join_next().await.is_some() {}
    }
}

/// Runs a future without the interpreter; Ctrl-C ends it and raises `KeyboardInterrupt`.
pub fn enter<T, F>(py: Python<'_>, future: F) -> PyResult<T>
where
    T: Send,
    F: Future<Output = Result<T>> + Send,
{
    let runtime = runtime().map_err(to_py)?;
    let work = async || -> PyResult<Result<T>> {
        let mut future = std::pin::pin!(AssertUnwindSafe(future).catch_unwind());
        loop {
            match tokio::time::timeout(SIGNAL_PERIOD, &mut future).await {
                Ok(Ok(result)) => return Ok(result),
                Ok(Err(_)) => return Ok(Err(Error::internal("lakebed met an internal error; please report it"))),
                Err(_) => match Python::try_attach(|py| py.check_signals()) {
                    Some(outcome) => outcome?,
                    // The interpreter has ended, and soon the process.
                    None => std::future::pending().await,
                },
            }
        }
    };
    py.detach(|| runtime.block_on(work()))?.map_err(to_py)
}
