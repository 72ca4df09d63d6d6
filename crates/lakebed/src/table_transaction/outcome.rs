//! The outcome of a transaction with several operations, and its entry in the history.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::Snapshot;
use crate::transaction::Operation;

/// The name of several operations in the history. No reader of Delta Spark treats it in a special
/// way, as its change data feed does with `MERGE`.
const SEVERAL: &str = "TRANSACTION";

/// The outcome of a transaction with several operations.
#[derive(Debug, Clone)]
pub struct TransactionOutcome {
    /// The version that was committed, or the version on which the transaction began if there was
    /// nothing to commit.
    pub version: u64,
    /// False if no operation changed anything.
    pub committed: bool,
    /// The operations, in order.
    pub operations: Vec<OperationOutcome>,
    /// The number of commits of other writers that came first, counted by attempts.
    pub conflicts: u64,
    /// The snapshot of that version. None if it could not be read after the commit; the commit is
    /// valid all the same.
    pub snapshot: Option<Snapshot>,
}

/// An operation of a transaction, as the history of a commit of its own would show it.
#[derive(Debug, Clone, PartialEq)]
pub struct OperationOutcome {
    /// The name, such as `DELETE`.
    pub name: String,
    /// The parameters.
    pub parameters: Map<String, Value>,
    /// The metrics.
    pub metrics: BTreeMap<String, i64>,
}

impl From<&Operation> for OperationOutcome {
    fn from(Operation { name, parameters, metrics }: &Operation) -> Self {
        Self { name: name.clone(), parameters: parameters.clone(), metrics: metrics.clone() }
    }
}

/// Returns the entry of the commit in the history. A single operation has its own. Several have a
/// summary: their names and parameters as JSON, and the sums of their metrics.
pub(super) fn summary(operations: &[OperationOutcome]) -> Operation {
    if let [OperationOutcome { name, parameters, metrics }] = operations {
        return Operation { name: name.clone(), parameters: parameters.clone(), metrics: metrics.clone() };
    }
    let listed: Vec<Value> = operations
        .iter()
        .map(|operation| json!({"operation": operation.name, "operationParameters": operation.parameters}))
        .collect();
    let mut whole = Operation::new(SEVERAL).with("operations", Value::from(listed).to_string());
    for (name, value) in operations.iter().flat_map(|operation| &operation.metrics) {
        let sum = whole.metrics.entry(name.clone()).or_default();
        *sum = sum.saturating_add(*value);
    }
    whole
}
