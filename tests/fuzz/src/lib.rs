//! The fuzz targets. Each target feeds arbitrary bytes to a parser of `lakebed-core`. The parser
//! may refuse the bytes, but it must not panic. A value that was parsed must be the same after it
//! is written and parsed again.
//!
//! `fuzz_targets/` passes the targets to libFuzzer. `smoke.rs` runs each target on mutated seeds,
//! as a plain test on a stable compiler.

mod checkpoint;
pub mod mutate;
pub mod seeds;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BinaryArray, Int64Array, StringArray, StructArray};
use arrow_schema::{Field, Fields};
use lakebed_core::action::{Action, DeletionVectorDescriptor, DvStorage, json};
use lakebed_core::dv::{DeletionVector, location};
use lakebed_core::log::{checksum::VersionChecksum, hint};
use lakebed_core::path::{FilePath, LogPath};
use lakebed_core::schema::{self, PrimitiveType};
use lakebed_core::stats::{StatColumn, StatKind, from_json};
use lakebed_core::value::Scalar;
use lakebed_core::variant::unshred;

pub use checkpoint::{checkpoint_batches, checkpoint_row};

/// A line of a commit. The fast parser and the tolerant one agree, and a parsed action can be
/// written.
pub fn commit_line(line: &[u8]) {
    let _ = json::parse_commit(line, "commit");
    let Ok(read) = json::parse_line(line) else { return };
    if let Ok(value) = serde_json::from_slice(line) {
        let tolerant = json::from_value(value).expect("the tolerant way reads what the fast one reads");
        assert_eq!(read, tolerant);
    }
    if let Some(action) = read {
        check_line(&action);
    }
}

/// Checks that a parsed action can be written and parsed again.
fn check_line(action: &Action) {
    let written = action.to_line().expect("what was read can be written");
    assert_eq!(json::parse_line(written.as_bytes()).expect("what was written can be read").as_ref(), Some(action));
}

/// A deletion vector: as bytes, inline, and by the path of its file.
pub fn deletion_vector(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for storage_type in [DvStorage::UuidRelative, DvStorage::AbsolutePath, DvStorage::Inline] {
        let path_or_inline_dv = text.clone().into_owned();
        let descriptor =
            DeletionVectorDescriptor { storage_type, path_or_inline_dv, offset: Some(1), size_in_bytes: 40, cardinality: 6 };
        let _ = location(&descriptor);
        let _ = DeletionVector::from_inline(&descriptor);
        let _ = DeletionVector::parse_framed(bytes, &descriptor);
    }
    let Ok(vector) = DeletionVector::parse(bytes) else { return };
    let written = vector.serialize().expect("rows that were read can be written");
    assert_eq!(DeletionVector::parse(&written).expect("what was written can be read"), vector);
    let kept: u64 = vector.kept_ranges(0..1 << 40).iter().map(|range| range.end - range.start).sum();
    assert_eq!(kept + vector.deleted_in(0..1 << 40), 1 << 40);
}

/// The schema of a table.
pub fn schema_json(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(read) = schema::parse(text) else { return };
    assert_eq!(schema::parse(&read.to_json()).expect("what was written can be read"), read);
    let _ = schema::arrow::schema_to_arrow(&read);
}

/// `_last_checkpoint`.
pub fn last_checkpoint(bytes: &[u8]) {
    let Ok(read) = hint::parse(bytes) else { return };
    let written = read.to_json().expect("what was read can be written");
    assert_eq!(hint::parse(written.as_bytes()).expect("what was written can be read"), read);
}

/// The checksum of a version.
pub fn checksum(bytes: &[u8]) {
    let Ok(read) = VersionChecksum::parse(bytes, "checksum") else { return };
    check_line(&Action::Protocol(read.protocol));
    check_line(&Action::Metadata(read.metadata));
}

/// Statistics. The search in the text finds the same values as a full parse.
pub fn stats_json(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let column = |kind, path: &[&str], data_type| StatColumn {
        kind,
        path: path.iter().map(|name| (*name).to_owned()).collect(),
        data_type,
    };
    let mut wanted =
        vec![column(StatKind::TightBounds, &[], PrimitiveType::Boolean), column(StatKind::Min, &["id"], PrimitiveType::Long)];
    for data_type in seeds::PRIMITIVES {
        wanted.push(column(StatKind::Min, &["id"], data_type));
        wanted.push(column(StatKind::Max, &["place", "x"], data_type));
    }
    let found = from_json(&StringArray::from(vec![text]), &wanted);
    let Ok(whole) = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text) else { return };
    let tight = whole.get("tightBounds").is_none_or(|tight| tight.is_null() || tight.is_boolean());
    assert!(found[0].is_valid(0) || !tight, "an object has tight bounds unless it says something else");
    let id = whole.get("minValues").and_then(|values| values.get("id")?.as_i64());
    assert!(id.is_none_or(|id| *found[1].as_primitive::<Int64Type>().values() == [id] && found[1].is_valid(0)));
}

/// A partition value of every type.
pub fn partition_value(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for primitive in seeds::PRIMITIVES {
        let Ok(read) = Scalar::parse_partition(Some(text), primitive) else { continue };
        let written = read.to_partition().expect("what was read can be written");
        let again = Scalar::parse_partition(written.as_deref(), primitive).expect("what was written can be read");
        // NaN differs from itself, but it has only one spelling.
        assert_eq!(format!("{again:?}"), format!("{read:?}"), "{primitive:?}");
    }
}

/// Paths of files, as actions spell them, and names of log files.
pub fn file_path(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = LogPath::parse(text);
    let Ok(read) = FilePath::parse(text) else { return };
    let decoded = match &read {
        FilePath::Relative(path) => path,
        FilePath::Absolute(absolute) => &absolute.path,
    };
    assert!(decoded.split('/').all(|segment| segment != "." && segment != ".."), "{decoded}");
    if let FilePath::Relative(path) = &read {
        assert_eq!(FilePath::parse(&FilePath::encode(path)).expect("what was written can be read"), read);
    }
}

/// Returns a shredded object with a column of its own for one field. The first byte is the length
/// of the names, and the other bytes are the value.
pub fn shredded(bytes: &[u8]) -> StructArray {
    let (length, rest) = bytes.split_first().map_or((0, bytes), |(length, rest)| (usize::from(*length), rest));
    let (names, value) = rest.split_at(length.min(rest.len()));
    let binary = |value: &[u8]| Arc::new(BinaryArray::from(vec![value])) as ArrayRef;
    let group = |columns: Vec<(&str, ArrayRef)>| {
        let fields: Fields = columns.iter().map(|(name, column)| Field::new(*name, column.data_type().clone(), true)).collect();
        Arc::new(StructArray::new(fields, columns.into_iter().map(|(_, column)| column).collect(), None))
    };
    let field = group(vec![("typed_value", Arc::new(Int64Array::from(vec![7])) as ArrayRef)]);
    let typed = group(vec![("a", field as ArrayRef)]);
    StructArray::clone(&group(vec![("metadata", binary(names)), ("value", binary(value)), ("typed_value", typed as ArrayRef)]))
}

/// A shredded variant. The result is not much larger than the input.
pub fn variant(bytes: &[u8]) {
    let Ok((names, value)) = unshred(&shredded(bytes)) else { return };
    assert!(names.value(0).len() + value.value(0).len() <= 8 * bytes.len() + 64);
}
