use std::borrow::Cow;
use std::collections::HashMap;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::action::arbitrary::{any_add, any_dv, any_texts};
use crate::action::{
    Add, Cdc, CheckpointMetadata, DeletionVectorDescriptor, DomainMetadata, DvStorage, Format, Metadata, Protocol, Remove,
    SetTransaction, Sidecar,
};
use crate::kit::check_corrupt;
use crate::kit::table::string_map;

#[track_caller]
fn check(line: &str, expected: Action) {
    assert_eq!(parse_line(line.as_bytes()).unwrap(), Some(expected));
}

#[track_caller]
fn check_nothing(line: &str) {
    assert_eq!(read_line(line.as_bytes()).unwrap(), Line::Nothing);
}

#[track_caller]
fn check_error(commit: &str, expected: &str) {
    let parsed = parse_commit(commit.as_bytes(), "00000000000000000003.json");
    check_corrupt(parsed, &format!("00000000000000000003.json: {expected}"));
}

fn plain_add(path: &str) -> Add {
    Add {
        path: path.to_owned(),
        partition_values: HashMap::new(),
        size: 1,
        modification_time: 2,
        data_change: true,
        stats: None,
        tags: None,
        deletion_vector: None,
        base_row_id: None,
        default_row_commit_version: None,
        clustering_provider: None,
    }
}

