use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{
    BooleanBuilder, Int32Builder, LargeListBuilder, LargeStringBuilder, ListBuilder, MapBuilder, MapFieldNames, StringBuilder,
    StringViewBuilder,
};
use arrow_cast::cast;
use arrow_schema::DataType;

use super::*;
use crate::kit::arrow::{batch, longs, string_array, struct_column};
use crate::kit::check_corrupt;
use crate::kit::table::{protocol, string_map};

const FILE: &str = "00000000000000000007.checkpoint.parquet";

fn ints(values: &[Option<i32>]) -> ArrayRef {
    let mut builder = Int32Builder::new();
    values.iter().for_each(|value| builder.append_option(*value));
    Arc::new(builder.finish())
}

fn flags(values: &[Option<bool>]) -> ArrayRef {
    let mut builder = BooleanBuilder::new();
    values.iter().for_each(|value| builder.append_option(*value));
    Arc::new(builder.finish())
}

fn lists(values: &[Option<&[&str]>]) -> ArrayRef {
    let mut builder = ListBuilder::new(StringBuilder::new());
    for value in values {
        value.iter().flat_map(|list| list.iter()).for_each(|text| builder.values().append_value(text));
        builder.append(value.is_some());
    }
    Arc::new(builder.finish())
}

type Entries<'a> = &'a [(&'a str, Option<&'a str>)];

fn maps(values: &[Option<Entries<'_>>]) -> ArrayRef {
    let names = MapFieldNames { entry: "key_value".to_owned(), key: "key".to_owned(), value: "value".to_owned() };
    let mut builder = MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new());
    for value in values {
        for (key, text) in value.iter().flat_map(|entries| entries.iter()) {
            builder.keys().append_value(key);
            builder.values().append_option(*text);
        }
        builder.append(value.is_some()).unwrap();
    }
    Arc::new(builder.finish())
}

#[track_caller]
fn check(columns: &[(&str, ArrayRef)], expected: &[Action]) {
    let batch = batch(columns.to_vec());
    let mut actions = other_actions(&batch, FILE).unwrap();
    actions.extend(file_actions(&batch, FILE).unwrap());
    assert_eq!(actions, expected);
}

#[track_caller]
fn check_error(columns: &[(&str, ArrayRef)], expected: &str) {
    let batch = batch(columns.to_vec());
    let actions = other_actions(&batch, FILE).and_then(|_| file_actions(&batch, FILE));
    check_corrupt(actions, &format!("{FILE}: {expected}"));
}

fn structs(fields: &[(&str, ArrayRef)], valid: &[bool]) -> ArrayRef {
    struct_column(fields.to_vec(), Some(valid.to_vec()))
}

fn protocol_action(reader: i32, writer: i32, reader_features: Option<&[&str]>, writer_features: Option<&[&str]>) -> Action {
    Action::Protocol(protocol(reader, writer, reader_features, writer_features))
}

fn txn(app_id: &str, version: i64, last_updated: Option<i64>) -> Action {
    Action::SetTransaction(SetTransaction { app_id: app_id.to_owned(), version, last_updated })
}

