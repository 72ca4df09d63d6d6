//! Reads, lists, writes and deletes local files directly, without the implementation of
//! object_store. That implementation hides some names, such as `part#1`. Here a folder is read
//! once, and metadata is requested only for the entries that pass the caller's filter.
//! `hidden_file` gives a file its name.
//!
//! All functions block.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path as FilePath, PathBuf};

use bytes::Bytes;
use chrono::{DateTime, Utc};
use object_store::ObjectMeta;
use object_store::path::Path;

use crate::store::Content;
use crate::store::commit::outcome::{Existing, PutOutcome};
use crate::store::local::file_path::file_path;
use crate::store::local::hidden_file::{Flush, HiddenFile};
use crate::store::local::read_at::read_exact_at;
use crate::store::local::within::Within;
use crate::store::request::folder::Folder;

pub(in crate::store) fn read(file: &FilePath, within: &Within) -> io::Result<Bytes> {
    let mut opened = within.open(file)?;
    let size = opened.metadata().map_or(0, |found| found.len());
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    opened.read_to_end(&mut bytes)?;
    Ok(bytes.into())
}

/// The result of reading ranges.
pub(in crate::store) enum Ranges {
    Read(Vec<Bytes>),
    /// A range goes past the end of the file.
    TooShort {
        size: u64,
    },
}

pub(in crate::store) fn read_ranges(file: &FilePath, ranges: &[Range<u64>], within: &Within) -> io::Result<Ranges> {
    let opened = within.open(file)?;
    let size = opened.metadata()?.len();
    if ranges.iter().any(|range| range.end > size || range.start > range.end) {
        return Ok(Ranges::TooShort { size });
    }
    let read = |range: &Range<u64>| {
        let mut buffer = vec![0; usize::try_from(range.end - range.start).map_err(io::Error::other)?];
        read_exact_at(&opened, &mut buffer, range.start)?;
        Ok(Bytes::from(buffer))
    };
    ranges.iter().map(read).collect::<io::Result<_>>().map(Ranges::Read)
}

pub(in crate::store) fn head(file: &FilePath, path: &Path) -> io::Result<ObjectMeta> {
    let found = fs::metadata(file)?;
    if found.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    Ok(meta(path.clone(), &found))
}

