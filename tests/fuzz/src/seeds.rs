//! The seeds of the smoke test: bytes as writers write them.

use lakebed_core::dv::DeletionVector;
use lakebed_core::log::hint;
use lakebed_core::schema::PrimitiveType;

/// One primitive type of each kind.
pub const PRIMITIVES: [PrimitiveType; 17] = [
    PrimitiveType::String,
    PrimitiveType::Long,
    PrimitiveType::Integer,
    PrimitiveType::Short,
    PrimitiveType::Byte,
    PrimitiveType::Float,
    PrimitiveType::Double,
    PrimitiveType::Boolean,
    PrimitiveType::Binary,
    PrimitiveType::Date,
    PrimitiveType::Timestamp,
    PrimitiveType::TimestampNtz,
    PrimitiveType::Decimal { precision: 38, scale: 18 },
    PrimitiveType::Variant,
    PrimitiveType::Void,
    PrimitiveType::YearMonthInterval,
    PrimitiveType::DayTimeInterval,
];

const SCHEMA: &str = r#"{"type":"struct","fields":[{"name":"id","type":"long","nullable":false,"metadata":{"delta.columnMapping.id":1,"delta.columnMapping.physicalName":"col-1"}},{"name":"price","type":"decimal(10,2)","nullable":true,"metadata":{"delta.typeChanges":[{"toType":"decimal(10,2)","fromType":"decimal(6,2)"}]}},{"name":"tags","type":{"type":"map","keyType":"string","valueType":{"type":"array","elementType":"timestamp_ntz","containsNull":true},"valueContainsNull":false},"nullable":true,"metadata":{}},{"name":"place","type":{"type":"struct","fields":[{"name":"x","type":"double","nullable":true,"metadata":{"comment":"é"}}]},"nullable":true,"metadata":{}},{"name":"span","type":"interval day to second","nullable":true,"metadata":{}}]}"#;

const STATISTICS: &str = r#"{"numRecords":3,"minValues":{"id":-7,"name":"a, {b}","at":"2024-02-29T12:34:56.789Z","place":{"x":1.5}},"maxValues":{"id":9007199254740993,"name":"z\"}","at":"1883-11-18T12:00:00.000-07:52","place":{"x":"NaN"}},"nullCount":{"id":0,"name":1,"at":0,"place":{"x":0}},"tightBounds":false}"#;

const ADD: &str = r#"{"add":{"path":"day=2024-01-01/part%20a.parquet","partitionValues":{"day":"2024-01-01","x":null},"size":452,"modificationTime":1769860800000,"dataChange":false,"stats":"{\"numRecords\":2}","tags":{"ZCUBE_ID":"z"},"deletionVector":{"storageType":"u","pathOrInlineDv":"ab^-aqEH.-t@S}K{vb[*k^","offset":1,"sizeInBytes":40,"cardinality":6},"baseRowId":10,"defaultRowCommitVersion":4,"clusteringProvider":"liquid"}}"#;

const METADATA: &str = r#"{"id":"5fba94ed-9794-4965-ba6e-6ee3c0d22af9","name":null,"format":{"provider":"parquet","options":{}},"schemaString":"{\"type\":\"struct\",\"fields\":[]}","partitionColumns":["day"],"configuration":{"delta.enableDeletionVectors":"true","x":null},"createdTime":1700000000000}"#;

const PROTOCOL: &str = r#"{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["deletionVectors"],"writerFeatures":["deletionVectors","appendOnly"]}"#;

fn bytes<T: AsRef<[u8]>>(seeds: &[T]) -> Vec<Vec<u8>> {
    seeds.iter().map(|seed| seed.as_ref().to_vec()).collect()
}

