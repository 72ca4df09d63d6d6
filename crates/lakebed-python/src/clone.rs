//! Clones of tables.

use lakebed::clone::CloneOptions;
use lakebed::table::SnapshotOptions;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pythonize::pythonize;

use crate::error::to_py;
use crate::file_progress::told_to;
use crate::options::Options;
use crate::runtime::enter;
use crate::table::Table;

#[pymethods]
impl Table {
    /// Clones a version of the table. `target` locates the clone.
    fn clone_to<'py>(
        &self,
        py: Python<'py>,
        target: &Bound<'_, PyDict>,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<(Self, Bound<'py, PyAny>)> {
        let target = Options::of(target);
        let location = Table::location_of(&target)?;
        target.rest::<Nothing>()?;
        let options = Options::of(options);
        let watcher = options.object("progress")?;
        let at: SnapshotOptions = options.part()?;
        let options: CloneOptions = options.rest()?;
        let made = location.table().map_err(to_py)?;
        let (table, own, to) = (self.table(py)?, self.snapshot(py)?, made.clone());
        let (sender, telling) = told_to(watcher);
        let outcome = enter(py, async move {
            let source = if at == SnapshotOptions::default() { own } else { table.snapshot_with(&at).await? };
            let mut clone = source.clone_to(&to).options(options);
            if let Some(sender) = sender {
                clone = clone.watched_by(move |progress| _ = sender.send(progress));
            }
            clone.run().await
        });
        telling.finish(py);
        let outcome = outcome?;
        let metrics = pythonize(py, &outcome.metrics)?;
        Ok((Table::at(location, made, outcome.version, outcome.snapshot), metrics))
    }
}

/// The options of a location, beyond those that every location has.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}
