//! File actions as Arrow columns.
//!
//! A [`FileBatch`] holds some columns of `add`, one row per file. [`FileBatch::from_checkpoint`]
//! and [`builder`](super::builder) create it from a checkpoint or from commits. A [`FileKey`]
//! identifies a logical file.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Int64Array, MapArray, RecordBatch, StringArray, StructArray, UInt64Array, new_null_array,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType as ArrowType, Field, Schema};
use twox_hash::XxHash3_128;

use crate::action::json::FileLine;
use crate::action::{Add, DeletionVectorDescriptor, DvStorage};
use crate::error::{Error, Result};
use crate::schema::PrimitiveType;
use crate::stats::{self, COMPLETE, COMPLETE_TAG, StatColumn};
use crate::value;

/// The columns of `add` by name.
pub mod column {
    /// The URI of the file.
    pub const PATH: &str = "path";
    /// Strings by physical column name.
    pub const PARTITION_VALUES: &str = "partitionValues";
    /// Typed values by physical column name. Only some checkpoints have this column.
    pub const PARTITION_VALUES_PARSED: &str = "partitionValues_parsed";
    /// The size of the file in bytes.
    pub const SIZE: &str = "size";
    /// Milliseconds since the epoch.
    pub const MODIFICATION_TIME: &str = "modificationTime";
    /// Statistics as JSON.
    pub const STATS: &str = "stats";
    /// Statistics as typed values. Only some checkpoints have this column.
    pub const STATS_PARSED: &str = "stats_parsed";
    /// Key-value pairs of the writer.
    pub const TAGS: &str = "tags";
    /// The deletion vector's descriptor.
    pub const DELETION_VECTOR: &str = "deletionVector";
    /// The row id of the first row.
    pub const BASE_ROW_ID: &str = "baseRowId";
    /// The commit version of rows that do not store their own.
    pub const DEFAULT_ROW_COMMIT_VERSION: &str = "defaultRowCommitVersion";
    /// The implementation that clustered the file.
    pub const CLUSTERING_PROVIDER: &str = "clusteringProvider";
    /// Whether the commit shows that the statistics are complete. This is not a column of `add`:
    /// only files from commits have it.
    pub const COMPLETE_STATS: &str = "completeStats";
}

/// The identity of a logical file: its path and its deletion vector, hashed to 128 bits.
///
/// PROTOCOL "Action Reconciliation": (path, dv id) is the primary key. Hashes of a million keys
/// take 16 MB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileKey(u128);

impl FileKey {
    /// Returns the hash in hexadecimal digits.
    pub fn to_hex(self) -> String {
        format!("{:032x}", self.0)
    }

    /// Returns the key of an action's file with its deletion vector.
    pub fn of_add(add: &Add) -> Self {
        let id = add.deletion_vector.as_ref().map(|vector| vector.unique_id());
        Self::new(&add.path, id.as_deref())
    }

    /// Returns the key of a line's file with its deletion vector.
    pub fn of_line(line: &FileLine<'_>) -> Self {
        let (path, vector) = match line {
            FileLine::Add(add) => (&add.path, &add.deletion_vector),
            FileLine::Remove(remove) => (&remove.path, &remove.deletion_vector),
        };
        let id = vector.as_ref().map(|vector| vector.unique_id());
        Self::new(path, id.as_deref())
    }

    /// Returns the key of a file with this path and deletion vector id.
    pub fn new(path: &str, dv_id: Option<&str>) -> Self {
        // An absolute path without a scheme is on the local file system. No UTF-8 string contains
        // the byte 0xFF.
        let rest = path.strip_prefix("file:///").or_else(|| path.strip_prefix("file:/"));
        let local = rest.map(|rest| format!("/{rest}"));
        let path = local.as_deref().unwrap_or(path);
        match dv_id {
            None => Self(XxHash3_128::oneshot(path.as_bytes())),
            Some(id) => Self(XxHash3_128::oneshot(&[path.as_bytes(), &[0xFF], id.as_bytes()].concat())),
        }
    }
}

/// Some columns of file actions, one row per file.
#[derive(Debug, Clone)]
pub struct FileBatch {
    batch: RecordBatch,
}