/// Returns one line for each kind of action.
pub fn commit_lines() -> Vec<Vec<u8>> {
    let mut lines = bytes(&[
        ADD,
        r#"{"add":{"path":"f","partitionValues":{},"size":"1","modificationTime":1.0,"dataChange":true}}"#,
        r#"{"remove":{"path":"f.parquet","deletionTimestamp":1700000000000,"dataChange":true,"extendedFileMetadata":true,"partitionValues":{"p":""},"size":1,"stats":"{}","tags":{},"deletionVector":{"storageType":"i","pathOrInlineDv":"wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L","sizeInBytes":40,"cardinality":6}}}"#,
        r#"{"cdc":{"path":"_change_data/cdc.parquet","partitionValues":{},"size":1213,"dataChange":false,"tags":null}}"#,
        r#"{"txn":{"appId":"3ba13872-2d47-4e17-86a0-21afd2a22395","version":364475,"lastUpdated":1700000000000}}"#,
        r#"{"domainMetadata":{"domain":"delta.rowTracking","configuration":"{\"rowIdHighWaterMark\":9}","removed":false}}"#,
        r#"{"commitInfo":{"inCommitTimestamp":1700000000000,"timestamp":1700000000000,"operation":"WRITE","operationParameters":{"mode":"Append","partitionBy":"[]"},"operationMetrics":{"numFiles":"1"},"isBlindAppend":true,"txnId":"t"}}"#,
        r#"{"checkpointMetadata":{"version":364475,"tags":{"sidecarNumActions":"2"}}}"#,
        r#"{"sidecar":{"path":"016ae953-37a9-438e-8683-9a9a4a79a395.parquet","sizeInBytes":8468120,"modificationTime":1512909848000,"tags":{}}}"#,
        r#"{"future":{"anything":[1,{"x":null}]}}"#,
    ]);
    lines.push(format!("{{\"metaData\":{METADATA}}}").into_bytes());
    lines.push(format!("{{\"protocol\":{PROTOCOL}}}").into_bytes());
    lines
}

/// Returns rows of checkpoints with narrow and wide types.
pub fn checkpoint_rows() -> Vec<Vec<u8>> {
    let lines = commit_lines();
    let wide = lines.iter().map(|line| [b"wide\n", line.as_slice()].concat());
    let parsed = br#"{"add":{"path":"f","partitionValues":{"p":"2024-01-01"},"size":1,"modificationTime":1,"dataChange":false,"stats_parsed":{"numRecords":4}}}"#;
    lines.iter().cloned().chain(wide).chain([parsed.to_vec(), lines.join(&b"\n"[..])]).collect()
}

/// Returns all forms of deletion vectors: framed, inline, and names of files.
pub fn deletion_vectors() -> Vec<Vec<u8>> {
    let rows = |vector: DeletionVector| vector.serialize().expect("rows below 2^63");
    let bitmap = [0x3a, 0x30, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 16, 0, 0, 0, 1, 0, 3, 0];
    let native = [&[0xd0, 0xd3, 0x39, 0x64, 1, 0, 0, 0, 20, 0, 0, 0][..], &bitmap].concat();
    let big_endian = [&[0x64, 0x39, 0xd3, 0xd0, 0, 0, 0, 1, 0, 0, 0, 20][..], &bitmap].concat();
    let framed = [&[0, 0, 0, 36][..], &rows([1, 3].into_iter().collect()), &[0x68, 0x34, 0x97, 0xa9]].concat();
    vec![
        rows([1, 3, 1 << 33].into_iter().collect()),
        rows((0..300_000).filter(|row| row % 3 != 0 || *row < 90_000).collect()),
        rows(DeletionVector::new()),
        native,
        big_endian,
        framed,
        b"wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L".to_vec(),
        b"ab^-aqEH.-t@S}K{vb[*k^".to_vec(),
        b"s3://mytable/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin".to_vec(),
    ]
}

