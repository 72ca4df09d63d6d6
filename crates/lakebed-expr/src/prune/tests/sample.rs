//! Tables of a few files with rows in memory, and the statistics that a writer would make of them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, RecordBatch, make_array, new_null_array};
use arrow_buffer::NullBuffer;
use arrow_schema::{Field, Schema, SchemaRef};
use datafusion_common::ScalarValue;
use lakebed_core::schema::arrow::schema_to_arrow;
use lakebed_core::schema::mapping::MappingMode;
use lakebed_core::schema::{PrimitiveType, StructField, StructType};
use lakebed_core::stats::{StatColumn, StatKind};
use serde_json::Value;

use crate::bind::resolve::Options;
use crate::bind::schema::filter_schema;
use crate::filter::{Filter, parse_filter};
use crate::prune::pruner::{FileFacts, PruneResult, Pruner};

/// Files of one table. Partition columns hold one value in all rows of a file.
#[derive(Debug)]
pub(super) struct Sample {
    pub(super) table: StructType,
    pub(super) partitions: Vec<String>,
    pub(super) files: Vec<RecordBatch>,
    /// How many characters of text statistics hold.
    pub(super) prefix: usize,
    /// Kinds of statistics that the writer left out.
    pub(super) without: Vec<StatKind>,
    /// Whether its statistics are complete, and known to be.
    pub(super) complete: bool,
    /// Whether statistics are those of footers.
    pub(super) footers: bool,
}

/// A table's fields by name and type.
pub(super) fn table(fields: &[(&str, PrimitiveType)]) -> StructType {
    StructType { fields: fields.iter().map(|(name, data_type)| StructField::new(*name, *data_type, true)).collect() }
}

impl Sample {
    pub(super) fn new(table: StructType, partitions: &[&str], files: Vec<Vec<ArrayRef>>) -> Sample {
        let schema: SchemaRef = schema_to_arrow(&table).unwrap();
        let schema =
            Arc::new(Schema::new(schema.fields().iter().map(|f| f.as_ref().clone().with_nullable(true)).collect::<Vec<Field>>()));
        let files = files.into_iter().map(|columns| RecordBatch::try_new(schema.clone(), columns).unwrap()).collect();
        let partitions = partitions.iter().map(|name| (*name).to_string()).collect();
        Sample { table, partitions, files, prefix: 32, without: vec![], complete: false, footers: false }
    }

    /// The same table with a generation expression for a column.
    pub(super) fn generating(mut self, column: &str, expression: &str) -> Sample {
        let field = self.table.fields.iter_mut().find(|field| field.name == column).unwrap();
        field.metadata.insert("delta.generationExpression".into(), Value::String(expression.into()));
        self
    }

