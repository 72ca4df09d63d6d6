//! Links of the file system do not lead out of a table. Its log may not name a file as `../other/file`, and a link of that name is no better:
//! who can write into a table's folder must not choose what its readers read and its writers overwrite.
//!
//! What counts is the folder that the table's root really is, so links above the root, or the root as a link, are as good as any other
//! folder. Where absolute paths are allowed links are followed too, but nothing is ever deleted through them. Everything here blocks.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

use lakebed_core::error::Error;

/// The folder that files of this machine must lie in. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Within(Arc<Bounds>);

#[derive(Debug)]
struct Bounds {
    root: PathBuf,
    follows_links: bool,
    /// The root without links, once somebody has looked.
    real_root: RwLock<Option<PathBuf>>,
}

impl Within {
    /// The folder `root`, which need not exist yet.
    pub(in crate::store) fn new(root: PathBuf, follows_links: bool) -> Self {
        Self(Arc::new(Bounds { root, follows_links, real_root: RwLock::default() }))
    }

    /// Opens a file for reading.
    pub(crate) fn open(&self, path: &Path) -> io::Result<File> {
        let file = File::open(path)?;
        self.check_open(&file, path)?;
        Ok(file)
    }

    /// Refuses a file that was opened outside. This costs one system call, which asks where the open file lies: whatever its name leads to by
    /// then, no other file is read.
    pub(in crate::store) fn check_open(&self, file: &File, path: &Path) -> io::Result<()> {
        if self.0.follows_links || real_path(file, path).is_some_and(|real| self.is_known_to_hold(&real)) {
            return Ok(());
        }
        // The first file, or the root has become another folder since.
        let (root, real) = (fs::canonicalize(&self.0.root)?, fs::canonicalize(path)?);
        let is_inside = real.starts_with(&root);
        // Who reads or writes the root at this moment wants to know the same.
        if let Ok(mut known) = self.0.real_root.try_write() {
            *known = Some(root);
        }
        if is_inside { Ok(()) } else { Err(self.leads_out(path)) }
    }

    /// Refuses to make folders outside, where some of those above a file are missing.
    pub(in crate::store) fn check_folders_above(&self, file: &Path) -> io::Result<()> {
        let nearest = file.ancestors().skip(1).find(|folder| fs::symlink_metadata(folder).is_ok());
        match nearest {
            Some(folder) if !self.0.follows_links && !self.0.root.starts_with(folder) && !self.holds_folder(folder) => {
                Err(self.leads_out(file))
            }
            _ => Ok(()),
        }
    }

    /// Whether a folder is the root or lies below it. One that does not exist does no harm.
    pub(in crate::store) fn holds_folder(&self, folder: &Path) -> bool {
        match (fs::canonicalize(folder), fs::canonicalize(&self.0.root)) {
            (Ok(folder), Ok(root)) => folder.starts_with(root),
            (Err(error), _) => error.kind() == io::ErrorKind::NotFound,
            (_, Err(_)) => false,
        }
    }

    /// The error for a file that is not to be deleted.
    pub(in crate::store) fn not_deleted(&self, path: &Path) -> io::Error {
        let (path, root) = (path.display(), self.0.root.display());
        io::Error::other(Error::invalid_input(format!(
            "{path}: a link of the file system leads this folder out of the table {root}, and nothing is deleted there"
        )))
    }

    fn leads_out(&self, path: &Path) -> io::Error {
        let (path, root) = (path.display(), self.0.root.display());
        io::Error::other(Error::invalid_input(format!(
            "{path}: a link of the file system leads this file out of the table {root}. If you trust the table, allow absolute paths \
             (absolute_paths=True)"
        )))
    }

    fn is_known_to_hold(&self, real: &Path) -> bool {
        // A lock that a fork left behind costs a few system calls.
        self.0.real_root.try_read().is_ok_and(|known| known.as_ref().is_some_and(|root| real.starts_with(root)))
    }
}

/// The path of an open file without links, as far as the system tells.
#[cfg(target_os = "linux")]
fn real_path(file: &File, _path: &Path) -> Option<PathBuf> {
    use std::os::fd::AsRawFd;
    fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()
}

#[cfg(not(target_os = "linux"))]
fn real_path(_file: &File, path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).ok()
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
