//! The options of lakebed itself: the flush of local files, and the retry of requests.

use std::collections::HashMap;
use std::time::Duration;

use lakebed_core::error::{Error, Result};
use object_store::{BackoffConfig, RetryConfig};

pub(in crate::store) const OWN: [&str; 6] = [
    LOCAL_FLUSH,
    "max_retries",
    "retry_timeout",
    "backoff_config.init_backoff",
    "backoff_config.max_backoff",
    "backoff_config.base",
];

/// The option for flushing local files to the disk.
const LOCAL_FLUSH: &str = "local_flush";

/// Returns whether local files are flushed before they count as written. The option is
/// `local_flush`, and the default is true.
pub(in crate::store) fn local_flush(options: &HashMap<String, String>) -> Result<bool> {
    let given = options.iter().find(|(name, _)| name.eq_ignore_ascii_case(LOCAL_FLUSH));
    match given.map(|(name, value)| (name, value.trim().to_ascii_lowercase())) {
        None => Ok(true),
        Some((_, value)) if value == "true" => Ok(true),
        Some((_, value)) if value == "false" => Ok(false),
        Some((name, value)) => Err(bad_value(name, &value, "true or false")),
    }
}

/// Returns the retry of failed requests: `max_retries`, `retry_timeout`,
/// `backoff_config.init_backoff`, `.max_backoff` and `.base`. The pauses grow and are random, so
/// that many clients do not retry at the same time.
pub(in crate::store) fn retry(options: &HashMap<String, String>) -> Result<RetryConfig> {
    let mut config = RetryConfig { backoff: BackoffConfig::default(), ..RetryConfig::default() };
    for (name, value) in options {
        match name.trim().to_ascii_lowercase().as_str() {
            "max_retries" => {
                config.max_retries = value.trim().parse().map_err(|_| bad_value(name, value, "a whole number such as 10"))?
            }
            "retry_timeout" => config.retry_timeout = duration(name, value)?,
            "backoff_config.init_backoff" => config.backoff.init_backoff = duration(name, value)?,
            "backoff_config.max_backoff" => config.backoff.max_backoff = duration(name, value)?,
            "backoff_config.base" => {
                let base: f64 = value.trim().parse().map_err(|_| bad_value(name, value, "a number such as 2"))?;
                if !(base.is_finite() && base > 1.0) {
                    return Err(bad_value(name, value, "a number above 1"));
                }
                config.backoff.base = base;
            }
            _ => {}
        }
    }
    // The client draws a pause between the first pause and a multiple of the last, so neither may
    // be zero.
    config.backoff.init_backoff = config.backoff.init_backoff.max(Duration::from_millis(1));
    config.backoff.max_backoff = config.backoff.max_backoff.max(config.backoff.init_backoff);
    Ok(config)
}

/// Parses `30s`, `500ms`, `2m` or `1h`. A number without a unit is in seconds.
pub(in crate::store) fn duration(name: &str, value: &str) -> Result<Duration> {
    let text = value.trim();
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let seconds = match unit {
        "ms" | "millis" | "milliseconds" => 0.001,
        "" | "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hour" | "hours" => 3600.0,
        _ => return Err(bad_value(name, value, "a duration such as 30s or 500ms")),
    };
    let number: f64 = number.trim().parse().map_err(|_| bad_value(name, value, "a duration such as 30s or 500ms"))?;
    Duration::try_from_secs_f64(number * seconds).map_err(|_| bad_value(name, value, "a duration such as 30s or 500ms"))
}

fn bad_value(name: &str, value: &str, wanted: &str) -> Error {
    Error::invalid_input(format!("storage option {name} = {value:?}: it must be {wanted}"))
}

#[cfg(test)]
mod tests;