impl FileBatch {
    /// Creates a batch from columns named as in [`column`]. Strings are cast to the plain string
    /// type.
    pub fn new(batch: RecordBatch) -> Result<Self> {
        let schema = batch.schema();
        let mut fields = Vec::with_capacity(batch.num_columns());
        let mut columns = Vec::with_capacity(batch.num_columns());
        for (field, array) in schema.fields().iter().zip(batch.columns()) {
            let array = match array.data_type() {
                ArrowType::LargeUtf8 | ArrowType::Utf8View => arrow_cast::cast(array, &ArrowType::Utf8)?,
                _ => Arc::clone(array),
            };
            fields.push(Field::new(field.name(), array.data_type().clone(), true));
            columns.push(array);
        }
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(Self { batch: RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)? })
    }

    /// Returns the rows of a checkpoint batch that have an `add`.
    pub fn from_checkpoint(batch: &RecordBatch) -> Result<Self> {
        let (files, present) = Self::with_presence(batch)?;
        if present.true_count() == present.len() { Ok(files) } else { files.filter(&present) }
    }

    /// Returns the rows of a checkpoint batch that have a `remove`.
    pub(super) fn removes_of_checkpoint(batch: &RecordBatch) -> Result<Self> {
        let (files, present) = Self::in_column(batch, "remove")?;
        files.filter(&present)
    }

    /// Returns all rows of a checkpoint batch, and for each whether it has an `add`.
    pub fn with_presence(batch: &RecordBatch) -> Result<(Self, BooleanArray)> {
        Self::in_column(batch, "add")
    }

    fn in_column(batch: &RecordBatch, name: &str) -> Result<(Self, BooleanArray)> {
        let Some(files) = batch.column_by_name(name).and_then(|array| array.as_struct_opt()) else {
            return Err(Error::internal(format!("a checkpoint batch without its {name} column")));
        };
        // Some writers store an action without a path instead of a null action. If the path is
        // required, the action is missing.
        let path = files.column_by_name(column::PATH).and_then(|path| path.logical_nulls());
        let present = present(files.len(), NullBuffer::union(files.nulls(), path.as_ref()));
        Ok((Self::new(RecordBatch::from(without_nulls(files)?))?, present))
    }

    /// Returns the files as rows of a checkpoint.
    pub(crate) fn as_checkpoint(&self) -> Result<RecordBatch> {
        let add: ArrayRef = Arc::new(StructArray::from(self.batch.clone()));
        Ok(RecordBatch::try_from_iter([("add", add)])?)
    }

    /// Returns the number of files.
    pub fn len(&self) -> usize {
        self.batch.num_rows()
    }

    /// Returns whether the batch has no files.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the columns.
    pub fn batch(&self) -> &RecordBatch {
        &self.batch
    }

    /// Returns a column, if it was read.
    pub fn column(&self, name: &str) -> Option<&ArrayRef> {
        self.batch.column_by_name(name)
    }

    /// Returns the paths as the log spells them.
    pub fn paths(&self) -> Result<&StringArray> {
        self.column(column::PATH)
            .and_then(|array| array.as_string_opt::<i32>())
            .ok_or_else(|| Error::corrupt("_delta_log", "file actions without a path column"))
    }

    /// Returns a column of 64-bit integers, all null if the files do not have it.
    pub fn longs(&self, name: &str) -> Result<arrow_array::Int64Array> {
        let array = match self.column(name) {
            Some(array) => arrow_cast::cast(array, &ArrowType::Int64)?,
            None => new_null_array(&ArrowType::Int64, self.len()),
        };
        Ok(array.as_primitive::<Int64Type>().clone())
    }

    /// Returns the batch with only these columns. Columns that were not read are ignored.
    pub fn select(&self, names: &[&str]) -> Result<Self> {
        let schema = self.batch.schema();
        let wanted = schema.fields().iter().enumerate().filter(|(_, field)| names.contains(&field.name().as_str()));
        let positions: Vec<usize> = wanted.map(|(position, _)| position).collect();
        Ok(Self { batch: self.batch.project(&positions)? })
    }

    /// Returns the files with this column in place of the one of this name.
    pub fn with_column(&self, name: &str, array: ArrayRef) -> Result<Self> {
        let schema = self.batch.schema();
        let others = schema.fields().iter().zip(self.batch.columns()).filter(|(field, _)| field.name() != name);
        let others = others.map(|(field, array)| (field.name().clone(), Arc::clone(array)));
        Self::new(RecordBatch::try_from_iter(others.chain([(name.to_owned(), array)]))?)
    }

    /// Returns the files for which `keep` is true.
    pub fn filter(&self, keep: &BooleanArray) -> Result<Self> {
        Ok(Self { batch: arrow_select::filter::filter_record_batch(&self.batch, keep)? })
    }

    /// Returns the files at these positions.
    pub fn take(&self, positions: &[usize]) -> Result<Self> {
        let positions = UInt64Array::from_iter_values(positions.iter().map(|position| *position as u64));
        Ok(Self { batch: arrow_select::take::take_record_batch(&self.batch, &positions)? })
    }

    /// Returns some of the files.
    #[must_use]
    pub fn slice(&self, offset: usize, length: usize) -> Self {
        Self { batch: self.batch.slice(offset, length) }
    }

    /// Returns the key of each file.
    pub fn keys(&self) -> Result<Vec<FileKey>> {
        let paths = self.paths()?;
        let vectors = self.column(column::DELETION_VECTOR).and_then(|array| array.as_struct_opt());
        let mut keys = Vec::with_capacity(self.len());
        for row in 0..self.len() {
            let id = match vectors {
                Some(vectors) => descriptor(vectors, row)?.map(|dv| dv.unique_id()),
                None => None,
            };
            keys.push(FileKey::new(paths.value(row), id.as_deref()));
        }
        Ok(keys)
    }

    /// Returns the deletion vector of a file.
    pub fn deletion_vector(&self, row: usize) -> Result<Option<DeletionVectorDescriptor>> {
        match self.column(column::DELETION_VECTOR).and_then(|array| array.as_struct_opt()) {
            Some(vectors) => descriptor(vectors, row),
            None => Ok(None),
        }
    }

    /// Returns for each file whether it has a deletion vector.
    pub fn has_deletion_vector(&self) -> Result<BooleanArray> {
        let Some(vectors) = self.column(column::DELETION_VECTOR).and_then(|array| array.as_struct_opt()) else {
            return Ok(BooleanArray::from(vec![false; self.len()]));
        };
        let storage = vectors.column_by_name("storageType").map_or(vectors as &dyn Array, |array| array.as_ref());
        Ok((0..self.len()).map(|row| Some(vectors.is_valid(row) && storage.is_valid(row))).collect())
    }

    /// Returns for each file the string of a partition column's value, by the column's physical
    /// name.
    pub fn partition_texts(&self, physical: &str) -> Result<StringArray> {
        let Some(map) = self.column(column::PARTITION_VALUES).and_then(|array| array.as_map_opt()) else {
            return Err(Error::corrupt("_delta_log", "file actions without partition values"));
        };
        map_texts(map, physical)
    }

    /// Returns for each file the value of a tag, or null if the file does not have the tag.
    pub fn tag_texts(&self, name: &str) -> Result<StringArray> {
        match self.column(column::TAGS).and_then(|array| array.as_map_opt()) {
            Some(map) => map_texts(map, name),
            None => Ok(StringArray::new_null(self.len())),
        }
    }

    /// Returns for each file whether its statistics are known to be complete: whether upper bounds
    /// include NaN, and whether null counts include the fields of null structs. This needs the
    /// tags.
    pub fn complete_stats(&self) -> Result<BooleanArray> {
        let tags = self.tag_texts(COMPLETE_TAG)?;
        let by_commit = self.column(column::COMPLETE_STATS).and_then(|array| array.as_boolean_opt());
        let is_told = |row: usize| by_commit.is_some_and(|told| told.is_valid(row) && told.value(row));
        Ok(tags.iter().enumerate().map(|(row, tag)| Some(tag == Some(COMPLETE) || is_told(row))).collect())
    }

    /// Returns a string column. All values are null if the files do not have the column.
    pub fn texts(&self, name: &str) -> Result<StringArray> {
        match self.column(name) {
            Some(array) => plain_text(array),
            None => Ok(StringArray::new_null(self.len())),
        }
    }

    /// Returns for each file its statistics as JSON. The JSON is made from the struct if the log has
    /// only that.
    pub fn stat_texts(&self) -> Result<StringArray> {
        let written = self.texts(column::STATS)?;
        match self.column(column::STATS_PARSED).and_then(|array| array.as_struct_opt()) {
            Some(parsed) if written.null_count() > 0 => {
                let made = stats::struct_to_json(parsed);
                Ok(written.iter().zip(&made).map(|(text, made)| text.or(made)).collect())
            }
            _ => Ok(written),
        }
    }

    /// Returns how many rows each file has, including deleted rows. The count is null where the log
    /// does not give it.
    pub fn row_counts(&self) -> Result<Int64Array> {
        let counts = self.stats(&[StatColumn::num_records()])?;
        let counts = counts.first().and_then(|counts| counts.as_primitive_opt::<Int64Type>());
        counts.cloned().ok_or_else(|| Error::internal("the row counts have another type"))
    }

    /// Returns for each file the typed value of a partition column. PROTOCOL "Partition Value
    /// Serialization".
    pub fn partition_values(&self, physical: &str, data_type: PrimitiveType) -> Result<ArrayRef> {
        if let Some(array) = self.parsed_partition(physical, data_type)? {
            return Ok(array);
        }
        value::parse_partition_column(&self.partition_texts(physical)?, data_type)
    }

    /// Returns whether `partitionValues_parsed` cannot differ from the string. It may differ for
    /// timestamps, because their strings have no zone, and for CHAR, which is padded when parsed.
    pub fn trusts_parsed(data_type: PrimitiveType) -> bool {
        use PrimitiveType as P;
        matches!(data_type, P::String | P::Long | P::Integer | P::Short | P::Byte | P::Date | P::Boolean)
    }

    fn parsed_partition(&self, physical: &str, data_type: PrimitiveType) -> Result<Option<ArrayRef>> {
        if !Self::trusts_parsed(data_type) {
            return Ok(None);
        }
        let Some(parsed) = self.column(column::PARTITION_VALUES_PARSED).and_then(|array| array.as_struct_opt()) else {
            return Ok(None);
        };
        let Some(array) = parsed.column_by_name(physical) else { return Ok(None) };
        let wanted = crate::schema::arrow::type_to_arrow(&data_type.into())?;
        Ok(Some(arrow_cast::cast(array, &wanted)?))
    }

    /// Returns the `wanted` statistics as one array each, with null for unknown values. If the
    /// struct has none of them for a file, they come from the file's JSON.
    pub fn stats(&self, wanted: &[StatColumn]) -> Result<Vec<ArrayRef>> {
        let parsed = self.column(column::STATS_PARSED).and_then(|array| array.as_struct_opt());
        let texts = self.column(column::STATS).and_then(|array| array.as_string_opt::<i32>());
        match (parsed, texts) {
            (None, Some(texts)) => Ok(stats::from_json(texts, wanted)),
            (None, None) => Ok(stats::from_json(&StringArray::new_null(self.len()), wanted)),
            (Some(parsed), None) => Ok(stats::from_struct(parsed, wanted)),
            (Some(parsed), Some(texts)) => fill_up(stats::from_struct(parsed, wanted), texts, wanted),
        }
    }
}

