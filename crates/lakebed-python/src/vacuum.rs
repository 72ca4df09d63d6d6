//! Vacuum.

use lakebed::RecordBatchStream;
use lakebed::write::OnLossy;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pythonize::pythonize;

use crate::arrow::ArrowStream;
use crate::input::stream_of;
use crate::options::Options;
use crate::runtime::enter;
use crate::table::Table;

/// The new table, the metrics, and the files that were deleted.
type Vacuumed<'py> = (Table, Bound<'py, PyAny>, ArrowStream);

#[pymethods]
impl Table {
    #[pyo3(signature = (options, inventory = None))]
    fn vacuum<'py>(
        &self,
        py: Python<'py>,
        options: &Bound<'py, PyDict>,
        inventory: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Vacuumed<'py>> {
        let mut vacuum = self.table(py)?.vacuum().options(Options::of(options).rest()?);
        if let Some(objects) = inventory {
            vacuum = vacuum.inventory(stream_of(objects, OnLossy::default())?);
        }
        let outcome = enter(py, async move { vacuum.run().await })?;
        let files = RecordBatchStream::from_batches(outcome.files.schema(), vec![outcome.files]);
        Ok((self.sibling(py, outcome.version, outcome.snapshot)?, pythonize(py, &outcome.metrics)?, ArrowStream::new(files)))
    }
}
