//! Level `footers`: the footers of data files agree with the log, and deletion vectors can be read.

use std::pin::pin;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef};
use futures::{StreamExt, TryStreamExt, stream};
use lakebed_core::action::DeletionVectorDescriptor;
use lakebed_core::dv::location;
use lakebed_core::log::files::{FileBatch, column};
use lakebed_core::stats::StatKind;
use lakebed_io::parquet::ParquetFile;
use lakebed_io::store::Store;
use serde::de::IgnoredAny;

use super::bounds::{DescribedColumns, FileStatistics};
use super::damaged::damage;
use super::finding::{Finding, FindingKind};
use super::findings::Findings;
use super::progress::LevelReporter;
use super::state::CheckedState;
use super::vector::VectorState;
use crate::scan::plan::{Plan, PlanOptions};
use crate::scan::read::footer::FooterReader;
use crate::{Error, Result};

/// The number of footers that are read at a time.
const AT_ONCE: usize = 32;

/// Checks the footers of the newest version.
pub(super) async fn check(state: &CheckedState, findings: &mut Findings, reporter: &mut LevelReporter<'_>) -> Result<()> {
    let columns = DescribedColumns::of(&state.snapshot);
    let reader = FooterReader::new(&state.snapshot, columns.wanted())?;
    let footers = Arc::new(FooterCheck { store: state.snapshot.store().clone(), columns, reader });
    let options = PlanOptions { whole_actions: true, ..PlanOptions::default() };
    let mut batches = pin!(Plan::new(&state.snapshot, None, options)?.files_as_logged());
    while let Some(batch) = batches.try_next().await? {
        let files = footers.files(&batch)?;
        let checks = files.into_iter().map(|file| Arc::clone(&footers).check(file));
        let mut checks = pin!(stream::iter(checks).buffered(AT_ONCE));
        while let Some(found) = checks.try_next().await? {
            findings.extend(found);
            reporter.add(1);
        }
    }
    Ok(())
}

/// A data file as the log describes it.
struct LoggedFile {
    path: String,
    size: Option<u64>,
    vector: Option<DeletionVectorDescriptor>,
    statistics: FileStatistics,
    /// Whether its statistics are not valid JSON.
    has_invalid_statistics: bool,
}

struct FooterCheck {
    store: Store,
    columns: DescribedColumns,
    reader: FooterReader,
}

impl FooterCheck {
    fn files(&self, batch: &FileBatch) -> Result<Vec<LoggedFile>> {
        let (paths, sizes) = (batch.paths()?, batch.longs(column::SIZE)?);
        let statistics = self.columns.of_files(batch)?;
        let texts = batch.texts(column::STATS)?;
        let file = |(row, statistics)| LoggedFile {
            path: paths.value(row).to_owned(),
            size: u64::try_from(sizes.value(row)).ok(),
            // The level `state` reports a descriptor that is not valid.
            vector: batch.deletion_vector(row).ok().flatten().filter(|vector| location(vector).is_ok()),
            statistics,
            has_invalid_statistics: texts.is_valid(row) && !is_object(texts.value(row)),
        };
        Ok(statistics.into_iter().enumerate().map(file).collect())
    }

    async fn check(self: Arc<Self>, file: LoggedFile) -> Result<Vec<Finding>> {
        let mut found = Vec::new();
        let footer = match damage(self.reader.open(&file.path, file.size).await)? {
            Ok(footer) => footer,
            // The level `files` reports a missing file.
            Err(error) if error.is_not_found() => return Ok(found),
            Err(error) => {
                found.push(Finding::new(FindingKind::FooterUnreadable, error.message()).file(&file.path));
                return Ok(found);
            }
        };
        found.extend(self.check_vector(&file, &footer).await?);
        let path = file.path.clone();
        let check = move || self.compare(&file, &footer, found);
        // Statistics are untrusted bytes, so decoding them may panic.
        let compared = tokio::task::spawn_blocking(check).await;
        let unreadable = |error| {
            let error = Error::corrupt(&path, "its metadata is not valid").with_source(error);
            Ok(vec![Finding::new(FindingKind::FooterUnreadable, error.message()).file(&path)])
        };
        compared.unwrap_or_else(unreadable)
    }

    async fn check_vector(&self, file: &LoggedFile, footer: &ParquetFile) -> Result<Option<Finding>> {
        let Some(vector) = &file.vector else { return Ok(None) };
        let invalid = |message: String| Finding::new(FindingKind::DeletionVectorInvalid, message).file(&file.path);
        // The level `files` reports a missing file.
        Ok(match VectorState::read(&self.store, vector, Some(footer.num_rows())).await? {
            VectorState::Invalid(why) => Some(invalid(why)),
            VectorState::Sound | VectorState::Missing => None,
        })
    }

    fn compare(&self, file: &LoggedFile, footer: &ParquetFile, mut found: Vec<Finding>) -> Result<Vec<Finding>> {
        if file.has_invalid_statistics {
            let message = "the log has statistics that are not valid JSON";
            found.push(Finding::new(FindingKind::StatisticsUnreadable, message).file(&file.path));
        }
        let rows = footer.num_rows();
        if let Some(told) = file.statistics.rows.filter(|told| u64::try_from(*told) != Ok(rows)) {
            let message = format!("the log says that it has {told} rows, but its footer says {rows}");
            found.push(Finding::new(FindingKind::RowCountWrong, message).file(&file.path));
        }
        let facts = match damage(self.reader.facts(footer))? {
            Ok(facts) => facts,
            Err(error) => {
                found.push(Finding::new(FindingKind::FileSchemaWrong, error.message()).file(&file.path));
                return Ok(found);
            }
        };
        // PROTOCOL "Per-file Statistics": tight bounds are those of the rows that are left, which a
        // footer does not know.
        if file.vector.is_some() && file.statistics.is_tight {
            return Ok(found);
        }
        for (index, column, values) in self.columns.with_values(&facts) {
            let [least, greatest, nulls] = values else { continue };
            for (kind, values) in [(StatKind::Min, least), (StatKind::Max, greatest)] {
                if let Some(what) = file.statistics.outside(index, kind, values)? {
                    found.push(Finding::new(FindingKind::BoundsWrong, what).file(&file.path).column(&column.name));
                }
            }
            let actual = sum_of(nulls);
            if let Some((told, actual)) = file.statistics.nulls(index).zip(actual)
                && !file.statistics.may_count(told, actual, column.path.len() > 1)
            {
                let message = format!("the log says that it has {told} nulls, but its footer says {actual}");
                found.push(Finding::new(FindingKind::NullCountWrong, message).file(&file.path).column(&column.name));
            }
        }
        Ok(found)
    }
}

impl FileStatistics {
    /// Returns whether the log may give this count of nulls for a column that has `actual` nulls.
    pub(super) fn may_count(&self, told: i64, actual: i64, is_nested: bool) -> bool {
        // Counts that are not tight are estimates, except none and all.
        if !self.is_tight && told != 0 && Some(told) != self.rows {
            return true;
        }
        // Some writers do not count the fields of null structs.
        told == actual || (is_nested && told < actual)
    }
}

/// Returns whether a text is an object of JSON.
fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Returns the sum of counts, if all are known.
fn sum_of(counts: &ArrayRef) -> Option<i64> {
    let counts = counts.as_primitive_opt::<Int64Type>().filter(|counts| counts.null_count() == 0)?;
    Some(counts.values().iter().sum())
}
