//! Checks that a merge by keys takes over the source columns without loss, unless the caller lets
//! digits be cut. A merge by a condition assigns values with CAST, as SQL does. Both parse texts,
//! because a text that is not a value of the type is an error.

use arrow_array::RecordBatch;
use lakebed_core::schema::assign::{DifferenceKind, compare};
use lakebed_core::schema::{DataType, PrimitiveType, StructType};

use super::options::MergeOptions;
use super::source::Source;
use crate::write::convert::{OnLossy, fit};
use crate::{Error, Result};

/// Returns whether source values must not change on their way into the table.
pub(super) fn is_asked(given: &MergeOptions, source: &Source) -> bool {
    !given.keys.is_empty() && source.on_lossy() == OnLossy::Error
}

/// Refuses columns if a write would refuse their type, such as fractions for whole numbers. The
/// check skips text columns: the merge parses texts when it assigns them, and refuses those that it
/// cannot parse.
pub(super) fn check_types(table: &str, target: &StructType, source: &StructType) -> Result<()> {
    let differences = compare(target, source, |_| true);
    let loses = |kind: &DifferenceKind| matches!(kind, DifferenceKind::Type { table, data } if !is_text(table) && !is_text(data));
    let lines: Vec<String> = differences.iter().filter(|found| loses(&found.kind)).map(|found| format!("\n  {found}")).collect();
    if lines.is_empty() {
        return Ok(());
    }
    Err(Error::schema_mismatch(format!(
        "{table}: the data does not fit into the table:{}\nConvert the columns to the types of the table, or set \
         on_lossy=\"truncate\" to cast their values as SQL does; nothing was written",
        lines.concat()
    )))
}

/// Refuses values that the target columns cannot store.
pub(super) fn check_values(target: &StructType, source: &StructType, rows: &RecordBatch) -> Result<()> {
    for (field, column) in source.fields.iter().zip(rows.columns()) {
        let held = target.field(&field.name).filter(|held| held.data_type != field.data_type);
        if let Some(held) = held.filter(|held| !is_text(&held.data_type) && !is_text(&field.data_type)) {
            fit(column, &held.data_type, OnLossy::Error, &field.name)?;
        }
    }
    Ok(())
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Primitive(PrimitiveType::String | PrimitiveType::Char { .. }))
}
