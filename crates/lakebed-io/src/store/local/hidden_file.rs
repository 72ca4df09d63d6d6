//! A local file that is invisible until it is complete. It is written without a name or under a
//! hidden one, made durable, and then given its name in one step.
//!
//! This order is safe against crashes and power failures: first the bytes go to the disk, then the
//! file gets its name, then the folder goes to the disk. A reader that finds the name finds all
//! bytes, and a file that was reported as written stays. A name that must be new is given by
//! `link`, or by a rename that refuses to overwrite. Both are atomic between processes, and on NFS
//! also between machines.
//!
//! On systems that support files without a name, a killed process leaves nothing behind, except if
//! it is killed in the moment in which a file replaces another. On other systems it leaves a file
//! `.lakebed-….tmp`, which listings of the log and Spark ignore. All functions block.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::store::commit::outcome::{Existing, PutOutcome};
use crate::store::local::within::Within;

/// The time at which the bytes and the name of a file are flushed to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum Flush {
    /// The bytes are flushed before the file gets its name, and the name before the file counts as
    /// written.
    Both,
    /// The system decides. This is for files that may be lost, or that other code flushes.
    Later,
}

/// A file that is to get a name.
#[derive(Debug)]
pub(in crate::store) struct HiddenFile {
    file: File,
    target: PathBuf,
    /// The hidden name. The file may have it or not.
    name: PathBuf,
    is_named: bool,
}

impl HiddenFile {
    /// Creates a file for the name `target`, and its missing folders. `unique` distinguishes it
    /// from other files. No link may lead it out of `within`.
    pub(in crate::store) fn create(target: &Path, unique: &str, within: &Within) -> io::Result<Self> {
        let name = target.with_file_name(format!(".lakebed-{unique}.tmp"));
        let (file, is_named) = match open(target, &name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                within.check_folders_above(target)?;
                create_folder(folder_of(target))?;
                open(target, &name)?
            }
            opened => opened?,
        };
        let hidden = Self { file, target: target.to_owned(), name, is_named };
        within.check_open(&hidden.file, if is_named { &hidden.name } else { folder_of(target) })?;
        Ok(hidden)
    }

    /// Appends bytes.
    pub(in crate::store) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)
    }

    /// Returns another handle of the same file, for flushing it while it is written.
    pub(in crate::store) fn try_clone(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Flushes the bytes written so far.
    pub(in crate::store) fn flush(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Gives the file its name, and returns the file and its folder for a later flush. Returns
    /// `None` if the name is taken and must be kept. In this case the existing file and its
    /// checksum are unchanged.
    pub(in crate::store) fn publish(self, existing: Existing, flush: Flush) -> io::Result<Option<(File, PathBuf)>> {
        match existing {
            Existing::Replace => self.publish_over(flush).map(Some),
            Existing::Refuse => self.publish_new(flush),
        }
    }

    fn publish_new(mut self, flush: Flush) -> io::Result<Option<(File, PathBuf)>> {
        if fs::symlink_metadata(&self.target).is_ok() && !self.has_target()? {
            return Ok(None);
        }
        self.settle(flush)?;
        let outcome = if self.is_named { self.link_or_move()? } else { self.link_nameless()? };
        if outcome == PutOutcome::Taken {
            return Ok(None);
        }
        self.unname()?;
        self.settle_name(flush)?;
        Ok(Some((self.try_clone()?, folder_of(&self.target).to_owned())))
    }

    fn publish_over(mut self, flush: Flush) -> io::Result<(File, PathBuf)> {
        self.settle(flush)?;
        if self.is_named || self.link_nameless()? == PutOutcome::Taken {
            self.take_name()?;
            fs::rename(&self.name, &self.target)?;
            self.is_named = false;
        }
        self.settle_name(flush)?;
        Ok((self.try_clone()?, folder_of(&self.target).to_owned()))
    }

    /// Returns whether the file already has its name. See `link_or_move`.
    fn has_target(&self) -> io::Result<bool> {
        Ok(self.is_named && leads_to(&self.target, &self.file)?)
    }

    fn settle_name(&self, flush: Flush) -> io::Result<()> {
        if flush == Flush::Both { sync_folder(folder_of(&self.target)) } else { Ok(()) }
    }

    /// Flushes the bytes, and deletes Hadoop's checksum of an earlier file of this name. With that
    /// checksum Spark would find the new file damaged.
    fn settle(&self, flush: Flush) -> io::Result<()> {
        if flush == Flush::Both {
            self.flush()?;
        }
        let Some(name) = self.target.file_name() else { return Err(io::ErrorKind::InvalidFilename.into()) };
        let checksum = self.target.with_file_name(format!(".{}.crc", name.to_string_lossy()));
        unless_missing(fs::remove_file(checksum))
    }

    /// Links the file to its name. If the file system has no links, the file is moved to the name,
    /// if the name is free.
    fn link_or_move(&mut self) -> io::Result<PutOutcome> {
        let error = match outcome(fs::hard_link(&self.name, &self.target)) {
            // NFS may lose the reply to a first attempt that succeeded. In this case the name
            // belongs to this file.
            Ok(PutOutcome::Taken) if self.has_target()? => return Ok(PutOutcome::Done),
            Ok(outcome) => return Ok(outcome),
            Err(error) => error,
        };
        match outcome(move_to_new(&self.name, &self.target)) {
            Ok(PutOutcome::Done) => {
                self.is_named = false;
                Ok(PutOutcome::Done)
            }
            Ok(PutOutcome::Taken) => Ok(PutOutcome::Taken),
            Err(moved) if is_impossible(&error) && is_impossible(&moved) => Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "this file system can neither link a file nor rename it without overwriting another file: move the table to \
                 another file system",
            )),
            Err(_) => Err(error),
        }
    }

    #[cfg(target_os = "linux")]
    fn link_nameless(&self) -> io::Result<PutOutcome> {
        outcome(link_open_file(&self.file, &self.target))
    }

    #[cfg(not(target_os = "linux"))]
    fn link_nameless(&self) -> io::Result<PutOutcome> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Gives a file without a name its hidden name.
    fn take_name(&mut self) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        if !self.is_named {
            link_open_file(&self.file, &self.name)?;
            self.is_named = true;
        }
        Ok(())
    }

    /// Removes the hidden name.
    fn unname(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.is_named) { unless_missing(fs::remove_file(&self.name)) } else { Ok(()) }
    }
}

