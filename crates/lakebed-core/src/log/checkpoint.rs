//! The rows of a checkpoint: the columns that each kind of reader needs, and the actions of the
//! rows.
//!
//! A checkpoint has one struct column per action, and each row fills one of them. The columns of
//! files are handled in `files`, because a table may have a million files and owned values for them
//! would need too much memory. The JSON top file of a V2 checkpoint holds lines of actions, which
//! [`json`](crate::action::json) parses. Start with [`other_actions`]. [`write`](mod@write) is the
//! opposite direction.

mod struct_rows;
#[cfg(test)]
mod tests;
pub mod write;

use arrow_array::RecordBatch;

use crate::action::{
    Action, Add, CheckpointMetadata, DeletionVectorDescriptor, DomainMetadata, DvStorage, Format, Metadata, Protocol, Remove,
    SetTransaction, Sidecar,
};
use crate::log::files::FileBatch;
use crate::{Error, Result};

use struct_rows::StructRows;

/// The sets of columns that readers need. Each column is given as the names on its path from the
/// root, and includes everything below it.
pub mod columns {
    /// A set of columns.
    pub type Columns = &'static [&'static [&'static str]];

    /// The columns that are needed to open a table.
    pub const HEAD: Columns = &[&["protocol"], &["metaData"]];
    /// The last writes of applications.
    pub const TRANSACTIONS: Columns = &[&["txn"]];
    /// The metadata domains.
    pub const DOMAINS: Columns = &[&["domainMetadata"]];
    /// The sidecars of a V2 checkpoint, and its version.
    pub const SIDECARS: Columns = &[&["sidecar"], &["checkpointMetadata"]];
    /// Everything except file actions.
    pub const OTHERS: Columns =
        &[&["protocol"], &["metaData"], &["txn"], &["domainMetadata"], &["sidecar"], &["checkpointMetadata"]];
    /// The files of the table.
    pub const FILES: Columns = &[&["add"]];
    /// The files that left the table.
    pub const TOMBSTONES: Columns = &[&["remove"]];

    /// Returns whether the leaf with this path belongs to one of the columns.
    pub fn hold<T: AsRef<str>>(columns: &[&[&str]], leaf: &[T]) -> bool {
        columns
            .iter()
            .any(|column| column.len() <= leaf.len() && column.iter().zip(leaf).all(|(name, part)| *name == part.as_ref()))
    }
}

/// Returns the actions of the rows except file actions. A missing column has no rows. `file` is the
/// name for errors.
pub fn other_actions(batch: &RecordBatch, file: &str) -> Result<Vec<Action>> {
    let mut actions = Vec::new();
    protocols(batch, file, &mut actions)?;
    metadata(batch, file, &mut actions)?;
    transactions(batch, file, &mut actions)?;
    domains(batch, file, &mut actions)?;
    checkpoint_metadata(batch, file, &mut actions)?;
    sidecars(batch, file, &mut actions)?;
    Ok(actions)
}

/// Returns the file actions of the rows, tombstones included.
pub fn file_actions(batch: &RecordBatch, file: &str) -> Result<Vec<Action>> {
    let mut actions = Vec::new();
    adds(batch, file, &mut actions)?;
    removes(batch, file, &mut actions)?;
    Ok(actions)
}

impl FileBatch {
    /// Returns the deletion vector of each file. A descriptor that is not complete is an error.
    pub fn deletion_vectors(&self) -> Result<Vec<Option<DeletionVectorDescriptor>>> {
        match StructRows::of(&self.as_checkpoint()?, "add", "_delta_log")? {
            Some(rows) => deletion_vectors(&rows),
            None => Ok(Vec::new()),
        }
    }
}

/// Checks the top file of a V2 checkpoint of `version`, or a file that may be one. PROTOCOL "V2
/// Spec" requires one `checkpointMetadata` of that version. A file with a classic name may follow
/// either specification.
pub fn check_v2(actions: &[Action], version: u64, file: &str, classic_name: bool) -> Result<()> {
    let mut found = actions.iter().filter_map(|action| match action {
        Action::CheckpointMetadata(found) => Some(found.version),
        _ => None,
    });
    match (found.next(), found.next()) {
        (Some(_), Some(_)) => Err(Error::corrupt(file, "more than one checkpointMetadata")),
        (Some(found), None) if u64::try_from(found) != Ok(version) => {
            Err(Error::corrupt(file, format!("checkpointMetadata is of version {found}, but the file is of version {version}")))
        }
        (None, _) if classic_name => match actions.iter().any(|action| matches!(action, Action::Sidecar(_))) {
            true => Err(Error::corrupt(file, "sidecars without checkpointMetadata")),
            false => Ok(()),
        },
        (None, _) => Err(Error::corrupt(file, "a V2 checkpoint without checkpointMetadata")),
        (Some(_), None) => Ok(()),
    }
}

fn protocols(batch: &RecordBatch, file: &str, actions: &mut Vec<Action>) -> Result<()> {
    let Some(rows) = StructRows::of(batch, "protocol", file)? else { return Ok(()) };
    let (mut min_reader_version, mut min_writer_version) = (rows.ints("minReaderVersion")?, rows.ints("minWriterVersion")?);
    let (mut reader_features, mut writer_features) = (rows.lists("readerFeatures")?, rows.lists("writerFeatures")?);
    for _ in 0..rows.len() {
        actions.push(Action::Protocol(Protocol {
            min_reader_version: rows.required("minReaderVersion", min_reader_version.take())?,
            min_writer_version: rows.required("minWriterVersion", min_writer_version.take())?,
            reader_features: reader_features.take(),
            writer_features: writer_features.take(),
        }));
    }
    Ok(())
}

fn metadata(batch: &RecordBatch, file: &str, actions: &mut Vec<Action>) -> Result<()> {
    let Some(rows) = StructRows::of(batch, "metaData", file)? else { return Ok(()) };
    let (mut id, mut name, mut description) = (rows.texts("id")?, rows.texts("name")?, rows.texts("description")?);
    let (mut schema_string, mut partition_columns) = (rows.texts("schemaString")?, rows.lists("partitionColumns")?);
    let (mut configuration, mut created_time) = (rows.maps("configuration")?, rows.longs("createdTime")?);
    let mut formats = formats(&rows)?.into_iter();
    for _ in 0..rows.len() {
        actions.push(Action::Metadata(Metadata {
            id: rows.required("id", id.take())?,
            name: name.take(),
            description: description.take(),
            format: formats.next().unwrap_or_default(),
            schema_string: rows.required("schemaString", schema_string.take())?,
            partition_columns: partition_columns.take().unwrap_or_default(),
            configuration: configuration.take().unwrap_or_default(),
            created_time: created_time.take(),
        }));
    }
    Ok(())
}

fn formats(metadata: &StructRows<'_>) -> Result<Vec<Format>> {
    let Some(rows) = metadata.structs("format")? else { return Ok(Vec::new()) };
    let (mut provider, mut options) = (rows.texts("provider")?, rows.maps("options")?);
    Ok((0..rows.len())
        .map(|_| match (provider.take(), options.take()) {
            (Some(provider), options) => Format { provider, options: options.unwrap_or_default() },
            (None, _) => Format::default(),
        })
        .collect())
}

fn transactions(batch: &RecordBatch, file: &str, actions: &mut Vec<Action>) -> Result<()> {
    let Some(rows) = StructRows::of(batch, "txn", file)? else { return Ok(()) };
    let (mut app_id, mut version, mut last_updated) = (rows.texts("appId")?, rows.longs("version")?, rows.longs("lastUpdated")?);
    for _ in 0..rows.len() {
        actions.push(Action::SetTransaction(SetTransaction {
            app_id: rows.required("appId", app_id.take())?,
            version: rows.required("version", version.take())?,
            last_updated: last_updated.take(),
        }));
    }
    Ok(())
}

fn domains(batch: &RecordBatch, file: &str, actions: &mut Vec<Action>) -> Result<()> {
    let Some(rows) = StructRows::of(batch, "domainMetadata", file)? else { return Ok(()) };
    let (mut domain, mut configuration, mut removed) =
        (rows.texts("domain")?, rows.texts("configuration")?, rows.flags("removed")?);
    for _ in 0..rows.len() {
        actions.push(Action::DomainMetadata(DomainMetadata {
            domain: rows.required("domain", domain.take())?,
            configuration: rows.required("configuration", configuration.take())?,
            removed: removed.take().unwrap_or(false),
        }));
    }
    Ok(())
}

fn checkpoint_metadata(batch: &RecordBatch, file: &str, actions: &mut Vec<Action>) -> Result<()> {
    let Some(rows) = StructRows::of(batch, "checkpointMetadata", file)? else { return Ok(()) };
    let (mut version, mut tags) = (rows.longs("version")?, rows.maps("tags")?);
    for _ in 0..rows.len() {
        let version = rows.required("version", version.take())?;
        actions.push(Action::CheckpointMetadata(CheckpointMetadata { version, tags: tags.take() }));
    }
    Ok(())
}

fn sidecars(batch: &RecordBatch, file: &str, actions: &mut Vec<Action>) -> Result<()> {
    let Some(rows) = StructRows::of(batch, "sidecar", file)? else { return Ok(()) };
    let (mut path, mut size_in_bytes) = (rows.texts("path")?, rows.longs("sizeInBytes")?);
    let (mut modification_time, mut tags) = (rows.longs("modificationTime")?, rows.maps("tags")?);
    for _ in 0..rows.len() {
        actions.push(Action::Sidecar(Sidecar {
            path: rows.required("path", path.take())?,
            size_in_bytes: rows.required("sizeInBytes", size_in_bytes.take())?,
            modification_time: modification_time.take().unwrap_or(0),
            tags: tags.take(),
        }));
    }
    Ok(())
}

fn adds(batch: &RecordBatch, file: &str, actions: &mut Vec<Action>) -> Result<()> {
    let Some(rows) = StructRows::of(batch, "add", file)? else { return Ok(()) };
    let (mut path, mut partition_values, mut size) = (rows.texts("path")?, rows.maps("partitionValues")?, rows.longs("size")?);
    let (mut modification_time, mut data_change) = (rows.longs("modificationTime")?, rows.flags("dataChange")?);
    let (mut stats, mut tags, mut clustering_provider) =
        (rows.texts("stats")?, rows.maps("tags")?, rows.texts("clusteringProvider")?);
    let (mut base_row_id, mut default_row_commit_version) = (rows.longs("baseRowId")?, rows.longs("defaultRowCommitVersion")?);
    let mut deletion_vectors = deletion_vectors(&rows)?.into_iter();
    for _ in 0..rows.len() {
        actions.push(Action::Add(Add {
            path: rows.required("path", path.take())?,
            partition_values: partition_values.take().unwrap_or_default(),
            size: rows.required("size", size.take())?,
            modification_time: modification_time.take().unwrap_or(0),
            data_change: data_change.take().unwrap_or(false),
            stats: stats.take(),
            tags: tags.take(),
            deletion_vector: deletion_vectors.next().flatten(),
            base_row_id: base_row_id.take(),
            default_row_commit_version: default_row_commit_version.take(),
            clustering_provider: clustering_provider.take(),
        }));
    }
    Ok(())
}

fn removes(batch: &RecordBatch, file: &str, actions: &mut Vec<Action>) -> Result<()> {
    let Some(rows) = StructRows::of(batch, "remove", file)? else { return Ok(()) };
    let (mut path, mut deletion_timestamp, mut data_change) =
        (rows.texts("path")?, rows.longs("deletionTimestamp")?, rows.flags("dataChange")?);
    let (mut extended_file_metadata, mut partition_values) = (rows.flags("extendedFileMetadata")?, rows.maps("partitionValues")?);
    let (mut size, mut stats, mut tags) = (rows.longs("size")?, rows.texts("stats")?, rows.maps("tags")?);
    let (mut base_row_id, mut default_row_commit_version) = (rows.longs("baseRowId")?, rows.longs("defaultRowCommitVersion")?);
    let mut deletion_vectors = deletion_vectors(&rows)?.into_iter();
    for _ in 0..rows.len() {
        actions.push(Action::Remove(Remove {
            path: rows.required("path", path.take())?,
            deletion_timestamp: deletion_timestamp.take(),
            data_change: data_change.take().unwrap_or(false),
            extended_file_metadata: extended_file_metadata.take(),
            partition_values: partition_values.take(),
            size: size.take(),
            stats: stats.take(),
            tags: tags.take(),
            deletion_vector: deletion_vectors.next().flatten(),
            base_row_id: base_row_id.take(),
            default_row_commit_version: default_row_commit_version.take(),
        }));
    }
    Ok(())
}

fn deletion_vectors(files: &StructRows<'_>) -> Result<Vec<Option<DeletionVectorDescriptor>>> {
    let Some(rows) = files.structs("deletionVector")? else { return Ok(Vec::new()) };
    let (mut storage_type, mut path_or_inline_dv) = (rows.texts("storageType")?, rows.texts("pathOrInlineDv")?);
    let (mut offset, mut size_in_bytes, mut cardinality) =
        (rows.ints("offset")?, rows.ints("sizeInBytes")?, rows.longs("cardinality")?);
    let mut descriptors = Vec::with_capacity(rows.len());
    for _ in 0..rows.len() {
        let (storage, path) = (storage_type.take(), path_or_inline_dv.take());
        let (offset, size, cardinality) = (offset.take(), size_in_bytes.take(), cardinality.take());
        // Some writers store a struct of nulls instead of a null struct.
        descriptors.push(match (storage, path) {
            (None, None) => None,
            (storage, path) => Some(DeletionVectorDescriptor {
                storage_type: dv_storage(&rows, storage)?,
                path_or_inline_dv: rows.required("pathOrInlineDv", path)?,
                offset,
                size_in_bytes: rows.required("sizeInBytes", size)?,
                cardinality: rows.required("cardinality", cardinality)?,
            }),
        });
    }
    Ok(descriptors)
}

fn dv_storage(rows: &StructRows<'_>, letter: Option<String>) -> Result<DvStorage> {
    let letter = rows.required("storageType", letter)?;
    DvStorage::of_letter(&letter).ok_or_else(|| rows.corrupt(format!("a deletion vector of unknown storage type {letter:?}")))
}