/// The batch has four rows: a protocol, a metaData, a txn, and an add that the test does not
/// request.
#[test]
fn read_row_gives_action_of_nonnull_struct() {
    let only = |row: usize| (0..4).map(|index| index == row).collect::<Vec<_>>();
    let protocols = structs(
        &[
            ("minReaderVersion", ints(&[Some(3), None, None, None])),
            ("minWriterVersion", ints(&[Some(7), None, None, None])),
            ("readerFeatures", lists(&[Some(&["deletionVectors"]), None, None, None])),
            ("writerFeatures", lists(&[Some(&[]), None, None, None])),
        ],
        &only(0),
    );
    let format = structs(
        &[
            ("provider", string_array(&[None, Some("parquet"), None, None])),
            ("options", maps(&[None, Some(&[("k", Some("v"))]), None, None])),
        ],
        &only(1),
    );
    let metadata = structs(
        &[
            ("id", string_array(&[None, Some("i"), None, None])),
            ("name", string_array(&[None, None, None, None])),
            ("format", format),
            ("schemaString", string_array(&[None, Some("{}"), None, None])),
            ("partitionColumns", lists(&[None, Some(&["a", "b"]), None, None])),
            ("configuration", maps(&[None, Some(&[("x", Some("1")), ("y", None)]), None, None])),
            ("createdTime", longs(&[None, Some(5), None, None])),
        ],
        &only(1),
    );
    let txns = structs(
        &[
            ("appId", string_array(&[None, None, Some("app"), None])),
            ("version", longs(&[None, None, Some(9), None])),
            ("lastUpdated", longs(&[None, None, Some(10), None])),
        ],
        &only(2),
    );
    let expected_metadata = Action::Metadata(Metadata {
        id: "i".to_owned(),
        name: None,
        description: None,
        format: Format { provider: "parquet".to_owned(), options: string_map(&[("k", Some("v"))]) },
        schema_string: "{}".to_owned(),
        partition_columns: vec!["a".to_owned(), "b".to_owned()],
        configuration: string_map(&[("x", Some("1")), ("y", None)]),
        created_time: Some(5),
    });
    check(
        &[("txn", txns), ("metaData", metadata), ("protocol", protocols), ("unknown", longs(&[None; 4]))],
        &[protocol_action(3, 7, Some(&["deletionVectors"]), Some(&[])), expected_metadata, txn("app", 9, Some(10))],
    );
}

#[test]
fn missing_columns_and_fields_are_tolerated() {
    check(&[("other", longs(&[Some(1)]))], &[]);
    check(
        &[("protocol", structs(&[("minReaderVersion", ints(&[Some(1)])), ("minWriterVersion", ints(&[Some(2)]))], &[true]))],
        &[protocol_action(1, 2, None, None)],
    );
    check(
        &[("metaData", structs(&[("id", string_array(&[Some("i")])), ("schemaString", string_array(&[Some("{}")]))], &[true]))],
        &[Action::Metadata(Metadata {
            id: "i".to_owned(),
            name: None,
            description: None,
            format: Format::default(),
            schema_string: "{}".to_owned(),
            partition_columns: Vec::new(),
            configuration: HashMap::new(),
            created_time: None,
        })],
    );
    check(&[("txn", arrow_array::new_null_array(&DataType::Null, 2))], &[]);
}

#[test]
fn read_null_features_differ_from_empty_list() {
    let fields = |features: ArrayRef| {
        structs(
            &[("minReaderVersion", ints(&[Some(3)])), ("minWriterVersion", ints(&[Some(7)])), ("readerFeatures", features)],
            &[true],
        )
    };
    check(&[("protocol", fields(lists(&[None])))], &[protocol_action(3, 7, None, None)]);
    check(&[("protocol", fields(lists(&[Some(&[])])))], &[protocol_action(3, 7, Some(&[]), None)]);
}

#[test]
fn read_other_arrow_types_gives_same_actions() {
    let mut large = LargeListBuilder::new(LargeStringBuilder::new());
    large.values().append_value("v2Checkpoint");
    large.append(true);
    let mut views = StringViewBuilder::new();
    views.append_value("app");
    let dictionary =
        cast(&string_array(&[Some("{}")]), &DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))).unwrap();
    check(
        &[
            (
                "protocol",
                structs(
                    &[
                        ("minReaderVersion", longs(&[Some(3)])),
                        ("minWriterVersion", cast(&ints(&[Some(7)]), &DataType::UInt16).unwrap()),
                        ("readerFeatures", Arc::new(large.finish())),
                        (
                            "writerFeatures",
                            cast(&lists(&[Some(&["a"])]), &DataType::new_fixed_size_list(DataType::Utf8View, 1, true)).unwrap(),
                        ),
                    ],
                    &[true],
                ),
            ),
            ("txn", structs(&[("appId", Arc::new(views.finish())), ("version", ints(&[Some(-4)]))], &[true])),
            ("domainMetadata", structs(&[("domain", string_array(&[Some("d")])), ("configuration", dictionary)], &[true])),
        ],
        &[
            protocol_action(3, 7, Some(&["v2Checkpoint"]), Some(&["a"])),
            txn("app", -4, None),
            Action::DomainMetadata(DomainMetadata { domain: "d".to_owned(), configuration: "{}".to_owned(), removed: false }),
        ],
    );
}