/// Fills rows in which all arrays are null with the values of the JSON strings.
fn fill_up(arrays: Vec<ArrayRef>, texts: &StringArray, wanted: &[StatColumn]) -> Result<Vec<ArrayRef>> {
    let silent = |row: usize| arrays.iter().all(|array| array.is_null(row));
    let silent: BooleanArray = (0..texts.len()).map(|row| Some(silent(row))).collect();
    if silent.true_count() == 0 {
        return Ok(arrays);
    }
    let texts: StringArray = texts.iter().zip(silent.values()).map(|(text, silent)| text.filter(|_| silent)).collect();
    let said = stats::from_json(&texts, wanted);
    arrays.iter().zip(&said).map(|(array, said)| Ok(arrow_select::zip::zip(&silent, said, array)?)).collect()
}

/// Returns the deletion vector's descriptor in one row of a `deletionVector` column.
fn descriptor(vectors: &StructArray, row: usize) -> Result<Option<DeletionVectorDescriptor>> {
    let text = |name: &str| {
        vectors.column_by_name(name).and_then(|array| match array.data_type() {
            ArrowType::Utf8 => array.as_string::<i32>().is_valid(row).then(|| array.as_string::<i32>().value(row)),
            ArrowType::LargeUtf8 => array.as_string::<i64>().is_valid(row).then(|| array.as_string::<i64>().value(row)),
            ArrowType::Utf8View => array.as_string_view().is_valid(row).then(|| array.as_string_view().value(row)),
            _ => None,
        })
    };
    let number = |name: &str| {
        vectors.column_by_name(name).and_then(|array| match array.data_type() {
            ArrowType::Int32 => array.is_valid(row).then(|| i64::from(array.as_primitive::<Int32Type>().value(row))),
            ArrowType::Int64 => array.is_valid(row).then(|| array.as_primitive::<Int64Type>().value(row)),
            _ => None,
        })
    };
    if vectors.is_null(row) {
        return Ok(None);
    }
    let storage_type = match text("storageType") {
        None => return Ok(None),
        Some("u") => DvStorage::UuidRelative,
        Some("i") => DvStorage::Inline,
        Some("p") => DvStorage::AbsolutePath,
        Some(other) => return Err(bad_descriptor(format!("storage type {other:?}"))),
    };
    let small = |name: &str, value: i64| i32::try_from(value).map_err(|_| bad_descriptor(format!("{name} {value}")));
    let needed = |name: &str| number(name).ok_or_else(|| bad_descriptor(format!("no {name}")));
    Ok(Some(DeletionVectorDescriptor {
        storage_type,
        path_or_inline_dv: text("pathOrInlineDv").ok_or_else(|| bad_descriptor("no pathOrInlineDv".into()))?.to_owned(),
        offset: number("offset").map(|offset| small("offset", offset)).transpose()?,
        size_in_bytes: small("sizeInBytes", needed("sizeInBytes")?)?,
        cardinality: needed("cardinality")?,
    }))
}

