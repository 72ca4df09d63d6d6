//! The bytes of tasks and files: JSON, since most of it is actions of the log, and a reader of another version can say what it does not know.

use std::collections::HashMap;
use std::time::Duration;

use lakebed_core::action::Add;
use lakebed_core::schema;
use lakebed_io::parquet::write::Codec;
use serde::{Deserialize, Serialize};

use super::{WriteTask, WrittenFiles};
use crate::transaction::{Application, Batch};
use crate::write::target::TableChange;
use crate::write::{OnLossy, SchemaMode, WriteMode, WriteOptions};
use crate::{Error, Result};

/// The forms of tasks and of files. They count up when others would write or commit wrongly, or take another form for damage.
const TASK: u32 = 2;
const FILES: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Task {
    write_task: u32,
    table_url: String,
    version: Option<u64>,
    schema: String,
    table: TableChange,
    options: Options,
    now_ms: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    mode: Mode,
    schema: Schema,
    on_lossy: Lossy,
    replace_where: Option<String>,
    dynamic_partitions: bool,
    partition_by: Option<Vec<String>>,
    cluster_by: Option<Vec<String>>,
    properties: HashMap<String, String>,
    application: Option<ApplicationForm>,
    user_metadata: Option<String>,
    target_file_size_bytes: Option<u64>,
    codec: Option<String>,
    row_group_rows: Option<usize>,
    bloom_columns: Vec<String>,
    patience_ms: Option<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ApplicationForm {
    id: String,
    version: i64,
    batch: Option<BatchForm>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BatchForm {
    query: Option<i64>,
    offsets: Option<i64>,
    rows: Option<u64>,
    is_trusted: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "WriteMode", rename_all = "snake_case")]
enum ModeForm {
    Append,
    Overwrite,
    Error,
    Ignore,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "SchemaMode", rename_all = "snake_case")]
enum SchemaForm {
    Enforce,
    Merge,
    Overwrite,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "OnLossy", rename_all = "snake_case")]
enum LossyForm {
    Error,
    Truncate,
}

#[derive(Serialize, Deserialize)]
struct Mode(#[serde(with = "ModeForm")] WriteMode);

#[derive(Serialize, Deserialize)]
struct Schema(#[serde(with = "SchemaForm")] SchemaMode);

#[derive(Serialize, Deserialize)]
struct Lossy(#[serde(with = "LossyForm")] OnLossy);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Files {
    written_files: u32,
    rows: u64,
    marks: Vec<(usize, i64)>,
    adds: Vec<Add>,
}

pub(super) fn write_task(task: &WriteTask) -> Result<Vec<u8>> {
    let task = task.clone();
    crate::wire::to_bytes(&Task {
        write_task: TASK,
        table_url: task.table_url,
        version: task.version,
        schema: task.schema.to_json(),
        table: task.table,
        options: options_form(task.options),
        now_ms: task.now_ms,
    })
}

pub(super) fn read_task(bytes: &[u8]) -> Result<WriteTask> {
    let task: Task = crate::wire::from_bytes(bytes, "write_task", TASK)?;
    Ok(WriteTask {
        table_url: task.table_url,
        version: task.version,
        schema: schema::parse(&task.schema)?,
        table: task.table,
        options: options_of(task.options)?,
        now_ms: task.now_ms,
    })
}

pub(super) fn write_files(files: &WrittenFiles) -> Result<Vec<u8>> {
    let WrittenFiles { adds, rows, marks } = files.clone();
    crate::wire::to_bytes(&Files { written_files: FILES, rows, marks, adds })
}

pub(super) fn read_files(bytes: &[u8]) -> Result<WrittenFiles> {
    let Files { adds, rows, marks, .. } = crate::wire::from_bytes(bytes, "written_files", FILES)?;
    Ok(WrittenFiles { adds, rows, marks })
}

fn options_form(options: WriteOptions) -> Options {
    Options {
        mode: Mode(options.mode),
        schema: Schema(options.schema),
        on_lossy: Lossy(options.on_lossy),
        replace_where: options.replace_where,
        dynamic_partitions: options.dynamic_partitions,
        partition_by: options.partition_by,
        cluster_by: options.cluster_by,
        properties: options.properties,
        application: options.application.map(application_form),
        user_metadata: options.user_metadata,
        target_file_size_bytes: options.target_file_size_bytes,
        codec: options.codec.map(Codec::name),
        row_group_rows: options.row_group_rows,
        bloom_columns: options.bloom_columns,
        patience_ms: options.patience.map(|patience| u64::try_from(patience.as_millis()).unwrap_or(u64::MAX)),
    }
}

fn application_form(application: Application) -> ApplicationForm {
    let Application { id, version, batch } = application;
    let batch = batch.map(|Batch { query, offsets, rows, is_trusted }| BatchForm { query, offsets, rows, is_trusted });
    ApplicationForm { id, version, batch }
}

fn application_of(form: ApplicationForm) -> Application {
    let ApplicationForm { id, version, batch } = form;
    let batch = batch.map(|BatchForm { query, offsets, rows, is_trusted }| Batch { query, offsets, rows, is_trusted });
    Application { id, version, batch }
}

fn options_of(options: Options) -> Result<WriteOptions> {
    let codec = |name: String| {
        Codec::parse(&name).ok_or_else(|| Error::invalid_input(format!("not a write task that can be read: the codec {name}")))
    };
    Ok(WriteOptions {
        mode: options.mode.0,
        schema: options.schema.0,
        on_lossy: options.on_lossy.0,
        replace_where: options.replace_where,
        dynamic_partitions: options.dynamic_partitions,
        partition_by: options.partition_by,
        cluster_by: options.cluster_by,
        properties: options.properties,
        application: options.application.map(application_of),
        user_metadata: options.user_metadata,
        target_file_size_bytes: options.target_file_size_bytes,
        codec: options.codec.map(codec).transpose()?,
        row_group_rows: options.row_group_rows,
        bloom_columns: options.bloom_columns,
        patience: options.patience_ms.map(Duration::from_millis),
    })
}
