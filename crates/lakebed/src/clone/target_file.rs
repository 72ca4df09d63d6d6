//! How the log of a clone names a file of the source.

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use lakebed_core::action::{Add, DeletionVectorDescriptor, DvStorage};
use lakebed_core::dv::{DvLocation, location, relative_text};
use lakebed_core::log::files::{FileBatch, FileKey, column};
use lakebed_core::path::{AbsolutePath, FilePath};
use lakebed_io::store::Store;
use object_store::path::Path;

use crate::{Error, Result};

/// The expected length of a path.
const TYPICAL_PATH_BYTES: usize = 100;

/// A data file of the source in the form in which the target has it, and the files to copy.
#[derive(Debug)]
pub(super) struct TargetFile {
    /// The action for the target's log.
    pub(super) add: Add,
    pub(super) data: FileCopy,
    /// The file of the deletion vector.
    pub(super) vector: Option<FileCopy>,
}

/// A file to copy.
#[derive(Debug)]
pub(super) struct FileCopy {
    /// The original, with its store.
    pub(super) from: (Store, Path),
    /// The name below the target's root.
    pub(super) name: String,
}

/// The names that a clone gives to the files of its source.
#[derive(Clone)]
pub(super) enum Naming {
    /// Absolute paths into the source. `root` is its URI, with a slash at the end.
    Absolute { root: Arc<str> },
    /// The names of the source, in this folder below the target's root. The root itself is "".
    Copied { folder: Arc<str> },
}

/// Returns the files of the source by their absolute paths.
pub(super) fn absolute(source: &Store, root: &str, files: &FileBatch) -> Result<FileBatch> {
    let mut paths = StringBuilder::with_capacity(files.len(), files.len() * (root.len() + TYPICAL_PATH_BYTES));
    let mut whole = String::new();
    for path in files.paths()?.iter().map(Option::unwrap_or_default) {
        whole.clear();
        if FilePath::is_plain(path) || is_below_root(source, path)? {
            whole.push_str(root);
        }
        whole.push_str(path);
        paths.append_value(&whole);
    }
    let files = files.with_column(column::PATH, Arc::new(paths.finish()))?;
    if files.has_deletion_vector()?.true_count() == 0 {
        return Ok(files);
    }
    let vectors = files.deletion_vectors()?.into_iter();
    let vectors = vectors.map(|vector| vector.map(|vector| absolute_vector(source, root, vector)).transpose());
    files.with_deletion_vectors(vectors.collect::<Result<_>>()?)
}

/// Returns whether this path in the log is relative. A clone names no file that a reader of the
/// source may not read.
fn is_below_root(source: &Store, path: &str) -> Result<bool> {
    let path = FilePath::parse(path)?;
    source.resolve(&path)?;
    Ok(matches!(path, FilePath::Relative(_)))
}

fn absolute_vector(source: &Store, root: &str, mut vector: DeletionVectorDescriptor) -> Result<DeletionVectorDescriptor> {
    if let DvLocation::File { path, .. } = location(&vector)? {
        source.resolve(&path)?;
        if let FilePath::Relative(name) = path {
            vector.storage_type = DvStorage::AbsolutePath;
            vector.path_or_inline_dv = format!("{root}{}", FilePath::encode(&name));
        }
    }
    Ok(vector)
}

/// Returns a file of the source as a copy with the name of the source in a folder of the target.
pub(super) fn copied(source: &Store, folder: &str, add: Add) -> Result<TargetFile> {
    let mut add = Add { data_change: true, ..add };
    let path = FilePath::parse(&add.path)?;
    let name = within(
        folder,
        &match &path {
            FilePath::Relative(name) => name.clone(),
            // The names of files from several folders must not meet.
            FilePath::Absolute(_) => format!("{}-{}", FileKey::new(&add.path, None).to_hex(), last_name(&path)),
        },
    );
    let data = FileCopy { from: source.resolve(&path)?, name: name.clone() };
    add.path = FilePath::encode(&name);
    let vector = match &mut add.deletion_vector {
        Some(vector) => copied_vector(source, vector, folder)?,
        None => None,
    };
    Ok(TargetFile { add, data, vector })
}

fn copied_vector(source: &Store, vector: &mut DeletionVectorDescriptor, folder: &str) -> Result<Option<FileCopy>> {
    let DvLocation::File { path, .. } = location(vector)? else { return Ok(None) };
    let from = source.resolve(&path)?;
    let (prefix, file) = match &path {
        FilePath::Relative(name) => name.rsplit_once('/').unwrap_or(("", name)),
        FilePath::Absolute(_) => ("", last_name(&path)),
    };
    let prefix = within(folder, prefix);
    let Some(text) = relative_text(&prefix, file) else {
        let message = "the file of a deletion vector is not named by a UUID, so it cannot be copied";
        return Err(Error::corrupt(path.to_string(), message));
    };
    vector.storage_type = DvStorage::UuidRelative;
    vector.path_or_inline_dv = text;
    Ok(Some(FileCopy { from, name: within(&prefix, file) }))
}

fn last_name(path: &FilePath) -> &str {
    let (FilePath::Relative(path) | FilePath::Absolute(AbsolutePath { path, .. })) = path;
    path.rsplit('/').next().unwrap_or(path)
}

fn within(folder: &str, name: &str) -> String {
    match (folder, name) {
        ("", name) => name.to_owned(),
        (folder, "") => folder.to_owned(),
        (folder, name) => format!("{folder}/{name}"),
    }
}
