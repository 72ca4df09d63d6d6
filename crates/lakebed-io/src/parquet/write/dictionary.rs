//! Decides which columns are better written without a dictionary.
//!
//! An encoder with a dictionary looks every value up, and gives the dictionary up only when it has
//! become too large. If nearly all values differ, this is the most expensive part of writing, and
//! the file does not become smaller. So the values of a sample are counted first. The number of
//! repeated values gives an estimate of the number of different values in all, as in the birthday
//! problem. Read [`without_dictionary`].

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use parquet::file::properties::DEFAULT_DICTIONARY_PAGE_SIZE_LIMIT;

use crate::parquet::LENGTH_BYTES;

/// The size above which the encoder gives up a dictionary.
const MOST_BYTES: f64 = DEFAULT_DICTIONARY_PAGE_SIZE_LIMIT as f64;

/// Returns the columns for which a dictionary does not make the file smaller, judged from a sample
/// of `rows` rows. A row group has `group_rows` rows at most.
pub(super) fn without_dictionary(sample: &RecordBatch, rows: usize, group_rows: usize) -> Vec<Vec<String>> {
    let schema = sample.schema_ref();
    let columns = schema.fields().iter().zip(sample.columns());
    let is_useless = |array: &dyn Array| {
        let seen = SampleFacts::of(array);
        // More rows may follow those of the sample.
        seen.is_some_and(|seen| !seen.is_dictionary_smaller(rows) && !seen.is_dictionary_smaller(group_rows.max(rows)))
    };
    columns.filter(|(_, array)| is_useless(array)).map(|(field, _)| vec![field.name().clone()]).collect()
}

/// The facts that a sample gives about its column.
#[derive(Debug, Clone, Copy, PartialEq)]
struct SampleFacts {
    /// The number of rows.
    rows: usize,
    /// The number of different values in the sample.
    different: f64,
    /// An estimate of the number of different values in all rows. It is infinite if no two values
    /// of the sample are equal.
    values: f64,
    /// The average number of bytes that a value takes in the file.
    width: f64,
    /// The share of the rows that have a value.
    share: f64,
}

impl SampleFacts {
    /// Returns the facts about a column. The result is `None` for a column without values, and for
    /// types with values that are not compared here.
    fn of(array: &dyn Array) -> Option<Self> {
        let (mut keys, mut bytes) = (Vec::with_capacity(array.len()), 0);
        let mut see = |value: &[u8], in_file: usize| {
            keys.push(key(value));
            bytes += in_file;
        };
        let data = array.to_data();
        match array.data_type() {
            DataType::Utf8 => {
                array.as_string::<i32>().iter().flatten().for_each(|text| see(text.as_bytes(), text.len() + LENGTH_BYTES));
            }
            DataType::Utf8View => {
                array.as_string_view().iter().flatten().for_each(|text| see(text.as_bytes(), text.len() + LENGTH_BYTES));
            }
            DataType::Binary => {
                array.as_binary::<i32>().iter().flatten().for_each(|value| see(value, value.len() + LENGTH_BYTES));
            }
            of_one_width => {
                let (width, in_file) = (of_one_width.primitive_width()?, width_in_file(of_one_width)?);
                let all = data.buffers().first()?.get(data.offset() * width..)?.chunks_exact(width);
                let valid = all.take(array.len()).enumerate().filter(|(row, _)| array.is_valid(*row));
                valid.for_each(|(_, value)| see(value, in_file));
            }
        }
        keys.sort_unstable();
        keys.dedup();
        let valid = (array.len() - array.null_count()) as f64;
        if valid == 0.0 {
            return None;
        }
        let different = keys.len() as f64;
        let values = how_many(different, valid);
        Some(Self { rows: array.len(), different, values, width: bytes as f64 / valid, share: valid / array.len() as f64 })
    }

    /// Returns whether this number of rows takes less space with a dictionary.
    fn is_dictionary_smaller(self, rows: usize) -> bool {
        let is_sample = rows > self.rows;
        let rows = rows as f64 * self.share;
        let values = match (is_sample, self.values.is_finite()) {
            (false, _) => self.different,
            (true, true) => met(self.values, rows),
            (true, false) => rows,
        };
        let dictionary = values * self.width;
        let keys = rows * values.log2().ceil() / 8.0;
        dictionary <= MOST_BYTES && dictionary + keys < rows * self.width
    }
}

