//! Values of options in the form in which they cross the border: to Python, and to other processes.
//!
//! Options are structs that serde reads and writes. A value whose Rust type has no such form gets it
//! here: durations are numbers, codecs are names. Ranges are checked where a value is read.

use std::time::Duration;

use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Nobody waits longer, so a larger number means no limit.
const LONGEST_SECONDS: f64 = 1e9;

/// A duration as a number of seconds.
pub(crate) mod seconds {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(value: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
        value.map(|value| value.as_secs_f64()).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
        let seconds = Option::<f64>::deserialize(deserializer)?;
        seconds.map(|seconds| duration(seconds, "a number of seconds, 0 or more")).transpose()
    }
}

/// A duration as a number of hours.
pub(crate) mod hours {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(value: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
        value.map(|value| value.as_secs_f64() / 3600.0).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
        let expected = "a number of hours, 0 or more";
        let exact = |hours: f64| {
            Duration::try_from_secs_f64(hours * 3600.0).map_err(|_| D::Error::invalid_value(Unexpected::Float(hours), &expected))
        };
        Option::<f64>::deserialize(deserializer)?.map(exact).transpose()
    }
}

/// A codec by its name.
pub(crate) mod codec {
    use lakebed_io::parquet::write::Codec;

    use super::*;

    pub(crate) fn serialize<S: Serializer>(value: &Option<Codec>, serializer: S) -> Result<S::Ok, S::Error> {
        value.map(Codec::name).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Codec>, D::Error> {
        let parse = |name: String| {
            let unknown = || {
                let expected = "it must be none, snappy, zstd, zstd(1) to zstd(22), gzip or lz4";
                D::Error::custom(format!("{name:?} is unknown: {expected}"))
            };
            Codec::parse(&name).ok_or_else(unknown)
        };
        Option::<String>::deserialize(deserializer)?.map(parse).transpose()
    }
}

/// To the microsecond, which a number of seconds tells exactly up to the longest one.
fn duration<E: Error>(seconds: f64, expected: &str) -> Result<Duration, E> {
    if seconds.is_nan() || seconds < 0.0 {
        return Err(E::invalid_value(Unexpected::Float(seconds), &expected));
    }
    Ok(Duration::from_micros((seconds.min(LONGEST_SECONDS) * 1e6).round() as u64))
}