    pub(super) fn filter(&self, text: &str) -> Filter {
        let schema = filter_schema(&self.table).unwrap();
        parse_filter(text, &schema, &Options { now_ms: Some(0) }).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    pub(super) fn pruner(&self, text: &str) -> Pruner {
        let new = if self.footers { Pruner::of_footers } else { Pruner::new };
        new(&self.filter(text), &self.table, &self.partitions, MappingMode::None).unwrap()
    }

    pub(super) fn prune(&self, text: &str) -> PruneResult {
        let pruner = self.pruner(text);
        let partitions = self.partition_values(&pruner);
        let stats = self.stats(pruner.statistics());
        let guaranteed = vec![BooleanArray::from(vec![self.complete; self.files.len()]); pruner.guarantees().len()];
        let files = self.files.len();
        pruner.prune(&FileFacts { files, partitions: &partitions, stats: &stats, guaranteed: &guaranteed }).unwrap()
    }

    pub(super) fn partition_values(&self, pruner: &Pruner) -> Vec<ArrayRef> {
        let first = |name: &str| {
            let values =
                self.files.iter().map(|file| ScalarValue::try_from_array(file.column_by_name(name).unwrap(), 0).unwrap());
            ScalarValue::iter_to_array(values).unwrap()
        };
        pruner.partition_columns().iter().map(|column| first(&column.name)).collect()
    }

    pub(super) fn stats(&self, wanted: &[StatColumn]) -> Vec<ArrayRef> {
        wanted.iter().map(|column| self.stat(column)).collect()
    }

    fn stat(&self, wanted: &StatColumn) -> ArrayRef {
        if self.without.contains(&wanted.kind) {
            return new_null_array(&wanted.arrow_type(), self.files.len());
        }
        match wanted.kind {
            StatKind::NumRecords => Arc::new(self.files.iter().map(|file| Some(file.num_rows() as i64)).collect::<Int64Array>()),
            StatKind::NullCount => {
                let nulls = |file: &RecordBatch| match (self.complete, wanted.path.as_slice()) {
                    // Where the struct is there.
                    (false, [parent, field]) => {
                        let parent = file.column_by_name(parent).unwrap().as_struct();
                        let fields = parent.column_by_name(field).unwrap();
                        (0..parent.len()).filter(|row| parent.is_valid(*row) && fields.is_null(*row)).count() as i64
                    }
                    _ => leaf(file, &wanted.path).logical_null_count() as i64,
                };
                Arc::new(self.files.iter().map(|file| Some(nulls(file))).collect::<Int64Array>())
            }
            kind => {
                let values = self.files.iter().map(|file| bound(&leaf(file, &wanted.path), kind, self));
                let null = ScalarValue::try_from(&wanted.arrow_type()).unwrap();
                ScalarValue::iter_to_array(values.map(|value| value.unwrap_or(null.clone()))).unwrap()
            }
        }
    }
}

/// A column or field of a file, null where a struct above it is.
fn leaf(file: &RecordBatch, path: &[String]) -> ArrayRef {
    let mut array = file.column_by_name(&path[0]).unwrap().clone();
    for name in &path[1..] {
        let parent = array.as_struct();
        let child = parent.column_by_name(name).unwrap();
        let nulls = NullBuffer::union(parent.nulls(), child.nulls());
        array = make_array(child.to_data().into_builder().nulls(nulls).build().unwrap());
    }
    array
}

/// The least or greatest value, null and NaN left out, text cut as Delta's writers cut it. With NaN, complete statistics have no greatest.
fn bound(array: &ArrayRef, kind: StatKind, sample: &Sample) -> Option<ScalarValue> {
    let is_nan = |value: &ScalarValue| matches!(value, ScalarValue::Float64(Some(x)) if x.is_nan());
    let values = || (0..array.len()).map(|row| ScalarValue::try_from_array(array, row).unwrap());
    if sample.complete && kind == StatKind::Max && values().any(|value| is_nan(&value)) {
        return None;
    }
    let counts = |value: &ScalarValue| {
        !value.is_null()
            && !is_nan(value)
            && (sample.footers || !matches!(value, ScalarValue::Boolean(_) | ScalarValue::Binary(_)))
    };
    let least = kind == StatKind::Min;
    let chosen = values().filter(counts).reduce(|a, b| if (a < b) == least { a } else { b })?;
    match &chosen {
        ScalarValue::Utf8(Some(text)) => Some(ScalarValue::Utf8(Some(cut(text, least, sample.prefix)))),
        ScalarValue::Binary(Some(bytes)) => Some(ScalarValue::Binary(Some(cut_bytes(bytes, least, sample.prefix)))),
        _ => Some(chosen),
    }
}

fn cut(text: &str, least: bool, prefix: usize) -> String {
    if text.chars().count() <= prefix {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(prefix).collect();
    if !least {
        cut.push(char::MAX);
    }
    cut
}

/// The beginning, for an upper bound with its last byte counted up; all of it if that is not possible.
fn cut_bytes(bytes: &[u8], least: bool, prefix: usize) -> Vec<u8> {
    let mut cut = bytes[..prefix.min(bytes.len())].to_vec();
    if cut.len() == bytes.len() || least {
        return cut;
    }
    match cut.last_mut().filter(|last| **last < u8::MAX) {
        Some(last) => *last += 1,
        None => return bytes.to_vec(),
    }
    cut
}