impl Drop for HiddenFile {
    fn drop(&mut self) {
        // There is no caller to report to, and the file is hidden.
        let _ = self.unname();
    }
}

/// Creates a folder with its parents and makes them durable, because a file is lost together with
/// its folder.
pub(in crate::store) fn create_folder(folder: &Path) -> io::Result<()> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let Some(parent) = folder.parent() else { return Err(error) };
            create_folder(parent)?;
            unless_there(fs::create_dir(folder))?;
        }
        made => unless_there(made)?,
    }
    // The folder is flushed even if another process created it just now, because that process may
    // not have flushed it yet.
    folder.parent().map_or(Ok(()), sync_folder)
}

fn open(target: &Path, name: &Path) -> io::Result<(File, bool)> {
    match open_nameless(folder_of(target)) {
        Some(file) => Ok((file, false)),
        None => File::create_new(name).map(|file| (file, true)),
    }
}

/// Returns a file without a name in this folder, if the system can create one and name it later.
#[cfg(target_os = "linux")]
fn open_nameless(folder: &Path) -> Option<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(folder, flags, Mode::from_raw_mode(0o666)).ok()?);
    path_of_open(&file).exists().then_some(file)
}

#[cfg(not(target_os = "linux"))]
fn open_nameless(_folder: &Path) -> Option<File> {
    None
}

#[cfg(target_os = "linux")]
fn path_of_open(file: &File) -> PathBuf {
    use std::os::fd::AsRawFd;
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

#[cfg(target_os = "linux")]
fn link_open_file(file: &File, to: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD};
    Ok(rustix::fs::linkat(CWD, path_of_open(file), CWD, to, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn move_to_new(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags};
    Ok(rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?)
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn move_to_new(_from: &Path, _to: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns whether an error of `link` means that the file system has no links. Some file systems
/// report that links are not permitted.
fn is_impossible(error: &io::Error) -> bool {
    use io::ErrorKind as K;
    matches!(error.kind(), K::Unsupported | K::PermissionDenied | K::TooManyLinks | K::InvalidInput)
}

/// Returns whether a name belongs to an open file. Other links to the same file do not matter.
#[cfg(unix)]
fn leads_to(name: &Path, file: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let (found, own) = (fs::symlink_metadata(name)?, file.metadata()?);
    Ok((found.dev(), found.ino()) == (own.dev(), own.ino()))
}

#[cfg(not(unix))]
fn leads_to(_name: &Path, _file: &File) -> io::Result<bool> {
    Ok(false)
}

/// Does nothing. Other systems cannot open folders, and they make the entries durable themselves.
#[cfg(not(unix))]
pub(in crate::store) fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
pub(in crate::store) fn sync_folder(folder: &Path) -> io::Result<()> {
    use io::ErrorKind as K;
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // The folder can be written but not read, or the file system makes folders durable in its
        // own way.
        Err(error) if matches!(error.kind(), K::PermissionDenied | K::InvalidInput | K::Unsupported) => Ok(()),
        synced => synced,
    }
}

fn folder_of(target: &Path) -> &Path {
    target.parent().unwrap_or(Path::new("/"))
}

fn outcome(named: io::Result<()>) -> io::Result<PutOutcome> {
    match named {
        Ok(()) => Ok(PutOutcome::Done),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(PutOutcome::Taken),
        Err(error) => Err(error),
    }
}

fn unless_there(made: io::Result<()>) -> io::Result<()> {
    match made {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

fn unless_missing(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests;