/// Returns schemas of tables.
pub fn schemas() -> Vec<Vec<u8>> {
    bytes(&[SCHEMA, r#"{"type":"struct","fields":[]}"#])
}

/// Returns hints, with and without a checksum.
pub fn last_checkpoints() -> Vec<Vec<u8>> {
    let mut hints = bytes(&[
        r#"{"version":10,"size":12,"parts":2,"sizeInBytes":14000,"numOfAddFiles":3,"checkpointSchema":{"type":"struct","fields":[]},"tags":{"a":"b"}}"#,
        r#"{"version":3,"size":5,"v2Checkpoint":{"path":"00000000000000000003.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json","sizeInBytes":9,"modificationTime":1,"nonFileActions":[{"txn":{"appId":"a","version":1}}],"sidecarFiles":[{"path":"s.parquet","sizeInBytes":1,"modificationTime":2}]}}"#,
    ]);
    let checked: Vec<_> =
        hints.iter().map(|seed| hint::parse(seed).and_then(|hint| hint.to_json()).expect("a seed is a hint")).collect();
    hints.extend(bytes(&checked));
    hints
}

/// Returns checksums of versions.
pub fn checksums() -> Vec<Vec<u8>> {
    let full = format!(
        r#"{{"txnId":"t","tableSizeBytes":452,"numFiles":1,"numMetadata":1,"numProtocol":1,"setTransactions":[{{"appId":"a","version":1}}],"domainMetadata":[],"inCommitTimestampOpt":1700000000000,"metadata":{METADATA},"protocol":{PROTOCOL},"numDeletedRecordsOpt":0,"numDeletionVectorsOpt":0,"allFiles":[]}}"#
    );
    let old = r#"{"tableSizeBytes":452,"numFiles":1,"numMetadata":1,"numProtocol":1}"#;
    vec![full.into_bytes(), old.as_bytes().to_vec()]
}

/// Returns statistics of files.
pub fn statistics() -> Vec<Vec<u8>> {
    bytes(&[
        STATISTICS,
        r#"{"numRecords":1,"minValues":{"id":"12345678901234567.89","place":{"x":"2024-02-29"}},"maxValues":{"id":1.25E2,"place":{"x":true}}}"#,
        r#" { "minValues" : { "id" : 1 , "id" : 2 } , "minValues":{"id":3},"maxValues":[{"id":1}] } "#,
        r#"{"minValues":{"\u0069d":4},"maxValues":{"place":{"x":"\ud83d\ude00"}},"tightBounds":true}"#,
    ])
}

/// Returns partition values of every type.
pub fn partition_values() -> Vec<Vec<u8>> {
    bytes(&[
        "",
        "a b/c%é",
        "-9223372036854775808",
        "255",
        "1.5",
        "-1.0E-10",
        "NaN",
        "-Infinity",
        "true",
        "2024-02-29",
        "-0001-12-31",
        "2024-02-29 12:34:56.789123",
        "2024-02-29T12:34:56.789123Z",
        "+10000-01-01T00:00:00+18:00",
        "12345678901234567890.123456789012345678",
        "1E-18",
        "INTERVAL '1-2' YEAR TO MONTH",
        "INTERVAL '-1 02:03:04.000005' DAY TO SECOND",
    ])
}

/// Returns paths of data files and names of log files.
pub fn file_paths() -> Vec<Vec<u8>> {
    bytes(&[
        "part-00000-80a083e8-7026-4e79-81be-64bd76c43a11-c000.snappy.parquet",
        "p=a%252Fb/q=%20é/f.parquet",
        "s3://bucket/table/f%20g.parquet",
        "file:///tmp/x/f.parquet",
        "/x/../y",
        "a:b/c",
        "00000000000000000010.checkpoint.0000000001.0000000003.parquet",
        "00000000000000000010.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json",
        "00000000000000000004.00000000000000000006.compacted.json",
        "00000000000000000004.crc",
    ])
}

/// Returns names, and objects with fields besides `a`: none, a small number, a string, an object.
pub fn variants() -> Vec<Vec<u8>> {
    const NAMES: &[u8] = &[1, 2, 0, 1, 2, b'b', b'c'];
    let with = |names: &[u8], value: &[u8]| [&[u8::try_from(names.len()).expect("few names")][..], names, value].concat();
    vec![
        with(&[1, 0, 0], &[2, 0, 0]),
        with(NAMES, &[2, 1, 0, 0, 2, 3 << 2, 5]),
        with(NAMES, &[2, 2, 0, 1, 0, 4, 6, 3 << 2 | 1, b'x', b'y', b'z', 3 << 2, 9]),
        with(NAMES, &[2, 1, 1, 0, 7, 2, 1, 0, 0, 2, 3 << 2, 5]),
    ]
}
