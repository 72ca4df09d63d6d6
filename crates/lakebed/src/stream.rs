//! A stream of record batches that knows its schema: what every scan gives.

use std::pin::Pin;
use std::task::{Context, Poll};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use futures::stream::{BoxStream, Stream, StreamExt};

use crate::Result;

/// Record batches of one schema. Dropping it stops the work behind it.
pub struct RecordBatchStream {
    schema: SchemaRef,
    batches: BoxStream<'static, Result<RecordBatch>>,
}

impl RecordBatchStream {
    /// Of any stream whose batches have this schema.
    pub fn new(schema: SchemaRef, batches: impl Stream<Item = Result<RecordBatch>> + Send + 'static) -> Self {
        Self { schema, batches: batches.boxed() }
    }

    /// Of batches that are in memory.
    pub fn from_batches(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Self::new(schema, futures::stream::iter(batches.into_iter().map(Ok)))
    }

    /// The schema of every batch.
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// All batches; the caller knows that they fit in memory.
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
