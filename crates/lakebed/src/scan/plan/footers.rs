//! Reads footers of files whose statistics in the log prove nothing by themselves: the log does not say whether bounds hold for NaN, or
//! whether null counts include fields of null structs. Only files that the statistics would skip are read. A scan reads their footers anyway, and
//! finds them in memory.

use std::sync::atomic::{AtomicU64, Ordering};

use arrow_arith::boolean::{and, not, or};
use arrow_array::BooleanArray;
use futures::{StreamExt, stream};
use lakebed_core::log::files::FileBatch;
use lakebed_core::schema::mapping::MappingMode;
use lakebed_expr::prune::{Pruner, Question};
use lakebed_io::parquet::{PageIndex, ParquetFile};

use super::facts::LogFacts;
use crate::scan::listed::Listed;
use crate::{Result, Snapshot};

/// Footers that are read side by side.
const AT_ONCE: usize = 32;
/// Footers that one plan reads at most to skip files. Beyond that files are kept, and the scan skips their row groups.
const MOST: u64 = 10_000;
/// Footers that one plan reads at most for another engine, which then knows whether it may skip row groups.
const MOST_FOR_OTHERS: u64 = 1_000;

/// How many footers a plan has read.
#[derive(Debug, Default)]
pub(super) struct Footers(AtomicU64);

impl Footers {
    /// Whether so many more may be read.
    fn allow(&self, count: usize, most: u64) -> bool {
        count > 0 && self.0.fetch_add(count as u64, Ordering::Relaxed) + count as u64 <= most
    }

    /// Of each file whether the upper bounds in its footer are known to hold for NaN. Writers with complete statistics in the log have
    /// complete statistics in footers, too.
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

    /// Notes what footers say, for the files that only this question keeps.
    pub(super) async fn ask(&self, snapshot: &Snapshot, pruner: &Pruner, batch: &FileBatch, known: &mut LogFacts) -> Result<()> {
        // By field id, a column may have another name in a file.
        if known.answers.is_empty() || snapshot.mapping_mode() == MappingMode::Id {
            return Ok(());
        }
        if known.answers.iter().all(|answers| answers.true_count() == answers.len()) {
            return Ok(());
        }
        let files = in_question(pruner, batch, known)?;
        if !self.allow(files.len(), MOST) {
            return Ok(());
        }
        // The scan needs the page index, too.
        let footers = read(snapshot, batch, &files, PageIndex::Read).await;
        for (question, answers) in pruner.questions().zip(&mut known.answers) {
            *answers = or(answers, &of_files(batch, &files, &footers, |footer| answer(footer, question)))?;
        }
        Ok(())
    }
}

/// What is true of some of the files, as their footers tell.
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

/// The footers of these files. A file that cannot be read has none: the scan that reads it raises the error.
async fn read(snapshot: &Snapshot, batch: &FileBatch, files: &[usize], page_index: PageIndex) -> Vec<Option<ParquetFile>> {
    let listed = files.iter().map(|file| Listed::of(snapshot.store(), batch, *file)).collect::<Vec<_>>();
    let opening = listed.into_iter().map(|file| async move { file.ok()?.open(page_index).await.ok() });
    stream::iter(opening).buffered(AT_ONCE).collect().await
}

/// The files that would be left out if their statistics were complete.
fn in_question(pruner: &Pruner, batch: &FileBatch, known: &LogFacts) -> Result<Vec<usize>> {
    let answers = known.answers.iter().map(|answers| BooleanArray::from(vec![true; answers.len()])).collect();
    let if_complete = LogFacts { answers, ..known.clone() };
    let by_partition = pruner.prune_candidates(batch.len(), &known.partitions)?;
    let keep = and(&by_partition, &pruner.prune_stats(&known.columns(batch.len()))?)?;
    let keep = and(&keep, &not(&pruner.prune_stats(&if_complete.columns(batch.len()))?)?)?;
    Ok(keep.iter().enumerate().filter(|(_, keep)| *keep == Some(true)).map(|(file, _)| file).collect())
}

/// Whether the footer proves that the statistics of the log are right in this, whoever collected them: since no value is NaN, or no field
/// is null.
fn answer(footer: &ParquetFile, question: &Question) -> bool {
    let (Question::BoundsNan(path) | Question::CountsNullStructs(path)) = question;
    let leaves = footer.metadata().file_metadata().schema_descr().columns();
    let Some(leaf) = leaves.iter().position(|leaf| leaf.path().parts() == path && leaf.max_rep_level() == 0) else {
        return false;
    };
    match question {
        Question::BoundsNan(_) => footer.has_no_nan(leaf),
        Question::CountsNullStructs(_) => footer.has_no_null(leaf),
    }
}
