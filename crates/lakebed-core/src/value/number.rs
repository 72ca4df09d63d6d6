//! Parses and formats numbers.

use std::fmt::{Debug, UpperExp};
use std::str::FromStr;

use super::trim::trim;

/// Parses an integer. Nothing may follow after the digits.
pub(super) fn parse_integer<T: FromStr>(text: &str) -> Option<T> {
    trim(text).parse().ok()
}

/// Parses a float. `NaN`, and `Infinity` and `inf` with an optional sign, are accepted in any case.
pub(super) fn parse_float<T: FromStr>(text: &str) -> Option<T> {
    trim(text).parse().ok()
}

/// Formats a float as Java prints it. There is always a decimal point, and there is an exponent
/// below 0.001 and from 10,000,000 on.
pub(super) fn format_float<T: Debug + UpperExp>(size: f64, value: &T) -> String {
    if size == 0.0 || (1e-3..1e7).contains(&size) {
        return format!("{value:?}");
    }
    if size.is_nan() {
        return "NaN".to_owned();
    }
    let text = format!("{value:E}");
    match text.split_once('E') {
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0E{exponent}"),
        Some(_) => text,
        None => text.replace("inf", "Infinity"),
    }
}

/// Parses a decimal in plain or scientific notation, and returns it as a number of smallest units.
/// It returns `None` if the number does not fit exactly.
pub(super) fn parse_decimal(text: &str, precision: u8, scale: u8) -> Option<i128> {
    let text = trim(text);
    let (digits, exponent) = match text.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (negative, digits) = match digits.as_bytes() {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] | digits => (false, digits),
    };
    let Mantissa { digits, zeros, decimals } = Mantissa::parse(digits)?;
    if digits == 0 {
        return Some(0);
    }
    // The last digit is not zero, so a negative power would lose it.
    let power = i64::from(exponent) + i64::from(zeros) - i64::from(decimals) + i64::from(scale);
    let unscaled = digits.checked_mul(10_i128.checked_pow(u32::try_from(power).ok()?)?)?;
    let fits = unscaled < 10_i128.checked_pow(u32::from(precision))?;
    fits.then_some(if negative { -unscaled } else { unscaled })
}

/// The digits of a number, without zeros at the end.
struct Mantissa {
    digits: i128,
    zeros: u32,
    /// The number of digits after the decimal point, including zeros.
    decimals: u32,
}

impl Mantissa {
    fn parse(text: &[u8]) -> Option<Self> {
        let mut mantissa = Self { digits: 0, zeros: 0, decimals: 0 };
        let (mut seen_digit, mut seen_point) = (false, false);
        for byte in text {
            match byte {
                b'.' if !seen_point => seen_point = true,
                b'0'..=b'9' => {
                    seen_digit = true;
                    mantissa.push(*byte - b'0')?;
                    if seen_point {
                        mantissa.decimals = mantissa.decimals.checked_add(1)?;
                    }
                }
                _ => return None,
            }
        }
        seen_digit.then_some(mantissa)
    }

    fn push(&mut self, digit: u8) -> Option<()> {
        if digit == 0 {
            self.zeros = self.zeros.checked_add(1)?;
            return Some(());
        }
        if self.digits != 0 {
            self.digits = self.digits.checked_mul(10_i128.checked_pow(self.zeros.checked_add(1)?)?)?;
        }
        self.digits = self.digits.checked_add(i128::from(digit))?;
        self.zeros = 0;
        Some(())
    }
}

/// Formats a decimal in plain notation, with all digits after the decimal point.
pub(super) fn format_decimal(unscaled: i128, scale: u8) -> String {
    let sign = if unscaled < 0 { "-" } else { "" };
    let scale = usize::from(scale);
    let digits = format!("{:0width$}", unscaled.unsigned_abs(), width = scale + 1);
    let (whole, decimals) = digits.split_at(digits.len() - scale);
    let point = if scale == 0 { "" } else { "." };
    format!("{sign}{whole}{point}{decimals}")
}
