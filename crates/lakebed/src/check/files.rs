//! Level `files`: every data file and every file of deletion vectors exists with its size.

use std::collections::{HashMap, HashSet};
use std::pin::pin;

use arrow_array::Array;
use futures::TryStreamExt;
use lakebed_core::action::DeletionVectorDescriptor;
use lakebed_core::dv::{DvLocation, location};
use lakebed_core::log::files::{FileBatch, FileKey, column};
use lakebed_core::path::FilePath;

use super::existence::Existence;
use super::finding::{Finding, FindingKind};
use super::findings::Findings;
use super::progress::LevelReporter;
use super::state::CheckedState;
use crate::Result;
use crate::scan::plan::{Plan, PlanOptions};

/// Checks the files of the newest version.
pub(super) async fn check(state: &CheckedState, findings: &mut Findings, reporter: &mut LevelReporter<'_>) -> Result<()> {
    let existence = Existence::prepare(state.snapshot.store(), state.files).await?;
    let mut vectors = VectorFiles::default();
    let mut seen = HashSet::new();
    let mut batches = pin!(Plan::new(&state.snapshot, None, PlanOptions::default())?.files_as_logged());
    while let Some(batch) = batches.try_next().await? {
        check_data_files(&existence, &batch, &mut seen, findings).await?;
        vectors.check(&existence, &batch, findings).await?;
        reporter.add(batch.len() as u64);
    }
    Ok(())
}

async fn check_data_files(
    existence: &Existence,
    batch: &FileBatch,
    seen: &mut HashSet<FileKey>,
    findings: &mut Findings,
) -> Result<()> {
    let (paths, sizes) = (batch.paths()?, batch.longs(column::SIZE)?);
    let rows: Vec<(usize, FilePath)> =
        (0..batch.len()).filter_map(|row| Some((row, FilePath::parse(paths.value(row)).ok()?))).collect();
    let found = existence.sizes(rows.iter().map(|(_, path)| path.clone()).collect()).await?;
    for ((row, _), found) in rows.into_iter().zip(found) {
        let path = paths.value(row);
        if !seen.insert(FileKey::new(path, None)) {
            let message = "the newest version has this file twice, with different deletion vectors";
            findings.report(Finding::new(FindingKind::FileListedTwice, message).file(path));
        }
        let told = sizes.is_valid(row).then(|| sizes.value(row));
        match found {
            None => findings.report(Finding::new(FindingKind::DataFileMissing, "the file does not exist").file(path)),
            // Some writers do not know the size and write 0.
            Some(found) if told.is_some_and(|told| told > 0 && u64::try_from(told) != Ok(found)) => {
                let message = format!("the log says that its size is {} bytes, but it has {found}", told.unwrap_or_default());
                findings.report(Finding::new(FindingKind::DataFileResized, message).file(path));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// A deletion vector in a file.
struct StoredVector {
    /// The data file.
    file: String,
    path: FilePath,
    /// The byte of the file after the vector.
    end: u64,
    /// The number of deleted rows.
    rows: i64,
}

/// The sizes of files of deletion vectors. Many deletion vectors share a file.
#[derive(Default)]
pub(super) struct VectorFiles(HashMap<FileKey, Option<u64>>);

impl VectorFiles {
    async fn check(&mut self, existence: &Existence, batch: &FileBatch, findings: &mut Findings) -> Result<()> {
        let paths = batch.paths()?;
        let mut wanted = Vec::new();
        for (row, has_vector) in batch.has_deletion_vector()?.iter().enumerate() {
            if has_vector == Some(true)
                && let Ok(Some(vector)) = batch.deletion_vector(row)
            {
                wanted.push((paths.value(row).to_owned(), vector));
            }
        }
        let found = self.check_all(existence, wanted).await?;
        findings.extend(found);
        Ok(())
    }

    /// Returns findings for deletion vectors of which the file does not exist or is too short.
    pub(super) async fn check_all(
        &mut self,
        existence: &Existence,
        vectors: Vec<(String, DeletionVectorDescriptor)>,
    ) -> Result<Vec<Finding>> {
        let mut stored = Vec::new();
        for (file, vector) in vectors {
            if let Ok(DvLocation::File { path, range }) = location(&vector) {
                stored.push(StoredVector { file, path, end: range.end, rows: vector.cardinality });
            }
        }
        let mut asked = HashSet::new();
        let is_unknown =
            |vector: &&StoredVector| !self.0.contains_key(&key_of(&vector.path)) && asked.insert(key_of(&vector.path));
        let unknown: Vec<FilePath> = stored.iter().filter(is_unknown).map(|vector| vector.path.clone()).collect();
        let sizes = existence.sizes(unknown.clone()).await?;
        self.0.extend(unknown.iter().map(key_of).zip(sizes));
        let mut findings = Vec::new();
        for StoredVector { file, path, end, rows } in stored {
            match self.0.get(&key_of(&path)).copied().flatten() {
                None => {
                    let message = format!("its deletion vector {path}, which deletes {rows} rows, does not exist");
                    findings.push(Finding::new(FindingKind::DeletionVectorMissing, message).file(file));
                }
                Some(size) if size < end => {
                    let message = format!(
                        "its deletion vector, which deletes {rows} rows, ends at byte {end} of {path}, but that has {size} bytes"
                    );
                    findings.push(Finding::new(FindingKind::DeletionVectorTorn, message).file(file));
                }
                Some(_) => {}
            }
        }
        Ok(findings)
    }
}

fn key_of(path: &FilePath) -> FileKey {
    FileKey::new(&path.to_string(), None)
}
