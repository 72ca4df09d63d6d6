//! The files of the initial snapshot, in the order in which the stream returns them: by the time of
//! the file, then by its path.

use std::ops::Range;

use futures::TryStreamExt;
use lakebed_core::log::files::{FileBatch, column};

use crate::scan::ScanFile;
use crate::scan::plan::{Plan, PlanOptions};
use crate::{Error, Result, Snapshot};

/// The columns that are needed to read a file.
const COLUMNS: [&str; 7] = [
    column::PATH,
    column::PARTITION_VALUES,
    column::SIZE,
    column::MODIFICATION_TIME,
    column::DELETION_VECTOR,
    column::BASE_ROW_ID,
    column::DEFAULT_ROW_COMMIT_VERSION,
];

/// The sorted files of a snapshot. They are kept as columns, and only while the stream reads them.
pub(super) struct InitialFiles {
    pub(super) version: u64,
    partitions: Vec<String>,
    batches: Vec<FileBatch>,
    order: Vec<SortedFile>,
}

/// The position of a file in the batches.
struct SortedFile {
    batch: u32,
    row: u32,
    size: u64,
}

impl InitialFiles {
    /// Reads and sorts the files of a snapshot.
    pub(super) async fn load(snapshot: &Snapshot) -> Result<Self> {
        let mut files = Plan::new(snapshot, None, PlanOptions::default())?.files();
        let mut batches = Vec::new();
        while let Some(batch) = files.try_next().await? {
            batches.push(batch.select(&COLUMNS)?);
        }
        let (version, partitions) = (snapshot.version(), snapshot.physical_partition_columns());
        let sort = tokio::task::spawn_blocking(move || {
            let order = sorted(&batches)?;
            Ok(Self { version, partitions, batches, order })
        });
        sort.await.map_err(|error| Error::internal("sorting the files of a snapshot").with_source(error))?
    }

    /// Returns the sizes of all files, in order.
    pub(super) fn sizes(&self) -> impl Iterator<Item = u64> + '_ {
        self.order.iter().map(|file| file.size)
    }

    /// Returns the number of files.
    pub(super) fn len(&self) -> u64 {
        self.order.len() as u64
    }

    /// Returns the files at these positions.
    pub(super) fn files(&self, places: Range<u64>) -> Result<Vec<ScanFile>> {
        let all = self.order.len();
        let place = |place: u64| usize::try_from(place).unwrap_or(all).min(all);
        let wanted = self.order.get(place(places.start)..place(places.end)).unwrap_or_default();
        let mut found: Vec<Option<ScanFile>> = wanted.iter().map(|_| None).collect();
        for (number, batch) in self.batches.iter().enumerate() {
            let of_batch: Vec<(usize, usize)> = wanted
                .iter()
                .enumerate()
                .filter(|(_, file)| file.batch as usize == number)
                .map(|(at, file)| (at, file.row as usize))
                .collect();
            let rows: Vec<usize> = of_batch.iter().map(|(_, row)| *row).collect();
            if rows.is_empty() {
                continue;
            }
            let files = ScanFile::of_batch(&batch.take(&rows)?, &self.partitions)?;
            for ((at, _), file) in of_batch.into_iter().zip(files) {
                if let Some(slot) = found.get_mut(at) {
                    *slot = Some(file);
                }
            }
        }
        found
            .into_iter()
            .map(|file| file.ok_or_else(|| Error::internal("a file of a snapshot is missing after sorting")))
            .collect()
    }
}

fn sorted(batches: &[FileBatch]) -> Result<Vec<SortedFile>> {
    let mut keys = Vec::new();
    for (number, batch) in batches.iter().enumerate() {
        let (paths, sizes) = (batch.paths()?, batch.longs(column::SIZE)?);
        let times = batch.longs(column::MODIFICATION_TIME)?;
        for row in 0..batch.len() {
            let size = sizes.value(row);
            let size = u64::try_from(size)
                .map_err(|_| Error::corrupt(paths.value(row), format!("the log says that its size is {size}")))?;
            let file = SortedFile { batch: number as u32, row: row as u32, size };
            keys.push((times.value(row), paths.value(row), file));
        }
    }
    keys.sort_unstable_by(|one, other| (one.0, one.1).cmp(&(other.0, other.1)));
    Ok(keys.into_iter().map(|(_, _, file)| file).collect())
}
