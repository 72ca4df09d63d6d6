use proptest::option;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::action::{Protocol, SetTransaction};

fn object(text: &str) -> Map<String, Value> {
    serde_json::from_str(text).unwrap()
}

#[track_caller]
fn check_checksum(json: &str, expected: &str) {
    assert_eq!(canonical::checksums(&object(json)), [expected]);
}

#[track_caller]
fn check_refused(text: &[u8], expected: &str) {
    let error = parse(text).unwrap_err();
    assert!(error.is_corrupt());
    assert!(error.message().starts_with(&format!("_last_checkpoint: {expected}")), "{error}");
}

/// The examples are from the specification, and from Delta Spark's tests with a known canonical
/// form.
#[test]
fn checksums_are_those_of_the_specification() {
    check_checksum(
        r#"{"k0":"'v 0'", "checksum": "adsaskfljadfkjadfkj", "k1":{"k2": 2, "k3": ["v3", [1, 2], {"k4": "v4", "k5": ["v5", "v6", "v7"]}]}}"#,
        "6a92d155a59bf2eecbd4b4ec7fd1f875",
    );
    // md5 of "k1"="v1","k2"=123,"k3"=23.45,"k4"="v4","k5"=true,"k6"=null
    check_checksum(r#"{"k1":"v1","k4":"v4","k3":23.45,"k2":123,"k6":null,"k5":true}"#, "7ca7100a36b6a61f1f7d7d8467ccb8b1");
    // md5 of "k0"="normal","k1"="a%E2%82%AC%2B"
    check_checksum(r#"{"k0":"normal","k1":"a€+"}"#, "bb022b5f99cddb579f4c94a559e10610");
    check_checksum(
        r#"{"k0":"normal","k1":"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%'`~!@#$%^&*()_+-={[}]|\\;:'\"\/?.>,<"}"#,
        "fecbbcf249b6f9fbf3868b5bdf4956d1",
    );
    check_checksum("{  }", "d41d8cd98f00b204e9800998ecf8427e");
}

#[test]
fn hash_long_array_accepts_both_orders() {
    let text = r#"{"version":1,"tags":{"l":["v0","v1","v2","v3","v4","v5","v6","v7","v8","v9","v10"]}}"#;
    let (by_path, by_entry) = ("b1f93047fd39fbbfe7994f70c49ff4af", "8f47127b21bff350ca0c675f216b1685");
    assert_eq!(canonical::checksums(&object(text)), [by_path, by_entry]);
    for checksum in [by_path, by_entry] {
        let mut fields = object(text);
        fields.insert("checksum".to_owned(), checksum.into());
        let hint = parse(Value::Object(fields).to_string().as_bytes()).unwrap();
        assert_eq!(hint.version, 1);
        assert!(!hint.to_json().unwrap().contains("checksum"));
    }
}

/// The example is the hint that Delta Spark 4 writes, with its checksum.
#[test]
fn parse_and_print_delta_sparks_hint() {
    let text = r#"{"version":1,"size":2,"parts":3,"sizeInBytes":20,"numOfAddFiles":2,"checkpointSchema":{"type":"struct","fields":[{"name":"c1","type":"integer","nullable":false,"metadata":{}}]},"checksum":"524d4e2226f3c3f923df4ee42dae347e"}"#;
    let hint = Hint {
        version: 1,
        size: Some(2),
        parts: Some(3),
        size_in_bytes: Some(20),
        num_of_add_files: Some(2),
        checkpoint_schema: Some(
            json!({"type":"struct","fields":[{"name":"c1","type":"integer","nullable":false,"metadata":{}}]}),
        ),
        v2_checkpoint: None,
        tags: None,
    };
    assert_eq!(parse(text.as_bytes()).unwrap(), hint);
    assert_eq!(hint.to_json().unwrap(), text);
}

#[test]
fn parse_hint_reads_v2_checkpoint() {
    let text = r#"{"version":7,"size":3,"v2Checkpoint":{"path":"00000000000000000007.checkpoint.u.json","sizeInBytes":10,"modificationTime":11,
        "nonFileActions":[{"protocol":{"minReaderVersion":1,"minWriterVersion":2}},{"future":{}}],
        "sidecarFiles":[{"path":"s.parquet","sizeInBytes":5,"modificationTime":6}]}}"#;
    let v2 = parse(text.as_bytes()).unwrap().v2_checkpoint.unwrap();
    let protocol = Protocol { min_reader_version: 1, min_writer_version: 2, reader_features: None, writer_features: None };
    let sidecar = Sidecar { path: "s.parquet".to_owned(), size_in_bytes: 5, modification_time: 6, tags: None };
    assert_eq!(
        v2,
        V2Hint {
            path: "00000000000000000007.checkpoint.u.json".to_owned(),
            size_in_bytes: Some(10),
            modification_time: Some(11),
            non_file_actions: Some(vec![Action::Protocol(protocol)]),
            sidecar_files: Some(vec![sidecar]),
        }
    );
}

#[test]
fn half_a_list_of_actions_is_none() {
    let text =
        r#"{"version":7,"v2Checkpoint":{"path":"p","nonFileActions":[{"txn":{"version":1}}],"sidecarFiles":[{"path":"s"}]}}"#;
    let v2 = parse(text.as_bytes()).unwrap().v2_checkpoint.unwrap();
    assert_eq!((v2.non_file_actions, v2.sidecar_files), (None, None));
}

#[test]
fn parse_hint_ignores_fields_of_wrong_type() {
    let text = r#"{"version":"12","size":"many","parts":-1,"sizeInBytes":1.5,"numOfAddFiles":[],"checkpointSchema":"x","v2Checkpoint":{},"tags":7,"checksum":null}"#;
    assert_eq!(parse(text.as_bytes()).unwrap(), Hint { version: 12, ..Hint::default() });
}