/// Returns a key that differs for different values, except for a few in many millions. It does no
/// harm if two values have the same key.
fn key(value: &[u8]) -> u64 {
    let step = |key: u64, word: u64| {
        let mixed = (key ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed ^ (mixed >> 32)
    };
    let (words, rest) = value.as_chunks::<8>();
    let key = words.iter().fold(0, |key, word| step(key, u64::from_le_bytes(*word)));
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    step(step(key, u64::from_le_bytes(last)), value.len() as u64)
}

/// Returns the expected number of different values if one of `values` is drawn this many times.
fn met(values: f64, draws: f64) -> f64 {
    -values * (-draws / values).exp_m1()
}

/// Returns the inverse of `met`: an estimate of the number of values if `different` ones were
/// drawn.
fn how_many(different: f64, draws: f64) -> f64 {
    if different >= draws {
        return f64::INFINITY;
    }
    let (mut low, mut high) = (different, draws * draws);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if met(middle, draws) < different { low = middle } else { high = middle }
    }
    high
}

/// Returns how many bytes a value takes in Parquet. Returns `None` for types that have no
/// dictionary or are not numbers of one width.
fn width_in_file(data_type: &DataType) -> Option<usize> {
    Some(match data_type {
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Date32 | DataType::Float32 => 4,
        DataType::Int64 | DataType::Timestamp(..) | DataType::Float64 => 8,
        DataType::Decimal64(..=9, _) | DataType::Decimal128(..=9, _) => 4,
        DataType::Decimal64(..) | DataType::Decimal128(10..=18, _) => 8,
        DataType::Decimal128(..) => 16,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        ArrayRef, BooleanArray, Decimal128Array, Float64Array, Int32Array, Int64Array, NullArray, StringArray, StringViewArray,
    };
    use arrow_cast::cast;

    use super::*;

    fn without(columns: Vec<(&str, ArrayRef)>, rows: usize, group_rows: usize) -> Vec<String> {
        let sample = RecordBatch::try_from_iter(columns).unwrap();
        without_dictionary(&sample, rows, group_rows).concat()
    }

    /// Draws numbers at random from `values`, by splitmix64.
    fn drawn(draws: u64, values: u64) -> Vec<i64> {
        let draw = |draw: u64| {
            let mut number = draw.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            ((number ^ (number >> 31)) % values).cast_signed()
        };
        (0..draws).map(draw).collect()
    }

    #[test]
    fn columns_whose_values_differ_need_no_dictionary() {
        let texts = |values| StringArray::from_iter_values(drawn(1000, values).iter().map(|value| format!("the value {value}")));
        let decimals = |values| {
            let numbers = drawn(1000, values).into_iter().map(i128::from).collect::<Decimal128Array>();
            numbers.with_precision_and_scale(12, 2).unwrap()
        };
        let in_64_bits = |decimals| cast(&decimals, &DataType::Decimal64(12, 2)).unwrap();
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("few", Arc::new(Int64Array::from(drawn(1000, 50)))),
            ("many", Arc::new(Int64Array::from(drawn(1000, 1 << 40)))),
            ("few_texts", Arc::new(texts(2000))),
            ("many_texts", Arc::new(texts(1 << 40))),
            ("few_decimals", Arc::new(decimals(2000))),
            ("many_decimals", Arc::new(decimals(1 << 40))),
            ("many_floats", Arc::new(drawn(1000, 1 << 40).into_iter().map(|value| value as f64).collect::<Float64Array>())),
            ("few_views", Arc::new(StringViewArray::from(&texts(2000)))),
            ("many_views", Arc::new(StringViewArray::from(&texts(1 << 40)))),
            ("few_shorts", in_64_bits(decimals(2000))),
            ("many_shorts", in_64_bits(decimals(1 << 40))),
            ("one", Arc::new(StringArray::from(vec!["always"; 1000]))),
        ];
        assert_eq!(
            without(columns, 100_000, 1 << 20),
            ["many", "many_texts", "many_decimals", "many_floats", "many_views", "many_shorts"]
        );
    }

    #[test]
    fn dictionary_is_judged_by_file_size() {
        // There are 30,000 different values. With all 100,000 rows, 30,000 × 8 + 100,000 × 15 / 8
        // bytes are less than 800,000.
        let wide: ArrayRef = Arc::new(Int64Array::from(drawn(1024, 30_000)));
        assert!(without(vec![("wide", wide)], 100_000, 100_000).is_empty());
        // Of 2,000,000 values, about 97,500 are drawn, so the dictionary alone is as large as the
        // values.
        let wide: ArrayRef = Arc::new(Int64Array::from(drawn(1024, 2_000_000)));
        assert_eq!(without(vec![("wide", wide)], 100_000, 100_000), ["wide"]);
        // If more rows may follow, those of the row group count too: 100,000 × 8 + 1,000,000 × 17 /
        // 8 bytes against 8,000,000.
        let wide: ArrayRef = Arc::new(Int64Array::from(drawn(1024, 100_000)));
        assert_eq!(without(vec![("wide", Arc::clone(&wide))], 20_000, 20_000), ["wide"]);
        assert!(without(vec![("wide", wide)], 20_000, 1_000_000).is_empty());
    }

    #[test]
    fn all_rows_at_hand_are_counted_exactly() {
        // Ten rows of five values take 5 × 4 + 10 × 3 / 8 bytes with a dictionary, and 40 without
        // one. Ten rows of nine values take 9 × 4 + 10 × 4 / 8 bytes with one, and 40 without one.
        let five: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3, 4, 5, 1, 2, 3, 4, 5]));
        let nine: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3, 4, 5, 6, 7, 8, 9, 9]));
        assert_eq!(without(vec![("five", five), ("nine", nine)], 10, 10), ["nine"]);
    }

    #[test]
    fn nulls_and_other_types_are_ignored() {
        let sparse = drawn(1000, 1 << 40).into_iter().enumerate().map(|(row, value)| (row % 4 == 0).then_some(value));
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("sparse", Arc::new(sparse.collect::<Int64Array>())),
            ("nulls", Arc::new(Int64Array::new_null(1000))),
            ("booleans", Arc::new(BooleanArray::from(vec![true; 1000]))),
            ("nothing", Arc::new(NullArray::new(1000))),
        ];
        assert_eq!(without(columns, 10_000, 10_000), ["sparse"]);
    }

    #[test]
    fn slices_are_counted_by_their_own_rows() {
        let values: Vec<i64> = drawn(1000, 1 << 40).into_iter().chain(std::iter::repeat_n(7, 1000)).collect();
        let column: ArrayRef = Arc::new(Int64Array::from(values));
        assert_eq!(without(vec![("a", column.slice(0, 1000))], 50_000, 50_000), ["a"]);
        assert!(without(vec![("a", column.slice(1000, 1000))], 50_000, 50_000).is_empty());
    }

    #[test]
    fn different_values_have_different_keys() {
        let mut values: Vec<Vec<u8>> = (0..20_u8).map(|length| vec![0; usize::from(length)]).collect();
        values.extend((0..100_000_u64).map(|number| number.to_le_bytes().to_vec()));
        values.extend((0..100_000_u64).map(|number| format!("a longer text {number}").into_bytes()));
        values.extend((0..64).map(|bit| (1_u64 << bit).to_be_bytes().repeat(3)));
        values.sort();
        values.dedup();
        let keys: std::collections::HashSet<u64> = values.iter().map(|value| key(value)).collect();
        assert_eq!(keys.len(), values.len());
    }

    #[test]
    fn estimated_count_inverts_expected_count() {
        for values in [1.0, 10.0, 1000.0, 50_000.0, 400_000.0] {
            let found = how_many(met(values, 1024.0), 1024.0);
            assert!((found / values - 1.0).abs() < 1e-3, "{values}: {found}");
        }
        assert!(how_many(1024.0, 1024.0).is_infinite());
        // One of a hundred values is drawn a hundred times. The expected number of different values
        // is 100 × (1 − 0.99^100) = 63.397.
        assert!((met(100.0, 100.0) - 63.397).abs() < 0.2);
    }
}
