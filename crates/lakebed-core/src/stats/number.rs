//! Numbers of bounds and counts, read exactly unless their writer was not exact.

use super::bound::Bound;
use crate::schema::PrimitiveType;
use crate::value::Scalar;

/// So many digits survive the way through a 64-bit float.
const DIGITS_OF_FLOAT: usize = 15;

/// An integer, also when it is written `1.0` or `1e3`.
pub(super) fn integer(text: &str) -> Option<i64> {
    text.parse().ok().or_else(|| i64::try_from(exact(text, 38, 0)?).ok())
}

/// The bound of a decimal column in units of its last digit.
///
/// Delta Spark writes decimals exactly and with all digits that their scale has. delta-rs sends them through a 64-bit float; what came out
/// may lie on the wrong side of the value, so it is moved outwards to the next float.
pub(super) fn decimal(text: &str, precision: u8, scale: u8, bound: Bound) -> Option<i128> {
    if !is_of_float(text, scale) {
        return exact(text, precision, scale);
    }
    let float: f64 = text.parse().ok()?;
    let moved = match bound {
        Bound::Lower => float.next_down(),
        Bound::Upper => float.next_up(),
    };
    // Formatting rounds to the nearest unit, hence one more unit outwards.
    let units = exact(&format!("{moved:.*}", usize::from(scale)), precision, scale)?;
    match bound {
        Bound::Lower => units.checked_sub(1),
        Bound::Upper => units.checked_add(1),
    }
}

fn exact(text: &str, precision: u8, scale: u8) -> Option<i128> {
    match Scalar::parse_partition(Some(text), PrimitiveType::Decimal { precision, scale }) {
        Ok(Scalar::Decimal { unscaled, .. }) => Some(unscaled),
        _ => None,
    }
}

/// Whether a decimal has more digits than a float keeps, and not those that its scale asks for.
fn is_of_float(text: &str, scale: u8) -> bool {
    if text.len() <= DIGITS_OF_FLOAT {
        return false;
    }
    let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, ""));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_of_scale = exponent.is_empty() && fraction.len() == usize::from(scale);
    let significant = whole.chars().chain(fraction.chars()).filter(char::is_ascii_digit).skip_while(|digit| *digit == '0');
    !all_of_scale && significant.count() > DIGITS_OF_FLOAT
}
