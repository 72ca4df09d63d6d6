//! Identity columns: their values go in steps from a high water mark that only moves forward.
//! PROTOCOL "Identity Columns".

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use arrow_cast::cast;
use arrow_schema::DataType as ArrowType;
use lakebed_core::commit::conflict::IDENTITY_MARK;
use lakebed_core::schema::StructField;
use lakebed_core::schema::field_metadata::{IDENTITY_ALLOW_GIVEN, IDENTITY_START, IDENTITY_STEP};
use serde_json::Value;

use crate::{Error, Result};

/// The part of a write's rows that one process numbers: every `of`th row, beginning with row
/// `number`. So no two processes give the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartNumber {
    /// The index of the part, counted from 0.
    pub number: u64,
    /// The maximum number of parts.
    pub of: u64,
}

impl PartNumber {
    /// The part that contains all rows.
    pub const WHOLE: Self = Self { number: 0, of: 1 };

    /// Returns the index of the part's row among all rows, counted from 0.
    fn place(self, row: u64) -> Option<u64> {
        row.checked_mul(self.of)?.checked_add(self.number)
    }
}

/// The rules by which a column is numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    start: i64,
    step: i64,
    high_water_mark: Option<i64>,
    /// Whether data may contain values for the column.
    pub allows_given: bool,
}

impl Identity {
    /// Reads the rules from the metadata of a column.
    pub(super) fn of(field: &StructField) -> Result<Self> {
        let number = |key: &str| field.metadata.get(key).and_then(Value::as_i64);
        let missing = |key: &str| {
            Error::corrupt(format!("schema: column {}", field.name), format!("the identity column has no valid {key}"))
        };
        Ok(Self {
            start: number(IDENTITY_START).ok_or_else(|| missing(IDENTITY_START))?,
            step: number(IDENTITY_STEP).filter(|step| *step != 0).ok_or_else(|| missing(IDENTITY_STEP))?,
            high_water_mark: number(IDENTITY_MARK),
            allows_given: field.metadata.get(IDENTITY_ALLOW_GIVEN).and_then(Value::as_bool).unwrap_or(false),
        })
    }

    /// Returns the number of the row that comes `place` rows after the first new one.
    fn value(&self, place: u64) -> Option<i64> {
        let first = match self.high_water_mark {
            // The mark may not be one of the numbers, because a sync may have moved it. The next
            // number is beyond the mark, in the direction of the steps.
            Some(mark) => {
                let (way, step) = (i128::from(mark) - i128::from(self.start), i128::from(self.step));
                ((way * step.signum()).div_euclid(step.abs()) + 1).max(0)
            }
            None => 0,
        };
        let number = i128::from(self.start) + (first + i128::from(place)) * i128::from(self.step);
        i64::try_from(number).ok()
    }

    /// Returns the numbers of some rows of a part. The first row comes `first` rows after the
    /// part's first one.
    pub(super) fn values(&self, part: PartNumber, first: u64, rows: usize, to: &ArrowType, column: &str) -> Result<ArrayRef> {
        let numbers = (first..first + rows as u64).map(|row| self.value(part.place(row)?));
        let numbers: Option<Vec<i64>> = numbers.collect();
        let spent = || Error::invalid_input(format!("identity column {column} has no numbers left"));
        let array: ArrayRef = Arc::new(Int64Array::from(numbers.ok_or_else(spent)?));
        Ok(cast(&array, to)?)
    }

    /// Returns the high water mark after this number of rows of a part, or `None` if it stays.
    pub(super) fn mark_after(&self, part: PartNumber, rows: u64) -> Option<i64> {
        self.value(part.place(rows.checked_sub(1)?)?)
    }

    /// Returns the one of two marks that is further in the direction of the steps.
    pub(crate) fn further(&self, one: i64, other: i64) -> i64 {
        if self.step > 0 { one.max(other) } else { one.min(other) }
    }
}

/// Returns the column with a new high water mark.
pub(crate) fn with_mark(field: &StructField, mark: i64) -> StructField {
    let mut field = field.clone();
    field.metadata.insert(IDENTITY_MARK.to_owned(), mark.into());
    field
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use lakebed_core::schema::PrimitiveType;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(start: i64, step: i64, mark: Option<i64>, expected: [i64; 3]) {
        let mut field = StructField::new("id", PrimitiveType::Long, true);
        field.metadata.insert(IDENTITY_START.to_owned(), json!(start));
        field.metadata.insert(IDENTITY_STEP.to_owned(), json!(step));
        field.metadata.extend(mark.map(|mark| (IDENTITY_MARK.to_owned(), json!(mark))));
        let identity = Identity::of(&field).unwrap();
        assert_eq!([0, 1, 2].map(|place| identity.value(place).unwrap()), expected);
    }

    #[test]
    fn identity_continues_beyond_high_water_mark() {
        check(1, 1, None, [1, 2, 3]);
        check(1, 1, Some(7), [8, 9, 10]);
        check(5, 10, Some(5), [15, 25, 35]);
        check(5, 10, Some(24), [25, 35, 45]);
        check(-1, -2, None, [-1, -3, -5]);
        check(-1, -2, Some(-5), [-7, -9, -11]);
        check(-1, -2, Some(-4), [-5, -7, -9]);
        check(10, 1, Some(3), [10, 11, 12]);
        check(-10, -1, Some(-3), [-10, -11, -12]);
    }

    #[test]
    fn identity_overflow_is_refused() {
        let identity = Identity { start: i64::MAX - 1, step: 1, high_water_mark: None, allows_given: false };
        assert_eq!(identity.mark_after(PartNumber::WHOLE, 2), Some(i64::MAX));
        let error = identity.values(PartNumber::WHOLE, 1, 2, &ArrowType::Int64, "id").unwrap_err();
        assert_eq!(error.message(), "identity column id has no numbers left");
        assert_eq!(identity.mark_after(PartNumber::WHOLE, 0), None);
    }

    #[test]
    fn parts_share_the_numbers_among_them() {
        let identity = Identity { start: 10, step: -5, high_water_mark: Some(10), allows_given: false };
        let numbers = |number| {
            let values = identity.values(PartNumber { number, of: 3 }, 1, 2, &ArrowType::Int64, "id").unwrap();
            values.as_primitive::<Int64Type>().values().to_vec()
        };
        assert_eq!([numbers(0), numbers(1), numbers(2)], [[-10, -25], [-15, -30], [-20, -35]]);
        assert_eq!(identity.mark_after(PartNumber { number: 1, of: 3 }, 3), Some(-30));
        assert_eq!((identity.further(-30, -35), identity.further(-5, 5)), (-35, -5));
    }
}
