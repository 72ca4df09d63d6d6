//! File actions that are kept for long: large texts of statistics are compressed meanwhile, to about a sixth.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, StringArray};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow_schema::Schema;

use super::files::{FileBatch, column};
use crate::error::{Error, Result};

/// The fastest level of zstd but for those that hardly compress.
const LEVEL: i32 = 1;

/// A batch of files.
#[derive(Debug)]
pub(super) struct PackedFiles {
    /// All columns, or those besides the packed one.
    plain: FileBatch,
    stats: Option<PackedText>,
}

#[derive(Debug)]
struct PackedText {
    offsets: OffsetBuffer<i32>,
    nulls: Option<NullBuffer>,
    compressed: Vec<u8>,
    size_bytes: usize,
}

impl PackedFiles {
    pub(super) fn plain(plain: FileBatch) -> Self {
        Self { plain, stats: None }
    }

    /// The same with its statistics compressed.
    pub(super) fn pack(self) -> Result<Self> {
        let batch = self.plain.batch();
        let Some((index, _)) = batch.schema_ref().column_with_name(column::STATS) else { return Ok(self) };
        let Some(texts) = batch.column(index).as_string_opt::<i32>() else { return Ok(self) };
        let text = own_bytes(texts);
        let stats = PackedText {
            offsets: OffsetBuffer::from_lengths(texts.offsets().lengths()),
            nulls: texts.nulls().cloned(),
            compressed: zstd::bulk::compress(text, LEVEL).map_err(|error| failed(&error))?,
            size_bytes: text.len(),
        };
        let others: Vec<usize> = (0..batch.num_columns()).filter(|other| *other != index).collect();
        Ok(Self { plain: FileBatch::new(batch.project(&others)?)?, stats: Some(stats) })
    }

    /// Those files, packed if these are.
    pub(super) fn filter(self, keep: &BooleanArray) -> Result<Self> {
        let files = Self::plain(self.unpack()?.filter(keep)?);
        if self.stats.is_some() { files.pack() } else { Ok(files) }
    }

    /// The batch with all its columns.
    pub(super) fn unpack(&self) -> Result<FileBatch> {
        let Some(stats) = &self.stats else { return Ok(self.plain.clone()) };
        let batch = self.plain.batch();
        let texts: ArrayRef = Arc::new(stats.unpack()?);
        let field = Arc::new(arrow_schema::Field::new(column::STATS, texts.data_type().clone(), true));
        let fields: Vec<_> = batch.schema_ref().fields().iter().cloned().chain([field]).collect();
        let columns = batch.columns().iter().cloned().chain([texts]).collect();
        FileBatch::new(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)
    }
}

impl PackedText {
    fn unpack(&self) -> Result<StringArray> {
        let text = zstd::bulk::decompress(&self.compressed, self.size_bytes).map_err(|error| failed(&error))?;
        Ok(StringArray::try_new(self.offsets.clone(), Buffer::from_vec(text), self.nulls.clone())?)
    }
}

/// The bytes of these texts, which may be a part of a larger array.
fn own_bytes(texts: &StringArray) -> &[u8] {
    let end = |offset: Option<&i32>| offset.and_then(|offset| usize::try_from(*offset).ok()).unwrap_or(0);
    texts.value_data().get(end(texts.offsets().first())..end(texts.offsets().last())).unwrap_or_default()
}

fn failed(error: &std::io::Error) -> Error {
    Error::internal(format!("statistics in memory cannot be packed or unpacked: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::json::{FileLine, Line, Part, each_line};
    use crate::log::builder::FileBatchBuilder;

    /// Files of which the third has no statistics, each other so many bytes of them.
    fn files(bytes: usize) -> FileBatch {
        let mut builder = FileBatchBuilder::default();
        for number in 0..5 {
            let stats = if number == 2 { String::new() } else { format!(r#","stats":"{}""#, number.to_string().repeat(bytes)) };
            let line = format!(
                r#"{{"add":{{"path":"f{number}","partitionValues":{{}},"size":1,"modificationTime":1,"dataChange":true{stats}}}}}"#
            );
            each_line(Part::whole(line.as_bytes(), "commit"), |line| match line {
                Line::File(FileLine::Add(add)) => builder.append(&add),
                other => panic!("{other:?}"),
            })
            .unwrap();
        }
        builder.finish().unwrap()
    }

    #[test]
    fn statistics_come_back_as_they_were() {
        let before = files(100_000).slice(1, 4);
        let packed = PackedFiles::plain(before.clone()).pack().unwrap();
        assert!(packed.stats.as_ref().unwrap().compressed.len() < 1_000);
        check(&packed, &before);
        let keep = BooleanArray::from(vec![true, true, false, true]);
        let filtered = packed.filter(&keep).unwrap();
        assert!(filtered.stats.is_some());
        check(&filtered, &before.filter(&keep).unwrap());
    }

    fn check(packed: &PackedFiles, expected: &FileBatch) {
        let found = packed.unpack().unwrap();
        assert_eq!(found.len(), expected.len());
        for field in expected.batch().schema_ref().fields() {
            assert_eq!(found.column(field.name()), expected.column(field.name()), "{}", field.name());
        }
    }
}