fn bad_descriptor(what: String) -> Error {
    Error::corrupt("_delta_log", format!("a deletion vector descriptor with {what}"))
}

/// Returns for each map the value of one key, or null if the key is absent.
fn map_texts(map: &MapArray, wanted: &str) -> Result<StringArray> {
    let keys = plain_text(map.keys())?;
    let values = plain_text(map.values())?;
    let mut builder = arrow_array::builder::StringBuilder::with_capacity(map.len(), map.len() * 12);
    let offsets = map.value_offsets();
    for row in 0..map.len() {
        let entries = offsets[row] as usize..offsets[row + 1] as usize;
        let found = if map.is_null(row) { None } else { entries.into_iter().rev().find(|&entry| keys.value(entry) == wanted) };
        match found {
            Some(entry) if values.is_valid(entry) => builder.append_value(values.value(entry)),
            _ => builder.append_null(),
        }
    }
    Ok(builder.finish())
}

pub(super) fn plain_text(array: &ArrayRef) -> Result<StringArray> {
    Ok(arrow_cast::cast(array, &ArrowType::Utf8)?.as_string::<i32>().clone())
}

fn present(rows: usize, nulls: Option<NullBuffer>) -> BooleanArray {
    match nulls {
        Some(nulls) => BooleanArray::new(nulls.inner().clone(), None),
        None => BooleanArray::from(vec![true; rows]),
    }
}

