//! A stream of record batches with a schema: the result of every scan.

use std::pin::Pin;
use std::task::{Context, Poll};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{BoxStream, Stream, StreamExt};

use tokio::sync::mpsc::{Sender, channel};
use tokio::task::JoinSet;

use crate::{Error, Result};

/// Record batches of one schema. Dropping the stream stops the work behind it.
pub struct RecordBatchStream {
    schema: SchemaRef,
    batches: BoxStream<'static, Result<RecordBatch>>,
}

impl RecordBatchStream {
    /// Creates a stream from any stream of batches with this schema.
    pub fn new(schema: SchemaRef, batches: impl Stream<Item = Result<RecordBatch>> + Send + 'static) -> Self {
        Self { schema, batches: batches.boxed() }
    }

    /// Creates a stream from batches in memory.
    pub fn from_batches(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Self::new(schema, futures::stream::iter(batches.into_iter().map(Ok)))
    }

    /// Returns the schema of every batch.
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Collects all batches. The caller must know that they fit in memory.
    pub async fn collect_all(mut self) -> Result<Vec<RecordBatch>> {
        let mut batches = Vec::new();
        while let Some(batch) = self.next().await {
            batches.push(batch?);
        }
        Ok(batches)
    }
}

impl Stream for RecordBatchStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.batches.poll_next_unpin(context)
    }
}

/// Returns a stream of the items that `work` sends, at most `capacity` items ahead of the reader.
/// An error of `work` ends the stream. Dropping the stream ends `work`.
pub(crate) fn produce<T, W, F>(capacity: usize, work: W) -> BoxStream<'static, Result<T>>
where
    T: Send + 'static,
    W: FnOnce(Sender<Result<T>>) -> F,
    F: Future<Output = Result<()>> + Send + 'static,
{
    let (sender, receiver) = channel(capacity);
    let working = work(sender.clone());
    let mut task = JoinSet::new();
    task.spawn(async move {
        if let Err(error) = working.await {
            // If the receiver is gone, nothing can read the error.
            let _ = sender.send(Err(error)).await;
        }
    });
    futures::stream::unfold((receiver, task), |(mut receiver, mut task)| async move {
        match receiver.recv().await {
            Some(item) => Some((item, (receiver, task))),
            None => match task.join_next().await {
                Some(Err(fault)) => {
                    Some((Err(Error::internal("the task of a scan ended early").with_source(fault)), (receiver, task)))
                }
                _ => None,
            },
        }
    })
    .boxed()
}

/// Work that runs in parallel, each piece in a task of its own. After a piece has failed, no other
/// piece begins, and the running pieces finish, so that their results can be cleaned up. Dropping
/// this ends all of them at once.
pub(crate) struct SideBySide<T> {
    waiting: Box<dyn Iterator<Item = BoxFuture<'static, Result<T>>> + Send>,
    begun: JoinSet<Result<T>>,
    at_once: usize,
    is_stopped: bool,
}

impl<T: Send + 'static> SideBySide<T> {
    /// Runs at most this many pieces at a time.
    pub(crate) fn new<W>(at_once: usize, works: impl Iterator<Item = W> + Send + 'static) -> Self
    where
        W: Future<Output = Result<T>> + Send + 'static,
    {
        let waiting = Box::new(works.map(FutureExt::boxed));
        Self { waiting, begun: JoinSet::new(), at_once: at_once.max(1), is_stopped: false }
    }

    /// Stops the start of further pieces.
    pub(crate) fn stop(&mut self) {
        self.is_stopped = true;
    }

    /// Returns the result of the next piece that finishes, in any order.
    pub(crate) async fn next(&mut self) -> Option<Result<T>> {
        while !self.is_stopped && self.begun.len() < self.at_once {
            let Some(work) = self.waiting.next() else { break };
            self.begun.spawn(work);
        }
        let result = match self.begun.join_next().await? {
            Ok(result) => result,
            Err(fault) => Err(Error::internal("a task ended before its work was done").with_source(fault)),
        };
        self.is_stopped |= result.is_err();
        Some(result)
    }
}
