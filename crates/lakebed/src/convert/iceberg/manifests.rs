//! The data files of a snapshot, from its manifest list and its manifests. A snapshot with deleted
//! rows is refused: the rows would come back.

use futures::{StreamExt, TryStreamExt, stream};
use lakebed_io::store::Store;

use super::avro::{Record, read_records};
use super::location::Location;
use crate::{Error, Result};

/// The number of manifests that are read at the same time.
const AT_ONCE: usize = 16;

/// The ids of fields in manifest lists.
mod list {
    pub(super) const PATH: i32 = 500;
    pub(super) const LENGTH: i32 = 501;
    pub(super) const SPEC: i32 = 502;
    pub(super) const ADDED_FILES: i32 = 504;
    pub(super) const EXISTING_FILES: i32 = 505;
    pub(super) const KEY: i32 = 519;
}

/// The ids of fields in manifests.
mod entry {
    pub(super) const STATUS: i32 = 0;
    pub(super) const FILE: i32 = 2;
    pub(super) const PATH: i32 = 100;
    pub(super) const FORMAT: i32 = 101;
    pub(super) const PARTITION: i32 = 102;
    pub(super) const ROWS: i32 = 103;
    pub(super) const SIZE: i32 = 104;
    pub(super) const KEY: i32 = 131;
    pub(super) const CONTENT: i32 = 134;
}

/// The status of an entry for a file that has left the table.
const DELETED: i64 = 2;

/// A data file of an Iceberg table.
#[derive(Debug)]
pub(super) struct DataFile {
    /// The name below the folder of the table.
    pub(super) name: String,
    pub(super) spec: i32,
    pub(super) partition: Record,
    pub(super) rows: u64,
    pub(super) size: u64,
}

/// Returns the data files of a snapshot, sorted by name.
pub(super) async fn read_data_files(store: &Store, location: &Location, manifest_list: &str) -> Result<Vec<DataFile>> {
    let (name, bytes) = read(store, location, manifest_list).await?;
    let manifests = read_records(&name, &bytes)?;
    let reading = manifests.iter().map(|manifest| read_manifest(store, location, manifest, &name));
    // The collection makes the futures owned, so that they may be polled in any order.
    let read: Vec<Vec<DataFile>> = stream::iter(reading.collect::<Vec<_>>()).buffered(AT_ONCE).try_collect().await?;
    let mut files: Vec<DataFile> = read.into_iter().flatten().collect();
    files.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    if let Some([twice, _]) = files.array_windows().find(|[one, other]| one.name == other.name) {
        return Err(Error::corrupt(name, format!("the snapshot has the file {} twice", twice.name)));
    }
    Ok(files)
}

async fn read_manifest(store: &Store, location: &Location, manifest: &Record, of: &str) -> Result<Vec<DataFile>> {
    let missing = |what: &str| Error::corrupt(of, format!("a manifest has no {what}"));
    let path = manifest.text(list::PATH).ok_or_else(|| missing("path"))?;
    let length = manifest.number(list::LENGTH).ok_or_else(|| missing("length"))?;
    let spec = manifest.number(list::SPEC).and_then(|spec| i32::try_from(spec).ok()).ok_or_else(|| missing("partition spec"))?;
    if manifest.get(list::KEY).is_some() {
        return Err(encrypted(path));
    }
    let (name, bytes) = read(store, location, path).await?;
    if u64::try_from(length) != Ok(bytes.len() as u64) {
        return Err(Error::corrupt(name, format!("it has {} bytes, and the manifest list says {length}", bytes.len())));
    }
    let entries = read_records(&name, &bytes)?;
    let mut files = Vec::new();
    for entry in &entries {
        let status = entry.number(entry::STATUS).ok_or_else(|| Error::corrupt(&name, "an entry has no status"))?;
        if status != DELETED {
            let file = entry.record(entry::FILE).ok_or_else(|| Error::corrupt(&name, "an entry has no file"))?;
            files.push(data_file(file, spec, location, &name)?);
        }
    }
    let counted = manifest.number(list::ADDED_FILES).zip(manifest.number(list::EXISTING_FILES));
    if let Some((added, existing)) = counted
        && u64::try_from(added.saturating_add(existing)) != Ok(files.len() as u64)
    {
        let message = format!("it has {} files, and the manifest list counts {}", files.len(), added.saturating_add(existing));
        return Err(Error::corrupt(name, message));
    }
    Ok(files)
}

fn data_file(file: &Record, spec: i32, location: &Location, manifest: &str) -> Result<DataFile> {
    let missing = |what: &str| Error::corrupt(manifest, format!("a file has no {what}"));
    let path = file.text(entry::PATH).ok_or_else(|| missing("path"))?;
    let format = file.text(entry::FORMAT).ok_or_else(|| missing("format"))?;
    let kind = match (file.number(entry::CONTENT), format.to_ascii_lowercase().as_str()) {
        (None | Some(0), "parquet") => None,
        (None | Some(0), _) => {
            return Err(Error::invalid_input(format!(
                "{path}: this file of the Iceberg table is in the format {format}, and those of Delta tables are in Parquet: \
                 rewrite the data files with Iceberg (rewrite_data_files)"
            )));
        }
        (_, "puffin") => Some("a deletion vector"),
        (Some(2), _) => Some("an equality delete file"),
        _ => Some("a position delete file"),
    };
    if let Some(kind) = kind {
        return Err(Error::invalid_input(format!(
            "{path}: the Iceberg table has deleted rows in {kind}, and they would come back: rewrite the data files with Iceberg \
             (rewrite_data_files, with delete-file-threshold 1)"
        )));
    }
    if file.get(entry::KEY).is_some() {
        return Err(encrypted(path));
    }
    let number = |id: i32, what: &str| file.number(id).and_then(|number| u64::try_from(number).ok()).ok_or_else(|| missing(what));
    Ok(DataFile {
        name: location.below(path)?,
        spec,
        partition: file.record(entry::PARTITION).cloned().unwrap_or_default(),
        rows: number(entry::ROWS, "number of rows")?,
        size: number(entry::SIZE, "size")?,
    })
}

async fn read(store: &Store, location: &Location, path: &str) -> Result<(String, bytes::Bytes)> {
    let object = store.path_of(&location.below(path)?)?;
    Ok((store.describe(&object), store.get(&object).await?))
}

fn encrypted(path: &str) -> Error {
    Error::invalid_input(format!("{path}: this file of the Iceberg table is encrypted, and files of Delta tables cannot be"))
}