#[test]
fn read_full_add_gives_every_field() {
    let line = r#"{"add":{"path":"day=2026-01-31/part%20a.parquet","partitionValues":{"day":"2026-01-31","x":null},"size":452,"modificationTime":1769860800000,"dataChange":false,"stats":"{\"numRecords\":2}","tags":{"ZCUBE_ID":"z"},"deletionVector":{"storageType":"u","pathOrInlineDv":"ab^-aqEH.-t@S}K{vb[*k^","offset":0,"sizeInBytes":40,"cardinality":6},"baseRowId":10,"defaultRowCommitVersion":4,"clusteringProvider":"liquid"}}"#;
    check(
        line,
        Action::Add(Add {
            path: "day=2026-01-31/part%20a.parquet".to_owned(),
            partition_values: string_map(&[("day", Some("2026-01-31")), ("x", None)]),
            size: 452,
            modification_time: 1_769_860_800_000,
            data_change: false,
            stats: Some(r#"{"numRecords":2}"#.to_owned()),
            tags: Some(string_map(&[("ZCUBE_ID", Some("z"))])),
            deletion_vector: Some(DeletionVectorDescriptor {
                storage_type: DvStorage::UuidRelative,
                path_or_inline_dv: "ab^-aqEH.-t@S}K{vb[*k^".to_owned(),
                offset: Some(0),
                size_in_bytes: 40,
                cardinality: 6,
            }),
            base_row_id: Some(10),
            default_row_commit_version: Some(4),
            clustering_provider: Some("liquid".to_owned()),
        }),
    );
}

#[test]
fn file_actions_borrow_text_without_escapes() {
    let line = br#"{"add":{"path":"a","partitionValues":{"p":"1"},"size":1,"modificationTime":2,"dataChange":true,"stats":"{\"numRecords\":2}"}}"#;
    let Line::File(FileLine::Add(add)) = read_line(line).unwrap() else { panic!("not an add") };
    assert!(matches!(add.path, Cow::Borrowed("a")));
    assert!(matches!(add.partition_values.as_slice(), [(Cow::Borrowed("p"), Some(Cow::Borrowed("1")))]));
    assert!(matches!(add.stats.as_deref(), Some(r#"{"numRecords":2}"#)));
    let line = br#"{"remove":{"path":"a","dataChange":true,"size":5}}"#;
    let Line::File(FileLine::Remove(remove)) = read_line(line).unwrap() else { panic!("not a remove") };
    assert!(matches!(remove.path, Cow::Borrowed("a")));
    assert_eq!((remove.size, remove.deletion_timestamp, remove.data_change), (Some(5), None, true));
}

#[test]
fn nulls_mean_absent() {
    check(
        r#"{"add":{"path":"a","partitionValues":null,"size":1,"modificationTime":2,"dataChange":true,"stats":null,"tags":null,"deletionVector":null,"baseRowId":null,"defaultRowCommitVersion":null,"clusteringProvider":null}}"#,
        Action::Add(plain_add("a")),
    );
    check(
        r#"{"remove":{"path":"a","deletionTimestamp":null,"dataChange":null,"extendedFileMetadata":null,"partitionValues":null,"size":null,"stats":null,"tags":null,"deletionVector":null}}"#,
        Action::Remove(Remove {
            path: "a".to_owned(),
            deletion_timestamp: None,
            data_change: false,
            extended_file_metadata: None,
            partition_values: None,
            size: None,
            stats: None,
            tags: None,
            deletion_vector: None,
            base_row_id: None,
            default_row_commit_version: None,
        }),
    );
    check(
        r#"{"metaData":{"id":"i","name":null,"description":null,"format":null,"schemaString":"{}","partitionColumns":null,"configuration":null,"createdTime":null}}"#,
        Action::Metadata(Metadata {
            id: "i".to_owned(),
            name: None,
            description: None,
            format: Format { provider: "parquet".to_owned(), options: HashMap::new() },
            schema_string: "{}".to_owned(),
            partition_columns: Vec::new(),
            configuration: HashMap::new(),
            created_time: None,
        }),
    );
    check(
        r#"{"txn":{"appId":"a","version":-3,"lastUpdated":null}}"#,
        Action::SetTransaction(SetTransaction { app_id: "a".to_owned(), version: -3, last_updated: None }),
    );
}

#[test]
fn null_values_of_properties_are_kept() {
    let line = r#"{"metaData":{"id":"i","format":{"provider":"parquet","options":{}},"schemaString":"{}","partitionColumns":["p"],"configuration":{"delta.appendOnly":null,"a":"b"},"createdTime":7}}"#;
    let Some(Action::Metadata(metadata)) = parse_line(line.as_bytes()).unwrap() else { panic!("not a metaData") };
    assert_eq!(metadata.configuration, string_map(&[("delta.appendOnly", None), ("a", Some("b"))]));
    assert_eq!((metadata.created_time, metadata.partition_columns), (Some(7), vec!["p".to_owned()]));
}

#[test]
fn read_empty_features_differ_from_absent() {
    let protocol = |reader_features: Option<Vec<&str>>| {
        Action::Protocol(Protocol {
            min_reader_version: 3,
            min_writer_version: 7,
            reader_features: reader_features.map(|names| names.into_iter().map(str::to_owned).collect()),
            writer_features: None,
        })
    };
    check(r#"{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":[]}}"#, protocol(Some(vec![])));
    check(r#"{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":null}}"#, protocol(None));
    check(r#"{"protocol":{"minReaderVersion":3,"minWriterVersion":7}}"#, protocol(None));
    check(
        r#"{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["a","b"]}}"#,
        protocol(Some(vec!["a", "b"])),
    );
}

#[test]
fn what_is_unknown_is_ignored() {
    check_nothing(r#"{"futureAction":{"add":{"path":"a"}}}"#);
    check_nothing("{}");
    check_nothing(r#"{"add":null,"remove":null}"#);
    check_nothing("");
    check_nothing("  \r\n");
    check_nothing(r#"{"commitInfo":"free"}"#);
    check(
        r#"{"x":[1,{"y":2}],"add":{"path":"a","future":{"deep":[1,2,{}]},"partitionValues":{},"size":1,"modificationTime":2,"dataChange":true,"z":1e400}}"#,
        Action::Add(plain_add("a")),
    );
}

#[test]
fn keys_of_other_actions_may_be_null() {
    check(
        r#"{"txn":null,"add":{"path":"a","partitionValues":{},"size":1,"modificationTime":2,"dataChange":true},"remove":null,"metaData":null,"protocol":null,"cdc":null,"commitInfo":null}"#,
        Action::Add(plain_add("a")),
    );
    check(
        r#"{"add":null,"remove":null,"domainMetadata":{"domain":"d","configuration":"{}","removed":true},"sidecar":null}"#,
        Action::DomainMetadata(DomainMetadata { domain: "d".to_owned(), configuration: "{}".to_owned(), removed: true }),
    );
}

#[test]
fn read_values_of_other_json_types() {
    let expected = Add {
        partition_values: string_map(&[
            ("i", Some("1")),
            ("b", Some("true")),
            ("d", Some("1.50")),
            ("n", None),
            ("s", Some("x")),
        ]),
        stats: Some(r#"{"numRecords":2}"#.to_owned()),
        tags: Some(string_map(&[("t", Some("5"))])),
        deletion_vector: Some(DeletionVectorDescriptor {
            storage_type: DvStorage::Inline,
            path_or_inline_dv: "x".to_owned(),
            offset: None,
            size_in_bytes: 4,
            cardinality: 2,
        }),
        base_row_id: Some(9_223_372_036_854_775_807),
        ..plain_add("a")
    };
    check(
        r#"{"add":{"path":"a","partitionValues":{"i":1,"b":true,"d":1.50,"n":null,"s":"x"},"size":"1","modificationTime":2.0,"dataChange":"true","stats":{"numRecords":2},"tags":{"t":5},"deletionVector":{"storageType":"i","pathOrInlineDv":"x","offset":null,"sizeInBytes":"4","cardinality":2e0},"baseRowId":"9223372036854775807"}}"#,
        Action::Add(expected),
    );
    check(
        r#"{"txn":{"appId":"a","version":"12","lastUpdated":"1700000000000"}}"#,
        Action::SetTransaction(SetTransaction { app_id: "a".to_owned(), version: 12, last_updated: Some(1_700_000_000_000) }),
    );
}

#[test]
fn read_fraction_as_integer_fails() {
    check_error(r#"{"txn":{"appId":"a","version":1.5}}"#, "line 1: txn: invalid number");
    check_error(r#"{"txn":{"appId":"a","version":9223372036854775808}}"#, "line 1: txn: invalid number");
}

#[test]
fn read_missing_field_names_file_and_line() {
    check_error("{\"commitInfo\":{}}\n\n{\"add\":{\"size\":1}}\n", "line 3: add without path");
    check_error(
        r#"{"add":{"path":"a","partitionValues":{},"modificationTime":2,"dataChange":true}}"#,
        "line 1: add without size",
    );
    check_error(r#"{"add":{"path":null,"size":1}}"#, "line 1: add without path");
    check_error(r#"{"remove":{"dataChange":true}}"#, "line 1: remove without path");
    check_error(r#"{"metaData":{"id":"i"}}"#, "line 1: metaData without schemaString");
    check_error(r#"{"protocol":{"minReaderVersion":1}}"#, "line 1: protocol without minWriterVersion");
    check_error(r#"{"txn":{"version":1}}"#, "line 1: txn without appId");
}

#[test]
fn broken_lines_are_errors() {
    check_error("{\"commitInfo\":{}}\n{\"add\":{\"path\":\"a", "line 2: not JSON: EOF while parsing a string at column 17");
    check_error("[]", "line 1: not a JSON object");
    check_error(r#"{"add":7}"#, "line 1: add is not a JSON object");
    check_error(r#"{"add":{"path":"a","size":1},"remove":{"path":"a"}}"#, "line 1: add and remove in one line");
    for broken in [b"\0\0\0".as_slice(), b"{\"add\":{\"path\":\"\xff\",\"size\":1}}"] {
        assert_eq!(*parse_line(broken).unwrap_err().kind(), ErrorKind::Corrupt { path: String::new() });
    }
}

#[test]
fn lines_end_as_on_any_system() {
    let commit = b"\xEF\xBB\xBF{\"txn\":{\"appId\":\"a\",\"version\":1}}\r\n\r\n \t\n{\"txn\":{\"appId\":\"a\",\"version\":2}}\n{\"txn\":{\"appId\":\"a\",\"version\":3}}";
    let versions: Vec<i64> = parse_commit(commit, "c")
        .unwrap()
        .into_iter()
        .map(|action| match action {
            Action::SetTransaction(txn) => txn.version,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(versions, [1, 2, 3]);
    let numbers: Vec<usize> = lines(commit).map(|(number, _)| number).collect();
    assert_eq!(numbers, [1, 4, 5]);
    assert_eq!(parse_commit(b"", "c").unwrap(), []);
}

#[test]
fn read_other_actions_skips_file_actions() {
    let commit = concat!(
        r#"{"commitInfo":{"operation":"WRITE"}}"#,
        "\n{\"add\":{broken\n",
        r#"{"txn":null,"remove":{"path":"a"}}"#,
        "\r\n",
        r#"{"txn":{"appId":"a","version":1}}"#,
    );
    let mut seen = Vec::new();
    each_other(CommitLines::whole(commit.as_bytes(), "c"), |action| {
        seen.push(action);
        Ok(())
    })
    .unwrap();
    let info = CommitInfo(Map::from_iter([("operation".to_owned(), "WRITE".into())]));
    let txn = SetTransaction { app_id: "a".to_owned(), version: 1, last_updated: None };
    assert_eq!(seen, [Action::CommitInfo(info), Action::SetTransaction(txn)]);
    let error =
        each_other(CommitLines { lines_before: 40, ..CommitLines::whole(b"{\"add\":{}}\n{\"txn\":{}}", "c") }, |_| Ok(()))
            .unwrap_err();
    assert_eq!(error.message(), "c: line 42: txn without appId");
}

#[test]
fn commit_info_keeps_every_key_and_digit() {
    let line = r#"{"commitInfo":{"z":1,"timestamp":1700000000000,"big":123456789012345678901234567890.5,"operationParameters":{"mode":"Append","partitionBy":"[]"},"n":null,"inCommitTimestamp":"1700000000001"}}"#;
    let Some(Action::CommitInfo(info)) = parse_line(line.as_bytes()).unwrap() else { panic!("not a commitInfo") };
    assert_eq!(info.in_commit_timestamp(), Some(1_700_000_000_001));
    assert_eq!(Action::CommitInfo(info).to_line().unwrap(), line);
}

#[test]
fn printed_lines_have_sorted_maps() {
    let add = Add { partition_values: string_map(&[("c", None), ("a", Some("1")), ("b", Some("2"))]), ..plain_add("x/y") };
    assert_eq!(
        Action::Add(add).to_line().unwrap(),
        r#"{"add":{"path":"x/y","partitionValues":{"a":"1","b":"2","c":null},"size":1,"modificationTime":2,"dataChange":true}}"#
    );
}

#[test]
fn read_nested_action_like_a_line() {
    let line = json!({"add": null, "sidecar": {"path": "s.parquet", "sizeInBytes": 5, "modificationTime": 6}});
    let sidecar = Sidecar { path: "s.parquet".to_owned(), size_in_bytes: 5, modification_time: 6, tags: None };
    assert_eq!(from_value(line).unwrap(), Some(Action::Sidecar(sidecar)));
    let error = from_value(json!([])).unwrap_err();
    assert_eq!((error.kind(), error.message()), (&ErrorKind::InvalidInput, "an action is not a JSON object"));
}

fn any_remove() -> impl Strategy<Value = Remove> {
    (any_add(), option::of(any::<bool>()), option::of(any::<i64>()), option::of(any_texts())).prop_map(
        |(add, extended_file_metadata, deletion_timestamp, partition_values)| Remove {
            path: add.path,
            deletion_timestamp,
            data_change: add.data_change,
            extended_file_metadata,
            partition_values,
            size: deletion_timestamp.map(|_| add.size),
            stats: add.stats,
            tags: add.tags,
            deletion_vector: add.deletion_vector,
            base_row_id: add.base_row_id,
            default_row_commit_version: add.default_row_commit_version,
        },
    )
}

fn any_metadata() -> impl Strategy<Value = Metadata> {
    (".{0,9}", option::of(".{0,5}"), any_texts(), any_texts(), vec(".{0,5}", 0..3), option::of(any::<i64>())).prop_map(
        |(id, name, options, configuration, partition_columns, created_time)| Metadata {
            schema_string: format!("schema of {id}"),
            description: name.clone(),
            id,
            name,
            format: Format { provider: "parquet".to_owned(), options },
            partition_columns,
            configuration,
            created_time,
        },
    )
}

fn any_action() -> impl Strategy<Value = Action> {
    let features = || option::of(vec(".{0,5}", 0..3));
    prop_oneof![
        4 => any_add().prop_map(Action::Add),
        4 => any_remove().prop_map(Action::Remove),
        2 => any_metadata().prop_map(Action::Metadata),
        1 => any_add().prop_map(|add| Action::Cdc(Cdc {
            path: add.path,
            partition_values: add.partition_values,
            size: add.size,
            data_change: add.data_change,
            tags: add.tags,
        })),
        1 => (any::<i32>(), any::<i32>(), features(), features()).prop_map(|(reader, writer, reader_features, writer_features)| {
            Action::Protocol(Protocol { min_reader_version: reader, min_writer_version: writer, reader_features, writer_features })
        }),
        1 => (".{0,9}", any::<i64>(), option::of(any::<i64>()))
            .prop_map(|(app_id, version, last_updated)| Action::SetTransaction(SetTransaction { app_id, version, last_updated })),
        1 => (".{0,9}", ".{0,9}", any::<bool>()).prop_map(|(domain, configuration, removed)| {
            Action::DomainMetadata(DomainMetadata { domain, configuration, removed })
        }),
        1 => (any::<i64>(), option::of(any_texts()))
            .prop_map(|(version, tags)| Action::CheckpointMetadata(CheckpointMetadata { version, tags })),
        1 => (".{0,9}", any::<i64>(), any::<i64>(), option::of(any_texts())).prop_map(|(path, size_in_bytes, modification_time, tags)| {
            Action::Sidecar(Sidecar { path, size_in_bytes, modification_time, tags })
        }),
        1 => (".{0,9}", any::<i64>()).prop_map(|(key, value)| Action::CommitInfo(CommitInfo(Map::from_iter([(key, value.into())])))),
    ]
}

/// Returns replacements for a byte that leave a line nearly valid JSON.
fn damage() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        "[ \\t\\r]{1,2}",
        "[0-9.eE+-]{1,3}",
        "[{}\\[\\]:,\"\\\\]{1,2}",
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("\\\\u00e9".to_owned()),
        Just("\\\\ud83d".to_owned()),
        Just("\\\\n\\\\/".to_owned()),
        Just(",\"add\":null".to_owned()),
        Just(",\"remove\":{\"path\":\"x\"}".to_owned()),
        Just(",\"path\":\"again\"".to_owned()),
        Just("\u{1}".to_owned()),
        "\\PC{1,2}",
    ]
}

proptest! {
    #[test]
    fn split_into_pieces_keeps_whole_lines(text in "[ab\n]{0,40}", bytes in 0..20_usize, before in 0..3_usize) {
        let part = CommitLines { lines_before: before, ..CommitLines::whole(text.as_bytes(), "commit") };
        let pieces = part.pieces(bytes);
        prop_assert_eq!(pieces.iter().flat_map(|piece| piece.bytes).copied().collect::<Vec<u8>>(), text.as_bytes());
        let mut lines = before;
        for (place, piece) in pieces.iter().enumerate() {
            prop_assert_eq!(piece.lines_before, lines);
            lines += piece.bytes.iter().filter(|byte| **byte == b'\n').count();
            if place + 1 < pieces.len() {
                prop_assert!(piece.bytes.len() > bytes && piece.bytes.ends_with(b"\n"));
                prop_assert!(!piece.bytes[bytes..piece.bytes.len() - 1].contains(&b'\n'), "longer than it need be");
            }
        }
    }

    #[test]
    fn a_printed_action_is_read_as_itself(action in any_action()) {
        let line = action.to_line().unwrap();
        prop_assert!(!line.contains('\n'));
        prop_assert_eq!(parse_line(line.as_bytes()).unwrap(), Some(action));
    }

    #[test]
    fn borrowed_vector_has_id_of_owned(dv in any_dv()) {
        prop_assert_eq!(DvRef::from(dv.clone()).unique_id(), dv.unique_id());
    }

    #[test]
    fn both_readings_agree(action in any_action(), damage in vec((any::<prop::sample::Index>(), damage()), 0..3)) {
        let mut line = action.to_line().unwrap();
        for (at, text) in damage {
            let at = at.index(line.len());
            if line.is_char_boundary(at) && line.is_char_boundary(at + 1) {
                line.replace_range(at..at + 1, &text);
            }
        }
        let strict = serde_json::from_str(&line).ok().and_then(|strict| match strict {
            Strict::File(file) => Line::File(file).into_action(),
            Strict::Other(..) | Strict::Nothing => None,
        });
        if let Some(action) = strict {
            prop_assert_eq!(parse_leniently(&line).map(Line::into_action), Ok(Some(action)), "{}", line);
        }
    }

    #[test]
    fn a_damaged_line_never_panics(action in any_action(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()) {
        let mut line = action.to_line().unwrap().into_bytes();
        let at = at.index(line.len());
        line[at] = byte;
        if cut {
            line.truncate(at);
        }
        let _ = parse_commit(&line, "c");
    }

    #[test]
    fn no_bytes_panic(bytes in vec(any::<u8>(), 0..60)) {
        let _ = parse_commit(&bytes, "c");
    }
}
