//! Checks tables, also those that cannot be opened.

use std::sync::mpsc::channel;

use lakebed::check::{CheckOutcome, CheckProgress, Finding};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pythonize::pythonize;
use serde::Serialize;

use crate::error::to_py;
use crate::options::Options;
use crate::runtime::enter;
use crate::table::Table;

#[pymethods]
impl Table {
    /// Checks the table at a location.
    #[staticmethod]
    fn check<'py>(py: Python<'py>, options: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
        let options = Options::of(options);
        let location = Table::location_of(&options)?;
        let watcher = options.object("progress")?;
        let mut check = location.table().map_err(to_py)?.check().options(options.rest()?);
        let mut telling = None;
        if let Some(watcher) = watcher {
            // The callback runs on its own thread, so that it may use lakebed and does not delay
            // the check.
            let (sender, told) = channel();
            telling = Some(std::thread::spawn(move || told.iter().for_each(|progress| tell(&watcher, progress))));
            check = check.watched_by(move |progress| _ = sender.send(progress));
        }
        let outcome = enter(py, async move { check.run().await });
        if let Some(telling) = telling {
            // All progress is reported before the call returns.
            let _ = py.detach(|| telling.join());
        }
        Ok(pythonize(py, &ShownOutcome::of(&outcome?))?)
    }
}

/// The outcome in the form of Python's `CheckResult`.
#[derive(Serialize)]
pub struct ShownOutcome<'a> {
    version: u64,
    checked_version: Option<u64>,
    findings: Vec<ShownFinding<'a>>,
    counts: Vec<(lakebed::check::FindingKind, u64)>,
    files: Option<u64>,
    rows: Option<u64>,
    ok: bool,
}

#[derive(Serialize)]
pub struct ShownFinding<'a> {
    #[serde(flatten)]
    finding: &'a Finding,
    severity: lakebed::check::Severity,
    level: lakebed::check::Level,
    meaning: &'static str,
    remedy: Option<&'static str>,
}

impl<'a> ShownOutcome<'a> {
    /// Returns the outcome in this form.
    pub fn of(outcome: &'a CheckOutcome) -> Self {
        let shown = |finding: &'a Finding| ShownFinding {
            finding,
            severity: finding.kind.severity(),
            level: finding.kind.level(),
            meaning: finding.kind.meaning(),
            remedy: finding.kind.remedy(),
        };
        Self {
            version: outcome.version,
            checked_version: outcome.checked_version,
            findings: outcome.findings.iter().map(shown).collect(),
            counts: outcome.counts.iter().map(|(kind, count)| (*kind, *count)).collect(),
            files: outcome.files,
            rows: outcome.rows,
            ok: outcome.is_ok(),
        }
    }
}

/// Reports progress to Python. An error of the callback is reported and does not stop the check.
fn tell(watcher: &Py<PyAny>, progress: CheckProgress) {
    Python::attach(|py| {
        let told = pythonize(py, &progress.level).map_err(PyErr::from);
        let told = told.and_then(|level| watcher.call1(py, (level, progress.done, progress.total)));
        if let Err(error) = told {
            error.write_unraisable(py, Some(watcher.bind(py)));
        }
    });
}
