//! Reads numbers of bounds and counts. They are read exactly unless their writer was not exact.

use std::ops::RangeInclusive;

use super::bound::Bound;
use crate::schema::PrimitiveType;
use crate::value::Scalar;

/// Decimals with this many digits survive a conversion through a 64-bit float.
const DIGITS_OF_FLOAT: u8 = 15;

/// The number of digits of the longest among the shortest strings that distinguish a 64-bit float
/// from its neighbours.
const DIGITS_OF_NEIGHBOURS: RangeInclusive<usize> = 16..=17;

/// An upper limit of the error of such a conversion, relative to the value. It covers three
/// roundings, one of them of a power of ten.
const LOST_BY_FLOAT: f64 = 8.0 * f64::EPSILON;

/// Reads an integer, also when it is written `1.0` or `1e3`.
pub(super) fn integer(text: &str) -> Option<i64> {
    text.parse().ok().or_else(|| i64::try_from(exact(text, 38, 0)?).ok())
}

/// Reads the bound of a decimal column in units of its last digit.
///
/// Delta Spark writes decimals exactly, with all digits of their scale. delta-rs converts them
/// through a 64-bit float. The result may be on the wrong side of the value, so it is moved
/// outwards.
pub(super) fn decimal(text: &str, precision: u8, scale: u8, bound: Bound) -> Option<i128> {
    if bound == Bound::Exact || precision <= DIGITS_OF_FLOAT || !may_be_of_float(text, scale) {
        return exact(text, precision, scale);
    }
    let float: f64 = text.parse().ok()?;
    let moved = match bound {
        Bound::Lower => float - float.abs() * LOST_BY_FLOAT,
        Bound::Upper => float + float.abs() * LOST_BY_FLOAT,
        Bound::Exact => float,
    };
    // Formatting rounds to the nearest unit, so the bound is moved outwards by one more unit.
    let units = exact(&format!("{moved:.*}", usize::from(scale)), precision, scale)?;
    match bound {
        Bound::Lower => units.checked_sub(1),
        Bound::Upper => units.checked_add(1),
        Bound::Exact => Some(units),
    }
}

fn exact(text: &str, precision: u8, scale: u8) -> Option<i128> {
    match Scalar::parse_partition(Some(text), PrimitiveType::Decimal { precision, scale }) {
        Ok(Scalar::Decimal { unscaled, .. }) => Some(unscaled),
        _ => None,
    }
}

/// Returns whether a number is written in the way of floats: with an exponent, with another number
/// of decimal places than the scale, or with exactly as many digits as distinguish a float from its
/// neighbours.
fn may_be_of_float(text: &str, scale: u8) -> bool {
    if text.contains(['e', 'E']) {
        return true;
    }
    let Some((whole, fraction)) = text.split_once('.') else { return false };
    let digits = whole.bytes().chain(fraction.bytes()).filter(u8::is_ascii_digit).skip_while(|digit| *digit == b'0').count();
    fraction == "0" || fraction.len() != usize::from(scale) || DIGITS_OF_NEIGHBOURS.contains(&digits)
}
