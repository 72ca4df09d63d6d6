//! The direction in which a bound may be moved without becoming wrong, and the rules that follow
//! from it. The rules are the same for JSON and structs.

/// The side of the values on which a bound lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Bound {
    /// No value is below it.
    Lower,
    /// No value is above it.
    Upper,
    /// The side does not matter: the bound is requested as it is written.
    Exact,
}

/// The most microseconds that the log truncates from a timestamp.
const CUT_OFF_MICROS: i64 = 999;

impl Bound {
    /// Returns the bound of the timestamps that the log may have truncated to this one. PROTOCOL
    /// "Per-file Statistics": timestamps are truncated to milliseconds.
    pub(super) fn timestamp(self, micros: i64) -> i64 {
        match self {
            Self::Lower | Self::Exact => micros,
            Self::Upper => micros.saturating_add(CUT_OFF_MICROS),
        }
    }

    /// Returns this bound moved outwards.
    pub(super) fn widen(self, micros: i64, by: i64) -> i64 {
        match self {
            Self::Lower => micros.saturating_sub(by),
            Self::Upper => micros.saturating_add(by),
            Self::Exact => micros,
        }
    }

    /// Returns the bound in a total order of floats. The result is `None` for a minimum of NaN,
    /// because writers do not agree on its meaning. The bound may have been written for a 32-bit
    /// float, and its text may be exact only for that float. In this case the float is used if it
    /// lies outwards.
    pub(super) fn double(self, value: f64) -> Option<f64> {
        let float = f64::from(value as f32);
        let may_be_float = float.is_finite() && float != 0.0;
        match self {
            Self::Lower if value.is_nan() => None,
            Self::Upper if value.is_nan() => Some(f64::NAN),
            Self::Lower if value == 0.0 => Some(-0.0),
            Self::Upper if value == 0.0 => Some(0.0),
            Self::Lower if may_be_float => Some(value.min(float)),
            Self::Upper if may_be_float => Some(value.max(float)),
            _ => Some(value),
        }
    }

    /// Returns the bound like [`double`](Self::double), for a value that is a 32-bit float.
    pub(super) fn float(self, value: f32) -> Option<f32> {
        match self {
            Self::Lower if value.is_nan() => None,
            Self::Upper if value.is_nan() => Some(f32::NAN),
            Self::Lower if value == 0.0 => Some(-0.0),
            Self::Upper if value == 0.0 => Some(0.0),
            _ => Some(value),
        }
    }
}
