use std::time::Duration;

use lakebed_core::action::DomainMetadata;
use lakebed_core::schema::{PrimitiveType, StructField};
use lakebed_io::parquet::write::Codec;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::definition::Definition;
use crate::dml::write::{PartitionMode, SchemaMode, WriteMode};
use crate::kit::{action, to_metadata, to_protocol};
use crate::transaction::{Batch, InfoEntries, OtherApplication};
use crate::upkeep::UpkeepOptions;
use crate::write::OnLossy;

fn table() -> Definition {
    let metadata = action::metadata(&["id long"], &[], &[]);
    let fields = json!({"description": "\"quoted\"\n", "configuration": {"delta.enableDeletionVectors": "true", "odd": null}});
    Definition {
        protocol: to_protocol(&action::protocol(&["deletionVectors"], &["deletionVectors"])),
        metadata: to_metadata(&action::with(metadata, fields)),
        domains: vec![DomainMetadata { domain: "d".to_owned(), configuration: "{}".to_owned(), removed: false }],
        clustering: vec![vec!["s".to_owned(), "x.y".to_owned()]],
        changes_protocol: true,
        changes_metadata: false,
        is_replaced: true,
    }
}

fn to_entries(value: serde_json::Value) -> InfoEntries {
    serde_json::from_value(value).unwrap()
}

fn names() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(any::<String>(), 0..3)
}

fn application() -> impl Strategy<Value = Application> {
    let number = || prop::option::of(any::<i64>());
    let batch = (number(), number(), prop::option::of(any::<u64>()), any::<bool>());
    let batch = batch.prop_map(|(query, offsets, rows, is_trusted)| Batch { query, offsets, rows, is_trusted });
    (any::<String>(), any::<i64>(), prop::option::of(batch)).prop_map(|(id, version, batch)| Application {
        id,
        version,
        batch,
        others: vec![OtherApplication { id: "other".to_owned(), version: 3 }],
    })
}

/// Returns any options, including contradictory ones.
fn options() -> impl Strategy<Value = WriteOptions> {
    let modes = prop::sample::select(vec![WriteMode::Append, WriteMode::Overwrite, WriteMode::Error, WriteMode::Ignore]);
    let schemas = prop::sample::select(vec![SchemaMode::Enforce, SchemaMode::Merge, SchemaMode::Overwrite]);
    let losses = prop::sample::select(vec![OnLossy::Error, OnLossy::Truncate]);
    let compression =
        prop::option::of(prop::sample::select(vec!["snappy", "zstd", "gzip", "gzip(9)", "lz4_raw", "uncompressed"]));
    let texts = (prop::option::of(any::<String>()), prop::option::of(any::<String>()), prop::option::of(application()));
    let columns = (prop::option::of(names()), prop::option::of(names()), names());
    let numbers = (prop::option::of(any::<u64>()), prop::option::of(any::<usize>()), prop::option::of(0..1_000_000_000_000_u64));
    let properties = prop::collection::hash_map(any::<String>(), any::<String>(), 0..3);
    (modes, schemas, losses, compression, texts, columns, numbers, properties, any::<bool>()).prop_map(
        |(mode, schema_mode, on_lossy, compression, texts, columns, numbers, properties, is_dynamic)| WriteOptions {
            mode,
            replace_where: texts.0,
            partitions: if is_dynamic { PartitionMode::Dynamic } else { PartitionMode::Static },
            schema_mode,
            partition_by: columns.0,
            cluster_by: columns.1,
            properties,
            name: texts.1.clone(),
            description: None,
            txn: texts.2,
            user_metadata: texts.1,
            commit_info: to_entries(json!({"team": {"n": 1}})),
            upkeep: UpkeepOptions { checkpoint: false, clean_up_log: Some(true) },
            target_file_size_bytes: numbers.0,
            compression: compression.map(|name| Codec::parse(name).expect("a codec of ours")),
            row_group_rows: numbers.1,
            bloom_columns: columns.2,
            on_lossy,
            timeout: numbers.2.map(Duration::from_millis),
        },
    )
}

fn task(options: WriteOptions) -> WriteTask {
    WriteTask {
        table_url: "s3://bucket/table".to_owned(),
        version: Some(7),
        schema: StructType { fields: vec![StructField::new("id", PrimitiveType::Integer, false)] },
        table: table(),
        options,
        now_ms: 1_700_000_000_123,
    }
}

#[test]
fn a_root_with_credentials_never_becomes_bytes() {
    for root in ["https://user:password@host/t", "https://host/t?sig=abc", "not a url"] {
        let error = WriteTask { table_url: root.to_owned(), ..task(WriteOptions::default()) }.to_bytes().unwrap_err().to_string();
        assert!(!error.contains("password@") && !error.contains("abc"), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_task_comes_back_from_its_bytes(options in options()) {
        let task = task(options);
        prop_assert_eq!(WriteTask::from_bytes(&task.to_bytes().unwrap()).unwrap(), task);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), at in 0_usize..2000, with in any::<u8>()) {
        let _ = WriteTask::from_bytes(&bytes);
        let mut damaged = task(WriteOptions::default()).to_bytes().unwrap();
        let at = at % damaged.len();
        damaged[at] = with;
        let _ = WriteTask::from_bytes(&damaged);
    }
}
