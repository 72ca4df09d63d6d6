//! Converts new values to the form in which a partition column stores them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::ByteArrayType;
use arrow_array::{Array, ArrayRef, GenericByteArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};

use crate::path::hive::NULL_NAME;
use crate::schema::PrimitiveType;
use crate::{Error, Result};

/// Returns new values of a partition column in the form in which the table stores them. The empty
/// string and Hive's name for the partition of nulls become null, as in Delta Spark. The same holds
/// for these values as bytes. PROTOCOL "Partition Value Serialization".
pub fn stored_partition_values(values: ArrayRef, data_type: PrimitiveType) -> Result<ArrayRef> {
    let other_type = || Error::internal(format!("the type of values is {}, not {data_type}", values.data_type()));
    Ok(match data_type {
        PrimitiveType::String | PrimitiveType::Char { .. } => {
            match with_nulls(values.as_string_opt::<i32>().ok_or_else(other_type)?)? {
                Some(stored) => Arc::new(stored),
                None => values,
            }
        }
        PrimitiveType::Binary => match with_nulls(values.as_binary_opt::<i32>().ok_or_else(other_type)?)? {
            Some(stored) => Arc::new(stored),
            None => values,
        },
        _ => values,
    })
}

/// Returns the values with null in place of those that cannot be stored, or `None` if all can be
/// stored.
fn with_nulls<T: ByteArrayType<Offset = i32>>(values: &GenericByteArray<T>) -> Result<Option<GenericByteArray<T>>> {
    let bytes = values.value_data();
    let is_kept = |ends: &[i32]| match ends {
        [start, end] => start != end && bytes.get(*start as usize..*end as usize) != Some(NULL_NAME.as_bytes()),
        _ => true,
    };
    if values.value_offsets().windows(2).all(is_kept) {
        return Ok(None);
    }
    let kept = NullBuffer::new(BooleanBuffer::from_iter(values.value_offsets().windows(2).map(is_kept)));
    let nulls = NullBuffer::union(values.nulls(), Some(&kept));
    Ok(Some(GenericByteArray::try_new(values.offsets().clone(), values.values().clone(), nulls)?))
}

#[cfg(test)]
mod tests {
    use arrow_array::{BinaryArray, Int64Array, StringArray};

    use super::*;

    #[track_caller]
    fn check(values: impl Array + 'static, data_type: PrimitiveType, expected: impl Array + 'static) {
        let stored = stored_partition_values(Arc::new(values), data_type).unwrap();
        assert_eq!(stored.to_data(), expected.to_data());
    }

    #[test]
    fn store_empty_values_gives_null() {
        let texts = StringArray::from(vec![Some("a"), Some(""), None, Some("__HIVE_DEFAULT_PARTITION__"), Some(" ")]);
        let expected = [Some("a"), None, None, None, Some(" ")];
        let stored = stored_partition_values(Arc::new(texts.slice(1, 4)), PrimitiveType::String).unwrap();
        assert_eq!(stored.as_string::<i32>().iter().collect::<Vec<_>>(), expected[1..]);
        let stored = stored_partition_values(Arc::new(texts), PrimitiveType::String).unwrap();
        assert_eq!(stored.as_string::<i32>().iter().collect::<Vec<_>>(), expected);
        let bytes = BinaryArray::from(vec![Some(b"".as_slice()), Some(b"b")]);
        let stored = stored_partition_values(Arc::new(bytes), PrimitiveType::Binary).unwrap();
        assert_eq!(stored.as_binary::<i32>().iter().collect::<Vec<_>>(), [None, Some(b"b".as_slice())]);
    }

    #[test]
    fn other_values_stay_as_they_are() {
        check(StringArray::from(vec![Some("a"), None]), PrimitiveType::String, StringArray::from(vec![Some("a"), None]));
        check(Int64Array::from(vec![0]), PrimitiveType::Long, Int64Array::from(vec![0]));
    }
}
