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
                let expected = "it must be none, snappy, zstd, zstd(1) to zstd(22), gzip, gzip(0) to gzip(9) or lz4";
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

    use crate::changes::{Bound, ChangesOptions};
    use crate::create::CreateOptions;
    use crate::dml::merge::{Action, Clause, MergeOptions, MergeSchemaMode, When};
    use crate::dml::write::{PartitionMode, WriteMode, WriteOptions};
    use crate::dml::{DeleteOptions, UpdateOptions};
    use crate::location::Location;
    use crate::optimize::OptimizeOptions;
    use crate::scan::{RowColumn, RowColumnKind, ScanOptions};
    use crate::table::SnapshotOptions;
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
            "name",
            "description",
            "txn",
            "user_metadata",
            "commit_info",
            "upkeep",
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
    fn scan_options_have_names_of_python() {
        let given = json!({"columns": ["a"], "where": "a > 1", "limit": 5, "row_columns": [["row_id", "_id"]]});
        let expected = ScanOptions {
            columns: Some(vec!["a".to_owned()]),
            filter: Some("a > 1".into()),
            limit: Some(5),
            row_columns: vec![RowColumn::new(RowColumnKind::RowId, "_id")],
        };
        assert_eq!(from_value::<ScanOptions>(given).unwrap(), expected);
        let error = from_value::<ScanOptions>(json!({"row_columns": [["row", "_id"]]})).unwrap_err();
        assert_eq!(error.to_string(), "column _id: there is no metadata column row");
    }

    #[test]
    fn bound_is_version_or_timestamp() {
        let options: ChangesOptions = from_value(json!({"start": {"version": 3}, "end": {"timestamp_ms": -5}})).unwrap();
        assert_eq!((options.start, options.end), (Bound::Version(3), Some(Bound::Timestamp(-5))));
        assert!(from_value::<ChangesOptions>(json!({"start": {"version": -1}})).is_err());
        assert!(from_value::<ChangesOptions>(json!({"start": {"version": 1, "timestamp_ms": 1}})).is_err());
    }

    #[test]
    fn clauses_have_actions_with_their_columns() {
        let insert = json!({"insert": [["a", "source.a"]]});
        let given = json!({"schema_mode": "merge", "clauses": [
            {"when": "matched", "where": null, "action": "update_all"},
            {"when": "not_matched", "where": "a > 1", "action": insert},
        ]});
        let options: MergeOptions = from_value(given).unwrap();
        let columns = vec![("a".to_owned(), "source.a".to_owned())];
        let expected = [
            Clause { when: When::Matched, condition: None, action: Action::UpdateAll },
            Clause { when: When::NotMatched, condition: Some("a > 1".to_owned()), action: Action::Insert(columns) },
        ];
        assert_eq!((options.clauses.as_slice(), options.schema_mode), (expected.as_slice(), MergeSchemaMode::Merge));
        assert_eq!((options.target_alias.as_str(), options.source_alias.as_str()), ("target", "source"));
    }

    #[test]
    fn every_verb_refuses_unknown_options() {
        fn refuses<T: serde::de::DeserializeOwned + std::fmt::Debug>() {
            let error = from_value::<T>(json!({"nonsense": 1})).unwrap_err().to_string();
            assert!(error.starts_with("unknown field `nonsense`"), "{error}");
        }
        refuses::<ChangesOptions>();
        refuses::<CreateOptions>();
        refuses::<DeleteOptions>();
        refuses::<Location>();
        refuses::<MergeOptions>();
        refuses::<ScanOptions>();
        refuses::<SnapshotOptions>();
        refuses::<UpdateOptions>();
    }

    #[test]
    fn unknown_options_are_refused() {
        assert!(error_of(json!({"tnx": null})).starts_with("unknown field `tnx`"));
        assert!(error_of(json!({"txn": {"id": "a", "version": 1, "bacth": null}})).starts_with("unknown field `bacth`"));
        let error = from_value::<OptimizeOptions>(json!({"min_file": 1})).unwrap_err().to_string();
        assert!(error.starts_with("unknown field `min_file`"), "{error}");
        let error = from_value::<VacuumOptions>(json!({"retention": 1})).unwrap_err().to_string();
        assert!(error.starts_with("unknown field `retention`"), "{error}");
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
