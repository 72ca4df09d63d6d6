//! Converts single values of a file to those of the table. The types may have been widened since
//! the file was written, timestamps may have old encodings, strings may be unchecked, and strings
//! may need padding.

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

use super::calendar_rebase::{CalendarRebase, RebaseZone, rebase_days, rebase_micros};
use super::decoded_type::is_moving_form;
use crate::Result;

/// How the values of one leaf are converted.
pub(super) struct LeafAdapter {
    to: ArrowType,
    /// Whether strings must be checked. The decoder checks only columns that are marked as UTF-8,
    /// but it returns others as strings, too.
    unchecked_text: bool,
    old_dates: bool,
    old_timestamps: Option<RebaseZone>,
    /// The number of characters to which strings are padded.
    padded: Option<u32>,
}

impl LeafAdapter {
    /// Returns the conversion from the type in a file to the type of the table. It is refused if
    /// Delta does not allow the change of type.
    pub(super) fn new(
        wanted: PrimitiveType,
        found: &ArrowType,
        column: &ColumnDescriptor,
        rebase: &CalendarRebase,
    ) -> Result<Self> {
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

    /// Returns whether the conversion may change the order of values.
    pub(super) fn is_of_old_calendar(&self) -> bool {
        self.old_dates || self.old_timestamps.is_some()
    }

    /// Returns whether decoded values of this type are those of the table, apart from their form.
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

/// Returns the same strings if they are UTF-8.
fn checked_text(text: &StringArray) -> Result<ArrayRef> {
    let bytes = BinaryArray::try_new(text.offsets().clone(), text.values().clone(), text.nulls().cloned())?;
    Ok(Arc::new(StringArray::try_from_binary(bytes)?))
}
