//! Parses durations and sizes in Spark's spellings. Errors describe the valid values.

/// Returns the milliseconds of a duration: `interval 1 week`, `7 days`, `interval 1 day 12 hours`,
/// in any case. Months and years are refused, because their length varies.
pub fn parse_duration_ms(text: &str) -> Result<i64, String> {
    let expected = || "must be a duration such as \"interval 7 days\", in weeks or shorter units".to_owned();
    let lower = text.to_ascii_lowercase();
    let mut words = lower.split_ascii_whitespace().peekable();
    words.next_if_eq(&"interval");
    if words.peek().is_none() {
        return Err(expected());
    }
    let mut micros = 0_i128;
    while let Some(amount) = words.next() {
        let unit = words.next().ok_or_else(expected)?;
        let size = unit_micros(unit).ok_or_else(|| match unit.trim_end_matches('s') {
            "month" | "year" => "must be a duration without months and years, whose length varies".to_owned(),
            _ => expected(),
        })?;
        micros += amount_micros(amount, size).ok_or_else(expected)?;
    }
    if micros < 0 {
        return Err("must be a duration that is not negative".to_owned());
    }
    i64::try_from(micros / 1_000).map_err(|_| expected())
}

fn unit_micros(unit: &str) -> Option<i128> {
    Some(match unit.strip_suffix('s').unwrap_or(unit) {
        "week" => 604_800_000_000,
        "day" => 86_400_000_000,
        "hour" => 3_600_000_000,
        "minute" => 60_000_000,
        "second" => 1_000_000,
        "millisecond" => 1_000,
        "microsecond" => 1,
        _ => return None,
    })
}

/// Returns an amount of a unit in microseconds. The amount is an integer, or a number of seconds
/// with a fraction.
fn amount_micros(amount: &str, size: i128) -> Option<i128> {
    let Some((whole, fraction)) = amount.split_once('.') else {
        return Some(i128::from(amount.parse::<i64>().ok()?) * size);
    };
    let is_digits = !fraction.is_empty() && fraction.len() <= 9 && fraction.bytes().all(|byte| byte.is_ascii_digit());
    if size != 1_000_000 || !is_digits {
        return None;
    }
    let micros = i128::from(whole.parse::<i64>().ok()?) * size;
    let part = format!("{fraction:0<9}").parse::<i128>().ok()? / 1_000;
    Some(if whole.starts_with('-') { micros - part } else { micros + part })
}

/// Returns the bytes of a size: a number, alone or with `b`, `k`, `kb`, `m`, `mb` and so on up to
/// `p`, in any case. Units are powers of 1024.
pub fn parse_size_bytes(text: &str) -> Result<u64, String> {
    let text = text.trim().to_ascii_lowercase();
    let (amount, unit) = text.split_at(text.bytes().take_while(u8::is_ascii_digit).count());
    let shift = match unit.trim_start() {
        "" | "b" => Some(0),
        "k" | "kb" => Some(10),
        "m" | "mb" => Some(20),
        "g" | "gb" => Some(30),
        "t" | "tb" => Some(40),
        "p" | "pb" => Some(50),
        _ => None,
    };
    let bytes = shift.and_then(|shift| amount.parse::<u64>().ok()?.checked_mul(1 << shift));
    bytes.ok_or_else(|| "must be a size such as 104857600 or 100mb".to_owned())
}