#[test]
fn maps_of_large_text_are_read_alike() {
    let mut builder = MapBuilder::new(None, LargeStringBuilder::new(), StringViewBuilder::new());
    builder.keys().append_value("k");
    builder.values().append_value("v");
    builder.append(true).unwrap();
    let sidecar = structs(
        &[
            ("path", string_array(&[Some("s.parquet")])),
            ("sizeInBytes", longs(&[Some(5)])),
            ("modificationTime", longs(&[Some(6)])),
            ("tags", Arc::new(builder.finish())),
        ],
        &[true],
    );
    let tags = Some(string_map(&[("k", Some("v"))]));
    check(
        &[("sidecar", sidecar)],
        &[Action::Sidecar(Sidecar { path: "s.parquet".to_owned(), size_in_bytes: 5, modification_time: 6, tags })],
    );
}

#[test]
fn read_blank_nonnull_struct_gives_no_action() {
    let fields = structs(
        &[
            ("appId", string_array(&[None, Some("app")])),
            ("version", longs(&[None, Some(1)])),
            ("tags", lists(&[Some(&[]), Some(&[])])),
        ],
        &[true, true],
    );
    check(&[("txn", fields)], &[txn("app", 1, None)]);
}

#[test]
fn read_null_struct_ignores_its_values() {
    let fields = structs(
        &[("appId", string_array(&[Some("garbage"), Some("app")])), ("version", longs(&[Some(0), Some(1)]))],
        &[false, true],
    );
    check(&[("txn", fields)], &[txn("app", 1, None)]);
}

