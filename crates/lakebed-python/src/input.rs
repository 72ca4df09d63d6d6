//! Reads Arrow input: batches and schemas in PyCapsules.
//!
//! `schema` reads schemas, `shape` compares an array with its schema before it is read, `import`
//! makes a batch of an array, `stream` reads streams, `items` reads Python iterators, and
//! `of_python` guards objects that may need the interpreter. Read [`stream_of`] first.

mod import;
mod items;
pub mod of_python;
mod schema;
mod shape;
mod stream;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow::array::RecordBatch;
use lakebed::write::{OnLossy, SchemaUnifier};
use lakebed::{Error, RecordBatchStream, Result};
use pyo3::prelude::*;
use tokio::sync::mpsc::channel;

use self::items::Items;
use self::of_python::OfPython;
pub use self::schema::{no_columns, schema_of};
use self::stream::InputStream;
use crate::error::to_py;

/// The number of batches that are read in advance.
const AHEAD: usize = 2;

/// A message of the reading thread: a batch, the end, or an error.
type Said = Result<Option<RecordBatch>>;

/// The source of batches.
enum Input {
    Stream(InputStream),
    Items(Items),
}

/// Returns the batches of an object with `__arrow_c_stream__`, or else of an iterator (see
/// [`Items`]). They are read on a separate thread, because the source may wait or need the
/// interpreter.
pub fn stream_of(data: &Bound<'_, PyAny>, on_lossy: OnLossy) -> PyResult<RecordBatchStream> {
    let (input, unifier) = match data.hasattr("__arrow_c_stream__")? {
        true => {
            let stream = InputStream::of(data)?;
            let unifier = SchemaUnifier::new(stream.schema());
            (Input::Stream(stream), unifier)
        }
        false => {
            let (items, unifier) = Items::of(data)?;
            (Input::Items(items), unifier)
        }
    };
    let unifier = unifier.on_lossy(on_lossy);
    let (schema, mut input) = (unifier.schema(), OfPython::new(input).map_err(to_py)?);
    let (sender, receiver) = channel::<Said>(AHEAD);
    let read = move || {
        loop {
            let said = input.with(|input| kept_in(|| input.next(&unifier)));
            let is_last = !matches!(said, Ok(Some(_)));
            // The receiver is closed if the write failed.
            if sender.blocking_send(said).is_err() || is_last {
                return;
            }
        }
    };
    std::thread::Builder::new().name("lakebed-input".to_owned()).spawn(read)?;
    let batches = futures::stream::unfold(Some(receiver), |receiver| async move {
        let mut receiver = receiver?;
        match receiver.recv().await.unwrap_or_else(|| Err(broken_off("the thread that reads it has ended"))) {
            Ok(batch) => Some((Ok(batch?), Some(receiver))),
            Err(error) => Some((Err(error), None)),
        }
    });
    Ok(RecordBatchStream::new(schema, batches))
}

impl Input {
    /// Returns the next batch, with the schema of all batches.
    fn next(&mut self, unifier: &SchemaUnifier) -> Result<Option<RecordBatch>> {
        let next = match self {
            Self::Stream(stream) => stream.next()?,
            Self::Items(items) => items.next()?,
        };
        next.map(|(number, batch)| unifier.batch(number, &batch)).transpose()
    }
}

/// Turns a panic into an error, which the write then reports.
fn kept_in<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(broken_off(said(panic.as_ref()))))
}

fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it left no message")
}

fn broken_off(why: &str) -> Error {
    Error::internal(format!("reading the data failed inside lakebed ({why}): nothing was committed; please report it"))
}
