//! Transactions with several operations.

use std::sync::{Mutex, PoisonError};

use lakebed::Error;
use lakebed::table_transaction::{TableTransaction, TransactionOptions};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pythonize::pythonize;

use crate::background::after_commit;
use crate::error::to_py;
use crate::json::json_to_py;
use crate::options::Options;
use crate::owned::Owned;
use crate::runtime::enter;
use crate::table::Table;

/// An operation of a transaction: its name, parameters and metrics.
type Operation<'py> = (String, Bound<'py, PyAny>, Bound<'py, PyAny>);

/// A transaction for Python. It belongs to the process that began it.
#[pyclass(module = "lakebed._lakebed", frozen)]
pub struct Transaction {
    transaction: Owned<Mutex<Option<TableTransaction>>>,
}

#[pymethods]
impl Table {
    /// Begins a transaction and returns it with a handle whose operations belong to it. The result
    /// is `None` if the table knows the transaction already.
    fn begin_transaction(&self, py: Python<'_>, options: &Bound<'_, PyDict>) -> PyResult<Option<(Transaction, Table)>> {
        let options: TransactionOptions = Options::of(options).rest()?;
        let begin = self.table(py)?.transaction().options(options);
        let Some(transaction) = enter(py, async move { begin.begin().await })? else { return Ok(None) };
        let pending = transaction.table().clone();
        let version = transaction.snapshot().map_err(to_py)?.version();
        let table = Table::at(self.location(), pending, version, None);
        Ok(Some((Transaction { transaction: Owned::new(Mutex::new(Some(transaction))) }, table)))
    }

    /// Commits a transaction that began with this table. Returns the new table, whether there was
    /// something to commit, the operations, and the number of conflicts.
    fn commit_transaction<'py>(
        &self,
        py: Python<'py>,
        transaction: &Transaction,
    ) -> PyResult<(Table, bool, Vec<Operation<'py>>, u64)> {
        let transaction = transaction.take()?;
        let outcome = enter(py, async move { transaction.commit().await })?;
        if outcome.committed {
            after_commit(&self.table(py)?, outcome.snapshot.as_ref());
        }
        let mut operations = Vec::with_capacity(outcome.operations.len());
        for operation in outcome.operations {
            let parameters = json_to_py(py, &serde_json::Value::Object(operation.parameters))?;
            operations.push((operation.name, parameters, pythonize(py, &operation.metrics)?));
        }
        Ok((self.sibling(py, outcome.version, outcome.snapshot)?, outcome.committed, operations, outcome.conflicts))
    }
}

#[pymethods]
impl Transaction {
    /// Ends the transaction without a commit, and deletes its files.
    fn rollback(&self, py: Python<'_>) -> PyResult<()> {
        let transaction = self.take()?;
        enter(py, async move { transaction.rollback().await })
    }
}

impl Transaction {
    fn take(&self) -> PyResult<TableTransaction> {
        let transaction = self.transaction.get("the transaction").map_err(to_py)?;
        let taken = transaction.lock().unwrap_or_else(PoisonError::into_inner).take();
        taken.ok_or_else(|| to_py(Error::invalid_input("the transaction has ended: begin another one")))
    }
}
