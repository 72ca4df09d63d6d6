//! How single values of a file become the table's: types that were widened since, old encodings of
//! timestamps, text that nobody checked, text to pad.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, BinaryArray, StringArray, new_empty_array};
use arrow_schema::DataType as ArrowType;
use parquet::basic::{ConvertedType, Type as PhysicalType};
use parquet::schema::types::ColumnDescriptor;

use lakebed_core::schema::arrow::primitive_to_arrow;
use lakebed_core::schema::char_varchar::pad_column;
use lakebed_core::schema::{PrimitiveType, widen};

use super::form::is_moving_form;
use super::rebase::{Rebase, Zone, rebase_days, rebase_micros};
use crate::Result;

/// What becomes of the values of one leaf.
pub(super) struct Leaf {
    to: ArrowType,
    /// The decoder checks only what is marked as UTF-8 and calls other things text, too.
    unchecked_text: bool,
    old_dates: bool,
    old_timestamps: Option<Zone>,
    /// Text is padded to so many characters.
    padded: Option<u32>,
}

impl Leaf {
    /// From what is found in a file to what the table has; refused if Delta allows no such change.
    pub(super) fn new(wanted: PrimitiveType, found: &ArrowType, column: &ColumnDescriptor, rebase: &Rebase) -> Result<Self> {
        let to = primitive_to_arrow(wanted)?;
        widen::cast_up(&new_empty_array(found), &to)?;
        let is_timestamp = wanted == PrimitiveType::Timestamp;
        let old_timestamps = match column.physical_type() {
            PhysicalType::INT96 if is_timestamp => rebase.int96.clone(),
            PhysicalType::INT64 if is_timestamp => rebase.timestamps.clone(),
            _ => None,
        };
        Ok(Self {
            to,
            unchecked_text: *found == ArrowType::Utf8 && column.converted_type() != ConvertedType::UTF8,
            old_dates: (*found == ArrowType::Date32 || wanted == PrimitiveType::Date) && rebase.dates,
            old_timestamps,
            padded: match wanted {
                PrimitiveType::Char { length } => Some(length),
                _ => None,
            },
        })
    }

    /// Whether values change in a way that may put them in another order.
    pub(super) fn is_of_old_calendar(&self) -> bool {
        self.old_dates || self.old_timestamps.is_some()
    }

    /// Whether values of this type are the table's, but for their form.
    pub(super) fn keeps(&self, decoded: &ArrowType) -> bool {
        let is_same = decoded == &self.to && !self.unchecked_text && !self.is_of_old_calendar();
        (is_same || is_moving_form(decoded, &self.to)) && self.padded.is_none()
    }

    pub(super) fn adapt(&self, array: &ArrayRef) -> Result<ArrayRef> {
        let mut array = Arc::clone(array);
        if self.unchecked_text {
            array = checked_text(array.as_string::<i32>())?;
        }
        if self.old_dates {
            array = widen::cast_up(&array, &ArrowType::Date32)?;
            array = Arc::new(array.as_primitive::<Date32Type>().unary::<_, Date32Type>(rebase_days));
        }
        if array.data_type() != &self.to {
            array = widen::cast_up(&array, &self.to)?;
        }
        if let Some(zone) = &self.old_timestamps {
            let micros = array.as_primitive::<TimestampMicrosecondType>();
            let rebased = micros.unary::<_, TimestampMicrosecondType>(|value| rebase_micros(zone, value));
            array = Arc::new(rebased.with_timezone_opt(micros.timezone()));
        }
        if let (Some(length), Some(texts)) = (self.padded, array.as_string_opt::<i32>()) {
            array = pad_column(texts, length)?;
        }
        Ok(array)
    }
}

/// The same text, if it is UTF-8.
fn checked_text(text: &StringArray) -> Result<ArrayRef> {
    let bytes = BinaryArray::try_new(text.offsets().clone(), text.values().clone(), text.nulls().cloned())?;
    Ok(Arc::new(StringArray::try_from_binary(bytes)?))
}