#[test]
fn read_file_actions_keeps_deletion_vectors() {
    let descriptor = structs(
        &[
            ("storageType", string_array(&[Some("u"), Some("garbage"), None])),
            ("pathOrInlineDv", string_array(&[Some("ab"), Some("garbage"), None])),
            ("offset", ints(&[Some(1), None, None])),
            ("sizeInBytes", ints(&[Some(40), None, None])),
            ("cardinality", longs(&[Some(6), None, None])),
        ],
        &[true, false, true],
    );
    let adds = structs(
        &[
            ("path", string_array(&[Some("a"), Some("b"), None])),
            ("partitionValues", maps(&[Some(&[("p", Some("1"))]), None, None])),
            ("size", longs(&[Some(10), Some(20), None])),
            ("modificationTime", longs(&[Some(11), Some(21), None])),
            ("dataChange", flags(&[Some(false), Some(true), None])),
            ("stats", string_array(&[Some("{}"), None, None])),
            ("deletionVector", descriptor),
            ("baseRowId", longs(&[Some(0), None, None])),
        ],
        &[true, true, false],
    );
    let removes = structs(
        &[("path", string_array(&[None, None, Some("c")])), ("deletionTimestamp", longs(&[None, None, Some(7)]))],
        &[false, false, true],
    );
    let add = |path: &str, size: i64| Add {
        path: path.to_owned(),
        partition_values: HashMap::new(),
        size,
        modification_time: size + 1,
        data_change: true,
        stats: None,
        tags: None,
        deletion_vector: None,
        base_row_id: None,
        default_row_commit_version: None,
        clustering_provider: None,
    };
    check(
        &[("add", adds), ("remove", removes)],
        &[
            Action::Add(Add {
                partition_values: string_map(&[("p", Some("1"))]),
                data_change: false,
                stats: Some("{}".to_owned()),
                deletion_vector: Some(DeletionVectorDescriptor {
                    storage_type: DvStorage::UuidRelative,
                    path_or_inline_dv: "ab".to_owned(),
                    offset: Some(1),
                    size_in_bytes: 40,
                    cardinality: 6,
                }),
                base_row_id: Some(0),
                ..add("a", 10)
            }),
            Action::Add(add("b", 20)),
            Action::Remove(Remove {
                path: "c".to_owned(),
                deletion_timestamp: Some(7),
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
        ],
    );
}

#[test]
fn read_broken_row_names_the_field() {
    let txn = |app_id: ArrayRef, version: ArrayRef| [("txn", structs(&[("appId", app_id), ("version", version)], &[true]))];
    check_error(&txn(string_array(&[None]), longs(&[Some(1)])), "txn without appId");
    check_error(&txn(string_array(&[Some("a")]), string_array(&[Some("x")])), "version of txn cannot be read as Int64");
    check_error(&[("txn", longs(&[Some(1)]))], "column txn is not a struct but Int64");
    let protocol = |reader: ArrayRef, features: ArrayRef| {
        let fields = [("minReaderVersion", reader), ("minWriterVersion", ints(&[Some(1)])), ("readerFeatures", features)];
        [("protocol", structs(&fields, &[true]))]
    };
    check_error(&protocol(longs(&[Some(1 << 40)]), lists(&[None])), "minReaderVersion does not fit in 32 bits");
    let mut with_null = ListBuilder::new(StringBuilder::new());
    with_null.values().append_null();
    with_null.append(true);
    check_error(&protocol(ints(&[Some(1)]), Arc::new(with_null.finish())), "a null in readerFeatures");
    check_error(&[("add", structs(&[("path", string_array(&[Some("a")]))], &[true]))], "add without size");
    let unknown =
        structs(&[("storageType", string_array(&[Some("q")])), ("pathOrInlineDv", string_array(&[Some("x")]))], &[true]);
    check_error(
        &[(
            "add",
            structs(&[("path", string_array(&[Some("a")])), ("size", longs(&[Some(1)])), ("deletionVector", unknown)], &[true]),
        )],
        "a deletion vector of unknown storage type \"q\"",
    );
    check_error(
        &[(
            "add",
            structs(
                &[("path", string_array(&[Some("a")])), ("size", longs(&[Some(1)])), ("tags", string_array(&[Some("x")]))],
                &[true],
            ),
        )],
        "tags is not a map but Utf8",
    );
}

#[test]
fn columns_hold_the_leaves_below_them() {
    assert!(columns::hold(columns::HEAD, &["metaData", "format", "options", "key_value", "key"]));
    assert!(columns::hold(columns::HEAD, &["protocol", "minReaderVersion"]));
    assert!(!columns::hold(columns::HEAD, &["add", "path"]));
    assert!(!columns::hold(columns::OTHERS, &["remove", "path"]));
    assert!(columns::hold(&[&["add", "path"]], &["add", "path"]));
    assert!(!columns::hold(&[&["add", "path"]], &["add"]));
    assert!(!columns::hold(&[&["add", "path"]], &["add", "path2"]));
}

#[test]
fn check_v2_checkpoint_requires_its_version() {
    let version = |version: i64| Action::CheckpointMetadata(CheckpointMetadata { version, tags: None });
    let sidecar = Action::Sidecar(Sidecar { path: "s".to_owned(), size_in_bytes: 1, modification_time: 1, tags: None });
    let message =
        |actions: &[Action], classic: bool| check_v2(actions, 7, "f", classic).map_err(|error| error.message().to_owned());
    assert_eq!(message(&[version(7), sidecar.clone()], false), Ok(()));
    assert_eq!(message(&[version(7)], true), Ok(()));
    assert_eq!(message(&[], true), Ok(()));
    assert_eq!(message(&[], false), Err("f: a V2 checkpoint without checkpointMetadata".to_owned()));
    assert_eq!(message(&[sidecar], true), Err("f: sidecars without checkpointMetadata".to_owned()));
    assert_eq!(
        message(&[version(6)], false),
        Err("f: checkpointMetadata is of version 6, but the file is of version 7".to_owned())
    );
    assert_eq!(
        message(&[version(-1)], true),
        Err("f: checkpointMetadata is of version -1, but the file is of version 7".to_owned())
    );
    assert_eq!(message(&[version(7), version(7)], false), Err("f: more than one checkpointMetadata".to_owned()));
}
