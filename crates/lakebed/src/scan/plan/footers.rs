//! Reads the footers of files with statistics in the log that prove nothing by themselves. In such
//! files the log does not say whether bounds hold for NaN, or whether null counts include fields of
//! null structs. Only footers of files that the statistics would skip are read. A scan reads these
//! footers anyway and finds them in memory.

use std::sync::atomic::{AtomicU64, Ordering};

use arrow_arith::boolean::{and, not, or};
use arrow_array::BooleanArray;
use futures::{StreamExt, stream};
use lakebed_core::log::files::FileBatch;
use lakebed_core::schema::mapping::MappingMode;
use lakebed_expr::prune::{Guarantee, Pruner};
use lakebed_io::parquet::{PageIndex, ParquetFile};

use super::facts::LogFacts;
use crate::scan::file_location::FileLocation;
use crate::{Result, Snapshot};

/// The number of footers that are read at the same time.
const AT_ONCE: usize = 32;
/// The greatest number of footers that one plan reads to skip files. Beyond this number files are
/// kept, and the scan skips their row groups.
const MOST: u64 = 10_000;
/// The greatest number of footers that one plan reads for another engine. Their bounds tell the
/// engine whether it may skip row groups.
const MOST_FOR_OTHERS: u64 = 1_000;

/// The number of footers that a plan has read.
#[derive(Debug, Default)]
pub(super) struct Footers(AtomicU64);

impl Footers {
    /// Returns whether this many more footers may be read.
    fn allow(&self, count: usize, most: u64) -> bool {
        count > 0 && self.0.fetch_add(count as u64, Ordering::Relaxed) + count as u64 <= most
    }

    /// Returns for each file whether the upper bounds in its footer are known to hold for NaN.
    /// Writers with complete statistics in the log have complete statistics in footers, too.
    pub(super) async fn complete_bounds(&self, snapshot: &Snapshot, batch: &FileBatch) -> Result<BooleanArray> {
        let by_log = batch.complete_stats()?;
        let files: Vec<usize> = by_log.iter().enumerate().filter(|(_, told)| *told != Some(true)).map(|(file, _)| file).collect();
        if !self.allow(files.len(), MOST_FOR_OTHERS) {
            return Ok(by_log);
        }
        let footers = read(snapshot, batch, &files, PageIndex::Skip).await;
        let told = of_files(batch, &files, &footers, ParquetFile::has_complete_stats);
        Ok(or(&by_log, &told)?)
    }

    /// Adds the guarantees that footers prove to `known`. Footers are read only for files that are
    /// kept because a guarantee is missing.
    pub(super) async fn read_guarantees(
        &self,
        snapshot: &Snapshot,
        pruner: &Pruner,
        batch: &FileBatch,
        known: &mut LogFacts,
    ) -> Result<()> {
        // With mapping by field id, a column may have another name in a file.
        if known.guaranteed.is_empty() || snapshot.mapping_mode() == MappingMode::Id {
            return Ok(());
        }
        if known.guaranteed.iter().all(|guaranteed| guaranteed.true_count() == guaranteed.len()) {
            return Ok(());
        }
        let files = undecided(pruner, batch, known)?;
        if !self.allow(files.len(), MOST) {
            return Ok(());
        }
        // The scan needs the page index, too.
        let footers = read(snapshot, batch, &files, PageIndex::Read).await;
        for (guarantee, guaranteed) in pruner.guarantees().zip(&mut known.guaranteed) {
            *guaranteed = or(guaranteed, &of_files(batch, &files, &footers, |footer| proves(footer, guarantee)))?;
        }
        Ok(())
    }
}

/// Returns for each file of the batch whether its footer was read and satisfies `is_true`.
fn of_files(
    batch: &FileBatch,
    files: &[usize],
    footers: &[Option<ParquetFile>],
    is_true: impl Fn(&ParquetFile) -> bool,
) -> BooleanArray {
    let mut told = vec![false; batch.len()];
    for (file, footer) in files.iter().zip(footers) {
        if let Some(told) = told.get_mut(*file) {
            *told = footer.as_ref().is_some_and(&is_true);
        }
    }
    BooleanArray::from(told)
}

/// Returns the footers of these files. A file that cannot be read has no footer. The scan that
/// reads it raises the error.
async fn read(snapshot: &Snapshot, batch: &FileBatch, files: &[usize], page_index: PageIndex) -> Vec<Option<ParquetFile>> {
    let locations = files.iter().map(|file| FileLocation::of(snapshot.store(), batch, *file)).collect::<Vec<_>>();
    let opening = locations.into_iter().map(|file| async move { file.ok()?.open(page_index).await.ok() });
    stream::iter(opening).buffered(AT_ONCE).collect().await
}

/// Returns the files that would be pruned if their statistics were complete.
fn undecided(pruner: &Pruner, batch: &FileBatch, known: &LogFacts) -> Result<Vec<usize>> {
    let guaranteed = known.guaranteed.iter().map(|guaranteed| BooleanArray::from(vec![true; guaranteed.len()])).collect();
    let if_complete = LogFacts { guaranteed, ..known.clone() };
    let by_partition = pruner.prune_candidates(batch.len(), &known.partitions)?;
    let keep = and(&by_partition, &pruner.prune_stats(&known.columns(batch.len()))?)?;
    let keep = and(&keep, &not(&pruner.prune_stats(&if_complete.columns(batch.len()))?)?)?;
    Ok(keep.iter().enumerate().filter(|(_, keep)| *keep == Some(true)).map(|(file, _)| file).collect())
}

/// Returns whether the footer proves that the statistics of the log are right for this guarantee,
/// whatever writer collected them. The proof is that no value is NaN, or that no field is null.
fn proves(footer: &ParquetFile, guarantee: &Guarantee) -> bool {
    let (Guarantee::BoundsNan(path) | Guarantee::CountsNullStructs(path)) = guarantee;
    let leaves = footer.metadata().file_metadata().schema_descr().columns();
    let Some(leaf) = leaves.iter().position(|leaf| leaf.path().parts() == path && leaf.max_rep_level() == 0) else {
        return false;
    };
    match guarantee {
        Guarantee::BoundsNan(_) => footer.has_no_nan(leaf),
        Guarantee::CountsNullStructs(_) => footer.has_no_null(leaf),
    }
}
