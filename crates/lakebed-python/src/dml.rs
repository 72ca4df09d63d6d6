//! Changes rows: delete, update and merge.

use lakebed::dml::ChangeOutcome;
use lakebed::dml::merge::{Action, Clause, Merge, MergeKey, MergeSource as Source, When};
use lakebed::{Error, Result};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pythonize::pythonize;

use crate::background::after_commit;
use crate::error::to_py;
use crate::input::stream_of;
use crate::options::Options;
use crate::owned::Owned;
use crate::runtime::enter;
use crate::scan::explained;
use crate::table::Table;
use crate::write::{on_lossy as on_lossy_of, word};

/// The new table, whether the operation committed, and its metrics.
type Changed<'py> = (Table, bool, Bound<'py, PyAny>);

#[pymethods]
impl Table {
    fn delete_rows<'py>(&self, py: Python<'py>, options: &Bound<'py, PyDict>) -> PyResult<Changed<'py>> {
        let options = Options::of(options);
        let mut delete = self.table(py)?.delete();
        if let Some(filter) = options.get::<String>("where")? {
            delete = delete.filter(filter);
        }
        delete = delete.options(options.rest()?);
        let outcome = enter(py, async move { delete.run().await })?;
        self.changed(py, outcome)
    }

    fn update_rows<'py>(&self, py: Python<'py>, options: &Bound<'py, PyDict>) -> PyResult<Changed<'py>> {
        let options = Options::of(options);
        let mut update = self.table(py)?.update();
        for (column, expression) in options.get::<Vec<(String, String)>>("set")?.unwrap_or_default() {
            update = update.set(column, expression);
        }
        if let Some(filter) = options.get::<String>("where")? {
            update = update.filter(filter);
        }
        update = update.options(options.rest()?);
        let outcome = enter(py, async move { update.run().await })?;
        self.changed(py, outcome)
    }

    fn merge_rows<'py>(&self, py: Python<'py>, options: &Bound<'py, PyDict>, source: &MergeSource) -> PyResult<Changed<'py>> {
        let merge = self.merge(py, options, source)?;
        let outcome = enter(py, async move { merge.run().await })?;
        self.changed(py, outcome)
    }

    fn explain_merge<'py>(
        &self,
        py: Python<'py>,
        options: &Bound<'py, PyDict>,
        source: &MergeSource,
    ) -> PyResult<Bound<'py, PyDict>> {
        let merge = self.merge(py, options, source)?;
        let explanation = enter(py, async move { merge.explain().await })?;
        let found = PyDict::new(py);
        found.set_item("scan", explained(py, explanation.scan)?)?;
        let key = |key: MergeKey| (key.target, key.source, key.null_safe, key.prunes);
        found.set_item("keys", explanation.keys.into_iter().map(key).collect::<Vec<_>>())?;
        found.set_item("source_rows", explanation.source_rows)?;
        found.set_item("source_parts", explanation.source_parts)?;
        found.set_item("spilled_bytes", explanation.spilled_bytes)?;
        found.set_item("by_deletion_vectors", explanation.by_deletion_vectors)?;
        found.set_item("records_changes", explanation.records_changes)?;
        Ok(found)
    }
}

/// The rows of a merge's source for Python.
#[pyclass(module = "lakebed._lakebed", frozen)]
pub struct MergeSource {
    /// Rows that are in memory, or in a file that a forked child reads as well.
    source: Owned<Source>,
}

#[pymethods]
impl MergeSource {
    /// Reads all rows.
    #[staticmethod]
    fn read(py: Python<'_>, data: &Bound<'_, PyAny>, on_lossy: &str) -> PyResult<Self> {
        let on_lossy = on_lossy_of(Some(on_lossy)).map_err(to_py)?;
        let data = stream_of(data, on_lossy)?;
        enter(py, async move { Source::read_with(data, on_lossy).await }).map(|source| Self { source: Owned::new(source) })
    }

    /// Returns the number of rows.
    #[getter]
    fn rows(&self) -> u64 {
        self.source.look().rows()
    }
}

/// The kind and condition of a clause, and its effect on the rows: set all columns, set some
/// columns, or delete.
type GivenClause = (String, Option<String>, String, Option<Vec<(String, String)>>);

impl Table {
    fn merge(&self, py: Python<'_>, options: &Bound<'_, PyDict>, source: &MergeSource) -> PyResult<Merge> {
        let options = Options::of(options);
        let text = |key: &str| options.get::<String>(key);
        let mut merge = self.table(py)?.merge(source.source.look(), text("on")?.unwrap_or_default());
        if let (Some(target), Some(source)) = (text("target_alias")?, text("source_alias")?) {
            merge = merge.aliases(target, source);
        }
        if let Some(keys) = options.get::<Vec<String>>("keys")? {
            merge = merge.on_keys(keys);
        }
        merge = merge.evolve_schema(evolves(text("schema_mode")?.as_deref()).map_err(to_py)?);
        for given in options.get::<Vec<GivenClause>>("clauses")?.unwrap_or_default() {
            merge = merge.when(clause(given).map_err(to_py)?);
        }
        // The setting takes effect when the source is read.
        on_lossy_of(text("on_lossy")?.as_deref()).map_err(to_py)?;
        Ok(merge.options(options.rest()?))
    }

    fn changed<'py>(&self, py: Python<'py>, outcome: ChangeOutcome) -> PyResult<Changed<'py>> {
        after_commit(&self.table(py)?, outcome.snapshot.as_ref());
        let (committed, metrics) = (outcome.committed, pythonize(py, &outcome.metrics)?);
        Ok((self.sibling(py, outcome.version, outcome.snapshot)?, committed, metrics))
    }
}

fn clause((when, condition, action, columns): GivenClause) -> Result<Clause> {
    let when = match when.as_str() {
        "matched" => When::Matched,
        "not_matched" => When::NotMatched,
        "not_matched_by_source" => When::NotMatchedBySource,
        other => return Err(Error::internal(format!("there is no clause {other}"))),
    };
    let action = match (action.as_str(), columns) {
        ("update", None) => Action::UpdateAll,
        ("update", Some(columns)) => Action::Update(columns),
        ("insert", None) => Action::InsertAll,
        ("insert", Some(columns)) => Action::Insert(columns),
        ("delete", _) => Action::Delete,
        (other, _) => return Err(Error::internal(format!("there is no action {other}"))),
    };
    Ok(Clause { when, condition, action })
}

fn evolves(given: Option<&str>) -> Result<bool> {
    word("schema_mode", given, &[("enforce", false), ("merge", true)])
}
