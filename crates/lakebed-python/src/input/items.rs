//! The items of a Python iterator: capsules that hold batches, or streams of them. Each item has a schema of its own.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use lakebed::Result;
use lakebed::write::SchemaUnifier;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use super::import::batch_of_capsules;
use super::schema::schema_of;
use super::stream::InputStream;
use crate::error::raised;

/// The batches of an iterator.
pub struct Items {
    items: Option<Py<PyAny>>,
    /// The item that is being read. Two more fields have its number, counted from one, and whether
    /// all items before it are read.
    current: Option<Item>,
    number: u64,
}

enum Item {
    Batch(Box<RecordBatch>),
    Stream(InputStream),
}

impl Items {
    /// Requests the first item, unless the attribute `schema` gives the columns. Both can fail with
    /// an error that the iterator raises.
    pub fn of(items: &Bound<'_, PyAny>) -> PyResult<(Self, SchemaUnifier)> {
        let declared = items.getattr("schema")?;
        let mut found = Self { items: Some(items.clone().unbind()), current: None, number: 0 };
        if !declared.is_none() {
            return Ok((found, SchemaUnifier::new(schema_of(&declared)?)));
        }
        found.advance(items.py())?;
        let unifier = match &found.current {
            Some(item) => SchemaUnifier::to_first(&item.schema()),
            None => SchemaUnifier::new(SchemaRef::new(arrow::datatypes::Schema::empty())),
        };
        Ok((found, unifier))
    }

    /// Returns the next batch with the number of its item, or `None` at the end.
    pub fn next(&mut self) -> Result<Option<(u64, RecordBatch)>> {
        loop {
            match self.current.take() {
                Some(Item::Batch(batch)) => return Ok(Some((self.number, *batch))),
                Some(Item::Stream(mut stream)) => {
                    if let Some((_, batch)) = stream.next().map_err(|error| error.within(format!("batch {}", self.number)))? {
                        self.current = Some(Item::Stream(stream));
                        return Ok(Some((self.number, batch)));
                    }
                }
                None => {}
            }
            if self.items.is_none() {
                return Ok(None);
            }
            Python::attach(|py| self.advance(py)).map_err(raised)?;
        }
    }

    fn advance(&mut self, py: Python<'_>) -> PyResult<()> {
        let Some(items) = &self.items else { return Ok(()) };
        let next = items.bind(py).try_iter()?.next().transpose()?;
        match next {
            Some(item) => {
                self.number += 1;
                self.current = Some(Item::of(&item)?);
            }
            None => self.items = None,
        }
        Ok(())
    }
}

impl Drop for Items {
    /// Closes an abandoned generator at once, and not when the interpreter happens to be used
    /// again.
    fn drop(&mut self) {
        let items = self.items.take();
        Python::attach(|_| drop(items));
    }
}

impl Item {
    /// Reads a capsule with a stream, or one capsule with a schema and one with an array.
    fn of(item: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(stream) = item.cast::<PyCapsule>() {
            return InputStream::of_capsule(stream).map(Self::Stream);
        }
        let (schema, array): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let batch = batch_of_capsules(schema.cast()?, array.cast()?)?;
        Ok(Self::Batch(Box::new(batch)))
    }

    fn schema(&self) -> SchemaRef {
        match self {
            Self::Batch(batch) => batch.schema(),
            Self::Stream(stream) => stream.schema(),
        }
    }
}
