//! A set of values of one type in bounded memory. It keeps each value while they are few, and later
//! ranges with the largest gaps between them.
//!
//! Ranges always cover all values that were added. A gap contains no value that was added. Begin
//! with [`Ranges::add`] and [`Ranges::reduce`].

/// A value that has an order.
pub(super) trait Value: Ord + Clone {
    /// Returns the distance between two values of which the second is larger. A larger gap is worth
    /// more, because it excludes more values. The distance is 1 if no value can lie between them.
    fn gap(&self, above: &Self) -> u128;
}

impl Value for i64 {
    fn gap(&self, above: &Self) -> u128 {
        above.abs_diff(*self).into()
    }
}

impl Value for i128 {
    fn gap(&self, above: &Self) -> u128 {
        above.abs_diff(*self)
    }
}

impl Value for &str {
    fn gap(&self, above: &Self) -> u128 {
        let same = self.bytes().zip(above.bytes()).take_while(|(a, b)| a == b).count();
        let byte = |text: &str| text.as_bytes().get(same).map_or(0, |byte| u128::from(*byte) + 1);
        // The earlier two texts differ, the larger is their distance.
        ((u128::from(u64::MAX) - same as u128) << 16) + byte(above) - byte(self)
    }
}

impl Value for String {
    fn gap(&self, above: &Self) -> u128 {
        self.as_str().gap(&above.as_str())
    }
}

/// Ranges that do not overlap, in order, with inclusive bounds. A single value is a range from
/// itself to itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ranges<T>(Vec<(T, T)>);

impl<T> Default for Ranges<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Value> Ranges<T> {
    /// Returns the ranges of values in any order.
    pub(super) fn of(mut values: Vec<T>) -> Self {
        values.sort_unstable();
        values.dedup();
        Self(values.into_iter().map(|value| (value.clone(), value)).collect())
    }

    /// Returns the ranges, in order.
    pub(super) fn as_slice(&self) -> &[(T, T)] {
        &self.0
    }

    /// Returns the values, if each range is a single value.
    pub(super) fn values(&self) -> Option<Vec<&T>> {
        self.0.iter().map(|(low, high)| (low == high).then_some(low)).collect()
    }

    /// Returns the ranges with converted bounds. The conversion must keep the order, and may move
    /// bounds outward.
    pub(super) fn map<U: Value>(self, low: impl Fn(&T) -> U, high: impl Fn(&T) -> U) -> Ranges<U> {
        let mut mapped = Ranges::default();
        mapped.add(Ranges(self.0.iter().map(|(from, to)| (low(from), high(to))).collect()));
        mapped
    }

    /// Adds other ranges.
    pub(super) fn add(&mut self, other: Self) {
        let mut all = std::mem::take(&mut self.0);
        all.extend(other.0);
        // Both lists are sorted, so the sort is a merge.
        all.sort();
        for (low, high) in all {
            match self.0.last_mut() {
                Some((_, last)) if low <= *last => *last = high.max(last.clone()),
                _ => self.0.push((low, high)),
            }
        }
    }

    /// Reduces the ranges to at most `most`. If there are no more than that, nothing changes.
    pub(super) fn reduce(&mut self, most: usize) {
        if self.0.len() > most {
            self.close(most);
        }
    }

    /// Reduces the ranges to at most `most`: closes every gap in which no value can lie, then the
    /// smallest gaps.
    pub(super) fn close(&mut self, most: usize) {
        if self.0.is_empty() {
            return;
        }
        let gap = |place: usize| self.0[place - 1].1.gap(&self.0[place].0);
        let mut gaps: Vec<(u128, usize)> =
            (1..self.0.len()).map(|place| (gap(place), place)).filter(|(gap, _)| *gap > 1).collect();
        let kept = most.max(1) - 1;
        if gaps.len() > kept {
            gaps.select_nth_unstable_by(kept, |one, other| other.cmp(one));
            gaps.truncate(kept);
        }
        let mut begins: Vec<usize> = gaps.into_iter().map(|(_, place)| place).collect();
        begins.push(0);
        begins.sort_unstable();
        let ends = begins.iter().skip(1).copied().chain([self.0.len()]);
        self.0 = begins.iter().zip(ends).map(|(begin, end)| (self.0[*begin].0.clone(), self.0[end - 1].1.clone())).collect();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_largest_gaps_stay() {
        let mut ranges = Ranges::of(vec![100_i128, 1, 2, 3, 50, 55, 104, 100]);
        ranges.reduce(3);
        assert_eq!(ranges.as_slice(), [(1, 3), (50, 55), (100, 104)]);
        ranges.reduce(2);
        assert_eq!(ranges.as_slice(), [(1, 3), (50, 104)]);
        let mut dense = Ranges::of((0..100_i128).collect());
        dense.reduce(50);
        assert_eq!(dense.as_slice(), [(0, 99)]);
        dense.add(Ranges::of(vec![100, 102]));
        dense.reduce(50);
        assert_eq!(dense.as_slice(), [(0, 99), (100, 100), (102, 102)]);
        dense.close(50);
        assert_eq!(dense.as_slice(), [(0, 100), (102, 102)]);
        let mut texts = Ranges::of(vec!["ab-1", "ab-2", "ab-9", "zz", "ad"]);
        texts.reduce(3);
        assert_eq!(texts.as_slice(), [("ab-1", "ab-9"), ("ad", "ad"), ("zz", "zz")]);
        texts.reduce(0);
        assert_eq!(texts.as_slice(), [("ab-1", "zz")]);
    }

    proptest! {
        #[test]
        fn ranges_cover_values_and_never_overlap(
            parts in prop::collection::vec(prop::collection::vec(-300_i128..300, 0..40), 1..5),
            most in 1_usize..50,
        ) {
            let mut ranges = Ranges::default();
            for part in &parts {
                ranges.add(Ranges::of(part.clone()));
                ranges.reduce(most);
            }
            let mut values: Vec<i128> = parts.concat();
            values.sort_unstable();
            values.dedup();
            prop_assert!(ranges.as_slice().len() <= most);
            prop_assert!(ranges.as_slice().iter().all(|(low, high)| values.contains(low) && values.contains(high)));
            prop_assert!(values.iter().all(|value| ranges.as_slice().iter().any(|(low, high)| low <= value && value <= high)));
            prop_assert!(ranges.as_slice().windows(2).all(|pair| pair[0].1 < pair[1].0));
            if values.len() <= most {
                prop_assert_eq!(ranges.values(), Some(values.iter().collect::<Vec<_>>()));
            }
        }

        #[test]
        fn the_gap_of_texts_is_positive(one in ".{0,6}", other in ".{0,6}") {
            let (low, high) = if one < other { (one, other) } else { (other, one) };
            prop_assert!(low == high || low.gap(&high) > 1);
        }
    }
}
