//! Prevents links of the file system from leading out of a table. The log must not name a file as
//! `../other/file`, and a link must not have the same effect. Otherwise a user with write access to
//! the folder of a table could choose which other files its readers read and its writers overwrite.
//!
//! The check compares with the real folder of the table's root, so links above the root, or a root
//! that is a link, are allowed. If absolute paths are allowed, links are followed, but no file is
//! ever deleted through a link. All functions block.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

use lakebed_core::error::Error;

/// The folder in which local files must lie. Clones are cheap.
#[derive(Debug, Clone)]
pub(crate) struct Within(Arc<Bounds>);

#[derive(Debug)]
struct Bounds {
    root: PathBuf,
    follows_links: bool,
    /// The root with links resolved. It is set by the first check that needs it.
    real_root: RwLock<Option<PathBuf>>,
}

impl Within {
    /// Returns the folder `root`, which need not exist yet.
    pub(in crate::store) fn new(root: PathBuf, follows_links: bool) -> Self {
        Self(Arc::new(Bounds { root, follows_links, real_root: RwLock::default() }))
    }

    /// Opens a file for reading.
    pub(crate) fn open(&self, path: &Path) -> io::Result<File> {
        let file = File::open(path)?;
        self.check_open(&file, path)?;
        Ok(file)
    }

    /// Refuses an open file outside of the folder. One system call returns the path of the open
    /// file. If the name leads to another file later, that file is not read.
    pub(in crate::store) fn check_open(&self, file: &File, path: &Path) -> io::Result<()> {
        if self.0.follows_links || real_path(file, path).is_some_and(|real| self.is_known_to_hold(&real)) {
            return Ok(());
        }
        // This is the first file, or the root was replaced by another folder.
        let (root, real) = (fs::canonicalize(&self.0.root)?, fs::canonicalize(path)?);
        let is_inside = real.starts_with(&root);
        // If another thread holds the lock, it stores the same path.
        if let Ok(mut known) = self.0.real_root.try_write() {
            *known = Some(root);
        }
        if is_inside { Ok(()) } else { Err(self.leads_out(path)) }
    }

    /// Refuses to create the missing folders of a file if they would lie outside.
    pub(in crate::store) fn check_folders_above(&self, file: &Path) -> io::Result<()> {
        let nearest = file.ancestors().skip(1).find(|folder| fs::symlink_metadata(folder).is_ok());
        match nearest {
            Some(folder) if !self.0.follows_links && !self.0.root.starts_with(folder) && !self.holds_folder(folder) => {
                Err(self.leads_out(file))
            }
            _ => Ok(()),
        }
    }

    /// Returns whether a folder is the root or lies below it. It returns true for a folder that
    /// does not exist.
    pub(in crate::store) fn holds_folder(&self, folder: &Path) -> bool {
        match (fs::canonicalize(folder), fs::canonicalize(&self.0.root)) {
            (Ok(folder), Ok(root)) => folder.starts_with(root),
            (Err(error), _) => error.kind() == io::ErrorKind::NotFound,
            (_, Err(_)) => false,
        }
    }

    /// Returns the error for a file that must not be deleted.
    pub(in crate::store) fn not_deleted(&self, path: &Path) -> io::Error {
        let (path, root) = (path.display(), self.0.root.display());
        io::Error::other(Error::invalid_input(format!(
            "{path}: a symbolic link leads from this folder out of the table {root}; lakebed deletes nothing there"
        )))
    }

    fn leads_out(&self, path: &Path) -> io::Error {
        let (path, root) = (path.display(), self.0.root.display());
        io::Error::other(Error::invalid_input(format!(
            "{path}: a symbolic link leads from this file out of the table {root}. If you trust the table, allow absolute paths \
             (absolute_paths=True)"
        )))
    }

    fn is_known_to_hold(&self, real: &Path) -> bool {
        // If a fork left the lock held, each check costs a few more system calls.
        self.0.real_root.try_read().is_ok_and(|known| known.as_ref().is_some_and(|root| real.starts_with(root)))
    }
}

/// Returns the path of an open file with links resolved, if the system supports this.
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
