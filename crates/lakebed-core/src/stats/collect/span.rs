//! Finds the least and the greatest value of an array in one pass.

use arrow_buffer::NullBuffer;

/// The key by which values are compared.
pub(super) trait Key: Copy + Ord {
    /// The least key.
    const LEAST: Self;
    /// The greatest key.
    const GREATEST: Self;
}

macro_rules! keys {
    ($($key:ty),*) => {
        $(impl Key for $key {
            const LEAST: Self = Self::MIN;
            const GREATEST: Self = Self::MAX;
        })*
    };
}

keys!(i8, i16, i32, i64, i128, u64);

/// The range from the least to the greatest of some keys. Without keys, it goes from the greatest
/// possible key to the least.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Span<K> {
    pub(super) low: K,
    pub(super) high: K,
}

impl<K: Key> Span<K> {
    pub(super) const EMPTY: Self = Self { low: K::GREATEST, high: K::LEAST };

    /// Returns the span of the values that are not null.
    pub(super) fn of<V: Copy>(values: &[V], nulls: Option<&NullBuffer>, key: impl Fn(V) -> K + Copy) -> Self {
        let Some(nulls) = nulls.filter(|nulls| nulls.null_count() > 0) else { return Self::of_all(values, key) };
        let words = nulls.inner().bit_chunks();
        let parts = values.chunks(WORD).zip(words.iter_padded()).map(|(values, valid)| match valid {
            0 => Self::EMPTY,
            u64::MAX => Self::of_all(values, key),
            some => Self::of_some(values, some, key),
        });
        parts.fold(Self::EMPTY, Self::join)
    }

    fn of_all<V: Copy>(values: &[V], key: impl Fn(V) -> K) -> Self {
        let (mut low, mut high) = (K::GREATEST, K::LEAST);
        for value in values {
            let key = key(*value);
            low = low.min(key);
            high = high.max(key);
        }
        Self { low, high }
    }

    /// Returns the span of the values with a set bit in `valid`. There is no branch, so that
    /// several values are compared at a time.
    fn of_some<V: Copy>(values: &[V], valid: u64, key: impl Fn(V) -> K) -> Self {
        let (mut low, mut high) = (K::GREATEST, K::LEAST);
        for (place, value) in values.iter().enumerate() {
            let key = key(*value);
            let is_valid = valid >> place & 1 == 1;
            low = low.min(if is_valid { key } else { K::GREATEST });
            high = high.max(if is_valid { key } else { K::LEAST });
        }
        Self { low, high }
    }

    /// Returns the span that contains both.
    pub(super) fn join(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.low > self.high
    }

    /// Returns the values at both ends, unless the span is empty.
    pub(super) fn ends<T>(&self, value: impl Fn(K) -> T) -> [Option<T>; 2] {
        if self.is_empty() { [None, None] } else { [Some(value(self.low)), Some(value(self.high))] }
    }
}

/// The number of values that one word of validity covers.
const WORD: usize = 64;

/// Returns a float's position in the order of Delta's statistics: −0.0 is below 0.0, and all NaN
/// are equal and greatest.
pub(super) fn double_key(value: f64) -> i64 {
    let bits = if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() }.cast_signed();
    bits ^ (bits >> 63 & i64::MAX)
}

/// Returns the float at a position.
pub(super) fn double_of_key(key: i64) -> f64 {
    f64::from_bits((key ^ (key >> 63 & i64::MAX)).cast_unsigned())
}

/// Returns a float's position, like [`double_key`].
pub(super) fn float_key(value: f32) -> i32 {
    let bits = if value.is_nan() { f32::NAN.to_bits() } else { value.to_bits() }.cast_signed();
    bits ^ (bits >> 31 & i32::MAX)
}

/// Returns the float at a position, like [`double_of_key`].
pub(super) fn float_of_key(key: i32) -> f32 {
    f32::from_bits((key ^ (key >> 31 & i32::MAX)).cast_unsigned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn span_covers_only_valid_values(
            values in prop::collection::vec((any::<i32>(), prop::bool::weighted(0.9)), 0..300), all in any::<bool>(), from in any::<prop::sample::Index>(),
        ) {
            let from = if values.is_empty() { 0 } else { from.index(values.len()) };
            let valid: NullBuffer = values.iter().map(|(_, valid)| all || *valid).collect::<Vec<_>>().into();
            let valid = valid.slice(from, values.len() - from);
            let numbers: Vec<i32> = values[from..].iter().map(|(number, _)| *number).collect();
            let kept = numbers.iter().zip(valid.iter()).filter(|(_, valid)| *valid).map(|(number, _)| *number);
            let expected = Span { low: kept.clone().min().unwrap_or(i32::MAX), high: kept.max().unwrap_or(i32::MIN) };
            prop_assert_eq!(Span::of(&numbers, Some(&valid), |number| number), expected);
            let wide: Vec<i128> = numbers.iter().map(|number| i128::from(*number) << 90).collect();
            let expected = Span { low: wide.iter().min().copied().unwrap_or(i128::MAX), high: wide.iter().max().copied().unwrap_or(i128::MIN) };
            prop_assert_eq!(Span::of(&wide, None, |number| number), expected);
        }

        #[test]
        fn keys_of_floats_are_in_their_order(a in any::<f64>(), b in any::<f64>(), c in any::<f32>(), d in any::<f32>()) {
            prop_assert_eq!(double_key(a).cmp(&double_key(b)), a.total_cmp(&b));
            prop_assert_eq!(float_key(c).cmp(&float_key(d)), c.total_cmp(&d));
            prop_assert_eq!(double_of_key(double_key(a)).to_bits(), a.to_bits());
            prop_assert_eq!(float_of_key(float_key(c)).to_bits(), c.to_bits());
        }
    }

    #[test]
    fn every_nan_is_above_all() {
        assert_eq!(double_key(-f64::NAN), double_key(f64::NAN));
        assert!(double_key(f64::NAN) > double_key(f64::INFINITY));
        assert!(float_of_key(float_key(-f32::NAN)).is_nan());
        assert!(float_key(f32::NAN) > float_key(f32::INFINITY));
        assert!(double_key(-0.0) < double_key(0.0));
    }
}
