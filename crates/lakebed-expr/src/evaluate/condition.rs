//! Evaluates conditions on the rows of a batch: for which rows they are true, may be true, or are
//! null.

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_select::filter::prep_null_mask_filter;
use datafusion_common::Result as DfResult;
use datafusion_physical_expr::PhysicalExpr;

use super::kernel::fail;
use crate::types;

/// Returns for each row of a batch whether a condition is true. Null counts as false.
pub(crate) fn true_rows(condition: &dyn PhysicalExpr, batch: &RecordBatch) -> DfResult<BooleanArray> {
    let found = condition.evaluate(batch)?.into_array(batch.num_rows())?;
    Ok(match booleans(&found)? {
        found if found.nulls().is_some() => prep_null_mask_filter(found),
        found => found.clone(),
    })
}

/// Returns for each row of a batch whether a condition is true or null.
pub(crate) fn true_or_null_rows(condition: &dyn PhysicalExpr, batch: &RecordBatch) -> DfResult<BooleanArray> {
    let found = condition.evaluate(batch)?.into_array(batch.num_rows())?;
    let found = booleans(&found)?;
    Ok(match found.nulls() {
        Some(known) => BooleanArray::new(found.values() | &!known.inner(), None),
        None => found.clone(),
    })
}

/// Returns for each row of a batch whether a condition is null.
pub(crate) fn null_rows(condition: &dyn PhysicalExpr, batch: &RecordBatch) -> DfResult<BooleanArray> {
    let found = condition.evaluate(batch)?.into_array(batch.num_rows())?;
    Ok((0..found.len()).map(|row| Some(found.is_null(row))).collect())
}

pub(crate) fn booleans(array: &ArrayRef) -> DfResult<&BooleanArray> {
    array
        .as_any()
        .downcast_ref::<BooleanArray>()
        .ok_or_else(|| fail(format!("a condition gave {}", types::name(array.data_type()))))
}
