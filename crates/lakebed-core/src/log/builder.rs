//! Builds a [`FileBatch`] from the `add` lines of commits.

use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Int32Builder, Int64Builder, MapBuilder, MapFieldNames, StringBuilder, StructBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Fields};

use super::files::{FileBatch, column};
use crate::action::DeletionVectorDescriptor;
use crate::action::json::{AddRef, DvRef, StringEntries};
use crate::error::{Error, Result};

/// A batch is full at this number of bytes in strings. It is far below the 2 GiB limit of Arrow's
/// string columns, and small enough to copy.
const FULL_BYTES: usize = 16 << 20;

/// Appends `add` actions. [`finish`](Self::finish) returns the batch.
pub struct FileBatchBuilder {
    text_bytes: usize,
    path: StringBuilder,
    partition_values: MapBuilder<StringBuilder, StringBuilder>,
    size: Int64Builder,
    modification_time: Int64Builder,
    stats: StringBuilder,
    tags: MapBuilder<StringBuilder, StringBuilder>,
    deletion_vector: StructBuilder,
    base_row_id: Int64Builder,
    default_row_commit_version: Int64Builder,
    clustering_provider: StringBuilder,
    complete_stats: BooleanBuilder,
    /// Whether each file has a deletion vector.
    has_vector: Vec<bool>,
}

impl Default for FileBatchBuilder {
    fn default() -> Self {
        Self {
            text_bytes: 0,
            path: StringBuilder::new(),
            partition_values: text_map_builder(),
            size: Int64Builder::new(),
            modification_time: Int64Builder::new(),
            stats: StringBuilder::new(),
            tags: text_map_builder(),
            deletion_vector: descriptor_builder(),
            base_row_id: Int64Builder::new(),
            default_row_commit_version: Int64Builder::new(),
            clustering_provider: StringBuilder::new(),
            complete_stats: BooleanBuilder::new(),
            has_vector: Vec::new(),
        }
    }
}

impl FileBatchBuilder {
    /// Returns whether the next file should go into a new batch.
    pub fn is_full(&self) -> bool {
        self.text_bytes >= FULL_BYTES
    }

    /// Appends one file.
    pub fn append(&mut self, add: &AddRef<'_>) -> Result<()> {
        self.text_bytes += add.path.len() + add.stats.as_deref().map_or(0, str::len);
        self.text_bytes += text_bytes(Some(&add.partition_values)) + text_bytes(add.tags.as_ref());
        self.path.append_value(&add.path);
        append_text_map(&mut self.partition_values, Some(&add.partition_values))?;
        self.size.append_value(add.size);
        self.modification_time.append_value(add.modification_time);
        self.stats.append_option(add.stats.as_deref());
        append_text_map(&mut self.tags, add.tags.as_ref())?;
        append_descriptor(&mut self.deletion_vector, add.deletion_vector.as_ref())?;
        self.base_row_id.append_option(add.base_row_id);
        self.default_row_commit_version.append_option(add.default_row_commit_version);
        self.clustering_provider.append_option(add.clustering_provider.as_deref());
        self.has_vector.push(add.deletion_vector.is_some());
        Ok(())
    }

    /// Ends a commit. The files since the end of the last commit get this mark, except files with a
    /// deletion vector.
    pub fn end_commit(&mut self, complete_stats: bool) {
        let told = self.complete_stats.len();
        let has_vector = self.has_vector.iter().skip(told);
        self.complete_stats.extend(has_vector.map(|has_vector| Some(complete_stats && !has_vector)));
    }

    /// Returns the appended files in their order.
    pub fn finish(mut self) -> Result<FileBatch> {
        self.end_commit(false);
        let columns: Vec<(&str, ArrayRef)> = vec![
            (column::PATH, Arc::new(self.path.finish())),
            (column::PARTITION_VALUES, Arc::new(self.partition_values.finish())),
            (column::SIZE, Arc::new(self.size.finish())),
            (column::MODIFICATION_TIME, Arc::new(self.modification_time.finish())),
            (column::STATS, Arc::new(self.stats.finish())),
            (column::TAGS, Arc::new(self.tags.finish())),
            (column::DELETION_VECTOR, Arc::new(self.deletion_vector.finish())),
            (column::BASE_ROW_ID, Arc::new(self.base_row_id.finish())),
            (column::DEFAULT_ROW_COMMIT_VERSION, Arc::new(self.default_row_commit_version.finish())),
            (column::CLUSTERING_PROVIDER, Arc::new(self.clustering_provider.finish())),
            (column::COMPLETE_STATS, Arc::new(self.complete_stats.finish())),
        ];
        FileBatch::new(RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))?)
    }
}

impl FileBatch {
    /// Returns the files with these deletion vectors.
    pub fn with_deletion_vectors(&self, vectors: Vec<Option<DeletionVectorDescriptor>>) -> Result<Self> {
        let mut builder = descriptor_builder();
        vectors.into_iter().try_for_each(|vector| append_descriptor(&mut builder, vector.map(DvRef::from).as_ref()))?;
        self.with_column(column::DELETION_VECTOR, Arc::new(builder.finish()))
    }
}

pub(super) fn text_map_builder() -> MapBuilder<StringBuilder, StringBuilder> {
    let names = MapFieldNames { entry: "key_value".to_owned(), key: "key".to_owned(), value: "value".to_owned() };
    MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new())
}

fn text_bytes(map: Option<&StringEntries<'_>>) -> usize {
    map.into_iter().flatten().map(|(key, value)| key.len() + value.as_deref().map_or(0, str::len)).sum()
}

pub(super) fn append_text_map(
    builder: &mut MapBuilder<StringBuilder, StringBuilder>,
    map: Option<&StringEntries<'_>>,
) -> Result<()> {
    for (key, value) in map.into_iter().flatten() {
        builder.keys().append_value(key);
        builder.values().append_option(value.as_deref());
    }
    Ok(builder.append(map.is_some())?)
}

pub(super) fn descriptor_builder() -> StructBuilder {
    StructBuilder::from_fields(descriptor_fields(), 0)
}

fn descriptor_fields() -> Fields {
    Fields::from(vec![
        Field::new("storageType", DataType::Utf8, true),
        Field::new("pathOrInlineDv", DataType::Utf8, true),
        Field::new("offset", DataType::Int32, true),
        Field::new("sizeInBytes", DataType::Int32, true),
        Field::new("cardinality", DataType::Int64, true),
    ])
}

pub(super) fn append_descriptor(builder: &mut StructBuilder, dv: Option<&DvRef<'_>>) -> Result<()> {
    let texts = [dv.map(|dv| dv.storage_type.letter()), dv.map(|dv| dv.path_or_inline_dv.as_ref())];
    for (index, text) in texts.into_iter().enumerate() {
        field_builder::<StringBuilder>(builder, index)?.append_option(text);
    }
    field_builder::<Int32Builder>(builder, 2)?.append_option(dv.and_then(|dv| dv.offset));
    field_builder::<Int32Builder>(builder, 3)?.append_option(dv.map(|dv| dv.size_in_bytes));
    field_builder::<Int64Builder>(builder, 4)?.append_option(dv.map(|dv| dv.cardinality));
    builder.append(dv.is_some());
    Ok(())
}

fn field_builder<T: arrow_array::builder::ArrayBuilder>(builder: &mut StructBuilder, index: usize) -> Result<&mut T> {
    builder.field_builder::<T>(index).ok_or_else(|| Error::internal("the fields of a deletion vector descriptor"))
}
