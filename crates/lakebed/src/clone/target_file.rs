//! How the log of a clone names a file of the source.

use std::sync::Arc;

use lakebed_core::action::{Add, DeletionVectorDescriptor, DvStorage};
use lakebed_core::dv::{DvLocation, location, relative_text};
use lakebed_core::log::files::FileKey;
use lakebed_core::path::{AbsolutePath, FilePath};
use lakebed_io::store::Store;
use object_store::path::Path;

use crate::{Error, Result};

/// A data file of the source in the form in which the target has it.
#[derive(Debug)]
pub(super) struct TargetFile {
    /// The action for the target's log.
    pub(super) add: Add,
    /// The data file and the file of its deletion vector, if they must be copied.
    pub(super) copies: Option<Copies>,
}

/// The files that belong to a data file.
#[derive(Debug)]
pub(super) struct Copies {
    pub(super) data: FileCopy,
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
    Copied { folder: String },
}

impl Naming {
    /// Returns absolute paths into this source.
    pub(super) fn absolute(source: &Store) -> Self {
        Self::Absolute { root: source.uri_of("").into() }
    }

    /// Returns the file for the target.
    pub(super) fn of_target(&self, source: &Store, add: Add) -> Result<TargetFile> {
        let add = Add { data_change: true, ..add };
        match self {
            Self::Absolute { root } => Ok(TargetFile { add: absolute(source, root, add)?, copies: None }),
            Self::Copied { folder } => copied(source, add, folder),
        }
    }
}

fn absolute(source: &Store, root: &str, mut add: Add) -> Result<Add> {
    let path = FilePath::parse(&add.path)?;
    // A clone names no file that a reader of the source may not read.
    source.resolve(&path)?;
    if let FilePath::Relative(_) = path {
        add.path.insert_str(0, root);
    }
    if let Some(vector) = &mut add.deletion_vector
        && let DvLocation::File { path, .. } = location(vector)?
    {
        source.resolve(&path)?;
        if let FilePath::Relative(name) = path {
            vector.storage_type = DvStorage::AbsolutePath;
            vector.path_or_inline_dv = format!("{root}{}", FilePath::encode(&name));
        }
    }
    Ok(add)
}

fn copied(source: &Store, mut add: Add, folder: &str) -> Result<TargetFile> {
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
    Ok(TargetFile { add, copies: Some(Copies { data, vector }) })
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
