//! A temporary file for columns that do not fit into memory. They are written once and can be read
//! any number of times.
//!
//! Each column of each piece is an Arrow stream of its own, so that writing and reading take no
//! more memory than the column does. Small pieces can also be written with all their columns
//! together. The file has no name, or a name that is removed when the process ends. Begin with
//! [`Spill::append`].

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, Schema, SchemaRef};
use arrow_select::concat::concat;

use crate::{Error, ErrorKind, Result};

/// The environment variable that sets the folder for temporary files. The default is the system's
/// folder.
const FOLDER: &str = "LAKEBED_SPILL_DIR";

/// A temporary file that is deleted when this is dropped.
#[derive(Debug)]
pub(crate) struct Spill {
    schema: SchemaRef,
    folder: PathBuf,
    file: Arc<File>,
    /// The lock of writers. Readers need neither a lock nor the position of the file, both of which
    /// a forked child would share with its parent.
    writing: Arc<Mutex<()>>,
    size_bytes: u64,
}

/// Returns the folder for temporary files.
pub(crate) fn folder() -> PathBuf {
    folder_of(std::env::var_os(FOLDER))
}

fn folder_of(named: Option<OsString>) -> PathBuf {
    named.filter(|named| !named.is_empty()).map_or_else(std::env::temp_dir, PathBuf::from)
}

impl Spill {
    /// Creates a file for columns of this schema.
    pub(crate) async fn create(folder: PathBuf, schema: SchemaRef) -> Result<Self> {
        let file = blocking(folder.clone(), "beginning", move |folder| Ok(tempfile::tempfile_in(folder)?)).await?;
        Ok(Self { schema, folder, file: Arc::new(file), writing: Arc::default(), size_bytes: 0 })
    }

    /// Writes columns, each given in pieces, and returns the position of each.
    pub(crate) async fn append(&mut self, columns: Vec<Vec<ArrayRef>>) -> Result<Vec<u64>> {
        let (file, writing, schema) = (Arc::clone(&self.file), Arc::clone(&self.writing), Arc::clone(&self.schema));
        let work = move |_: &Path| {
            let _alone = writing.lock().unwrap_or_else(PoisonError::into_inner);
            let mut file = &*file;
            let mut end = file.seek(SeekFrom::End(0))?;
            let mut places = Vec::with_capacity(columns.len());
            for (pieces, field) in columns.into_iter().zip(schema.fields()) {
                let whole = joined(pieces)?;
                let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![Arc::clone(field)])), vec![whole])?;
                write_stream(file, &batch)?;
                places.push(end);
                end = file.stream_position()?;
            }
            Ok((places, end))
        };
        let (places, end) = blocking(self.folder.clone(), "writing to", work).await?;
        self.size_bytes = end;
        Ok(places)
    }

    /// Writes rows with all their columns together, and returns their position.
    pub(crate) async fn append_rows(&mut self, rows: RecordBatch) -> Result<u64> {
        let (file, writing) = (Arc::clone(&self.file), Arc::clone(&self.writing));
        let work = move |_: &Path| {
            let _alone = writing.lock().unwrap_or_else(PoisonError::into_inner);
            let mut file = &*file;
            let place = file.seek(SeekFrom::End(0))?;
            write_stream(file, &rows)?;
            Ok((place, file.stream_position()?))
        };
        let (place, end) = blocking(self.folder.clone(), "writing to", work).await?;
        self.size_bytes = end;
        Ok(place)
    }

    /// Reads the rows at these positions.
    pub(crate) async fn read_rows(&self, places: Vec<u64>) -> Result<Vec<RecordBatch>> {
        let file = Arc::clone(&self.file);
        let work = move |_: &Path| places.into_iter().map(|place| read_stream(&file, place)).collect();
        blocking(self.folder.clone(), "reading from", work).await
    }

    /// Reads the columns at these positions.
    pub(crate) async fn read(&self, places: Vec<u64>) -> Result<Vec<ArrayRef>> {
        let file = Arc::clone(&self.file);
        let column = move |place| Ok(Arc::clone(read_stream(&file, place)?.column(0)));
        let work = move |_: &Path| places.into_iter().map(column).collect();
        blocking(self.folder.clone(), "reading from", work).await
    }

    /// Returns the size of the file.
    pub(crate) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }
}

fn write_stream(file: &File, rows: &RecordBatch) -> Result<(), ArrowError> {
    let mut writer = StreamWriter::try_new(BufWriter::new(file), rows.schema_ref())?;
    writer.write(rows)?;
    Ok(writer.into_inner()?.flush()?)
}

fn read_stream(file: &File, place: u64) -> Result<RecordBatch, ArrowError> {
    let rows = StreamReader::try_new(BufReader::new(ReadFrom { file, place }), None)?.next();
    rows.ok_or_else(|| ArrowError::IpcError("the file is truncated".into()))?
}

/// Reads a file from a position, without the position that the file handle shares with others.
struct ReadFrom<'a> {
    file: &'a File,
    place: u64,
}

impl Read for ReadFrom<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        let count = std::os::unix::fs::FileExt::read_at(self.file, buffer, self.place)?;
        #[cfg(windows)]
        let count = std::os::windows::fs::FileExt::seek_read(self.file, buffer, self.place)?;
        self.place += count as u64;
        Ok(count)
    }
}

/// Joins several arrays into one.
pub(crate) fn joined(pieces: Vec<ArrayRef>) -> Result<ArrayRef, ArrowError> {
    match pieces.as_slice() {
        [only] => Ok(Arc::clone(only)),
        pieces => concat(&pieces.iter().map(|piece| piece.as_ref() as &dyn Array).collect::<Vec<_>>()),
    }
}

pub(super) async fn blocking<T, W>(folder: PathBuf, doing: &'static str, work: W) -> Result<T>
where
    T: Send + 'static,
    W: FnOnce(&Path) -> Result<T, ArrowError> + Send + 'static,
{
    let work = tokio::task::spawn_blocking(move || work(&folder).map_err(|error| failed(&folder, doing, error)));
    work.await.map_err(|error| Error::internal("the work on a temporary file ended").with_source(error))?
}

fn failed(folder: &Path, doing: &str, error: ArrowError) -> Error {
    let object = folder.display().to_string();
    let message = format!(
        "{doing} a temporary file in {object} failed: {error}; free some space there, or name a folder with more space in the \
         environment variable {FOLDER}"
    );
    Error::new(ErrorKind::Store { object, retryable: false, not_found: false }, message).with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spill_folder_defaults_to_system_folder() {
        assert_eq!(folder_of(Some("/big/disk".into())), PathBuf::from("/big/disk"));
        assert_eq!(folder_of(Some("".into())), std::env::temp_dir());
        assert_eq!(folder_of(None), std::env::temp_dir());
    }

    #[tokio::test]
    async fn unwritable_folder_is_named_with_remedy() {
        let error = Spill::create("/no/such/folder".into(), Arc::new(Schema::empty())).await.unwrap_err();
        let text = error.to_string();
        for part in ["beginning a temporary file in /no/such/folder failed", "No such file", FOLDER] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let object = "/no/such/folder".to_owned();
        assert_eq!(error.kind(), &ErrorKind::Store { object, retryable: false, not_found: false });
    }
}
