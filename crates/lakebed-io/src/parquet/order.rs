//! Runs tasks concurrently and returns their results in the order in which the tasks were started.
//!
//! [`in_order`] is given a producer, which starts one task after the other on its [`Lanes`]. Each
//! task sends its results to its own lane. The stream empties the first lane, then the second, and
//! so on. The number of open lanes is limited. Dropping the stream stops all tasks. A task that is
//! computing at this moment stops at its next result, when it finds its lane closed.

use std::future::Future;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures::Stream;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

use lakebed_core::{Error, Result};

/// Starts tasks, in order.
pub struct Lanes<T> {
    slots: Arc<Semaphore>,
    count: u32,
    opened: UnboundedSender<Lane<T>>,
    tasks: JoinSet<()>,
}

/// The right to start one task. It is given back when the task's last result has been taken from
/// the stream.
pub struct Slot(OwnedSemaphorePermit);

/// The channel to which a task sends its results.
pub struct LaneSender<T>(UnboundedSender<Message<T>>);

/// The results in order.
pub struct InOrder<T> {
    opened: UnboundedReceiver<Lane<T>>,
    current: Option<Lane<T>>,
    finished: bool,
    /// Owns the producer, which owns the tasks.
    _producer: JoinSet<()>,
}

struct Lane<T> {
    results: UnboundedReceiver<Message<T>>,
    _slot: Option<Slot>,
}

enum Message<T> {
    Result(T),
    End(Result<()>),
}

/// Runs `produce` in the background, with at most `count` tasks at once. Must be called within a
/// Tokio runtime.
pub fn in_order<T, P, F>(count: usize, produce: P) -> InOrder<T>
where
    T: Send + 'static,
    P: FnOnce(Lanes<T>) -> F + Send + 'static,
    F: Future<Output = Result<()>> + Send + 'static,
{
    let (opener, opened) = mpsc::unbounded_channel();
    let count = u32::try_from(count.clamp(1, Semaphore::MAX_PERMITS)).unwrap_or(u32::MAX);
    let slots = Arc::new(Semaphore::new(count as usize));
    let lanes = Lanes { slots, count, opened: opener.clone(), tasks: JoinSet::new() };
    let mut producer = JoinSet::new();
    producer.spawn(async move {
        // The outcome is sent on its own lane after all others. The stream also notices a producer
        // that ends without an outcome.
        let outcome = produce(lanes).await;
        let (sender, results) = mpsc::unbounded_channel();
        let _ = sender.send(Message::End(outcome));
        let _ = opener.send(Lane { results, _slot: None });
    });
    InOrder { opened, current: None, finished: false, _producer: producer }
}

impl<T: Send + 'static> Lanes<T> {
    /// Waits until one more task may be started.
    pub async fn slot(&self) -> Result<Slot> {
        let slots = Arc::clone(&self.slots);
        slots.acquire_owned().await.map(Slot).map_err(|_| Error::internal("the semaphore of a stream was closed"))
    }

    /// Waits until all results of all started tasks have been taken. `kept` is a slot that the
    /// caller holds.
    pub async fn idle(&self, kept: &Slot) {
        let others = self.count.saturating_sub(u32::try_from(kept.0.num_permits()).unwrap_or(1));
        let _ = self.slots.acquire_many(others).await;
    }

    /// Starts a task. If the task fails, its error ends the stream at the task's position.
    pub fn start<W, F>(&mut self, slot: Slot, work: W)
    where
        W: FnOnce(LaneSender<T>) -> F,
        F: Future<Output = Result<()>> + Send + 'static,
    {
        while self.tasks.try_join_next().is_some() {}
        let (sender, results) = mpsc::unbounded_channel();
        let end = sender.clone();
        let work = work(LaneSender(sender));
        self.tasks.spawn(async move {
            let outcome = work.await;
            let _ = end.send(Message::End(outcome));
        });
        let _ = self.opened.send(Lane { results, _slot: Some(slot) });
    }

    /// Waits for all tasks that were started.
    pub async fn finish(mut self) -> Result<()> {
        while self.tasks.join_next().await.is_some() {}
        Ok(())
    }
}

impl<T> LaneSender<T> {
    /// Sends a result, or returns a break if the results are no longer read.
    pub fn send(&self, result: T) -> ControlFlow<()> {
        match self.0.send(Message::Result(result)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }

    /// Returns whether the results are no longer read.
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
}

impl<T> Clone for LaneSender<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Stream for InOrder<T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        while !this.finished {
            let Some(lane) = &mut this.current else {
                this.current = ready!(this.opened.poll_recv(context));
                this.finished = this.current.is_none();
                if this.finished {
                    return Poll::Ready(Some(Err(stopped())));
                }
                continue;
            };
            match ready!(lane.results.poll_recv(context)) {
                Some(Message::Result(result)) => return Poll::Ready(Some(Ok(result))),
                Some(Message::End(Ok(()))) => {
                    this.finished = lane._slot.is_none();
                    this.current = None;
                }
                Some(Message::End(Err(error))) => {
                    this.finished = true;
                    return Poll::Ready(Some(Err(error)));
                }
                None => {
                    this.finished = true;
                    return Poll::Ready(Some(Err(stopped())));
                }
            }
        }
        Poll::Ready(None)
    }
}

/// Returns the error of a producer that ended without an outcome. Such an end must never look like
/// the end of the data.
fn stopped() -> Error {
    Error::internal("reading stopped before its end: one of its tasks was cancelled or failed")
}
