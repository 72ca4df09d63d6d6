//! Rows of one kind of action in a checkpoint.

use arrow_array::{Array, StructArray};

/// Rows that fill one column. All other columns are null in them.
#[derive(Debug, Clone)]
pub struct ActionRows {
    /// The name of the column.
    pub column: String,
    /// The values of the column.
    pub array: StructArray,
}

impl ActionRows {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.array.len()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
