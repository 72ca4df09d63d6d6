//! Counts the sampled rows by their rank.

/// The number of rows in one column's sample by rank.
#[derive(Debug, Clone)]
pub(super) struct RankHistogram {
    /// For each rank, the number of rows with a lesser rank. The last entry is the number of all
    /// rows.
    below: Vec<u32>,
}

impl RankHistogram {
    pub(super) fn of(column: &[u16]) -> Self {
        let most = column.iter().max().map_or(0, |rank| usize::from(*rank) + 1);
        let mut below = vec![0; most + 1];
        for rank in column {
            if let Some(count) = below.get_mut(usize::from(*rank) + 1) {
                *count += 1;
            }
        }
        for rank in 0..most {
            below[rank + 1] += below[rank];
        }
        Self { below }
    }

    fn below(&self, rank: usize) -> u32 {
        self.below.get(rank).or(self.below.last()).copied().unwrap_or(0)
    }

    /// Returns the number of rows with a value that is not null.
    pub(super) fn values(&self) -> u32 {
        self.below(usize::MAX) - self.below(1)
    }

    /// Returns the share of the values that are in a span of ranks.
    pub(super) fn share(&self, span: Span) -> f64 {
        if span.is_empty() {
            return 0.0;
        }
        let rows = self.below(usize::from(span.high) + 1) - self.below(usize::from(span.below) + 1);
        f64::from(rows) / f64::from(self.values())
    }

    /// Returns for each rank the position of its first row among all rows, in 16 bits. A rank with
    /// many rows is far from the next one.
    pub(super) fn places(&self) -> Vec<u16> {
        let rows = u64::from(self.below(usize::MAX)).max(1);
        let place = |below: &u32| u16::try_from((u64::from(*below) << 16) / rows).unwrap_or(u16::MAX);
        self.below.iter().map(place).collect()
    }
}

/// The span from the least to the greatest rank of some rows, without nulls.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Span {
    /// The rank before the least one.
    below: u16,
    high: u16,
}

impl Span {
    pub(super) const EMPTY: Self = Self { below: u16::MAX, high: 0 };

    pub(super) fn of(ranks: impl IntoIterator<Item = u16>) -> Self {
        let mut span = Self::EMPTY;
        ranks.into_iter().for_each(|rank| span.add(rank));
        span
    }

    pub(super) fn add(&mut self, rank: u16) {
        // The rank of null is 0. For `below` it wraps around to the greatest number, and for `high`
        // it is the least, so it changes neither.
        self.below = self.below.min(rank.wrapping_sub(1));
        self.high = self.high.max(rank);
    }

    fn is_empty(self) -> bool {
        self.high == 0
    }
}
