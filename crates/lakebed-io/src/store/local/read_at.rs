//! Reads a local file at a position.

use std::fs::File;
use std::io;

/// Reads bytes at a position, without the position that handles of a file share.
#[cfg(unix)]
pub(in crate::store) fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

/// Reads bytes at a position.
#[cfg(not(unix))]
pub(in crate::store) fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    use io::{Read, Seek};
    let mut file = file;
    file.seek(io::SeekFrom::Start(offset))?;
    file.read_exact(buffer)
}
