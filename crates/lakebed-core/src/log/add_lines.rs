//! The lines of `add` actions, from the columns of files.
//!
//! A clone may name a million files in one commit. Their lines are printed from the columns, because
//! an [`Add`](crate::action::Add) for each file would take longer than all the rest.

use arrow_array::cast::AsArray;
use arrow_array::{Array, Int64Array, MapArray, StringArray};

use super::files::{FileBatch, column, plain_text};
use crate::action::DeletionVectorDescriptor;
use crate::json_string::push_string;
use crate::{Error, Result};

/// Appends the line of each file, as [`Action::write_line`](crate::action::Action::write_line)
/// prints it.
pub fn write_add_lines(files: &FileBatch, data_change: bool, lines: &mut Vec<u8>) -> Result<()> {
    let columns = AddColumns::of(files)?;
    lines.reserve(columns.estimated_bytes());
    (0..files.len()).try_for_each(|row| columns.write_line(row, data_change, lines))
}

/// The columns of files, in the types in which they are printed.
struct AddColumns<'a> {
    paths: &'a StringArray,
    partition_values: Option<TextMaps>,
    sizes: Int64Array,
    modification_times: Int64Array,
    stats: StringArray,
    tags: Option<TextMaps>,
    vectors: Vec<Option<DeletionVectorDescriptor>>,
    base_row_ids: Int64Array,
    default_row_commit_versions: Int64Array,
    clustering_providers: StringArray,
}

impl<'a> AddColumns<'a> {
    fn of(files: &'a FileBatch) -> Result<Self> {
        Ok(Self {
            paths: files.paths()?,
            partition_values: TextMaps::of(files, column::PARTITION_VALUES)?,
            sizes: files.longs(column::SIZE)?,
            modification_times: files.longs(column::MODIFICATION_TIME)?,
            stats: files.stat_texts()?,
            tags: TextMaps::of(files, column::TAGS)?,
            vectors: if has_vectors(files) { files.deletion_vectors()? } else { Vec::new() },
            base_row_ids: files.longs(column::BASE_ROW_ID)?,
            default_row_commit_versions: files.longs(column::DEFAULT_ROW_COMMIT_VERSION)?,
            clustering_providers: files.texts(column::CLUSTERING_PROVIDER)?,
        })
    }

    /// Returns a little more than the lines mostly need. Growing would copy them several times.
    fn estimated_bytes(&self) -> usize {
        let stats = text_bytes(&self.stats);
        text_bytes(self.paths) + stats + stats / 4 + 256 * self.paths.len()
    }

    fn write_line(&self, row: usize, data_change: bool, line: &mut Vec<u8>) -> Result<()> {
        let path = text(self.paths, row).ok_or_else(|| without(column::PATH))?;
        let size = long(&self.sizes, row).ok_or_else(|| without(column::SIZE))?;
        line.extend_from_slice(b"{\"add\":{\"path\":");
        push_string(line, path);
        line.extend_from_slice(b",\"partitionValues\":");
        match &self.partition_values {
            Some(maps) => maps.write(row, line)?,
            None => line.extend_from_slice(b"{}"),
        }
        push_long(line, b",\"size\":", Some(size));
        push_long(line, b",\"modificationTime\":", Some(long(&self.modification_times, row).unwrap_or(0)));
        line.extend_from_slice(if data_change { b",\"dataChange\":true" } else { b",\"dataChange\":false" });
        push_text(line, b",\"stats\":", text(&self.stats, row));
        if let Some(tags) = self.tags.as_ref().filter(|tags| tags.maps.is_valid(row)) {
            line.extend_from_slice(b",\"tags\":");
            tags.write(row, line)?;
        }
        if let Some(Some(vector)) = self.vectors.get(row) {
            line.extend_from_slice(b",\"deletionVector\":");
            serde_json::to_writer(&mut *line, vector)
                .map_err(|error| Error::internal("a deletion vector that JSON cannot hold").with_source(error))?;
        }
        push_long(line, b",\"baseRowId\":", long(&self.base_row_ids, row));
        push_long(line, b",\"defaultRowCommitVersion\":", long(&self.default_row_commit_versions, row));
        push_text(line, b",\"clusteringProvider\":", text(&self.clustering_providers, row));
        line.extend_from_slice(b"}}\n");
        Ok(())
    }
}

/// A column with a map of strings for each file.
struct TextMaps {
    name: &'static str,
    maps: MapArray,
    keys: StringArray,
    values: StringArray,
}

impl TextMaps {
    fn of(files: &FileBatch, name: &'static str) -> Result<Option<Self>> {
        let Some(column) = files.column(name).filter(|column| column.null_count() < column.len()) else { return Ok(None) };
        let maps = column.as_map_opt().ok_or_else(|| corrupt(format!("{name} is not a map but {}", column.data_type())))?;
        Ok(Some(Self { name, keys: plain_text(maps.keys())?, values: plain_text(maps.values())?, maps: maps.clone() }))
    }

    /// Prints the map in the order of its keys. If a key occurs twice, the later value counts. A
    /// null map is printed as an empty one.
    fn write(&self, row: usize, line: &mut Vec<u8>) -> Result<()> {
        let mut entries: Vec<(&str, Option<&str>)> = Vec::new();
        if self.maps.is_valid(row) {
            let offsets = self.maps.value_offsets();
            for entry in offsets[row] as usize..offsets[row + 1] as usize {
                let key = text(&self.keys, entry).ok_or_else(|| corrupt(format!("a null key in {}", self.name)))?;
                entries.push((key, text(&self.values, entry)));
            }
            entries.sort_by_key(|(key, _)| *key);
        }
        line.push(b'{');
        let mut is_first = true;
        for (place, (key, value)) in entries.iter().enumerate() {
            if entries.get(place + 1).is_some_and(|(next, _)| next == key) {
                continue;
            }
            if !is_first {
                line.push(b',');
            }
            is_first = false;
            push_string(line, key);
            line.push(b':');
            match value {
                Some(value) => push_string(line, value),
                None => line.extend_from_slice(b"null"),
            }
        }
        line.push(b'}');
        Ok(())
    }
}

fn has_vectors(files: &FileBatch) -> bool {
    files.column(column::DELETION_VECTOR).is_some_and(|vectors| vectors.null_count() < vectors.len())
}

/// Returns the number of bytes of the strings. Their buffer may have more.
fn text_bytes(texts: &StringArray) -> usize {
    let offsets = texts.value_offsets();
    offsets.first().zip(offsets.last()).map_or(0, |(first, last)| usize::try_from(last - first).unwrap_or(0))
}

fn text(texts: &StringArray, row: usize) -> Option<&str> {
    texts.is_valid(row).then(|| texts.value(row))
}

fn long(longs: &Int64Array, row: usize) -> Option<i64> {
    longs.is_valid(row).then(|| longs.value(row))
}

fn push_text(line: &mut Vec<u8>, name: &[u8], value: Option<&str>) {
    if let Some(value) = value {
        line.extend_from_slice(name);
        push_string(line, value);
    }
}

fn push_long(line: &mut Vec<u8>, name: &[u8], value: Option<i64>) {
    if let Some(value) = value {
        line.extend_from_slice(name);
        line.extend_from_slice(value.to_string().as_bytes());
    }
}

fn without(field: &str) -> Error {
    corrupt(format!("add without {field}"))
}

fn corrupt(message: String) -> Error {
    Error::corrupt("_delta_log", message)
}

#[cfg(test)]
mod tests;