/// Returns the columns without the struct's own nulls, which `RecordBatch::from` would reject.
fn without_nulls(array: &StructArray) -> Result<StructArray> {
    let (fields, columns, _) = array.clone().into_parts();
    if fields.is_empty() {
        return Ok(StructArray::new_empty_fields(array.len(), None));
    }
    let fields: arrow_schema::Fields = fields.iter().map(|field| Arc::new(field.as_ref().clone().with_nullable(true))).collect();
    Ok(StructArray::try_new(fields, columns, None)?)
}

#[cfg(test)]
mod tests {
    use arrow_schema::Fields;

    use super::*;

    /// Checks the files of a checkpoint with these paths in its rows. The struct is null where
    /// `is_add` is false.
    #[track_caller]
    fn check(paths: StringArray, is_add: Option<Vec<bool>>, expected: &[&str]) {
        let fields = Fields::from(vec![Field::new(column::PATH, ArrowType::Utf8, paths.is_nullable())]);
        let add: ArrayRef = Arc::new(StructArray::new(fields, vec![Arc::new(paths)], is_add.map(NullBuffer::from)));
        let files = FileBatch::from_checkpoint(&RecordBatch::try_from_iter([("add", add)]).unwrap()).unwrap();
        assert_eq!(files.paths().unwrap().iter().flatten().collect::<Vec<_>>(), expected);
        assert_eq!(files.len(), expected.len());
    }

    #[test]
    fn read_checkpoint_ignores_rows_without_add() {
        // The form that deltalake writes: the path is required, and the struct is null.
        check(StringArray::from(vec!["a", "", "b"]), Some(vec![true, false, true]), &["a", "b"]);
        // The form that Delta Spark writes: both are null.
        check(StringArray::from(vec![Some("a"), None, Some("b")]), Some(vec![true, false, true]), &["a", "b"]);
        check(StringArray::from(vec![Some("a"), None, Some("b")]), None, &["a", "b"]);
        check(StringArray::from(vec!["a", "b"]), None, &["a", "b"]);
    }
}