#[test]
fn parse_untrustworthy_hint_names_the_reason() {
    check_refused(b"", "it is empty");
    check_refused(b" \n", "it is empty");
    check_refused(b"{\"version\":1", "it is not valid JSON");
    check_refused(b"[1]", "it is not a JSON object");
    check_refused(b"{\"size\":1}", "it names no version");
    check_refused(b"{\"version\":-1}", "it names no version");
    check_refused(b"{\"version\":1,\"tags\":{\"a\":1,\"a\":1}}", "it is not valid JSON");
    // This is Delta Spark's example with a duplicate key: the checksum fits the last size, but the
    // hint is refused.
    check_refused(
        br#"{"version":1,"size":3,"parts":3,"checksum":"d84a0aa11c93304d57feca6acaceb7fb","size":2}"#,
        "it is not valid JSON",
    );
    check_refused(br#"{"version":1,"size":3,"parts":3,"checksum":"d84a0aa11c93304d57feca6acaceb7fb"}"#, "its checksum is not");
    assert!(parse(br#"{"version":1,"size":2,"parts":3,"checksum":"d84a0aa11c93304d57feca6acaceb7fb"}"#).is_ok());
    check_refused(br#"{"version":1,"checksum":5}"#, "its checksum is not");
    check_refused("[".repeat(1000).as_bytes(), "it is not valid JSON");
}

#[test]
fn hash_numbers_differs_from_objects() {
    assert_eq!(parse(br#"{"version":5,"tags":{"a":[1,2,1.5,-3,1e400,null,true,"x"]}}"#).unwrap().version, 5);
}

fn any_v2() -> impl Strategy<Value = V2Hint> {
    let txn = (".{0,5}", any::<i64>())
        .prop_map(|(app_id, version)| Action::SetTransaction(SetTransaction { app_id, version, last_updated: None }));
    let sidecar = (".{0,5}", any::<i64>(), any::<i64>()).prop_map(|(path, size_in_bytes, modification_time)| Sidecar {
        path,
        size_in_bytes,
        modification_time,
        tags: None,
    });
    let actions = option::of(proptest::collection::vec(txn, 0..3));
    let sidecars = option::of(proptest::collection::vec(sidecar, 0..3));
    (".{0,9}", option::of(any::<i64>()), option::of(any::<i64>()), actions, sidecars).prop_map(
        |(path, size_in_bytes, modification_time, non_file_actions, sidecar_files)| V2Hint {
            path,
            size_in_bytes,
            modification_time,
            non_file_actions,
            sidecar_files,
        },
    )
}

fn any_hint() -> impl Strategy<Value = Hint> {
    let numbers = (any::<u64>(), option::of(any::<i64>()), option::of(any::<u32>()), option::of(any::<i64>()));
    let tags = option::of(proptest::collection::hash_map(".{0,5}", ".{0,5}", 0..14));
    (numbers, option::of(any::<i64>()), option::of(".{0,5}"), option::of(any_v2()), tags).prop_map(
        |((version, size, parts, size_in_bytes), num_of_add_files, schema, v2_checkpoint, tags)| Hint {
            version: version >> 1,
            size,
            parts,
            size_in_bytes,
            num_of_add_files,
            checkpoint_schema: schema.map(|name| json!({"type": "struct", "fields": [{"name": name}]})),
            v2_checkpoint,
            tags: tags.map(|tags| tags.into_iter().map(|(key, value)| (key, value.into())).collect()),
        },
    )
}

/// Collects the JSON pointers of all leaves.
fn leaves(value: &Value, at: String, found: &mut Vec<String>) {
    let escape = |key: &str| key.replace('~', "~0").replace('/', "~1");
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| leaves(value, format!("{at}/{}", escape(key)), found)),
        Value::Array(elements) => {
            elements.iter().enumerate().for_each(|(index, value)| leaves(value, format!("{at}/{index}"), found))
        }
        _ => found.push(at),
    }
}

proptest! {
    #[test]
    fn a_printed_hint_is_read_as_itself(hint in any_hint()) {
        prop_assert_eq!(parse(hint.to_json().unwrap().as_bytes()).unwrap(), hint);
    }

    #[test]
    fn hash_changes_with_every_leaf(hint in any_hint(), at in any::<prop::sample::Index>(), other in "[a-z]{1,5}") {
        let text = hint.to_json().unwrap();
        let mut changed: Value = serde_json::from_str(&text).unwrap();
        let mut places = Vec::new();
        leaves(&changed, String::new(), &mut places);
        places.retain(|place| place != "/checksum");
        let leaf = changed.pointer_mut(&places[at.index(places.len())]).unwrap();
        prop_assume!(leaf.as_str() != Some(&other));
        *leaf = other.into();
        let before = canonical::checksums(&object(&text));
        let after = canonical::checksums(changed.as_object().unwrap());
        prop_assert!(before.iter().all(|checksum| !after.contains(checksum)));
        // Changes are detected only if there is a checksum.
        if changed.get("checksum").is_some() {
            prop_assert!(parse(changed.to_string().as_bytes()).unwrap_err().is_corrupt());
        }
    }

    #[test]
    fn a_torn_hint_is_refused(hint in any_hint(), at in any::<prop::sample::Index>()) {
        let text = hint.to_json().unwrap();
        prop_assert!(parse(&text.as_bytes()[..at.index(text.len())]).unwrap_err().is_corrupt());
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        let _ = parse(&bytes);
    }
}
