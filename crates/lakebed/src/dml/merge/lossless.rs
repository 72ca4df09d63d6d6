//! A merge by keys takes its source's columns over as a write does: nothing is lost, unless digits may go. A merge by a condition assigns
//! values as SQL does, by CAST.

use arrow_array::RecordBatch;
use lakebed_core::schema::StructType;
use lakebed_core::schema::assign::{DifferenceKind, compare};

use super::Given;
use super::source::Source;
use crate::write::fit::{OnLossy, fit};
use crate::{Error, Result};

/// Whether values of the source must not change on their way into the table.
pub(super) fn is_asked(given: &Given, source: &Source) -> bool {
    !given.keys.is_empty() && source.on_lossy() == OnLossy::Error
}

/// Refuses columns whose type a write would refuse, such as fractions for whole numbers.
pub(super) fn check_types(table: &str, target: &StructType, source: &StructType) -> Result<()> {
    let differences = compare(target, source, |_| true);
    let is_type = |kind: &DifferenceKind| matches!(kind, DifferenceKind::Type { .. });
    let lines: Vec<String> =
        differences.iter().filter(|found| is_type(&found.kind)).map(|found| format!("\n  {found}")).collect();
    if lines.is_empty() {
        return Ok(());
    }
    Err(Error::schema_mismatch(format!(
        "{table}: the data does not fit into the table:{}\nGive the columns the types of the table, or on_lossy=\"truncate\" to have their values \
         cast as SQL does; nothing was written",
        lines.concat()
    )))
}

/// Refuses values that the columns of the target cannot hold.
pub(super) fn check_values(target: &StructType, source: &StructType, rows: &RecordBatch) -> Result<()> {
    for (field, column) in source.fields.iter().zip(rows.columns()) {
        if let Some(held) = target.field(&field.name).filter(|held| held.data_type != field.data_type) {
            fit(column, &held.data_type, OnLossy::Error, &field.name)?;
        }
    }
    Ok(())
}
