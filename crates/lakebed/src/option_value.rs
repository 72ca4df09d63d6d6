//! The form of option values at the border: in Python's dictionaries and in write tasks.
//!
//! serde reads the option structs. A duration is a number there, and a codec is a name. This module
//! converts these values, and checks their ranges when it reads them.

use std::time::Duration;

use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A duration as a number of seconds. It is exact to the microsecond, up to the longest one.
pub(crate) mod seconds {
    use super::*;

    /// The longest duration. A timeout of this length never ends a call, so larger numbers are
    /// reduced to it.
    const LONGEST: f64 = 1e9;

    pub(crate) fn serialize<S: Serializer>(value: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
        value.map(|value| value.as_secs_f64()).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
        let exact = |seconds: f64| match seconds >= 0.0 {
            true => Ok(Duration::from_micros((seconds.min(LONGEST) * 1e6).round() as u64)),
            false => Err(D::Error::invalid_value(Unexpected::Float(seconds), &"a number of seconds, 0 or more")),
        };
        Option::<f64>::deserialize(deserializer)?.map(exact).transpose()
    }
}

/// Reads a duration that is given as a number of hours.
pub(crate) fn hours<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let exact = |hours: f64| {
        let refused = |_| D::Error::invalid_value(Unexpected::Float(hours), &"a number of hours, 0 or more");
        Duration::try_from_secs_f64(hours * 3600.0).map_err(refused)
    };
    Option::<f64>::deserialize(deserializer)?.map(exact).transpose()
}

/// A codec, given by its name.
pub(crate) mod compression {
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, from_value, json, to_value};

    use crate::dml::write::{PartitionMode, WriteMode, WriteOptions};
    use crate::optimize::OptimizeOptions;
    use crate::vacuum::VacuumOptions;

    fn error_of(options: Value) -> String {
        from_value::<WriteOptions>(options).unwrap_err().to_string()
    }

    #[test]
    fn options_have_the_names_of_python() {
        let given = json!({"mode": "overwrite", "partitions": "dynamic", "timeout": 1.5, "compression": "zstd(3)"});
        let options: WriteOptions = from_value(given).unwrap();
        assert_eq!((options.mode, options.partitions), (WriteMode::Overwrite, PartitionMode::Dynamic));
        assert_eq!(options.timeout, Some(Duration::from_millis(1500)));
        let names = to_value(&options).unwrap();
        let names: Vec<&str> = names.as_object().unwrap().keys().map(String::as_str).collect();
        let expected = [
            "mode",
            "where",
            "partitions",
            "schema_mode",
            "partition_by",
            "cluster_by",
            "properties",
            "txn",
            "user_metadata",
            "target_file_size",
            "compression",
            "row_group_rows",
            "bloom_columns",
            "on_lossy",
            "timeout",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn unknown_options_are_refused() {
        assert!(error_of(json!({"tnx": null})).starts_with("unknown field `tnx`"));
        assert!(error_of(json!({"txn": {"id": "a", "version": 1, "bacth": null}})).starts_with("unknown field `bacth`"));
        assert!(from_value::<OptimizeOptions>(json!({"min_file": 1})).is_err());
        assert!(from_value::<VacuumOptions>(json!({"retention": 1})).is_err());
    }

    #[test]
    fn durations_outside_their_range_are_refused() {
        assert!(error_of(json!({"timeout": -1.0})).contains("a number of seconds, 0 or more"));
        for hours in [-1.0, f64::MAX] {
            let error = from_value::<VacuumOptions>(json!({"retention_hours": hours})).unwrap_err().to_string();
            assert!(error.contains("a number of hours, 0 or more"), "{error}");
        }
    }

    #[test]
    fn durations_come_back_as_they_were() {
        for seconds in [0.0, 0.25, 3.000_001, 1e9] {
            let options: WriteOptions = from_value(json!({ "timeout": seconds })).unwrap();
            assert_eq!(from_value::<WriteOptions>(to_value(&options).unwrap()).unwrap(), options);
        }
        let longest: WriteOptions = from_value(json!({"timeout": 1e300})).unwrap();
        assert_eq!(longest.timeout, Some(Duration::from_secs(1_000_000_000)));
    }

    #[test]
    fn unknown_codecs_are_refused_with_the_known() {
        let error = error_of(json!({"compression": "brotli"}));
        assert!(error.contains("\"brotli\" is unknown: it must be none, snappy, zstd"), "{error}");
    }
}
