//! Numbers as JSON writes them, read exactly: no integer and no decimal passes through a float.

use super::bound::Bound;

/// The most digits that a decimal can have.
const MOST_DIGITS: u32 = 38;

/// An integer, also when it is written `1.0` or `1e3`.
pub(super) fn integer(text: &str) -> Option<i64> {
    if let Ok(value) = text.parse() {
        return Some(value);
    }
    let number = Number::parse(text)?;
    let (value, exact) = number.scaled(0, Bound::Lower)?;
    exact.then_some(value).and_then(|value| i64::try_from(value).ok())
}

/// A decimal as a multiple of 10^-`scale`, rounded outwards; none if it has more than `precision` digits.
pub(super) fn decimal(text: &str, precision: u8, scale: i8, bound: Bound) -> Option<i128> {
    let (value, _) = Number::parse(text)?.scaled(i64::from(scale), bound)?;
    let limit = 10_u128.checked_pow(u32::from(precision))?;
    (value.unsigned_abs() < limit).then_some(value)
}

/// `coefficient` × 10^`exponent`, and a little away from zero if `more`.
struct Number {
    negative: bool,
    coefficient: u128,
    exponent: i64,
    more: bool,
}

impl Number {
    fn parse(text: &str) -> Option<Self> {
        let (negative, text) = match text.strip_prefix('-') {
            Some(text) => (true, text),
            None => (false, text),
        };
        let (digits, exponent) = match text.split_once(['e', 'E']) {
            Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if whole.is_empty() {
            return None;
        }
        let mut number = Self { negative, coefficient: 0, exponent: i64::from(exponent), more: false };
        for digit in whole.bytes() {
            number.exponent += i64::from(!number.push(digit)?);
        }
        for digit in fraction.bytes() {
            number.exponent -= i64::from(number.push(digit)?);
        }
        Some(number)
    }

    /// Takes a further digit; false when there was no more room for it.
    fn push(&mut self, digit: u8) -> Option<bool> {
        if !digit.is_ascii_digit() {
            return None;
        }
        let digit = digit - b'0';
        if self.coefficient >= 10_u128.pow(MOST_DIGITS - 1) {
            self.more |= digit != 0;
            return Some(false);
        }
        self.coefficient = self.coefficient * 10 + u128::from(digit);
        Some(true)
    }

    /// The number as a multiple of 10^-`scale`, rounded outwards, and whether that was not needed; none if it is too large.
    fn scaled(&self, scale: i64, bound: Bound) -> Option<(i128, bool)> {
        let sign = if self.negative { -1 } else { 1 };
        let coefficient = sign * i128::try_from(self.coefficient).ok()?;
        if coefficient == 0 {
            return Some((0, true));
        }
        let shift = self.exponent + scale;
        let power = u32::try_from(shift.unsigned_abs()).ok().and_then(|digits| 10_i128.checked_pow(digits));
        let (value, exact) = if shift >= 0 {
            (coefficient.checked_mul(power?)?, !self.more)
        } else {
            // Below any power that fits, all digits are behind the point.
            let power = power.unwrap_or(i128::MAX);
            (bound.divide(coefficient, power), coefficient % power == 0 && !self.more)
        };
        let outwards = match bound {
            Bound::Lower if self.more && self.negative => -1,
            Bound::Upper if self.more && !self.negative => 1,
            _ => 0,
        };
        Some((value.checked_add(outwards)?, exact))
    }
}
