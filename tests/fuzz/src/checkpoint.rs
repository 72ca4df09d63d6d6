//! Rows of checkpoints: any JSON objects that fit the columns, in narrow and in wide types.

use std::io::Cursor;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_json::ReaderBuilder;
use arrow_schema::{DataType, Field, Fields, Schema};
use lakebed_core::log::checkpoint::{check_v2, file_actions, other_actions};
use lakebed_core::log::files::FileBatch;
use lakebed_core::schema::PrimitiveType;
use lakebed_core::stats::{StatColumn, StatKind};

use super::check_line;

/// Parses the rows of a checkpoint.
pub fn checkpoint_row(bytes: &[u8]) {
    let rows = StatColumn { kind: StatKind::NumRecords, path: Vec::new(), data_type: PrimitiveType::Long };
    for batch in checkpoint_batches(bytes) {
        for actions in [other_actions(&batch, "checkpoint"), file_actions(&batch, "checkpoint")].into_iter().flatten() {
            let _ = check_v2(&actions, 3, "checkpoint", true);
            actions.iter().for_each(check_line);
        }
        let Ok(files) = FileBatch::from_checkpoint(&batch) else { continue };
        let _ = (files.keys(), files.stats(std::slice::from_ref(&rows)), files.partition_values("p", PrimitiveType::Date));
        for row in 0..files.len() {
            let _ = files.deletion_vector(row);
        }
    }
}

/// Returns lines of JSON as batches of a checkpoint. A first line `wide` selects the wide types.
pub fn checkpoint_batches(bytes: &[u8]) -> Vec<RecordBatch> {
    let (wide, lines) = bytes.strip_prefix(b"wide\n").map_or((false, bytes), |lines| (true, lines));
    let Ok(reader) = ReaderBuilder::new(Arc::new(columns(wide))).build(Cursor::new(lines)) else { return Vec::new() };
    reader.map_while(Result::ok).collect()
}

fn columns(wide: bool) -> Schema {
    let text = if wide { DataType::LargeUtf8 } else { DataType::Utf8 };
    let integer = if wide { DataType::Int64 } else { DataType::Int32 };
    let long = DataType::Int64;
    let field = |name: &str, data_type: &DataType| Field::new(name, data_type.clone(), true);
    let fields =
        |named: &[(&str, &DataType)]| DataType::Struct(named.iter().map(|(name, data_type)| field(name, data_type)).collect());
    let entries = Fields::from(vec![Field::new("key", text.clone(), false), field("value", &text)]);
    let map = DataType::Map(Arc::new(Field::new("key_value", DataType::Struct(entries), false)), false);
    let list = DataType::List(Arc::new(field("element", &text)));
    let vector = fields(&[
        ("storageType", &text),
        ("pathOrInlineDv", &text),
        ("offset", &integer),
        ("sizeInBytes", &integer),
        ("cardinality", &long),
    ]);
    let statistics = fields(&[("numRecords", &long)]);
    let add = fields(&[
        ("path", &text),
        ("partitionValues", &map),
        ("size", &long),
        ("modificationTime", &long),
        ("dataChange", &DataType::Boolean),
        ("stats", &text),
        ("tags", &map),
        ("deletionVector", &vector),
        ("baseRowId", &long),
        ("stats_parsed", &statistics),
    ]);
    let remove = fields(&[
        ("path", &text),
        ("deletionTimestamp", &long),
        ("dataChange", &DataType::Boolean),
        ("partitionValues", &map),
        ("size", &long),
        ("deletionVector", &vector),
    ]);
    let format = fields(&[("provider", &text), ("options", &map)]);
    let metadata = fields(&[
        ("id", &text),
        ("format", &format),
        ("schemaString", &text),
        ("partitionColumns", &list),
        ("configuration", &map),
        ("createdTime", &long),
    ]);
    let protocol = fields(&[
        ("minReaderVersion", &integer),
        ("minWriterVersion", &integer),
        ("readerFeatures", &list),
        ("writerFeatures", &list),
    ]);
    let domain = fields(&[("domain", &text), ("configuration", &text), ("removed", &DataType::Boolean)]);
    let sidecar = fields(&[("path", &text), ("sizeInBytes", &long), ("modificationTime", &long), ("tags", &map)]);
    Schema::new(vec![
        field("add", &add),
        field("remove", &remove),
        field("metaData", &metadata),
        field("protocol", &protocol),
        field("txn", &fields(&[("appId", &text), ("version", &long), ("lastUpdated", &long)])),
        field("domainMetadata", &domain),
        field("sidecar", &sidecar),
        field("checkpointMetadata", &fields(&[("version", &long), ("tags", &map)])),
    ])
}
