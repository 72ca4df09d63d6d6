//! Rows of one kind of action in a checkpoint.

use arrow_array::{Array, StructArray};

/// Rows that fill one column; all others are null in them.
#[derive(Debug, Clone)]
pub struct ActionRows {
    /// Which.
    pub column: String,
    /// What they fill it with.
    pub array: StructArray,
}

impl ActionRows {
    /// How many.
    pub fn len(&self) -> usize {
        self.array.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