/// Returns the files directly in `folder` for which `passes` is true for the name, sorted by name.
/// A folder that does not exist is empty.
pub(in crate::store) fn list(folder: &Path, passes: impl Fn(&str) -> bool) -> io::Result<Vec<ObjectMeta>> {
    let at = file_path(folder);
    let entries = match fs::read_dir(&at) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        // Writers of tables use only names in UTF-8.
        let Some(name) = name.to_str().filter(|name| passes(name)) else { continue };
        let Ok(path) = Path::parse(format!("{folder}/{name}")) else { continue };
        let kind = entry.file_type()?;
        if kind.is_dir() {
            continue;
        }
        let looked = if kind.is_symlink() { fs::metadata(entry.path()) } else { entry.metadata() };
        match looked {
            Ok(looked) if looked.is_file() => found.push(meta(path, &looked)),
            Ok(_) => {}
            // The file was deleted after the folder was read, or the entry is a broken link.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    found.sort_unstable_by(|a: &ObjectMeta, b| a.location.as_ref().cmp(b.location.as_ref()));
    Ok(found)
}

/// Returns the content of `folder`. Links are not followed, but their targets below `root` are
/// returned.
pub(in crate::store) fn list_folder(folder: &Path, root: &Path) -> io::Result<Folder> {
    let at = file_path(folder);
    let entries = match fs::read_dir(&at) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Folder::default());
        }
        Err(error) => return Err(error),
    };
    let mut found = Folder { modified_ms: modified_ms(&at), ..Folder::default() };
    for entry in entries {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_symlink() {
            match target_below(&entry.path(), root) {
                Some(target) => found.links.push(target),
                None => found.has_links_out = true,
            }
            continue;
        }
        let name = entry.file_name();
        let Some(path) = name.to_str().and_then(|name| Path::parse(format!("{folder}/{name}")).ok()) else { continue };
        if kind.is_dir() {
            found.folders.push(path);
            continue;
        }
        match entry.metadata() {
            Ok(looked) if looked.is_file() => found.objects.push(meta(path, &looked)),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

fn modified_ms(file: &FilePath) -> Option<i64> {
    let modified = fs::metadata(file).and_then(|found| found.modified()).ok()?;
    Some(DateTime::<Utc>::from(modified).timestamp_millis())
}

/// Returns the target of a link, if it lies below the root. The path begins with the name of the
/// root.
fn target_below(link: &FilePath, root: &Path) -> Option<Path> {
    let (target, real_root) = (fs::canonicalize(link).ok()?, fs::canonicalize(file_path(root)).ok()?);
    let rest = target.strip_prefix(real_root).ok()?.to_str()?.replace('\\', "/");
    Path::parse(format!("{root}/{rest}")).ok()
}

/// Writes a file. An existing file is replaced or kept.
pub(in crate::store) fn put(
    file: &FilePath,
    content: &Content,
    existing: Existing,
    flush: Flush,
    new: &NewFile<'_>,
) -> io::Result<PutOutcome> {
    let hidden = match existing {
        Existing::Refuse => begin_new(file, content, new)?,
        Existing::Replace => Some(begin(file, content, new)?),
    };
    publish(hidden, existing, flush)
}

/// The facts that a new file needs besides its name and bytes.
pub(in crate::store) struct NewFile<'a> {
    /// A string that no other writer has.
    pub(in crate::store) unique: &'a str,
    pub(in crate::store) within: &'a Within,
}

/// Writes a file that has no name yet. Returns `None` if the name is taken.
pub(in crate::store) fn begin_new(file: &FilePath, content: &Content, new: &NewFile<'_>) -> io::Result<Option<HiddenFile>> {
    // A writer that is too late need not write.
    if fs::symlink_metadata(file).is_ok() { Ok(None) } else { begin(file, content, new).map(Some) }
}

fn begin(file: &FilePath, content: &Content, new: &NewFile<'_>) -> io::Result<HiddenFile> {
    let mut hidden = HiddenFile::create(file, new.unique, new.within)?;
    content.write_to(&mut hidden)?;
    Ok(hidden)
}

/// Gives the file its name, if there is a file.
pub(in crate::store) fn publish(hidden: Option<HiddenFile>, existing: Existing, flush: Flush) -> io::Result<PutOutcome> {
    let published = hidden.map_or(Ok(None), |hidden| hidden.publish(existing, flush))?;
    Ok(if published.is_some() { PutOutcome::Done } else { PutOutcome::Taken })
}

/// Deletes files, and returns for each whether it existed. A file is not deleted if a link leads
/// its folder out of the table.
pub(in crate::store) fn delete(files: &[PathBuf], within: &Within) -> Vec<io::Result<bool>> {
    let mut are_inside: HashMap<&FilePath, bool> = HashMap::new();
    let mut deleted = Vec::with_capacity(files.len());
    for file in files {
        let folder = file.parent().unwrap_or(file);
        let is_inside = *are_inside.entry(folder).or_insert_with(|| within.holds_folder(folder));
        deleted.push(if is_inside { delete_file(file) } else { Err(within.not_deleted(file)) });
    }
    deleted
}

fn delete_file(file: &FilePath) -> io::Result<bool> {
    match fs::remove_file(file) {
        Ok(()) => Ok(true),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(false),
        Err(error) => Err(error),
    }
}

fn meta(location: Path, found: &fs::Metadata) -> ObjectMeta {
    let last_modified = found.modified().map_or(DateTime::<Utc>::UNIX_EPOCH, DateTime::<Utc>::from);
    ObjectMeta { location, last_modified, size: found.len(), e_tag: None, version: None }
}
